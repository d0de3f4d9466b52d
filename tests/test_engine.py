"""The engine against the step-by-step reference, and the checker of executions against both."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from plain_engine import plain_execute

from kvbound.checkers.execution import require_valid_execution
from kvbound.checkers.schedule import require_valid
from kvbound.models import Fleet, Problem, Requests
from kvbound.models.execution import Execution
from kvbound.solvers.engine import Rule, assumed_length, execute
from kvbound.solvers.engine.state import PLAN_AT, PLANNED, WINDOW, State

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
