"""The engine against the step-by-step reference, and the checker of executions against both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_engine import plain_execute

from kvbound import load
from kvbound.checkers.execution import check_execution, require_valid_execution
from kvbound.checkers.schedule import require_valid
from kvbound.models import Fleet, OptionError, Problem, Requests
from kvbound.models.errors import ScheduleError
from kvbound.models.execution import Execution
from kvbound.solvers.engine import Rule, assumed_length, execute
from kvbound.solvers.engine.execute import start_state
from kvbound.solvers.engine.loop import PLAN_DUE, advance
from kvbound.solvers.engine.state import BASE, COUNT, NEVER, NOW, PLAN_AT, PLANNED, WINDOW, State
from kvbound.solvers.policies import POLICIES, View, custom_policy, resolve, run_policy
from kvbound.solvers.policies.online import make_plan

EVICT, QUEUE, LENGTH = ("youngest", "bound"), ("order", "bound", "plan"), ("point", "low", "high")


def random_problem(rng: np.random.Generator, n: int | None = None) -> Problem:
    """Small, tight, with predictions of every kind: exact, intervals around the truth, plainly wrong."""
    n = int(rng.integers(1, 10)) if n is None else n
    workers = int(rng.integers(1, 4))
    largest = int(rng.integers(4, 40))
    memory = [largest, *rng.integers(max(2, largest // 2), largest + 1, workers - 1).tolist()]
    batch = [None if rng.random() < 0.6 else int(rng.integers(1, 5)) for _ in memory]
    prompt = rng.integers(0, max(1, largest // int(rng.integers(1, 5))), n)
    output = np.array([rng.integers(1, largest - s + 1) for s in prompt])
    arrival = np.zeros(n, np.int64) if rng.random() < 0.4 else rng.integers(0, int(rng.integers(2, 60)), n)
    kind = rng.integers(0, 4)
    if kind == 0:
        low = high = output
    elif kind == 1:
        low, high = (output - rng.integers(0, output)), output + rng.integers(0, 9, n)
    else:
        low = rng.integers(1, largest + 5, n)
        high = low + rng.integers(0, 9, n) * (kind == 3)
    return Problem(Requests(prompt, output, arrival, low, high), Fleet(tuple(memory), tuple(batch)))


def shortest_three(waiting: list[int], length: list[int]) -> list[int]:
    """A plan for tests: the three shortest, longest first (so that it is none of the engine's own orders)."""
    return sorted(waiting, key=lambda j: (length[j], j))[:3][::-1]


def plan_three(state: State) -> None:
    waiting = sorted(state.window[0, : state.clock[WINDOW]].tolist())
    batch = shortest_three(waiting, state.job[4].tolist())
    state.window[1, : len(batch)] = batch
    state.clock[PLANNED], state.clock[PLAN_AT] = len(batch), 0


def both(problem: Problem, rule: Rule, order: np.ndarray) -> tuple[Execution, list[tuple[int, int, int, int]]]:
    r = problem.requests
    rank = np.empty(problem.n, np.int64)
    rank[order] = np.arange(problem.n)
    done = execute(problem, order, rule, planner=plan_three)
    plain = plain_execute(
        list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)),
        assumed_length(problem, rule.length).tolist(),
        rank.tolist(),
        list(problem.fleet.memory),
        list(problem.fleet.batch),
        rule.evict,
        rule.queue,
        shortest_three,
    )
    return done, plain


@pytest.mark.parametrize(("evict", "queue", "length"), list(product(EVICT, QUEUE, LENGTH)))
def test_engine_equals_the_step_by_step_reference(evict: str, queue: str, length: str) -> None:
    """Same attempts in the same order, same counters, 250 random cases for each of the 18 rules."""
    rng = np.random.default_rng([EVICT.index(evict), QUEUE.index(queue), LENGTH.index(length)])
    rule = Rule(length, evict, queue)  # type: ignore[arg-type]
    evictions = 0
    for _ in range(250):
        problem = random_problem(rng)
        done, plain = both(problem, rule, rng.permutation(problem.n))
        attempts = np.stack((done.request, done.worker, done.start, done.end), axis=1)
        assert [tuple(row) for row in attempts.tolist()] == plain
        lost = [(j, e - k) for j, _, k, e in plain if e - k < problem.requests.output[j]]
        tokens = sum(made for _, made in lost)
        assert (done.evictions, done.lost_tokens) == (len(lost), tokens)
        assert done.recomputed_tokens == tokens + sum(int(problem.requests.prompt[j]) for j, _ in lost)
        assert require_valid_execution(problem, done) == require_valid(problem, done.schedule(problem.requests))
        evictions += len(lost)
    assert evictions > 100, "cases without evictions show nothing"


@pytest.mark.parametrize(("evict", "queue"), list(product(EVICT, QUEUE)))
def test_engine_equals_the_reference_on_longer_queues(evict: str, queue: str) -> None:
    """70 requests on two unequal workers that hold a dozen each: heaps, windows and slots are not trivial."""
    rng = np.random.default_rng([7, EVICT.index(evict), QUEUE.index(queue)])
    n = 70
    prompt, output = rng.integers(1, 30, n), rng.integers(1, 60, n)
    low = np.maximum(1, (output * rng.uniform(0.2, 1.2, n)).astype(np.int64))
    requests = Requests(prompt, output, rng.integers(0, 150, n), low, low + rng.integers(0, 40, n))
    problem = Problem(requests, Fleet((400, 250), (None, 9)))
    done, plain = both(problem, Rule("low", evict, queue), rng.permutation(n))  # type: ignore[arg-type]
    assert done.evictions > 10
    assert [tuple(row) for row in np.stack((done.request, done.worker, done.start, done.end), axis=1).tolist()] == plain


# --- theorems -------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn, most: int = 12, arrivals: bool = True) -> Problem:
    """Known lengths, any fleet, tight memory."""
    memory = draw(st.lists(st.integers(4, 40), min_size=1, max_size=3))
    batch = tuple(draw(st.one_of(st.none(), st.integers(1, 4))) for _ in memory)
    n = draw(st.integers(1, most))
    prompt = draw(st.lists(st.integers(0, max(memory) - 1), min_size=n, max_size=n))
    output = [draw(st.integers(1, max(memory) - s)) for s in prompt]
    arrival = draw(st.lists(st.integers(0, 50), min_size=n, max_size=n)) if arrivals and draw(st.booleans()) else None
    return Problem(Requests(prompt, output, arrival), Fleet(tuple(memory), batch))


def seen_as(problem: Problem, low: object, high: object) -> Problem:
    r = problem.requests
    return Problem(Requests(r.prompt, r.output, r.arrival, low, high), problem.fleet)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(problems(), st.data())
def test_a_min_whose_lower_bounds_are_true_is_mc_sf(problem: Problem, data: st.DataObject) -> None:
    """Same schedule, no eviction, whatever the upper bounds."""
    output = problem.requests.output
    high = output + np.array(data.draw(st.lists(st.integers(0, 60), min_size=problem.n, max_size=problem.n)))
    run = run_policy(seen_as(problem, output, high), POLICIES["a-min"])
    assert run.execution is not None
    assert run.execution.evictions == 0
    assert run.schedule == run_policy(problem, POLICIES["mc-sf"]).schedule


@settings(max_examples=150, deadline=None)
@given(problems(), st.data())
def test_a_max_whose_upper_bounds_are_true_is_mc_sf(problem: Problem, data: st.DataObject) -> None:
    """Same schedule, no eviction, whatever the lower bounds."""
    output = problem.requests.output
    low = [data.draw(st.integers(1, int(o))) for o in output]
    run = run_policy(seen_as(problem, low, output), POLICIES["a-max"])
    assert run.execution is not None
    assert run.execution.evictions == 0
    assert run.schedule == run_policy(problem, POLICIES["mc-sf"]).schedule


@settings(max_examples=150, deadline=None)
@given(problems(), st.data())
def test_a_max_never_evicts_when_upper_bounds_hold(problem: Problem, data: st.DataObject) -> None:
    output = problem.requests.output
    high = output + np.array(data.draw(st.lists(st.integers(0, 60), min_size=problem.n, max_size=problem.n)))
    run = run_policy(seen_as(problem, np.ones_like(output), high), POLICIES["a-max"])
    assert run.execution is not None
    assert (run.execution.evictions, run.execution.lost_tokens, run.execution.recomputed_tokens) == (0, 0, 0)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_predictions_that_are_true_change_nothing(problem: Problem) -> None:
    """Every policy: point predictions, and intervals of one value, equal to the truth."""
    told = seen_as(problem, problem.requests.output, problem.requests.output)
    for policy in QUICK:
        known, run = run_policy(problem, policy), run_policy(told, policy)
        assert known.execution is None
        assert run.execution is not None
        assert run.execution.evictions == 0
        assert run.schedule == known.schedule


#: All but those that solve an LP for their order: the engine treats every order alike.
QUICK = [policy for policy in POLICIES.values() if "lp" not in policy.name]
FIXED_KEYS = ("fcfs", "mc-sf", "total-size", "svf", "volume-classes", "area", "wspt", "weighted", "shortest-prompt")


@settings(max_examples=40, deadline=None)
@given(problems(arrivals=False), st.integers(1, 9))
def test_online_with_all_arrivals_0_is_offline(problem: Problem, later: int) -> None:
    """Every order: the engine does what the offline reference does with that order, and the same later on.

    The reference is told the whole list at once and knows no arrivals and no clock. An order by a fixed key is the
    same online and offline; the orders of the other policies are taken as they come.
    """
    r = problem.requests
    shifted = Problem(Requests(r.prompt, r.output, np.full(problem.n, later)), problem.fleet)
    for policy in QUICK:
        if policy.rule.queue == "plan":
            continue
        run = run_policy(problem, policy)
        assert run.schedule is not None
        order = np.asarray(policy.order(View.of(problem)))
        if policy.name in FIXED_KEYS:
            assert order.tolist() == np.asarray(policy.order(View.of(shifted))).tolist()
        assert list(zip(run.schedule.start.tolist(), run.schedule.worker.tolist(), strict=True)) == offline(
            problem, order.tolist()
        )
        moved = run_policy(shifted, custom_policy(policy.name, lambda view, order=order: order))
        assert moved.schedule is not None
        assert (moved.schedule.start - later).tolist() == run.schedule.start.tolist()
        assert moved.tel == run.tel


def offline(problem: Problem, order: list[int]) -> list[tuple[int, int]]:
    """One request after the other, each at the first step from the previous start on at which it fits; no clock."""
    s, o = problem.requests.prompt.tolist(), problem.requests.output.tolist()
    placed: dict[int, tuple[int, int]] = {}
    last = 0
    for j in order:
        options = []
        for g, (memory, cap) in enumerate(zip(problem.fleet.memory, problem.fleet.caps, strict=True)):
            mine = [(s[i], o[i], k) for i, (k, w) in placed.items() if w == g]
            if s[j] + o[j] > memory:
                continue
            k = last
            while any(
                sum(si + t - ki for si, oi, ki in active) > memory or len(active) > cap
                for t in range(k + 1, k + o[j] + 1)
                for active in [[(si, oi, ki) for si, oi, ki in [*mine, (s[j], o[j], k)] if ki < t <= ki + oi]]
            ):
                k += 1
            options.append((k, g))
        last, worker = min(options)
        placed[j] = last, worker
    return [placed[j] for j in range(problem.n)]


# --- Sorted-F-Online ------------------------------------------------------------------------------------------------


def test_online_plans_do_not_look_ahead() -> None:
    """What arrives later changes nothing before it arrives."""
    rng = np.random.default_rng(3)
    n = 60
    prompt, output = rng.integers(1, 30, n), rng.integers(1, 30, n)
    arrival = np.sort(rng.integers(0, 200, n))
    fleet = Fleet.uniform(100)
    whole = run_policy(Problem(Requests(prompt, output, arrival), fleet), POLICIES["sorted-f:online"]).schedule
    for cut in (10, 30, 50):
        early = Requests(prompt[:cut], output[:cut], arrival[:cut])
        part = run_policy(Problem(early, fleet), POLICIES["sorted-f:online"]).schedule
        assert whole is not None
        assert part is not None
        before = part.start < arrival[cut]
        assert before.any()
        assert (whole.start[:cut][before] == part.start[before]).all()


def test_online_plan_is_the_batch_of_least_f_in_the_free_memory() -> None:
    """Against brute force over all batches, from states in the middle of executions."""
    rng = np.random.default_rng(11)
    hits = plans = 0
    for _ in range(60):
        n = int(rng.integers(2, 9))
        prompt, output = rng.integers(0, 12, n), rng.integers(1, 12, n)
        problem = Problem(Requests(prompt, output, rng.integers(0, 30, n)), Fleet.uniform(int(rng.integers(24, 40))))
        state = start_state(problem, np.arange(n), Rule(queue="plan"))
        while advance(state, 2, True, NEVER) == PLAN_DUE:
            make_plan(state, n)
            batch = state.window[1, : state.clock[PLANNED]].tolist()
            waiting = state.window[0, : state.clock[WINDOW]].tolist()
            held = state.worker[0, BASE] + state.worker[0, COUNT] * (state.clock[NOW] + 1)
            room = max(problem.fleet.largest - int(held), min(int(problem.requests.peak[j]) for j in waiting))
            least = min(
                sum(int(output[j]) for j in x) / len(x) ** 2
                for size in range(1, len(waiting) + 1)
                for x in combinations(waiting, size)
                if sum(int(problem.requests.peak[j]) for j in x) <= room
            )
            value = sum(int(output[j]) for j in batch) / len(batch) ** 2
            assert sum(int(problem.requests.peak[j]) for j in batch) <= room
            assert batch == sorted(batch, key=lambda j: (output[j], prompt[j], j))
            assert value >= least - 1e-12
            plans += 1
            hits += value <= least + 1e-12
    assert plans > 100
    assert hits >= 0.9 * plans, "local search that rarely finds the best of a few requests is broken"


def test_window_caps_a_plan_and_seconds_shrink_it() -> None:
    problem = load("mix:n=300,seed=0,arrivals=poisson,rate=0.3").problem
    narrow, wide = (resolve([f"sorted-f:online,window={w}"])[0] for w in (1, 300))
    assert (narrow.rule.window, wide.rule.window) == (1, 300)
    # A window of one request is list scheduling by o·p: nothing is left to choose.
    assert run_policy(problem, narrow).tel != run_policy(problem, wide).tel
    capped = resolve(["sorted-f:online,window=300,seconds=0.000001"])[0]
    assert capped.rule.plan_seconds == 1e-6
    assert run_policy(problem, capped).tel is not None
    with pytest.raises(OptionError, match="window=0"):
        resolve(["sorted-f:online,window=0"])


# --- the checker ----------------------------------------------------------------------------------------------------


def an_execution() -> tuple[Problem, Execution]:
    """Request 0 is taken for 2 tokens and makes 9, so request 1 is evicted and tries again."""
    problem = Problem(Requests([1, 6], [9, 2], None, [2, 4], [2, 4]), Fleet((10,), (2,)))
    done = execute(problem, np.array([0, 1]))
    assert (done.evictions, done.lost_tokens, done.recomputed_tokens) == (1, 1, 7)
    return problem, done


def test_checker_accepts_what_happened_and_recomputes_tel() -> None:
    problem, done = an_execution()
    report = check_execution(problem, done)
    assert report.ok
    assert report.objective == 9 + 11
    assert done.schedule(problem.requests).start.tolist() == [0, 9]
    assert done.first_start(problem.requests).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("memory", lambda d: replace(d, start=d.start - [0, 0, 6], end=d.end - [0, 0, 6])),
        ("counters", lambda d: replace(d, evictions=0)),
        ("counters", lambda d: replace(d, lost_tokens=2)),
        ("counters", lambda d: replace(d, recomputed_tokens=0)),
        ("served-once", lambda d: replace(d, end=np.add(d.end, [1, 0, 0]))),
        ("served-once", lambda d: replace(d, end=d.end - [0, 0, 1])),
        ("served-once", lambda d: replace(d, end=np.add(d.end, [0, 1, 0]))),
        ("served-once", lambda d: cut(d, [0, 1])),
        ("attempt", lambda d: replace(d, request=np.add(d.request, [0, 0, 1]))),
        ("attempt", lambda d: replace(d, worker=np.add(d.worker, [0, 1, 0]))),
        ("attempt", lambda d: replace(d, end=d.end - [0, 1, 0])),
        ("attempt", lambda d: replace(d, start=d.start - [0, 0, 8], end=d.end - [0, 0, 8])),
    ],
)
def test_checker_finds_each_broken_rule(rule: str, change: Callable[[Execution], Execution]) -> None:
    problem, done = an_execution()
    report = check_execution(problem, change(done))
    assert rule in {v.rule for v in report.violations}
    assert all(v.amount > 0 for v in report.violations)
    assert report.objective is None
    with pytest.raises(ScheduleError, match="breaks"):
        require_valid_execution(problem, change(done))


def test_checker_finds_early_starts_and_full_batches() -> None:
    problem, done = an_execution()
    late = Problem(replace(problem.requests, arrival=np.array([0, 3])), problem.fleet)
    assert {v.rule for v in check_execution(late, done).violations} == {"arrival"}
    single = Problem(problem.requests, Fleet((10,), (1,)))
    assert {v.rule for v in check_execution(single, done).violations} == {"batch"}


def cut(done: Execution, keep: list[int]) -> Execution:
    return replace(
        done, request=done.request[keep], worker=done.worker[keep], start=done.start[keep], end=done.end[keep]
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_checker_agrees_with_a_step_by_step_count(seed: int) -> None:
    """Shift one attempt of a valid execution: the checker objects exactly when a plain count does."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 8)))
    done = execute(problem, rng.permutation(problem.n), Rule("low", "bound", "bound"))
    shift = np.zeros(len(done), np.int64)
    shift[int(rng.integers(0, len(done)))] = int(rng.integers(-3, 4))
    moved = replace(
        done, start=np.maximum(done.start + shift, 0), end=np.maximum(done.start + shift, 0) + done.end - done.start
    )
    assert check_execution(problem, moved).ok is plainly_valid(problem, moved)


def plainly_valid(problem: Problem, done: Execution) -> bool:
    r = problem.requests
    rows = list(zip(done.request.tolist(), done.worker.tolist(), done.start.tolist(), done.end.tolist(), strict=True))
    for j, g, k, e in rows:
        if k < r.arrival[j] or e <= k:
            return False
        for t in range(k + 1, e + 1):
            here = [(i, b) for i, w, b, c in rows if w == g and b < t <= c]
            if sum(int(r.prompt[i]) + t - b for i, b in here) > problem.fleet.memory[g]:
                return False
            if len(here) > problem.fleet.caps[g] or sum(i == j for i, w, b, c in rows if b < t <= c) > 1:
                return False
    for j in range(problem.n):
        ends = sorted((e, e - k) for i, _, k, e in rows if i == j)
        if ends[-1][1] != r.output[j] or any(made >= r.output[j] for _, made in ends[:-1]):
            return False
    return True


# --- speed class, not speed ------------------------------------------------------------------------------------------


def test_the_engine_jumps_over_idle_time() -> None:
    """A step-by-step engine would not come back from 10^11 steps."""
    arrival = np.array([0, 10**10, 10**11])
    output = np.array([10**8, 10**8, 7])
    problem = Problem(Requests([1, 1, 1], output, arrival, [5, 5, 5], [5, 5, 5]), Fleet.uniform(10**9))
    for name in ("fcfs", "a-min", "a-max", "sorted-f:online"):
        run = run_policy(problem, POLICIES[name])
        assert run.schedule is not None
        assert run.schedule.start.tolist() == arrival.tolist()


def test_same_seed_same_answer_for_every_rule() -> None:
    problem = load("mix:n=400,seed=1,arrivals=poisson,rate=0.2,noise=0.5").problem
    for name in ("a-min", "a-max", "sorted-f:a-min", "sorted-f:online"):
        first, second = (run_policy(problem, POLICIES[name]) for _ in range(2))
        assert first.execution is not None
        assert second.execution is not None
        assert (first.execution.start == second.execution.start).all()
        assert first.execution.evictions == second.execution.evictions
