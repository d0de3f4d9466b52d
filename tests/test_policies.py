"""Policies against plain-loop references, brute force and the values of docs/math.md §9."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.checkers import check
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests
from kvbound.solvers.policies import POLICIES, View, custom_policy, resolve, run_policy, schedule_in_order


def jaillet(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    memory, n = int(rng.integers(30, 51)), int(rng.integers(40, 61))
    prompt = rng.integers(1, 6, n)
    output = np.array([rng.integers(1, memory - s + 1) for s in prompt])
    return Problem(Requests(prompt, output), Fleet.uniform(memory))


@st.composite
def problems(draw: st.DrawFn, most: int = 9, workers: int = 2) -> Problem:
    memory = draw(st.integers(3, 30))
    n = draw(st.integers(1, most))
    prompt = draw(st.lists(st.integers(0, memory - 1), min_size=n, max_size=n))
    output = [draw(st.integers(1, memory - s)) for s in prompt]
    arrival = draw(st.one_of(st.just([0] * n), st.lists(st.integers(0, 20), min_size=n, max_size=n)))
    fleet = Fleet.uniform(memory, draw(st.integers(1, workers)), draw(st.one_of(st.none(), st.integers(1, 4))))
    return Problem(Requests(prompt, output, arrival), fleet)


def plain_list_schedule(problem: Problem, order: list[int]) -> list[tuple[int, int]]:
    """Step by step, worker by worker, straight from docs/math.md §7; slow on purpose."""
    s, o, a = (x.tolist() for x in (problem.requests.prompt, problem.requests.output, problem.requests.arrival))
    placed: dict[int, tuple[int, int]] = {}

    def fits(j: int, g: int, now: int) -> bool:
        running = [(i, k) for i, (k, w) in placed.items() if w == g] + [(j, now)]
        for t in range(now + 1, now + 1 + max(o)):
            active = [(i, k) for i, k in running if k < t <= k + o[i]]
            if sum(s[i] + t - k for i, k in active) > problem.fleet.memory[g] or len(active) > problem.fleet.caps[g]:
                return False
        return True

    now = 0
    while len(placed) < len(s):
        waiting = [j for j in order if j not in placed and a[j] <= now]
        while waiting:
            worker = next((g for g in range(len(problem.fleet)) if fits(waiting[0], g, now)), None)
            if worker is None:
                break
            placed[waiting.pop(0)] = (now, worker)
        now += 1
    return [placed[j] for j in range(len(s))]


@settings(max_examples=150, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_list_scheduling_equals_the_step_by_step_reference(problem: Problem, random: object) -> None:
    order = list(range(problem.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    schedule, _ = schedule_in_order(problem, order)
    assert list(zip(schedule.start.tolist(), schedule.worker.tolist(), strict=True)) == plain_list_schedule(
        problem, order
    )


BY_LP = ("sorted-lp", "lp-swap")


@settings(max_examples=100, deadline=None)
@given(problems(most=12))
def test_every_policy_passes_the_checker(problem: Problem) -> None:
    for name in POLICIES.keys() - set(BY_LP):
        run = run_policy(problem, POLICIES[name])
        assert run.schedule is not None
        assert check(problem, run.schedule).objective == run.tel


@settings(max_examples=20, deadline=None)
@given(problems(most=10), st.sampled_from(["lp", "prices"]))
def test_policies_of_the_relaxation_pass_the_checker(problem: Problem, method: str) -> None:
    for policy in resolve([f"{name},method={method}" for name in BY_LP]):
        run = run_policy(problem, policy)
        assert run.schedule is not None
        assert check(problem, run.schedule).objective == run.tel


@settings(max_examples=60, deadline=None)
@given(problems(most=8, workers=1), st.randoms(use_true_random=False))
def test_relabelling_changes_nothing_but_ties(problem: Problem, random: object) -> None:
    """Without ties in the key, the TEL does not depend on the numbering."""
    index = list(range(problem.n))
    random.shuffle(index)  # type: ignore[attr-defined]
    relabelled = Problem(problem.requests.take(index), problem.fleet)
    for name, key in (("mc-sf", "output"), ("svf", "volume"), ("total-size", "peak")):
        if len(set(getattr(problem.requests, key).tolist())) == problem.n:
            assert run_policy(problem, POLICIES[name]).tel == run_policy(relabelled, POLICIES[name]).tel


@pytest.mark.parametrize(("seed", "memory", "n", "tel"), [(0, 47, 53, 12572), (1, 39, 50, 9017)])
def test_mc_sf_on_jaillet_instances(seed: int, memory: int, n: int, tel: int) -> None:
    problem = jaillet(seed)
    assert (problem.fleet.memory, problem.n) == ((memory,), n)
    assert run_policy(problem, POLICIES["mc-sf"]).tel == tel


def test_identical_requests_give_equal_tel_in_every_order() -> None:
    problem = Problem(Requests([3] * 20, [7] * 20), Fleet.uniform(35))
    assert len({run_policy(problem, p).tel for p in POLICIES.values()}) == 1


@pytest.mark.parametrize(
    ("name", "groups", "ratio"),
    [
        ("fcfs", ((2, 1, 195), (277, 1, 1)), 49.0),
        ("mc-sf", ((7, 195, 1), (98, 1, 2)), 3.1),
        ("total-size", ((2, 1, 194), (28, 195, 1)), 11.4),
    ],
)
def test_bad_families_separate_the_policies(name: str, groups: tuple[tuple[int, int, int], ...], ratio: float) -> None:
    """docs/math.md §9 at M = 196; Sorted-F meets the best known schedule on all of them."""
    counts = [count for count, _, _ in groups]
    requests = Requests(np.repeat([s for _, s, _ in groups], counts), np.repeat([o for _, _, o in groups], counts))
    problem = Problem(requests, Fleet.uniform(196))
    bad, good = run_policy(problem, POLICIES[name]).tel, run_policy(problem, POLICIES["sorted-f:exact"]).tel
    assert bad is not None
    assert good is not None
    assert bad / good == pytest.approx(ratio, abs=0.06)


def test_unknown_policy_suggests_the_nearest() -> None:
    with pytest.raises(OptionError, match="did you mean 'sorted-f:swap'"):
        resolve(["sorted-f:swop"])
    assert next(p.name for p in resolve(["svf", "all"])) == "svf"
    assert len(resolve(["all", "svf"])) == len(POLICIES)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1], "leaves out request 2"),
        ([0, 1, 2, 2], "request 2 more than once"),
        ([0, 1, 3], "contains 3"),
        ([0, 1, -1], "contains -1"),
        ([0.5, 1, 2], "whole request indices"),
        ([[0, 1, 2]], "flat sequence"),
        (None, "sequence of request indices|flat sequence"),
        (["a", "b", "c"], "sequence of request indices"),
    ],
)
def test_a_custom_order_that_is_no_permutation_is_refused(order: object, message: str) -> None:
    problem = Problem(Requests([1, 1, 1], [1, 2, 3]), Fleet.uniform(10))
    with pytest.raises(InputError, match=message):
        run_policy(problem, custom_policy("mine", lambda view: order))  # type: ignore[arg-type, return-value]


def test_a_custom_policy_sees_predictions_not_lengths() -> None:
    problem = Problem(Requests([6, 1], [2, 9], None, [9, 1], [9, 3]), Fleet.uniform(10))
    seen: list[list[int]] = []

    def order(view: View) -> list[int]:
        seen.append(view.output.tolist())
        return np.argsort(view.output, kind="stable").tolist()

    run = run_policy(problem, custom_policy("mine", order))
    assert seen == [[4, 2]]  # what fits beside the prompt
    assert run.schedule is not None
    assert run.schedule.start.tolist() == [9, 0]


def test_same_seed_same_answer() -> None:
    rng = np.random.default_rng(5)
    problem = Problem(Requests(rng.integers(1, 50, 900), rng.integers(1, 50, 900)), Fleet.uniform(400))
    policy = POLICIES["sorted-f:quantile"]
    assert run_policy(problem, policy, seed=3).schedule == run_policy(problem, policy, seed=3).schedule
