"""Records: nothing wrong gets through, the hall takes only what is verified and higher, explanations add up."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli import answer, inline, refusal

from kvbound.attack_certify import finding
from kvbound.attack_sides import Target, target_of
from kvbound.checkers import check
from kvbound.explain import explain
from kvbound.instances.adversarial.hall import add_record, records
from kvbound.instances.adversarial.record import (
    Record,
    Reference,
    Starts,
    certificate_text,
    make_record,
    read_record,
    record_from_json,
    record_to_json,
)
from kvbound.models import Fleet, InputError, Problem, Requests, Schedule
from kvbound.records import record_failures_of, resolve_optimum, verify_record
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline

#: No two fit together. FCFS completes at 8, 9, 10, 11; with the long request last it is 1, 2, 3, 11: optimum 17.
PROBLEM = Problem(Requests([1, 8, 8, 8], [8, 1, 1, 1]), Fleet((9,)))
BETTER, WORSE = Schedule(np.array([3, 0, 1, 2])), Schedule(np.array([4, 0, 1, 2]))


def record(
    problem: Problem = PROBLEM, better: Schedule = BETTER, policy: str = "fcfs", kind: str = "best-known"
) -> Record:
    target = Target.named(policy)
    schedule = target.run(problem)
    tel, value = (check(problem, s).objective for s in (schedule, better))
    assert tel is not None
    assert value is not None
    reference = Reference(kind, value, Starts.of(better), None, "the author" if kind == "optimum" else None)  # type: ignore[arg-type]
    return make_record(problem, target.attacked, schedule, tel, reference, finding("by hand", 0, 0, 0.0))


def bounded() -> Record:
    target = Target.named("fcfs")
    schedule = target.run(PROBLEM)
    result = bound(PROBLEM, "volume", deadline=Deadline())
    assert result.certificate is not None
    reference = Reference("bound", result.value or 0, None, certificate_text(result.certificate), "volume")
    tel = check(PROBLEM, schedule).objective
    return make_record(PROBLEM, target.attacked, schedule, tel or 0, reference, finding("by hand", 0, 0, 0.0))


def broken(good: Record, **changes: Any) -> Record:
    """`good` with fields of its document replaced; `a__b` is field b of a."""
    document = asdict(good)
    for key, value in changes.items():
        *path, last = key.split("__")
        place = document
        for part in path:
            place = place[part]
        assert place[last] != value
        place[last] = value
    return record_from_json(json.dumps(document), "broken")


def test_a_true_record_holds_and_comes_back_from_its_file() -> None:
    good = record()
    assert record_failures_of(good) == ()
    assert record_from_json(record_to_json(good), "x") == good
    assert good.value == Fraction(38, 17)
    assert good.problem.requests == PROBLEM.requests
    assert good.slot == "fcfs.small"
    assert record_failures_of(bounded()) == ()
    assert bounded().slot == "fcfs.small.bound"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy_tel": 41}, "the record says 41"),
        ({"reference__value": 16}, "the record says 16"),
        ({"ratio": "3/1"}, "the ratio is 3/1"),
        ({"policy__start": [0, 0, 0, 0]}, "breaks"),
        ({"policy__start": [0, 8, 10, 9]}, "another schedule"),
        ({"reference__schedule__start": [0, 0, 0, 0]}, "the better schedule breaks"),
        ({"reference__schedule__start": [3, 0, 1]}, "the better schedule breaks"),
        ({"reference__schedule": None}, "needs a schedule"),
        ({"reference__kind": "optimum"}, "nobody is named"),
        ({"attacked__name": "fcfss"}, "did you mean"),
        ({"attacked__name": "mc-sf"}, "another schedule"),
        ({"attacked__kind": "router"}, "is a policy, no router"),
        ({"attacked__file": "fcfs.py"}, "--policy-file"),
        ({"memory": [8]}, "the instance is none"),
        ({"requests": [[1, 1, 8, 0], [2, 8, 1, 0]]}, "breaks"),
        ({"reference__value": 76, "ratio": "1/2"}, "below 1"),
    ],
)
def test_whatever_is_false_is_found(changes: dict[str, Any], message: str) -> None:
    failures = record_failures_of(broken(record(), **changes))
    assert any(message in failure for failure in failures), failures


def test_a_bound_has_to_be_proved() -> None:
    good = bounded()
    value = good.reference.value
    text = good.reference.certificate
    assert text is not None
    for changes, message in (
        ({"reference__value": value - 1}, f"proves {value}"),
        ({"reference__certificate": None}, "needs a certificate"),
        ({"reference__certificate": text.replace(str(value), str(value + 1))}, "refused"),
        ({"reference__certificate": "{}"}, "refused"),
    ):
        failures = record_failures_of(broken(good, **changes))
        assert any(message in failure for failure in failures), failures


def test_a_false_claim_of_optimality_is_found_when_solved_anew() -> None:
    assert resolve_optimum(record(kind="optimum"), 60.0) is None
    wrong = resolve_optimum(record(better=WORSE, kind="optimum"), 60.0)
    assert wrong is not None
    assert "the optimum is 17, not 18" in wrong
    assert verify_record(record(better=WORSE, kind="optimum"), resolve=60.0).failures == (wrong,)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", record_to_json(record()).replace('"schema_version": 1', '"schema_version": 2')],
)
def test_unreadable_files_are_refused_by_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError, match=r"bad\.json"):
        read_record(tmp_path / "bad.json")


def test_the_hall_takes_what_is_higher_and_true(tmp_path: Path) -> None:
    worse = record(better=WORSE)
    good = record()
    path, old = add_record(worse, record_failures_of, tmp_path)
    assert (path.name, old) == ("fcfs.small.json", None)
    assert add_record(good, record_failures_of, tmp_path)[1] == worse
    before = path.read_text()
    for refused, reason in (
        (worse, "not a new record"),
        (good, "not a new record"),
        (broken(good, ratio="9/1"), "hold"),
    ):
        with pytest.raises(InputError, match=reason):
            add_record(refused, record_failures_of, tmp_path)
        assert path.read_text() == before
    assert add_record(record(kind="optimum"), record_failures_of, tmp_path)[1] == good  # the same ratio, now proved
    assert [r.reference.kind for r in records(tmp_path)] == ["optimum"]


def test_a_misplaced_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "svf.small.json").write_text(record_to_json(record()))
    with pytest.raises(InputError, match=r"fcfs\.small"):
        records(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        records(tmp_path / "none")


def test_own_policies_are_known_by_their_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def order(view):\n    return list(range(len(view)))\n")
    attacked = Target.named("mine", file=file).attacked
    assert target_of(attacked, (file,)).name == "mine"
    with pytest.raises(InputError, match="--policy-file"):
        target_of(attacked)
    file.write_text("def order(view):\n    return list(range(len(view)))[::-1]\n")
    with pytest.raises(InputError, match="SHA-256"):
        target_of(attacked, (file,))


def test_records_command(tmp_path: Path) -> None:
    (tmp_path / "new.json").write_text(record_to_json(record()))
    (tmp_path / "hall").mkdir()
    common = ("records", "--folder", "hall")
    assert answer(*common, "--add", "new.json", cwd=tmp_path)["replaced"] is None
    assert "not a new record" in refusal(*common, "--add", "new.json", cwd=tmp_path)
    found = answer(*common, "--verify", cwd=tmp_path)
    assert (found["verified"], found["failures"]) == (1, [])
    assert found["records"][0]["ratio"] == float(record().value)
    assert "there is no record of 'svf'" in refusal(*common, "svf", cwd=tmp_path)
    false = tmp_path / "hall" / "fcfs.small.json"
    false.write_text(false.read_text().replace(f'"policy_tel": {record().policy_tel}', '"policy_tel": 99'))
    assert answer(*common, "--verify", code=1, cwd=tmp_path)["verified"] == 0
    assert "FAILED record of fcfs" in inline(*common, "--verify", cwd=tmp_path).stdout


def test_what_ships_holds() -> None:
    """Every record of the package, in every statement (an exact solver's claim of optimality aside)."""
    found = records()
    assert found
    failures = [failure for r in found for failure in record_failures_of(r)]
    assert not failures


def test_an_explanation_adds_up(tmp_path: Path) -> None:
    schedule = Target.named("fcfs").run(PROBLEM)
    found = explain(PROBLEM, "fcfs", schedule, BETTER, "optimum")
    assert sum(kind.loss for kind in found.kinds) == found.policy_tel - found.better_tel
    assert found.kinds[0].shown == "3 × (8, 1)"
    assert (found.diverge, found.policy_starts, found.better_starts) == (0, "1 × (1, 8)", "1 × (8, 1)")
    text = "\n".join(found.lines())
    assert f"ratio {found.ratio:.4f}" in text
    assert check(PROBLEM, found.better).objective == found.better_tel == 17
    same = explain(PROBLEM, "fcfs", schedule, schedule, "itself")
    assert (same.diverge, same.ratio) == (None, 1.0)
    (tmp_path / "r.json").write_text(record_to_json(record()))
    told = answer("explain", tmp_path / "r.json", "-o", tmp_path / "r.png")
    assert told["text"] == explain(PROBLEM, "fcfs", schedule, BETTER, "best schedule known").lines()
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_identical_requests_that_change_places_are_no_difference() -> None:
    problem = Problem(Requests([1, 4, 4], [3, 1, 1]), Fleet((6,)))
    one, other = Schedule(np.array([2, 0, 1])), Schedule(np.array([2, 1, 0]))
    assert explain(problem, "a", one, other, "b").diverge is None


def test_explain_on_an_instance_needs_a_policy(tmp_path: Path) -> None:
    assert "--policy" in refusal("explain", "tiny:n=4,seed=0")
    found = answer("explain", "tiny:n=4,seed=0", "--policy", "longest-first", "--time-limit", "0.2")
    assert found["reference"] == "best schedule found"
    assert found["ratio"] >= 1
    assert "no such file" in refusal("explain", tmp_path / "none.json", "--policy", "svf")
    assert ".png" in refusal("explain", "tiny:n=4,seed=0", "--policy", "svf", "-o", tmp_path / "x.txt")
