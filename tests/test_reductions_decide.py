"""Deciding through the reduction, both sides by independent solvers; and the command `kvbound reduce`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli import answer, inline, refusal

from kvbound.checkers import require_valid, verify
from kvbound.checkers.certificate_file import read_certificate
from kvbound.decision import decide, hard_instance
from kvbound.instances import read_instance
from kvbound.models.errors import OptionError
from kvbound.models.formulations.cuts import Cuts
from kvbound.models.weights import LevelsWeight
from kvbound.reductions import BinPacking, Partition, ThreePartition, planted_yes, reduce, three_partition
from kvbound.reductions.drawing import BENDS, PLACES, as_text, draw
from kvbound.reductions.generators import _random
from kvbound.reductions.graph import PROBLEMS, REDUCTIONS
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolutionStatus, SolveConfig, solve
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.three_partition import solve_three_partition

ONE = SolveConfig(time_limit=None, threads=1)


def random_instance(i: int, largest: int) -> ThreePartition:
    """m from 2 to `largest`, planted, random and near misses in turn."""
    m, kind, target = 2 + i % (largest - 1), i // 4 % 3, (40, 100, 400)[i // 12 % 3]
    if kind == 0:
        return planted_yes(m, target, i)[0]
    if kind == 1:
        return ThreePartition(_random(m, target, np.random.default_rng(i)), target)
    return hard_instance("near-miss", m, max(target, 100), i)[0]


#: "At most three active", a valid row of docs/math.md §4.1 without which HiGHS is slow from m = 5 on.
THREE = Cuts(stagger=(LevelsWeight(3, 0),), symmetry=True)


def both_sides(i: int, largest: int, length: int, method: str = "highs") -> bool:
    """Whether instance i is a yes; optimal TEL and optimal reward must say the same, certificates map back.

    The solvers of the schedules know nothing of thresholds and triples.
    """
    instance = random_instance(i, largest)
    triples = three_partition(instance)
    yes = triples is not None
    for target, options in (("tel", {"length": length}), ("reward", {})):
        reduced = reduce(instance, target, **options)
        if target == "tel":
            cuts = THREE if method == "highs" else None
            result = solve(reduced.target.problem, method=method, config=ONE, cuts=cuts)
        else:
            result = solve(reduced.target.problem, method="highs", config=ONE)
        assert result.status is SolutionStatus.OPTIMAL
        assert result.schedule is not None
        if target == "tel":
            assert result.tel is not None
            assert (result.tel <= reduced.threshold) == yes, (instance, length)
            assert yes or result.tel >= reduced.threshold + length
        else:
            assert result.reward is not None
            assert (result.reward >= reduced.threshold) == yes, instance
        if triples is not None:
            instance.verify(reduced.back(result.schedule))
            require_valid(reduced.target.problem, reduced.lift(triples))
    return yes


def test_optimum_at_most_the_threshold_iff_yes() -> None:
    answers = [both_sides(i, 3, 1 + i // 2 % 4) for i in range(60)]
    assert 15 <= sum(answers) <= 45
    for i in range(60, 64):
        both_sides(i, 3, 1 + i % 4, "auto")


@pytest.mark.slow
def test_optimum_at_most_the_threshold_iff_yes_on_512_instances() -> None:
    answers = [both_sides(i, 5, 1 + i // 36 % 4) for i in range(512)]
    assert 100 <= sum(answers) <= 412


@pytest.mark.slow
def test_two_exact_solvers_of_schedules_agree_up_to_five_triples() -> None:
    for i in range(24):
        both_sides(i, 5, 1 + i % 3, "auto")


def test_cp_sat_on_the_numbers_agrees_with_our_search() -> None:
    for i in range(40):
        instance = random_instance(i, 6)
        ended, found = solve_three_partition(instance.numbers, instance.target, deadline=Deadline(30.0))
        assert ended is (Termination.INFEASIBLE if three_partition(instance) is None else Termination.OPTIMAL)
        if found is not None:
            instance.verify(found)
    ended, found = solve_three_partition((26, 33, 41), 100, deadline=Deadline(0.0))
    assert (ended, found) == (Termination.TIME_LIMIT, None)


def test_numbers_certified_by_cp_sat_beyond_six_triples() -> None:
    for kind in ("no", "near-miss"):
        instance, none = hard_instance(kind, 9, 5000, 2)
        assert none is None
        assert hard_instance(kind, 9, 5000, 2)[0] == instance
        decided = decide(reduce(instance, "tel"), config=ONE)
        assert (decided.answer, decided.certificate) == ("no", None)
        assert decided.bound == decided.reduced.if_no
    with pytest.raises(OptionError, match="unknown kind 'maybe'"):
        hard_instance("maybe", 3, 100, 0)


def test_decide_large_yes_by_the_numbers_with_a_checked_schedule() -> None:
    instance, _ = hard_instance("yes", 30, 1000, 4)
    decided = decide(reduce(instance, "tel", length=2), config=ONE)
    assert decided.answer == "yes"
    assert decided.schedule is not None
    assert require_valid(decided.reduced.target.problem, decided.schedule) == decided.value == decided.reduced.threshold
    instance.verify(decided.certificate)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (Partition((3, 5, 8, 2)), "tel", "no"),
        (Partition((3, 5, 7, 1)), "tel", "yes"),
        (Partition((9, 1)), "tel", "no"),
        (BinPacking((3, 5, 8, 2, 2), 10, 2), "tel", "yes"),
        (BinPacking((3, 5, 8, 2, 3), 10, 2), "tel", "no"),
        (BinPacking((3, 5, 8, 2, 2), 10, 2), "reward", "yes"),
        (BinPacking((3, 5, 8, 2, 3), 10, 2), "reward", "no"),
        (ThreePartition((44, 26, 27, 35, 31, 37)), "reward", "no"),
    ],
)
def test_decide_other_problems(source, target: str, expected: str) -> None:  # type: ignore[no-untyped-def]
    decided = decide(reduce(source, target), config=ONE)
    assert decided.answer == expected
    if expected == "yes":
        source.verify(decided.certificate)
    else:
        assert decided.certificate is None


def test_decide_refuses_what_it_cannot_solve() -> None:
    with pytest.raises(OptionError, match="bin-packing has no solver here"):
        decide(reduce(planted_yes(2, 100, 0)[0], "bin-packing"))


# --- The command --------------------------------------------------------------------------------------------------

YES = "26,33,41,30,35,35"
NO = "44,26,27,35,31,37"


def test_reduce_prints_instance_threshold_and_meaning() -> None:
    done = inline("reduce", "three-partition", "--numbers", YES, "--length", "2")
    assert done.returncode == 0
    for part in ("m = 2 triples of sum B = 100", "M = 606", "156,198,246,180,210,210", "TEL ≤ 18?", "yes:", "TEL ≥ 20"):
        assert part in done.stdout
    found = answer("reduce", "three-partition", "--numbers", YES, "--length", "2")
    assert (found["threshold"], found["if_no"], found["path"]) == (18, 20, ["equal-outputs"])
    assert found["instance"]["memory"] == 606


@pytest.mark.parametrize("more", [("--to", "tel"), ("--length", "3"), ("--spread", "2"), ("--to", "reward")])
def test_solve_answers_yes_with_triples_and_no_without(more: tuple[str, str]) -> None:
    found = answer("reduce", "three-partition", "--numbers", YES, "--solve", *more)
    assert found["answer"] == "yes"
    assert [sum(triple) for triple in found["triples"]] == [100, 100]
    assert sorted(a for triple in found["triples"] for a in triple) == sorted(map(int, YES.split(",")))
    assert sorted(i for triple in found["indices"] for i in triple) == list(range(6))
    none = answer("reduce", "three-partition", "--numbers", NO, "--solve", *more)
    assert (none["answer"], none["triples"]) == ("no", None)
    if "reward" in more:
        assert (found["reward"], none["reward"], found["tel"]) == (6, 5, None)
    else:
        assert found["tel"] <= found["threshold"] < none["tel"]


def test_solve_says_unknown_at_a_limit() -> None:
    found = answer("reduce", "three-partition", "--numbers", NO, "--solve", "--time-limit", "0")
    assert (found["answer"], found["triples"], found["threshold"]) == ("unknown", None, 9)
    assert found["tel"] is None or found["tel"] > 9


def test_own_schedules_are_judged_and_mapped_back(tmp_path: Path) -> None:
    numbers = ("reduce", "three-partition", "--numbers", YES)
    good, late, wrong = tmp_path / "good.csv", tmp_path / "late.csv", tmp_path / "wrong.csv"
    good.write_text("request,start\n" + "".join(f"{j},{j // 3}\n" for j in range(6)))
    late.write_text("request,start\n" + "".join(f"{j},{j}\n" for j in range(6)))
    wrong.write_text("request,start\n" + "".join(f"{j},0\n" for j in range(6)))
    found = answer(*numbers, "--back", good)
    assert (found["answer"], found["triples"], found["tel"]) == ("yes", [[26, 33, 41], [30, 35, 35]], 9)
    found = answer(*numbers, "--back", late, code=1)
    assert (found["answer"], found["triples"], found["tel"]) == ("unknown", None, 21)
    found = answer(*numbers, "--back", wrong, code=1)
    assert (found["answer"], found["tel"]) == ("unknown", None)
    assert "holds" in found["violations"][0]
    written = tmp_path / "instance.json"
    assert inline(*numbers, "-o", written).returncode == 0
    assert inline("reduce", "--instance", written, "--back", good).stdout.count("= 100   (") == 2
    assert inline("check", written, good).stdout.count("valid: TEL 9") == 1
    assert "does not hold the numbers" in refusal("reduce", "--back", good)


def test_instance_and_certificate_files_stand_on_their_own(tmp_path: Path) -> None:
    instance, proof = tmp_path / "i.json", tmp_path / "c.json"
    found = answer(
        "reduce", "three-partition", "--generate", "yes", "--m", "6", "--length", "3", "-o", instance,
        "--certificate", proof, "--solve",
    )  # fmt: skip
    problem = read_instance(instance)
    assert verify(problem, read_certificate(proof)) == found["threshold"] == 3 * 3 * 6 * 7 // 2
    assert problem.fingerprint() == found["instance"]["fingerprint"]
    assert found["answer"] == "yes"
    assert found["file"] == str(instance)
    assert answer("verify", instance, proof)["value"] == found["threshold"]


def test_the_graph_lists_and_draws_itself(tmp_path: Path) -> None:
    listed = inline("reduce", "--list").stdout
    assert listed.splitlines() == as_text()
    for name in (*PROBLEMS, *REDUCTIONS):
        assert name in listed
    document = json.loads(inline("reduce", "--list", "--json").stdout)
    assert {r["name"] for r in document["reductions"]} == set(REDUCTIONS)
    assert all("∎" in r["proof"] for r in document["reductions"])
    assert set(PLACES) == set(PROBLEMS)
    assert set(BENDS) <= set(REDUCTIONS)
    picture = tmp_path / "graph.svg"
    assert inline("reduce", "--draw", picture).stdout.strip() == f"graph drawn to {picture}"
    text = picture.read_text()
    assert text.count("<!-- ") >= len(PROBLEMS) + len(REDUCTIONS)
    for name in REDUCTIONS:
        assert f"<!-- {name} -->" in text
    assert "graph.txt" in refusal("reduce", "--draw", tmp_path / "graph.txt")
    draw(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes()[:4] == b"\x89PNG"


def test_proofs_are_printed() -> None:
    shown = inline("reduce", "three-partition", "--proof", "--to", "unit-tel").stdout
    assert shown.count("∎") == 2
    assert "[padded-bins]" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("three-partition", "--numbers", "26,33,41,30,35"), "count is 5"),
        (("three-partition", "--numbers", "26,33,41,30,35,36"), "sum is 201, not mB"),
        (("three-partition", "--numbers", "20,39,41,30,35,35"), "number 0 is 20, outside (B/4, B/2) = (25, 50)"),
        (("three-partition", "--numbers", "26,33,x"), "entry 2 is 'x', not an integer"),
        (("three-partition",), "needs --numbers"),
        ((), "say what to reduce"),
        (("knapsack", "--numbers", "1"), "PROBLEM is 'knapsack'"),
        (("bin-packing", "--numbers", "1,2"), "bin-packing needs --capacity"),
        (("partition", "--numbers", "1,3", "--bins", "2"), "partition has no --bins"),
        (("partition", "--generate", "yes"), "--generate makes the numbers of three-partition"),
        (("three-partition", "--numbers", YES, "--to", "moon"), "unknown problem 'moon'"),
        (("three-partition", "--numbers", YES, "--to", "reward", "--length", "2"), "takes length"),
        (("three-partition", "--numbers", YES, "--to", "reward", "-o", "x.json"), "cannot hold the objective reward"),
        (("three-partition", "--numbers", YES, "--to", "bin-packing", "-o", "x.json"), "no scheduling problem"),
        (("three-partition", "--numbers", YES, "--spread", "2", "--certificate", "c.json"), "only the reduction"),
        (("three-partition", "--numbers", YES, "--solve", "--back", "s.csv"), "different questions"),
        (("partition", "--instance", "i.json"), "--instance brings numbers"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert message in refusal("reduce", *arguments, cwd=tmp_path)
    assert not list(tmp_path.iterdir())
