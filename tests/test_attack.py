"""The search: moves stay in the space, same seed same answer, resumed equals uninterrupted, families are beaten."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from brute import optimum
from cli import answer, refusal

from kvbound.attack import attack
from kvbound.attack_islands import Plan, read_state, run_islands, write_state
from kvbound.attack_sides import Target, quick_reference, sides, tel_of
from kvbound.instances.adversarial.groups import Group, Space, expand, grouped, size
from kvbound.instances.adversarial.moves import crossed, mutated, neighbours
from kvbound.instances.adversarial.search import Found, Island, Sides
from kvbound.instances.adversarial.shrink import shrunk
from kvbound.models import InputError, OptionError, Problem
from kvbound.solvers.policies import POLICIES
from kvbound.solvers.policies.view import View
from kvbound.solvers.routers import ROUTERS

SPACE = Space(10, 24)


def small_plan(islands: int = 1, against: str = "best-known") -> Plan:
    return Plan("policy", "svf", 0, None, SPACE, against, 3, islands)


@pytest.mark.parametrize("space", [SPACE, Space(5, 12, 2, 3, 20), Space(1, 2), Space(60, 36)])
def test_moves_stay_inside_the_space(space: Space) -> None:
    rng = np.random.default_rng(0)
    groups = space.random(rng)
    for _ in range(150):
        other = mutated(groups, space, rng)
        for tried in (other, crossed(groups, other, space, rng), *neighbours(other, space)):
            assert 1 <= size(tried) <= space.n
            for count, prompt, output, arrival in tried:
                assert count >= 1
                assert prompt >= 1
                assert output >= 1
                assert prompt + output <= space.memory
                assert 0 <= arrival <= space.latest
            assert space.repaired(tried) == tried
        groups = other


def test_groups_and_requests_are_the_same_thing() -> None:
    groups = (Group(2, 1, 3), Group(1, 4, 4, 5), Group(3, 1, 3))
    requests = expand(groups)
    assert requests.prompt.tolist() == [1, 1, 4, 1, 1, 1]
    assert requests.arrival.tolist() == [0, 0, 5, 0, 0, 0]
    assert grouped(requests) == groups


@pytest.mark.parametrize("space", [Space(9, 20), Space(9, 20, 2, 3, 12)])
def test_the_search_sees_the_numbers_that_the_public_run_gives(space: Space) -> None:
    rng = np.random.default_rng(5)
    targets = [Target(policy) for name, policy in POLICIES.items() if "lp" not in name]
    targets += [Target(ROUTERS[name]) for name in ("lor", "round-robin:central")]
    for _ in range(1):
        problem = space.problem(space.random(rng))
        for target in targets:
            assert target.value(problem) == tel_of(problem, target.run(problem)), target.name
        quick = quick_reference(problem, 1.0)
        assert tel_of(problem, quick.schedule) == quick.tel


def test_same_seed_same_answer_and_stopping_changes_nothing(tmp_path: Path) -> None:
    plan, target = small_plan(2), Target.named("svf")
    whole = run_islands(plan, target, plan.fresh(), evaluations=300, stop=lambda: False, jobs=1, report=lambda _: None)
    parts = plan.fresh()
    for evaluations in (37, 150, 151, 300):
        parts = run_islands(
            plan, target, parts, evaluations=evaluations, stop=lambda: False, jobs=1, report=lambda _: None
        )
        write_state(tmp_path / "state.json", plan, parts)
        parts = read_state(tmp_path / "state.json", plan)
    assert [i.state() for i in parts] == [i.state() for i in whole]
    assert [i.evaluations for i in whole] == [150, 150]
    other = Island(SPACE, (4, 0))
    other.advance(sides(target, "best-known"), 150)
    assert other.state() != whole[0].state()


def test_the_search_goes_through_all_its_phases() -> None:
    """Against a cheap made-up quotient: it polishes, starts anew, and ends at the best there is."""
    seen: list[str] = []

    def policy(problem: Problem) -> int:
        return int(problem.requests.peak.max()) * problem.n

    island = Island(Space(6, 9), (0,))
    while island.evaluations < 2000:
        island.advance(Sides(policy, lambda problem: 1), island.evaluations + 1)
        if not seen or seen[-1] != island.phase:
            seen.append(island.phase)
    assert seen[:3] == ["evolve", "polish", "evolve"]
    assert island.life >= 2
    assert island.best is not None
    assert island.best.ratio == 54  # n = 6 requests of peak 9


def test_a_policy_that_declines_is_no_victim() -> None:
    island = Island(SPACE, (0,))
    island.advance(Sides(lambda problem: None, lambda problem: 1), 50)
    assert (island.best, island.evaluations) == (None, 50)


def test_shrinking_keeps_the_ratio_and_the_result_is_smaller() -> None:
    compare = sides(Target.named("fcfs"), "best-known")
    groups = (Group(2, 1, 19), Group(1, 3, 2), Group(1, 1, 1), Group(6, 1, 1))
    space = Space(12, 20)
    problem = space.problem(groups)
    policy = compare.policy(problem)
    assert policy is not None
    found = Found(groups, policy, compare.reference(problem))
    small, where = shrunk(found, space, compare)
    assert small.ratio >= found.ratio
    assert (size(small.groups), len(small.groups)) < (size(groups), len(groups))
    assert where == space
    half, smaller = shrunk(found, space, compare, keep=found.ratio / 3, memory=True)
    assert smaller.memory < space.memory
    assert half.ratio >= found.ratio / 3
    assert Fraction(compare.policy(smaller.problem(half.groups)) or 0, half.reference) == half.ratio


def test_fcfs_and_total_size_are_beaten_beyond_their_families_from_random_starts() -> None:
    """At M = 16 the families of docs/math.md §9 have n = 25 and n = 10; the search gets no hint of them."""
    for name, groups in (
        ("fcfs", (Group(2, 1, 15), Group(23, 1, 1))),
        ("total-size", (Group(2, 1, 14), Group(8, 15, 1))),
    ):
        space, target = Space(size(groups), 16), Target.named(name)
        compare = sides(target, "best-known")
        family = space.problem(groups)
        known = Fraction(compare.policy(family) or 0, compare.reference(family))
        island = Island(space, (1, 0))
        island.advance(compare, 800)
        assert island.best is not None
        assert island.best.ratio >= known * 9 / 10, name


def test_the_optimum_is_the_optimum() -> None:
    result = attack(Target.named("mc-sf"), Space(5, 12), time_limit=None, evaluations=60, seed=2)
    record = result.record
    assert record.reference.kind == "optimum"
    rows = [(s, o, a) for count, s, o, a in record.requests for _ in range(count)]
    assert record.reference.value == optimum(rows, record.memory, record.batch)
    assert result.ratio > 1.2
    again = attack(Target.named("mc-sf"), Space(5, 12), time_limit=None, evaluations=60, seed=2).record
    assert replace(again, found=record.found) == record


def test_an_attack_against_a_bound_says_so(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    found = answer(
        "attack", "svf", "--n", "4", "--memory", "10", "--evaluations", "60", "--against", "bound", "-o", file
    )
    assert found["reference"] == "bound"
    assert json.loads(file.read_text())["reference"]["certificate"]


def test_attack_command_on_own_policy_resumed(tmp_path: Path) -> None:
    code = "def order(view):\n    return sorted(range(len(view)), key=lambda j: -view.prompt[j])\n"
    (tmp_path / "mine.py").write_text(code)
    common = ("attack", "mine", "--policy-file", "mine.py", "--n", "6", "--memory", "14", "--against", "best-known")
    whole = answer(*common, "--evaluations", "160", cwd=tmp_path)
    answer(*common, "--evaluations", "70", "--resume", "state.json", cwd=tmp_path)
    resumed = answer(*common, "--evaluations", "160", "--resume", "state.json", "-o", "r.json", cwd=tmp_path)
    assert resumed["evaluations"] == 160
    for key in ("ratio_exact", "requests", "policy_tel", "reference_tel"):
        assert whole[key] == resumed[key]
    assert set(whole) >= {"ratio", "policy", "reference", "n", "memory"}
    assert (whole["policy"], whole["memory"]) == ("mine", 14)
    assert "--policy-file" in answer("records", "--verify", "--folder", hall(tmp_path), code=1)["failures"][0]
    done = answer("records", "--verify", "--folder", "hall", "--policy-file", "mine.py", cwd=tmp_path)
    assert done["verified"] == 1
    message = refusal(*common, "--evaluations", "160", "--seed", "9", "--resume", "state.json", cwd=tmp_path)
    assert "another search: seed is 0 there and 9 here" in message


def hall(folder: Path) -> Path:
    (folder / "hall").mkdir()
    slot = "mine.small.json"
    (folder / "hall" / slot).write_text((folder / "r.json").read_text())
    return folder / "hall"


def test_attack_on_a_router(tmp_path: Path) -> None:
    found = answer(
        "attack", "lor", "--router", "--workers", "2", "--n", "6", "--memory", "12", "--arrivals", "4",
        "--against", "best-known", "--evaluations", "80", "-o", tmp_path / "r.json",
    )  # fmt: skip
    assert (found["policy"], found["workers"]) == ("lor", 2)
    assert found["ratio"] > 1
    assert json.loads((tmp_path / "r.json").read_text())["attacked"]["kind"] == "router"


def test_the_policy_is_not_told() -> None:
    """What it sees under attack is what it sees in any other command."""
    views: list[View] = []

    def order(view: View) -> list[int]:
        views.append(view)
        return list(range(len(view)))

    from kvbound.solvers.policies import custom_policy, run_policy

    policy = custom_policy("watching", order)
    attack(Target(policy), Space(4, 9), against="best-known", time_limit=None, evaluations=20)
    seen = views[-1]
    problem = Space(4, 9).problem((Group(2, 1, 3),))
    run_policy(problem, policy)
    assert type(seen) is type(views[-1]) is View
    assert seen.seed == views[-1].seed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("svff",), "did you mean"),
        (("all",), "stands for"),
        (("lor",), "is a router, no policy"),
        (("svf", "--router"), "is a policy, no router"),
        (("nix",), "unknown policy"),
        (("nix", "--router"), "unknown router"),
        (("svf", "--against", "best"), "known: optimum, best-known, bound"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], message: str) -> None:
    assert message in refusal("attack", *arguments, "--evaluations", "5")


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    path, plan = tmp_path / "s.json", small_plan()
    write_state(path, plan, plan.fresh())
    good = json.loads(path.read_text())
    for broken in ("", "{}", json.dumps({**good, "islands": [{"seed": [1]}]}), json.dumps({**good, "format": "x"})):
        path.write_text(broken)
        with pytest.raises(InputError, match=r"s\.json"):
            read_state(path, plan)
    with pytest.raises(OptionError, match="time limit or a number"):
        attack(Target.named("svf"), SPACE, time_limit=None)


@pytest.mark.slow
def test_processes_give_what_one_process_gives() -> None:
    plan, target = small_plan(2), Target.named("svf")
    one = run_islands(plan, target, plan.fresh(), evaluations=300, stop=lambda: False, jobs=1, report=lambda _: None)
    two = run_islands(plan, target, plan.fresh(), evaluations=300, stop=lambda: False, jobs=2, report=lambda _: None)
    assert [i.state() for i in one] == [i.state() for i in two]
