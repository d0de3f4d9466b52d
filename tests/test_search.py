"""Improvement search: the incremental decoder equals the plain one, and searching never makes a schedule worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.checkers import check
from kvbound.models import Fleet, Problem, Requests, Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.search import improve
from kvbound.solvers.search.sequence import Checkpoints, Instance, decode, most_active, save_checkpoints

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
    runs = [improve(problem, first.schedule, deadline=Deadline(), seed=seed, moves=3000) for _ in range(2)]
    assert runs[0].schedule == runs[1].schedule
    assert runs[0].tel <= first.tel
    assert check(problem, runs[0].schedule).objective == runs[0].tel
    assert runs[0].moves == 3000


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
    assert found.tel < 0.96 * best.tel


def test_search_stops_at_its_target() -> None:
    problem = Problem(Requests([1, 1], [2, 3]), Fleet.uniform(100))
    first = run_policy(problem, POLICIES["fcfs"])
    assert first.schedule is not None
    assert improve(problem, first.schedule, deadline=Deadline(), seed=0, target=5).moves == 0
