"""Simulated annealing over sequences: insert, swap, block and delay moves, decoded and judged exactly."""

from __future__ import annotations

import math
import time

import numpy as np
from numba import njit

from kvbound.models.problem import Problem
from kvbound.solvers.search.incumbent import Budget, Incumbent
from kvbound.solvers.search.sequence import (
    Checkpoints,
    Instance,
    decode,
    delays_of,
    most_active,
    save_checkpoints,
)

STAGE = "annealing"
_NO_LIMIT = np.int64(1) << 61
_ROUNDS_PER_DESCENT = 40


@njit(cache=True)
def _move_block(sequence, trial, low, high, size, rightwards):  # type: ignore[no-untyped-def]
    """Write to `trial` the positions low..high of `sequence` with a block of `size` moved from one end to the other."""
    if rightwards:
        trial[low : high + 1 - size] = sequence[low + size : high + 1]
        trial[high + 1 - size : high + 1] = sequence[low : low + size]
    else:
        trial[low + size : high + 1] = sequence[low : high + 1 - size]
        trial[low : low + size] = sequence[high + 1 - size : high + 1]


@njit(cache=True)
def anneal_moves(  # type: ignore[no-untyped-def]
    moves,
    reach,
    temperature,
    rng,
    sequence,
    delay,
    tel,
    inst,
    points,
    rest,
    start,
    worker,
    best_sequence,
    best_delay,
    best,
):
    """Try `moves` moves at one temperature; change `sequence` and `delay` in place; return (tel, best)."""
    n, spare = len(sequence), len(points.now) - 1
    trial = sequence.copy()
    for _ in range(moves):
        kind = rng.random()
        i = int(rng.random() * n)
        limit = tel
        if temperature > 0:
            limit += int(-temperature * math.log(1.0 - rng.random()))
        low = high = i
        delayed, old = sequence[i], delay[sequence[i]]
        if kind < 0.08:  # delay one request, or no longer
            delay[delayed] = 0 if old > 0 and rng.random() < 0.7 else 1 + int(rng.exponential(4.0))
        else:
            distance = 1 + int(rng.exponential(reach))
            j = i + distance if rng.random() < 0.5 else i - distance
            j = min(max(j, 0), n - 1)
            if i == j:
                continue
            low, high = min(i, j), max(i, j)
            if kind < 0.4:  # swap
                trial[i], trial[j] = sequence[j], sequence[i]
            else:  # insert a block of 1 to 3 requests
                size = 1 if kind < 0.8 else 2 + int(rng.random() * 2)
                _move_block(sequence, trial, low, high, min(size, high - low), i < j)
        value = decode(trial, delay, low, inst, points, spare, limit, rest, start, worker)
        if value < 0:
            trial[low : high + 1] = sequence[low : high + 1]
            delay[delayed] = old
            continue
        sequence[low : high + 1] = trial[low : high + 1]
        tel = value
        save_checkpoints(sequence, low, inst, points, start, worker)
        if tel < best:
            best = tel
            best_sequence[:] = sequence
            best_delay[:] = delay
    return tel, best


class Annealing:
    """Descents from the best schedule, each from hot to cold. A working state: it owns the random numbers."""

    __slots__ = ("_delay", "_descent", "_instance", "_points", "_problem", "_rest", "_rng", "_start", "_worker")

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._problem, self._rng, self._instance = problem, rng, Instance.of(problem)
        self._points = Checkpoints.empty(problem.n, len(problem.fleet), most_active(problem))
        self._start, self._worker, self._delay = (np.zeros(problem.n, np.int64) for _ in range(3))
        self._rest = int((problem.requests.output - problem.requests.arrival).sum())
        self._descent = 0

    def run(self, best: Incumbent, budget: Budget) -> None:
        """Descend until the budget is spent."""
        while self._problem.n > 1 and not budget.over:
            self.descend(best, budget)

    def descend(self, best: Incumbent, budget: Budget) -> None:
        """One descent from the best schedule; every other one starts cooler."""
        n = self._problem.n
        sequence = best.order()
        delay = delays_of(sequence, best.schedule.start, self._instance)
        tel = self._decode(sequence, delay)
        save_checkpoints(sequence, 0, self._instance, self._points, self._start, self._worker)
        top_sequence, top_delay, top = sequence.copy(), delay.copy(), tel
        # Mean latency per request sets the scale.
        hot = 0.5 * tel / n / (1 + self._descent % 4)
        self._descent += 1
        room = budget.room(1.0) / _ROUNDS_PER_DESCENT
        chunk = int(np.clip(room, 20, max(50, min(4000, 400_000 // n))))
        for step in range(_ROUNDS_PER_DESCENT):
            if budget.over:
                break
            temperature = hot * 0.85**step if step < _ROUNDS_PER_DESCENT - 3 else 0.0
            size = int(min(chunk, max(1.0, np.ceil(budget.room_of_moves))))
            began = time.perf_counter()
            tel, top = anneal_moves(
                size, max(1.0, n / (3 + step)), temperature, self._rng, sequence, delay, tel, self._instance,
                self._points, self._rest, self._start, self._worker, top_sequence, top_delay, top,
            )  # fmt: skip
            budget.spend(size, time.perf_counter() - began)
            best.report(STAGE)
            if top < best.tel:
                self._decode(top_sequence, top_delay, fresh=True)
                best.offer(self._start, self._worker, STAGE)
                self._decode(sequence, delay)

    def _decode(self, sequence: np.ndarray, delay: np.ndarray, fresh: bool = False) -> int:
        points = self._points
        if fresh:
            points = Checkpoints.empty(self._problem.n, len(self._problem.fleet), most_active(self._problem))
        spare = len(points.now) - 1
        value = decode(
            sequence, delay, 0, self._instance, points, spare, _NO_LIMIT, self._rest, self._start, self._worker
        )
        return int(value)
