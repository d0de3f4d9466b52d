"""Closed-form prices from the fluid order: the warm start of the dual, and a certificate of the volume bound.

Serve volumes as a fluid at rate ΣM, always the request of smallest volume among those that have arrived. A unit of
memory-time is worth π(t) = ∫_t 1/v(running) until the machine falls idle. For arrivals 0 and one worker, L(π) is at
least the volume bound (proof in docs/math.md §5.1).
"""

from __future__ import annotations

import heapq

import numpy as np

from kvbound.models.problem import Problem
from kvbound.solvers.bounds.rows import FloatArray


def fluid_prices(problem: Problem, last: int) -> FloatArray:
    """λ_t for t = 0..last, latency steps per token-step: the mean of π over (t−1, t]; shape (last + 1,)."""
    volume, arrival = problem.requests.volume.astype(float), problem.requests.arrival
    rate = float(problem.fleet.pooled_memory)
    order = np.argsort(arrival, kind="stable").tolist()
    heap: list[tuple[float, float]] = []  # (volume, work left)
    begins, ends, slopes = [], [], []
    clock, nxt = 0.0, 0
    while nxt < len(order) or heap:
        if not heap:
            clock = max(clock, float(arrival[order[nxt]]))
        while nxt < len(order) and arrival[order[nxt]] <= clock:
            heapq.heappush(heap, (volume[order[nxt]], volume[order[nxt]]))
            nxt += 1
        size, left = heapq.heappop(heap)
        until = clock + left / rate
        if nxt < len(order) and arrival[order[nxt]] < until:
            until = float(arrival[order[nxt]])
            heapq.heappush(heap, (size, left - (until - clock) * rate))
        begins.append(clock)
        ends.append(until)
        slopes.append(1.0 / size)
        clock = until
    # π backwards over the slots; it restarts at 0 where the machine falls idle.
    at_begin = np.zeros(len(begins) + 1)
    for i in range(len(begins) - 1, -1, -1):
        after = at_begin[i + 1] if i + 1 < len(begins) and begins[i + 1] <= ends[i] else 0.0
        at_begin[i] = after + (ends[i] - begins[i]) * slopes[i]
    return _step_means(np.array(begins), np.array(ends), at_begin[:-1], np.array(slopes), last)


def _step_means(begin: FloatArray, end: FloatArray, price: FloatArray, slope: FloatArray, last: int) -> FloatArray:
    """Means over (t−1, t] of the function that falls from price[i] with slope[i] on [begin[i], end[i]], else 0."""
    grid = np.arange(last + 1, dtype=float)
    width = end - begin
    whole = np.concatenate((np.zeros(1), np.cumsum(price * width - 0.5 * slope * width**2)))
    i = np.searchsorted(begin, grid, side="right") - 1
    inside = np.clip(grid - begin[np.maximum(i, 0)], 0.0, width[np.maximum(i, 0)])
    area = whole[np.maximum(i, 0)] + price[np.maximum(i, 0)] * inside - 0.5 * slope[np.maximum(i, 0)] * inside**2
    area[i < 0] = 0.0
    return np.maximum(0.0, np.diff(area, prepend=area[0]))
