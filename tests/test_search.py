"""Improvement search: the incremental decoder equals the plain one, and searching never makes a schedule worse."""

from __future__ import annotations

import numpy as np
import pytest
from brute import optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.checkers import check
from kvbound.instances import load
from kvbound.models import Fleet, Problem, Requests, Schedule
from kvbound.models.errors import OptionError
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.search import improve
from kvbound.solvers.search.incumbent import Budget, Incumbent
from kvbound.solvers.search.rounds import Rounds
from kvbound.solvers.search.sequence import Checkpoints, Instance, decode, delays_of, most_active, save_checkpoints

LIMIT = np.int64(1) << 61


def random_problem(rng: np.random.Generator, n: int) -> Problem:
    memory = int(rng.integers(4, 60))
    prompt = rng.integers(0, memory, n)
    output = np.array([rng.integers(1, memory - s + 1) for s in prompt])
    arrival = rng.integers(0, 30, n) if rng.random() < 0.5 else np.zeros(n, np.int64)
    batch = int(rng.integers(1, 5)) if rng.random() < 0.3 else None
    return Problem(Requests(prompt, output, arrival), Fleet.uniform(memory, int(rng.integers(1, 3)), batch))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_resuming_from_checkpoints_equals_decoding_from_the_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 40)))
    n, inst = problem.n, Instance.of(problem)
    rest = int((problem.requests.output - problem.requests.arrival).sum())
    points = Checkpoints.empty(n, len(problem.fleet), most_active(problem))
    spare = len(points.now) - 1
    start, worker = np.zeros(n, np.int64), np.zeros(n, np.int64)
    sequence, delay = rng.permutation(n), rng.integers(0, 3, n)
    decode(sequence, delay, 0, inst, points, spare, LIMIT, rest, start, worker)
    save_checkpoints(sequence, 0, inst, points, start, worker)
    for _ in range(10):
        first = int(rng.integers(0, n))
        sequence[first:] = rng.permutation(sequence[first:])
        tel = decode(sequence, delay, first, inst, points, spare, LIMIT, rest, start, worker)
        save_checkpoints(sequence, first, inst, points, start, worker)
        fresh = Checkpoints.empty(n, len(problem.fleet), most_active(problem))
        full, other = np.zeros(n, np.int64), np.zeros(n, np.int64)
        assert decode(sequence, delay, 0, inst, fresh, spare, LIMIT, rest, full, other) == tel
        assert decode(sequence, delay, 0, inst, fresh, spare, tel - 1, rest, full, other) == -1
        assert start.tolist() == full.tolist()
        report = check(problem, Schedule(start.copy(), worker.copy()))
        assert report.objective == tel


@pytest.mark.parametrize("seed", range(6))
def test_search_improves_and_is_repeatable(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), 25)
    first = run_policy(problem, POLICIES["fcfs"])
    assert first.schedule is not None
    runs = [improve(problem, first.schedule, deadline=Deadline(), seed=seed, moves=3000, threads=t) for t in (1, 2)]
    assert runs[0].schedule == runs[1].schedule
    assert runs[0].tel <= first.tel
    assert check(problem, runs[0].schedule).objective == runs[0].tel
    assert runs[0].moves == runs[1].moves >= 3000
    assert [(s.moves, s.tel, s.stage) for s in runs[0].steps] == [(s.moves, s.tel, s.stage) for s in runs[1].steps]


def test_search_beats_every_policy_on_a_crowded_backlog() -> None:
    rng = np.random.default_rng(0)
    memory, n = int(rng.integers(30, 51)), int(rng.integers(40, 61))
    prompt = rng.integers(1, 6, n)
    problem = Problem(Requests(prompt, [rng.integers(1, memory - s + 1) for s in prompt]), Fleet.uniform(memory))
    runs = [run_policy(problem, p) for p in POLICIES.values()]
    best = min((r for r in runs if r.tel is not None), key=lambda r: r.tel or 0)
    assert best.schedule is not None
    found = improve(problem, best.schedule, deadline=Deadline(), seed=0, moves=400_000)
    assert best.tel is not None
    assert found.tel < 0.97 * best.tel


def test_search_stops_at_its_target() -> None:
    problem = Problem(Requests([1, 1], [2, 3]), Fleet.uniform(100))
    first = run_policy(problem, POLICIES["fcfs"])
    assert first.schedule is not None
    assert improve(problem, first.schedule, deadline=Deadline(), seed=0, target=5).moves == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_delays_reproduce_a_schedule_that_waits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 25)))
    problem = Problem(problem.requests, Fleet.uniform(problem.fleet.largest, 1, problem.fleet.batch[0]))
    n, inst = problem.n, Instance.of(problem)
    rest = int((problem.requests.output - problem.requests.arrival).sum())
    points = Checkpoints.empty(n, 1, most_active(problem))
    sequence, delay = rng.permutation(n), rng.integers(0, 4, n)
    start, worker, again = (np.zeros(n, np.int64) for _ in range(3))
    decode(sequence, delay, 0, inst, points, len(points.now) - 1, LIMIT, rest, start, worker)
    found = delays_of(sequence, start, inst)
    decode(sequence, found, 0, inst, points, len(points.now) - 1, LIMIT, rest, again, worker)
    assert again.tolist() == start.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_every_beam_search_gives_a_valid_schedule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(2, 60)))
    first = run_policy(problem, POLICIES["fcfs"])
    assert first.schedule is not None
    clock = Deadline()
    best = Incumbent(problem, first.schedule, clock, None, None)
    rounds = Rounds(problem, rng)
    for _ in range(12):
        before = best.tel
        better = rounds.draw(best, Budget(best, clock, None), [int(rng.integers(0, problem.n))])
        assert better == (best.tel < before)
        assert check(problem, best.schedule).objective == best.tel


def test_search_finds_optima_of_small_instances() -> None:
    hits = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        prompt = rng.integers(1, 5, 5)
        problem = Problem(Requests(prompt, [rng.integers(1, 11 - s) for s in prompt]), Fleet.uniform(10))
        first = run_policy(problem, POLICIES["svf"])
        assert first.schedule is not None
        found = improve(problem, first.schedule, deadline=Deadline(), seed=seed, moves=5_000)
        r = problem.requests
        least = optimum(list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)), [10], [None])
        assert found.tel >= least
        hits += found.tel == least
    assert hits >= 9


def test_beam_search_packs_a_long_backlog_better_than_any_policy() -> None:
    problem = load("mix:n=300,long=0.2,seed=0").problem
    runs = [run_policy(problem, p) for p in POLICIES.values()]
    best = min((r for r in runs if r.tel is not None), key=lambda r: r.tel or 0)
    assert best.schedule is not None
    assert best.tel is not None
    found = improve(problem, best.schedule, deadline=Deadline(), seed=0, moves=300_000)
    assert found.tel < 0.975 * best.tel
    assert found.steps[0].tel == best.tel
    assert [s.tel for s in found.steps] == sorted({s.tel for s in found.steps}, reverse=True)


def test_windows_of_cp_sat_find_what_the_policy_missed() -> None:
    problem = load("tiny:n=12,seed=0").problem
    first = run_policy(problem, POLICIES["fcfs"])
    assert first.schedule is not None
    found = improve(problem, first.schedule, deadline=Deadline(30), seed=0, moves=60_000, windows=1.0)
    assert found.tel < found.steps[0].tel
    assert {step.stage for step in found.steps[1:]} == {"windows"}
    with pytest.raises(OptionError, match="share"):
        improve(problem, first.schedule, deadline=Deadline(1), seed=0, windows=1.5)
