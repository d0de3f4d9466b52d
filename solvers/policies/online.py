"""Sorted-F-Online (docs/math.md §7): receding horizon. At every arrival and completion Sorted-F is run again on what
waits, beside what runs, and only the starts that are due are carried out.

A plan is made one batch at a time: what comes after the first request that cannot start yet is never carried out,
so it is never computed. Its batch has to fit, by its peaks, into the memory that what runs leaves free in the next
step; each start then has to fit with its whole future, as in list scheduling. Planning is capped: a plan looks at no
more than `window` waiting requests, those of least o·p. That cap is deterministic. A cap on seconds per plan can be
added; it shrinks the window when plans take longer, and then the same seed need not give the same answer.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from kvbound.models.problem import Problem
from kvbound.solvers.engine import Planner, Rule
from kvbound.solvers.engine.state import (
    ASSUMED,
    BASE,
    CAP,
    COUNT,
    MEMORY,
    NOW,
    PLAN_AT,
    PLANNED,
    PLANS,
    PROMPT,
    WINDOW,
    State,
)
from kvbound.solvers.policies.select_swap import best_batch


@njit(cache=True)
def _sorted(items, first, second):  # type: ignore[no-untyped-def]
    """The few `items` by (first, second, item), ascending; keys by item. (NumPy's sorts take seconds to compile.)"""
    result = items.copy()
    for i in range(1, len(result)):
        j = result[i]
        while i > 0:
            other = result[i - 1]
            if first[other] < first[j] or (
                first[other] == first[j] and (second[other] < second[j] or (second[other] == second[j] and other < j))
            ):
                break
            result[i] = other
            i -= 1
        result[i] = j
    return result


@njit(cache=True)
def make_plan(st, most):  # type: ignore[no-untyped-def]
    """Write the next batch of Sorted-F into `st.plan`, by (o, s, index), from at most `most` of the window.

    Greedy starts by output, by peak and by output·peak, each improved by swaps (`select_swap.best_batch`). In place of
    M stands the most that a worker leaves free in the next step; when no request fits, the smallest is the plan.
    """
    prompt, assumed, score = st.job[PROMPT], st.job[ASSUMED], st.score
    waiting = st.window[0, : st.clock[WINDOW]]
    if most < len(waiting):
        waiting = _sorted(waiting, score, score)[:most]
    waiting = _sorted(waiting, assumed, prompt)
    output = assumed[waiting]
    peak = output + prompt[waiting]
    room = np.int64(0)
    for worker in st.worker:
        if worker[COUNT] < worker[CAP]:
            room = max(room, worker[MEMORY] - worker[BASE] - worker[COUNT] * (st.clock[NOW] + 1))
    room = max(room, peak.min())
    small = peak <= room
    waiting, output, peak = waiting[small], output[small], peak[small]
    orders = np.empty((3, len(waiting)), np.int64)
    place = np.arange(len(waiting))
    orders[0] = place
    orders[1] = _sorted(place, peak, place)
    orders[2] = _sorted(place, peak * output, place)
    batch = waiting[best_batch(orders, output, peak, room, st.worker[:, CAP].max(), False)]
    at = len(batch)
    st.window[1, :at] = batch
    st.clock[PLANNED], st.clock[PLAN_AT] = at, 0
    st.clock[PLANS] += 1


def planner(problem: Problem, rule: Rule) -> Planner:
    """Who makes the plans of Sorted-F-Online under `rule`."""
    window = min(rule.window, problem.n)
    if rule.plan_seconds is not None:
        return _Timed(window, rule.plan_seconds)
    return lambda state: make_plan(state, window)


class _Timed:
    """Plans within a wall-time cap: one that took longer halves the window of the next, one under half doubles it."""

    def __init__(self, window: int, seconds: float) -> None:
        self.most, self.window, self.seconds = window, window, seconds

    def __call__(self, state: State) -> None:
        begin = time.perf_counter()
        make_plan(state, self.most)
        spent = time.perf_counter() - begin
        if spent > self.seconds:
            self.most = max(1, self.most // 2)
        elif 2 * spent < self.seconds:
            self.most = min(self.window, 2 * self.most)
