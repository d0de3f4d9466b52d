"""Run a router on a problem: loop, record, checker."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from kvbound.checkers.execution import require_valid_execution
from kvbound.models.execution import Execution
from kvbound.models.problem import Problem
from kvbound.solvers.engine.execute import execution_of, start_state
from kvbound.solvers.engine.rule import POINT
from kvbound.solvers.engine.state import State, with_longer_log
from kvbound.solvers.routers.loop import LOG_FULL, advance
from kvbound.solvers.routers.registry import Router
from kvbound.solvers.routers.state import new_queues


@dataclass(frozen=True, slots=True, eq=False)
class RouterRun:
    """What a router did.

    Parameters
    ----------
    name
        Name of the router.
    execution
        Every attempt to serve a request; it has passed the checker.
    seconds
        Wall time of the whole run, in seconds.
    """

    name: str
    execution: Execution
    seconds: float


def arrival_state(problem: Problem) -> State:
    """The engine's state before the first step, requests ranked by arrival, lengths as predicted."""
    order = np.argsort(problem.requests.arrival, kind="stable").astype(np.int64)
    return start_state(problem, order, POINT)


def run_router(problem: Problem, router: Router, *, seed: int = 0) -> RouterRun:
    """Run `router` on `problem`; every request is served and the execution has passed the checker.

    It sees prompts, arrivals and predictions; when lengths are known, the true lengths.

    Raises
    ------
    ScheduleError
        Never, unless the loop has a bug: the execution broke a rule.
    """
    begin = time.perf_counter()
    state = arrival_state(problem)
    queues = new_queues(problem, router.choices, seed)
    while advance(state, queues, router.rule, router.central, router.svf) == LOG_FULL:
        state = with_longer_log(state)
    done = execution_of(problem, state)
    seconds = time.perf_counter() - begin
    require_valid_execution(problem, done)
    return RouterRun(router.name, done, seconds)
