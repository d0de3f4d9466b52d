"""The catalogue: what ships is true, and an entry broken in one statement is refused for just that."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli import answer, inline, refusal

import kvbound
from kvbound.checkers.certificate_file import certificate_to_json
from kvbound.instances import write_schedule
from kvbound.instances.catalogue import (
    GROUPS,
    BestSchedule,
    Claim,
    Entry,
    Recipe,
    Verdict,
    Work,
    build,
    catalogue,
    improved,
    load_named,
    merged,
    new_entry,
    planned,
    read_group,
    verify_entry,
    write_group,
)
from kvbound.instances.catalogue.packing import (
    PLAIN_STARTS,
    pack,
    pack_certificate,
    pack_starts,
    unpack,
    unpack_certificate,
    unpack_starts,
)
from kvbound.instances.catalogue.store import SHIPPED
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests, Schedule
from kvbound.models.errors import CertificateError, ScheduleError, SolverError
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import POLICIES, run_policy

WORK = Work("test", "by hand", 0.0, "2026-11-29")
NAME = "tiny:n=8,seed=0"
TRACES = Path(os.environ.get("KVBOUND_TRACES", Path(__file__).resolve().parents[2] / "shared" / "traces"))


def make(source: str = NAME, policy: str = "fcfs", method: str = "volume", **recipe: object) -> tuple[Entry, Problem]:
    """An entry made from a policy and a bound, without any search."""
    how = Recipe(source, **recipe)  # type: ignore[arg-type]
    problem = build(source, how).problem
    found = run_policy(problem, POLICIES[policy]).schedule
    proof = bound(problem, method, deadline=Deadline(None)).certificate
    assert found is not None
    assert proof is not None
    return new_entry(problem, how, (found, WORK), (proof, WORK)), problem


@pytest.fixture(scope="module")
def entry() -> Entry:
    return make()[0]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return make()[1]


def failures(entry: Entry) -> str:
    verdict = verify_entry(entry)
    assert not verdict.ok
    assert len(verdict.failures) == 1, verdict.failures
    assert entry.name in verdict.failures[0]
    return verdict.failures[0]


def test_what_ships_is_true() -> None:
    entries = catalogue()
    assert entries
    for shipped in entries:
        if shipped.n <= 12 or (shipped.recipe.trace is False and shipped.bound.work.how.startswith("volume")):
            assert verify_entry(shipped).failures == ()
        assert shipped.bound.value <= shipped.schedule.tel
        assert (shipped.optimal is not None) == (
            shipped.schedule.tel in (shipped.bound.value, shipped.claim.value if shipped.claim else None)
        )


@pytest.mark.slow
def test_everything_that_ships_is_true() -> None:
    for shipped in catalogue():
        verdict = verify_entry(shipped, TRACES)
        assert verdict.failures == ()
        assert verdict.ok or shipped.recipe.trace


def test_what_ships_is_planned_under_its_own_name_and_group() -> None:
    for group in GROUPS:
        path, recipes = SHIPPED / f"{group}.json", dict(planned(group))
        assert recipes
        for shipped in read_group(path) if path.exists() else ():
            assert recipes[shipped.name] == shipped.recipe
    assert {path.stem for path in SHIPPED.glob("*.json")} <= set(GROUPS)
    names = [name for group in GROUPS for name, _ in planned(group)]
    assert len(names) == len(set(names))
    assert sum(name.startswith("jaillet:") for name in names) == 200


def test_a_good_entry_verifies_and_survives_its_file(entry: Entry, tmp_path: Path) -> None:
    assert verify_entry(entry).ok
    other, _ = make("mix:n=80,seed=3", "svf", memory=9000)
    write_group(tmp_path / "some.json", [entry, other])
    assert read_group(tmp_path / "some.json") == (entry, other) == catalogue(tmp_path)
    assert verify_entry(other).ok
    assert isinstance(entry.schedule.starts, list)
    assert isinstance(other.schedule.starts, str)  # longer ones are packed
    assert len((tmp_path / "some.json").read_text().splitlines()) == 4  # one entry a line


def test_wrong_hash_is_found(entry: Entry) -> None:
    assert "other requests" in failures(dataclasses.replace(entry, fingerprint="0" * 64))


def test_another_recipe_is_found(entry: Entry) -> None:
    seed = dataclasses.replace(entry.recipe, source="tiny:n=8,seed=1")
    wrong = " ".join(verify_entry(dataclasses.replace(entry, recipe=seed)).failures)
    assert "other requests" in wrong
    assert "certificate is refused" in wrong
    nothing = dataclasses.replace(entry.recipe, source="tinny:n=8")
    assert "cannot be made" in failures(dataclasses.replace(entry, recipe=nothing))


def test_wrong_size_is_found(entry: Entry) -> None:
    assert "n = 8" in failures(dataclasses.replace(entry, n=9))
    assert "M = 41" in failures(dataclasses.replace(entry, memory=41))


def test_a_schedule_over_memory_is_found(entry: Entry) -> None:
    crowd = dataclasses.replace(entry.schedule, starts=[0] * 8)
    assert "memory" in failures(dataclasses.replace(entry, schedule=crowd))
    short = dataclasses.replace(entry.schedule, starts=[0] * 7)
    assert "7 requests" in failures(dataclasses.replace(entry, schedule=short))


def test_wrong_tel_is_found(entry: Entry) -> None:
    lower = dataclasses.replace(entry.schedule, tel=entry.schedule.tel - 1)
    assert f"has TEL {entry.schedule.tel}, the entry says" in failures(dataclasses.replace(entry, schedule=lower))


def test_a_certificate_that_claims_too_much_is_found(entry: Entry, problem: Problem) -> None:
    proof = unpack_certificate(entry.bound.certificate, "x")
    boast = pack_certificate(dataclasses.replace(proof, value=entry.bound.value + 1))
    wrong = dataclasses.replace(entry.bound, value=entry.bound.value + 1, certificate=boast)
    assert "refused" in failures(dataclasses.replace(entry, bound=wrong))
    quiet = dataclasses.replace(entry.bound, value=entry.bound.value + 1)
    assert f"proves {entry.bound.value}" in failures(dataclasses.replace(entry, bound=quiet))
    less = dataclasses.replace(entry.bound, value=entry.bound.value - 1)
    assert "the entry says" in failures(dataclasses.replace(entry, bound=less))


def test_another_instances_certificate_is_found(entry: Entry) -> None:
    other, _ = make("tiny:n=8,seed=1")
    wrong = dataclasses.replace(entry.bound, certificate=other.bound.certificate)
    assert "another problem" in failures(dataclasses.replace(entry, bound=wrong))


@pytest.mark.parametrize("off", [0, 1])
def test_a_claim_outside_bound_and_schedule_is_found(entry: Entry, off: int) -> None:
    value = entry.schedule.tel + 1 if off else entry.bound.value
    assert "claimed bound" in failures(dataclasses.replace(entry, claim=Claim(value, WORK)))


@pytest.mark.parametrize("cut", [10, -40])
def test_damaged_packed_texts_are_found(entry: Entry, cut: int) -> None:
    packed = entry.bound.certificate[:cut]
    assert "packed text" in failures(
        dataclasses.replace(entry, bound=dataclasses.replace(entry.bound, certificate=packed))
    )
    starts = pack("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]")[:cut]
    assert "packed text" in failures(
        dataclasses.replace(entry, schedule=dataclasses.replace(entry.schedule, starts=starts))
    )


@pytest.mark.parametrize("text", ['{"a": 1}', "[0, 1.5]", "[true]", "[0, ", "[-1, 0]"])
def test_packed_starts_must_be_steps(entry: Entry, text: str) -> None:
    broken = dataclasses.replace(entry.schedule, starts=pack(text))
    assert "schedule" in failures(dataclasses.replace(entry, schedule=broken))


def test_packing_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvbound.instances.catalogue.packing._MOST_BYTES", 1000)
    assert unpack(pack("0" * 900), "x") == "0" * 900
    with pytest.raises(InputError, match="larger than"):
        unpack(pack("0" * 1_000_000), "x")


@pytest.mark.parametrize("n", [1, PLAIN_STARTS, PLAIN_STARTS + 1, 3000])
def test_starts_survive_packing(n: int) -> None:
    schedule = Schedule(np.random.default_rng(n).integers(0, 10**6, n))
    assert unpack_starts(pack_starts(schedule), "x") == schedule


def test_truncated_and_malformed_files_are_named(entry: Entry, tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write_group(path, [entry])
    text = path.read_text()
    good = json.loads(text)
    broken: list[tuple[str, str]] = [(text[: len(text) // 2], "cut off"), ("", "empty"), ("[]", "some.json")]
    for field, value in (("n", "8"), ("n", 0), ("fingerprint", "abc"), ("recipe", {"source": ""}), ("extra", 1)):
        changed = {**good, "entries": [{**good["entries"][0], field: value}]}
        broken.append((json.dumps(changed), field))
    missing = {key: value for key, value in good["entries"][0].items() if key != "bound"}
    broken.append((json.dumps({**good, "entries": [missing]}), f"{NAME}: entries.0.bound"))
    broken.append((json.dumps({**good, "entries": good["entries"] * 2}), "twice"))
    broken.append((json.dumps({**good, "schema_version": 2}), "schema_version"))
    for wrong, message in broken:
        path.write_text(wrong)
        with pytest.raises(InputError, match="some") as caught:
            read_group(path)
        assert message in str(caught.value)
    with pytest.raises(InputError, match="no such folder"):
        catalogue(tmp_path / "nowhere")


def test_only_better_and_verified_offers_enter(entry: Entry, problem: Problem) -> None:
    good = run_policy(problem, POLICIES["mc-sf"])
    assert good.schedule is not None
    better = improved(entry, problem, schedule=(good.schedule, WORK), tried={"search": 3.0})
    assert better.schedule.tel == good.tel
    assert good.tel < entry.schedule.tel
    back = improved(better, problem, schedule=(unpack_starts(entry.schedule.starts, "x"), WORK), tried={"search": 1.0})
    assert back == better  # neither the worse schedule nor the smaller effort
    with pytest.raises(ScheduleError):
        improved(entry, problem, schedule=(Schedule([0] * 8), WORK))
    proof = bound(problem, "lagrangian", deadline=Deadline(None)).certificate
    assert proof is not None
    stronger = improved(entry, problem, bound=(proof, WORK))
    assert entry.bound.value < stronger.bound.value == proof.value
    weak = unpack_certificate(entry.bound.certificate, "x")
    assert improved(stronger, problem, bound=(weak, WORK)) == stronger
    with pytest.raises(CertificateError):
        improved(entry, problem, bound=(dataclasses.replace(proof, value=10**6), WORK))
    both = merged(better, stronger)
    assert (both.schedule, both.bound, both.tried) == (better.schedule, stronger.bound, {"search": 3.0})
    assert verify_entry(both).ok


def test_claims_give_way_to_proofs_and_never_to_schedules(entry: Entry, problem: Problem) -> None:
    claimed = improved(entry, problem, claim=Claim(entry.schedule.tel, WORK))
    assert (claimed.optimal, entry.optimal) == ("claimed", None)
    assert verify_entry(claimed).ok
    assert improved(claimed, problem, claim=Claim(entry.bound.value + 1, WORK)) == claimed
    assert improved(entry, problem, claim=Claim(entry.bound.value, WORK)).claim is None
    good = run_policy(problem, POLICIES["mc-sf"]).schedule
    assert good is not None
    with pytest.raises(SolverError, match="claimed bound"):  # the claim was false
        improved(claimed, problem, schedule=(good, WORK))
    with pytest.raises(SolverError, match="claimed bound"):
        improved(entry, problem, claim=Claim(entry.schedule.tel + 1, WORK))


def test_entries_are_of_one_plain_worker_and_of_their_instance(entry: Entry, problem: Problem) -> None:
    other = build("x", Recipe("tiny:n=8,seed=1")).problem
    with pytest.raises(InputError, match="is not the instance"):
        improved(entry, other)
    with pytest.raises(InputError, match="not the same"):
        merged(entry, make("tiny:n=8,seed=1")[0])
    two = Problem(Requests([1, 1], [1, 1]), Fleet((5, 5)))
    run = run_policy(two, POLICIES["fcfs"]).schedule
    proof = bound(two, "volume", deadline=Deadline(None)).certificate
    assert run is not None
    assert proof is not None
    with pytest.raises(InputError, match="one worker"):
        new_entry(two, Recipe("x"), (run, WORK), (proof, WORK))


def test_names_are_sources() -> None:
    shipped = next(e for e in catalogue() if not e.recipe.trace)
    loaded = kvbound.load(f"catalogue:{shipped.name}")
    assert (loaded.problem.name, loaded.problem.fingerprint()) == (shipped.name, shipped.fingerprint)
    with pytest.raises(OptionError, match="is fixed"):
        kvbound.load(f"catalogue:{shipped.name}", memory=100)
    with pytest.raises(OptionError, match="is fixed"):
        kvbound.load(f"catalogue:{shipped.name}", workers=2)
    with pytest.raises(InputError, match="has no instance"):
        kvbound.load("catalogue:tiny")


def trace_entry(folder: Path) -> Entry:
    (folder / "log.csv").write_text("prompt,output\n3,4\n1,2\n2,2\n5,1\n")
    recipe = Recipe("log.csv", 9, 2, 1, trace=True)
    problem = build("log-2", recipe, folder).problem
    assert problem.requests.prompt.tolist() == [1, 2]
    run = run_policy(problem, POLICIES["svf"]).schedule
    proof = bound(problem, "volume", deadline=Deadline(None)).certificate
    assert run is not None
    assert proof is not None
    return new_entry(problem, recipe, (run, WORK), (proof, WORK))


def test_traces_are_found_by_recipe_and_skipped_visibly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = trace_entry(tmp_path)
    assert verify_entry(entry, tmp_path).ok
    elsewhere = tmp_path / "empty"
    elsewhere.mkdir()
    missing = verify_entry(entry, elsewhere)
    assert isinstance(missing, Verdict)
    assert (missing.ok, missing.failures) == (False, ())
    assert "log.csv is not in" in str(missing.skipped)
    monkeypatch.setenv("KVBOUND_TRACES", str(tmp_path))
    assert verify_entry(entry).ok
    assert load_named((entry,), "log-2").problem.name == "log-2"
    (tmp_path / "log.csv").write_text("prompt,output\n3,4\n1,3\n2,2\n")
    assert "other requests" in verify_entry(entry).failures[0]
    with pytest.raises(InputError, match="another version"):
        load_named((entry,), "log-2")


def test_the_command_lists_and_verifies(entry: Entry, tmp_path: Path) -> None:
    write_group(tmp_path / "some.json", [entry, trace_entry(tmp_path)])
    quick = answer("catalogue", "--folder", tmp_path)
    assert [e["name"] for e in quick["entries"]] == [NAME, "log-2"]
    assert quick["verified"] is None
    assert [e["verified"] for e in quick["entries"]] == [None, None]
    full = answer("catalogue", "--folder", tmp_path, "--traces", tmp_path, "--verify")
    assert (full["verified"], full["skipped"], full["failed"]) == (2, 0, 0)
    some = answer("catalogue", "--folder", tmp_path, "--traces", tmp_path / "no", "--verify")
    assert (some["verified"], some["skipped"], some["failed"]) == (1, 1, 0)
    assert some["entries"][1]["verified"] is None
    table = inline("catalogue", "log", "--folder", tmp_path, "--traces", tmp_path / "no", "--verify")
    assert table.returncode == 0
    assert "skipped log-2: the trace file log.csv is not in" in table.stdout
    assert NAME not in table.stdout
    assert "has no instance 'tinny'" in refusal("catalogue", "tinny", "--folder", tmp_path)


def test_the_command_fails_on_a_false_entry_and_names_it(entry: Entry, tmp_path: Path) -> None:
    false = dataclasses.replace(
        entry, name="liar", schedule=BestSchedule(entry.schedule.tel - 1, entry.schedule.starts, WORK)
    )
    write_group(tmp_path / "some.json", [entry, false])
    found = answer("catalogue", "--folder", tmp_path, "--verify", code=1)
    assert (found["verified"], found["failed"]) == (1, 1)
    assert [e["verified"] for e in found["entries"]] == [True, False]
    table = inline("catalogue", "--folder", tmp_path, "--verify")
    assert table.returncode == 1
    assert "FAILED liar: the schedule has TEL" in table.stdout
    text = (tmp_path / "some.json").read_text()
    (tmp_path / "some.json").write_text(text[:-60])
    assert "some.json" in refusal("catalogue", "--folder", tmp_path, "--verify")


def test_what_the_command_writes_is_accepted_by_check_and_verify(entry: Entry, tmp_path: Path) -> None:
    write_group(tmp_path / "some.json", [entry])
    files = answer("catalogue", "--folder", tmp_path, "--write", tmp_path / "out")["files"]
    assert len(files) == 2
    assert answer("check", NAME, files[0])["ok"]
    assert answer("verify", NAME, files[1])["value"] == entry.bound.value


def test_the_script_fills_goes_on_and_adds(
    tmp_path: Path, problem: Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util
    import sys

    path = Path(__file__).parents[1] / "benchmarks" / "catalogue.py"
    spec = importlib.util.spec_from_file_location("catalogue_script", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["catalogue_script"] = script
    spec.loader.exec_module(script)

    def run(*args: object) -> int:
        sys.argv = ["catalogue.py", *map(str, args), "--folder", str(tmp_path)]
        return int(script.main())

    before = sys.argv
    try:
        work = ("fill", "tiny", "tiny:n=8,seed=[01]", "--search", 0.2, "--bound", 0.2)
        assert run(*work) == 0
        first = catalogue(tmp_path)
        assert [e.name for e in first] == ["tiny:n=8,seed=0", "tiny:n=8,seed=1"]
        assert all(verify_entry(e).ok for e in first)
        assert all(e.tried or e.optimal for e in first)
        kept = (tmp_path / "tiny.json").read_bytes()
        capsys.readouterr()
        assert run(*work) == 0
        assert (tmp_path / "tiny.json").read_bytes() == kept  # nothing left to do
        assert run("table", "tiny") == 0
        assert "2 of 54 instances of tiny" in capsys.readouterr().out
        shutil.copy(tmp_path / "tiny.json", tmp_path / "copy.txt")
        worse = run_policy(problem, POLICIES["fcfs"]).schedule
        assert worse is not None
        write_schedule(tmp_path / "mine.sched", problem, worse)
        assert run("add", NAME, "--schedule", tmp_path / "mine.sched", "--how", "test") == 0
        assert "nothing better" in capsys.readouterr().out
        assert (tmp_path / "tiny.json").read_bytes() == kept
        (tmp_path / "tiny.json").unlink()
        weak = bound(problem, "lagrangian", deadline=Deadline(None)).certificate
        assert weak is not None
        (tmp_path / "proof.cert").write_text(certificate_to_json(weak))
        assert run("add", NAME, "--certificate", tmp_path / "proof.cert", "--how", "test") == 0
        assert "bound replaced" in capsys.readouterr().out
        assert catalogue(tmp_path)[0].bound.value == weak.value
    finally:
        sys.argv = before
