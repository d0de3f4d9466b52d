"""List scheduling (docs/math.md §7): the head of the queue starts as soon as its whole future fits.

Strict order: when the head does not fit, nobody overtakes it. The clock jumps from start to start; how long
the head has to wait is answered by `kvbound.models.footprint.earliest_start` in one scan of the active requests.
"""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit

from kvbound.models.footprint import earliest_start
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule


@njit(cache=True)
def drop_completed(ends, peaks, count, now):  # type: ignore[no-untyped-def]
    """Remove the active requests that have completed by `now`; return how many stay."""
    gone = 0
    while gone < count and ends[gone] <= now:
        gone += 1
    if gone:
        for i in range(gone, count):
            ends[i - gone] = ends[i]
            peaks[i - gone] = peaks[i]
    return count - gone


@njit(cache=True)
def insert_active(ends, peaks, count, end, peak):  # type: ignore[no-untyped-def]
    """Insert an active request, keeping the completions sorted."""
    i = count
    while i > 0 and ends[i - 1] > end:
        ends[i] = ends[i - 1]
        peaks[i] = peaks[i - 1]
        i -= 1
    ends[i] = end
    peaks[i] = peak


@njit(cache=True)
def _run(order, by_arrival, prompt, output, arrival, memory, caps, start, worker):  # type: ignore[no-untyped-def]
    n, workers = len(order), len(memory)
    rank = np.empty(n, np.int64)
    for i in range(n):
        rank[order[i]] = i
    ends = np.empty((workers, n), np.int64)
    peaks = np.empty((workers, n), np.int64)
    count = np.zeros(workers, np.int64)
    waiting = [np.int64(0) for _ in range(0)]
    now = np.int64(0)
    arrived = 0
    for _ in range(n):
        while True:
            if len(waiting) == 0 and arrival[by_arrival[arrived]] > now:
                now = arrival[by_arrival[arrived]]
            while arrived < n and arrival[by_arrival[arrived]] <= now:
                heapq.heappush(waiting, rank[by_arrival[arrived]])
                arrived += 1
            head = order[waiting[0]]
            best, chosen = np.int64(-1), -1
            for g in range(workers):
                if prompt[head] + output[head] > memory[g]:
                    continue
                count[g] = drop_completed(ends[g], peaks[g], count[g], now)
                k = earliest_start(prompt[head], output[head], memory[g], caps[g], now, ends[g], peaks[g], count[g])
                if chosen < 0 or k < best:
                    best, chosen = k, g
            # A request that arrives before or when the head could start may take the head's place.
            if best > now and arrived < n and arrival[by_arrival[arrived]] <= best:
                now = arrival[by_arrival[arrived]]
                continue
            break
        heapq.heappop(waiting)
        now = best
        start[head] = best
        worker[head] = chosen
        count[chosen] = drop_completed(ends[chosen], peaks[chosen], count[chosen], now)
        insert_active(ends[chosen], peaks[chosen], count[chosen], best + output[head], prompt[head] + output[head])
        count[chosen] += 1


def list_schedule(problem: Problem, order: IntArray) -> Schedule:
    """Execute `order` (a permutation of 0..n-1, best first) on the fleet.

    Among the requests that have arrived the first in order is the head; it starts on the worker where it
    can start earliest (ties: lowest index). O(n · active requests), no work per step.
    """
    requests, fleet = problem.requests, problem.fleet
    start, worker = np.empty(problem.n, np.int64), np.empty(problem.n, np.int64)
    _run(
        np.ascontiguousarray(order, np.int64),
        np.argsort(requests.arrival, kind="stable"),
        requests.prompt,
        requests.output,
        requests.arrival,
        np.array(fleet.memory, np.int64),
        np.array(fleet.caps, np.int64),
        start,
        worker,
    )
    return Schedule(start, worker)
