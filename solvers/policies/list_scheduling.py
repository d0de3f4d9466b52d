"""List scheduling (docs/math.md §7): the head of the queue starts as soon as its whole future fits.

Strict order: when the head does not fit, nobody overtakes it. The clock jumps from start to start; how long
the head has to wait is answered by `kvbound.models.footprint.earliest_start` in one scan of the active requests.
It is what `kvbound.solvers.engine` does when no length is uncertain; the kernels below serve searches, which try
thousands of orders and need less than an engine.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.solvers.engine import execute


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


def list_schedule(problem: Problem, order: IntArray) -> Schedule:
    """Execute `order` (a permutation of 0..n-1, best first) on the fleet, with the true output lengths known.

    Among the requests that have arrived the first in order is the head; it starts on the worker where it
    can start earliest (ties: lowest index). O(n · active requests), no work per step.
    """
    done = execute(problem, np.ascontiguousarray(order, np.int64), assumed=problem.requests.output)
    return done.schedule(problem.requests)
