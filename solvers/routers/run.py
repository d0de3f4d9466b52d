"""Run a router on a problem: loop, record, checker."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from kvbound.checkers.execution import require_valid_execution
from kvbound.models.execution import Execution
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.solvers.engine.execute import execution_of, start_state
from kvbound.solvers.engine.rule import POINT
from kvbound.solvers.engine.state import State, with_longer_log
from kvbound.solvers.routers.loop import LOG_FULL, advance
from kvbound.solvers.routers.priced_run import Watcher, run_bid_price
from kvbound.solvers.routers.prices import FloatArray
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
    milliseconds
        Wall time of each decision of the bid-price router; None for baselines, whose loop is one compiled call.
    """

    name: str
    execution: Execution
    seconds: float
    milliseconds: FloatArray | None = None


def arrival_state(problem: Problem) -> State:
    """The engine's state before the first step, requests ranked by arrival, lengths as predicted."""
    order = np.argsort(problem.requests.arrival, kind="stable").astype(np.int64)
    return start_state(problem, order, POINT)


def run_router(
    problem: Problem, router: Router, *, objective: Reward | None = None, seed: int = 0, watch: Watcher | None = None
) -> RouterRun:
    """Run `router` on `problem`; every request is served and the execution has passed the checker.

    It sees prompts, arrivals and predictions; when lengths are known, the true lengths.

    Parameters
    ----------
    objective
        Weights for the bid-price router; default: the problem's own REWARD, else `average`.
    watch
        Called after each decision of the bid-price router with the step and its prices.

    Raises
    ------
    ScheduleError
        Never, unless the loop has a bug: the execution broke a rule.
    """
    begin = time.perf_counter()
    state = arrival_state(problem)
    milliseconds = None
    if router.config is None:
        state = _run_baseline(problem, router, state, seed)
    else:
        if objective is None:
            own = problem.objective
            objective = own if isinstance(own, Reward) else Reward.preset("average", problem.horizon)
        priced = run_bid_price(problem, objective, router.config, state, seed=seed, watch=watch)
        state, milliseconds = priced.state, priced.milliseconds
    done = execution_of(problem, state)
    seconds = time.perf_counter() - begin
    require_valid_execution(problem, done)
    return RouterRun(router.name, done, seconds, milliseconds)


def _run_baseline(problem: Problem, router: Router, state: State, seed: int) -> State:
    queues = new_queues(problem, router.choices, seed)
    while advance(state, queues, router.rule, router.central, router.svf) == LOG_FULL:
        state = with_longer_log(state)
    return state
