"""Execute an order under a rule and return what happened."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kvbound.models.execution import Execution, count_losses
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.solvers.engine.loop import BOUND, LOG_FULL, ORDER, PLAN, PLAN_DUE, advance
from kvbound.solvers.engine.rule import POINT, Rule, assumed_length
from kvbound.solvers.engine.state import NEVER, USED, State, new_state, with_longer_log

_KIND = {"order": ORDER, "bound": BOUND, "plan": PLAN}

#: Writes the next batch into `State.plan` and its length into the clock (see `kvbound.solvers.engine.state`).
Planner = Callable[[State], None]


def execute(
    problem: Problem,
    order: IntArray,
    rule: Rule = POINT,
    *,
    planner: Planner | None = None,
    assumed: IntArray | None = None,
) -> Execution:
    """Execute `order` (a permutation of 0..n-1, best first) under `rule` on the fleet.

    Parameters
    ----------
    order
        Priority of the requests; with `rule.queue` other than "order" it only breaks ties between victims.
    planner
        For `rule.queue` "plan": who makes the plans.
    assumed
        What is taken for o_j, shape (n,); default: what `rule.length` says. True lengths make the engine plain
        list scheduling (docs/math.md §7): they foresee everything, so it jumps from start to start.

    Notes
    -----
    O((starts + completions that were not foreseen + evictions) · active requests), no work per step.
    """
    state = start_state(problem, order, rule, assumed)
    kind, youngest = _KIND[rule.queue], rule.evict == "youngest"
    while code := advance(state, kind, youngest, NEVER):
        if code == LOG_FULL:
            state = with_longer_log(state)
        elif code == PLAN_DUE:
            assert planner is not None
            planner(state)
    return execution_of(problem, state)


def start_state(problem: Problem, order: IntArray, rule: Rule, assumed: IntArray | None = None) -> State:
    """The state before the first step, for callers who drive `advance` themselves; arguments as for `execute`."""
    rank = np.empty(problem.n, np.int64)
    rank[order] = np.arange(problem.n)
    lengths = assumed_length(problem, rule.length) if assumed is None else assumed
    return new_state(problem, lengths, rank, min(rule.window, problem.n) if rule.queue == "plan" else 0)


def execution_of(problem: Problem, state: State) -> Execution:
    """The log of a state as an `Execution`, with its counters."""
    used = int(state.clock[USED])
    request, worker, start, end = state.log[:, :used].copy()
    return Execution(request, worker, start, end, *count_losses(problem.requests, request, start, end))
