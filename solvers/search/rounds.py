"""Repeated beam search: again and again from a step of the best schedule on, with other weights each time.

A sweep goes from the first step to the last. Its first part starts all requests anew; later draws keep what the best
schedule has started before a position and replace the rest: good beginnings stay, and every part gets its turn.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.list_scheduling import drop_completed, insert_active
from kvbound.solvers.search.beam import beam
from kvbound.solvers.search.incumbent import Budget, Incumbent
from kvbound.solvers.search.sequence import Instance, most_active

STAGE = "beam"
#: Share of a sweep that starts from an empty machine.
_FROM_SCRATCH = 0.15
#: Beam searches from the same schedule at a time, whatever the threads: threads change the time, not the answer.
_AT_ONCE = 2


@njit(cache=True, nogil=True)
def _replay(sequence, start, worker, prompt, output, count, ends, peaks):  # type: ignore[no-untyped-def]
    """Bring the active requests to the state after starting `sequence`; return the last start."""
    now = np.int64(0)
    for j in sequence:
        now, g = start[j], worker[j]
        count[g] = drop_completed(ends[g], peaks[g], count[g], now)
        insert_active(ends[g], peaks[g], count[g], now + output[j], prompt[j] + output[j])
        count[g] += 1
    return now


class Rounds:
    """Beam searches from random positions with random weights. A working state: it owns the random numbers."""

    __slots__ = (
        "_backlog",
        "_capacity",
        "_instance",
        "_load",
        "_marks",
        "_peak",
        "_problem",
        "_rng",
        "_slots",
        "_slots_bind",
        "_threads",
    )

    def __init__(self, problem: Problem, rng: np.random.Generator, threads: int = 1) -> None:
        self._threads = max(1, min(threads, _AT_ONCE))
        r, fleet = problem.requests, problem.fleet
        self._problem, self._rng, self._instance = problem, rng, Instance.of(problem)
        self._slots = most_active(problem) + 1
        # The scarcer resource is the one that would take longer if everything else were free.
        tokens, places = float(sum(fleet.memory)), float(np.minimum(fleet.caps, problem.n).sum())
        self._slots_bind = bool(r.output.sum() / places > r.volume.sum() / tokens)
        self._capacity = places if self._slots_bind else tokens
        self._load = (r.output if self._slots_bind else r.volume).astype(np.float64)
        self._peak = r.peak / tokens
        self._backlog = not r.arrival.any()
        self._marks = rng.integers(1, 1 << 63, problem.n).astype(np.uint64)

    def sweep(self, best: Incumbent, budget: Budget) -> None:
        """Draw until the budget is spent, from the first step to the last."""
        n, first = self._problem.n, True
        with ThreadPoolExecutor(self._threads) as pool:
            while not budget.over:
                part, positions = budget.fraction, [0]
                if part >= _FROM_SCRATCH and not first:
                    centre = ((part - _FROM_SCRATCH) / (1 - _FROM_SCRATCH)) ** 0.7
                    jitter = 0.03 * self._rng.standard_normal(_AT_ONCE)
                    positions = np.clip(n * (centre + jitter), 0, n - 2).astype(np.int64).tolist()
                elif not first:
                    positions = [0] * _AT_ONCE
                self.draw(best, budget, positions, pool)
                first = False

    def draw(self, best: Incumbent, budget: Budget, positions: list[int], pool: Executor | None = None) -> bool:
        """One beam search after each of the first `positions` starts of the best schedule; whether any improved.

        They start from the same schedule, so they can run at the same time and the answer does not depend on it.
        """
        plans = [self._plan(best, budget, position) for position in positions]
        began = time.perf_counter()
        runs = [self._run(plan) for plan in plans] if pool is None else list(pool.map(self._run, plans))
        known, worker = best.schedule.start, best.schedule.worker
        budget.spend(sum(int(run[1]) for run in runs), time.perf_counter() - began)
        improved = False
        for _, _, chosen, start, on in runs:
            starts, workers = known.copy(), worker.copy()
            starts[chosen], workers[chosen] = start, on
            improved = best.offer(starts, workers, STAGE) or improved
        return improved

    def _plan(self, best: Incumbent, budget: Budget, position: int) -> tuple[Any, ...]:
        """Draw the weights of one beam search; the arguments that vary between searches."""
        r, rng, groups = self._problem.requests, self._rng, len(self._problem.fleet)
        known, worker = best.schedule.start, best.schedule.worker
        sequence = best.order()
        kept, rest = sequence[:position], sequence[position:]
        count, ends, peaks = np.zeros(groups, np.int64), *(np.zeros((groups, self._slots), np.int64) for _ in range(2))
        now = _replay(kept, known, worker, r.prompt, r.output, count, ends, peaks) if position else 0
        # Above 1 the efficiency makes short work cheap; large peaks waste more than their volume (docs/search.md).
        efficiency, waste = rng.uniform(1.0, 1.06), rng.uniform(0.0, 0.15)
        kappa = 0.0 if self._slots_bind else rng.uniform(0.0, 0.8)
        horizon = int(rng.uniform(0.3, 1.8) * r.output[rest].mean()) + 1
        noise = rng.choice([0.0, 0.25, 1.0]) * min(0.05, 4.0 / self._problem.n)
        weight = self._load / self._capacity * (1.0 + waste * self._peak) / efficiency
        weight = weight * np.exp(noise * rng.standard_normal(self._problem.n))
        order = self._base_order(rest, weight)
        width, most = self._size(budget, len(rest))
        return order, now, count, ends, peaks, weight, width, most, kappa, horizon

    def _run(self, plan: tuple[Any, ...]) -> tuple[Any, ...]:
        order, now, count, ends, peaks, weight, width, most, kappa, horizon = plan
        found: tuple[Any, ...] = beam(
            order, self._instance, now, count, ends, peaks, self._load, weight, self._capacity, self._slots_bind,
            width, most, kappa, horizon, self._marks,
        )  # fmt: skip
        return found

    def _base_order(self, rest: IntArray, weight: np.ndarray) -> IntArray:
        """Least weight first in a backlog; with arrivals the order of the best schedule, shaken."""
        if self._backlog:
            return rest[np.lexsort((self._problem.requests.output[rest], weight[rest]))]
        shake = self._rng.choice([0.0, 3.0, 10.0])
        return rest[np.argsort(np.arange(len(rest)) + shake * self._rng.standard_normal(len(rest)), kind="stable")]

    def _size(self, budget: Budget, number: int) -> tuple[int, int]:
        """Width of the beam and candidates of each, random but such that a draw is a small part of the budget."""
        width, most = int(self._rng.choice([5, 10, 10, 20, 40])), int(self._rng.choice([20, 30]))
        if budget.incumbent.moves == 0 and budget.clock.seconds is not None:
            return 2, min(8, number)  # the first draw measures the speed
        room = min(budget.room(0.1), budget.moves_in(3.0))  # short draws: Ctrl-C waits for the end of one
        while width > 1 and width * most * number > room:
            width //= 2
        while most > 4 and width * most * number > room:
            most //= 2
        return width, min(most, number)
