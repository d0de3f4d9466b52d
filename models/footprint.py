"""The footprint of a started request: the age staircase of memory, and its capacity rule.

Everything that asks "how much is held at step t" or "from when on does it fit" asks this module:
the checkers, list scheduling, search. (What a footprint *costs* under prices is `kvbound.models.pricing`.)

Started at k, request j holds s_j + (t − k) tokens in the steps t = k+1 .. k+o_j (docs/math.md §1).
Between completions usage only grows, so completions are the only steps at which memory needs a look.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.models.requests import IntArray


def usage(prompt: IntArray, start: IntArray, completion: IntArray, steps: IntArray) -> tuple[IntArray, IntArray]:
    """Return tokens held and requests active in each of `steps`, on one worker.

    With A = Σ_active (s_j − k_j) and N active requests the usage of step t is A + N·t, so two sorted
    prefix sums answer any set of steps in O((n + steps) log n).

    Parameters
    ----------
    prompt, start, completion
        s_j, k_j, C_j of the requests on that worker, shape (m,).
    steps
        Steps t ≥ 1 in any order, shape (q,).
    """
    base = prompt - start
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(completion, kind="stable")
    begun = np.searchsorted(start[by_start], steps, side="left")  # k < t
    ended = np.searchsorted(completion[by_end], steps, side="left")  # C < t
    opened = np.concatenate((np.zeros(1, np.int64), np.cumsum(base[by_start])))
    closed = np.concatenate((np.zeros(1, np.int64), np.cumsum(base[by_end])))
    active = (begun - ended).astype(np.int64)
    return opened[begun] - closed[ended] + active * steps, active


@njit(cache=True)
def earliest_start(prompt, output, memory, cap, not_before, ends, peaks, count):  # type: ignore[no-untyped-def]
    """Earliest k ≥ `not_before` at which a request fits beside the active ones, all of its future included.

    The active requests i (all started at or before `not_before`) are sorted by completion C_i = `ends[i]`,
    with peaks p_i = `peaks[i]`, i < `count`. Beside them a start at k breaks memory exactly for k in

        [C_i − o − x_i, C_i − 1 − y_i]   for each i,

    namely from the first k whose own completion falls where too much is held up to the last k at which the
    new request would hold too much when i completes. Both ends meet at k = C_i − o, so the set is an
    interval (or empty) for each i and one scan in order of completion suffices.

    Returns
    -------
    int
        The earliest start; the caller guarantees that the request fits alone.
    """
    k = not_before
    if cap <= count:  # a slot frees when only cap − 1 of the active ones run past k
        free_at = ends[count - cap]
        if free_at > k:
            k = free_at
    peak = prompt + output
    # Tokens held at step t by the active requests i.. (those with C ≥ t): Σ (p_i − C_i) + number·t.
    base = 0
    for i in range(count):
        base += peaks[i] - ends[i]
    for i in range(count):
        end = ends[i]
        running = count - i
        if i > 0:
            if ends[i - 1] - output >= k:  # the newcomer is gone by then, and at all later completions
                break
            base -= peaks[i - 1] - ends[i - 1]
        if end > k:
            at_end = base + running * end
            room = memory - at_end
            # At k = C_i − o the newcomer completes together with i and holds its peak.
            if peak > room:
                # Latest k that is too early: prompt + C_i − k > room  <=>  k < prompt + C_i − room.
                last_bad = min(end, prompt + end - room) - 1
                # Own completion k + o in (C_{i-1}, C_i]: base + running·(k+o) + peak ≤ memory.
                last_good = (memory - peak - base) // running - output
                first_bad = last_good + 1
                if i > 0 and first_bad < ends[i - 1] + 1 - output:
                    first_bad = ends[i - 1] + 1 - output
                if first_bad <= k <= last_bad:
                    k = last_bad + 1
    return k


@njit(cache=True)
def room_ahead(memory, now, ends, peaks, count, room, base):  # type: ignore[no-untyped-def]
    """Prepare `fits_now` for one worker: the same rule as `earliest_start`, for many requests at one step.

    The active requests are sorted by completion, all completions after `now`. `room[i]` becomes the largest prompt
    with which a request started now passes the completions 0..i, `base[i]` = Σ_{i' ≥ i} (p − C), shape (count + 1).
    """
    base[count] = 0
    for i in range(count - 1, -1, -1):
        base[i] = base[i + 1] + peaks[i] - ends[i]
    for i in range(count):
        room[i] = memory - (base[i] + (count - i) * ends[i]) - (ends[i] - now)
        if i > 0:
            room[i] = min(room[i], room[i - 1])


@njit(cache=True)
def fits_now(prompt, output, memory, now, ends, count, room, base):  # type: ignore[no-untyped-def]
    """Whether `earliest_start` of the request is `now`, batch aside, in O(log count) after `room_ahead`."""
    completion = now + output
    low, high = 0, count  # how many of the active ones complete no later
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= completion:
            low = middle + 1
        else:
            high = middle
    if low > 0 and prompt > room[low - 1]:
        return False
    return base[low] + (count - low) * completion + prompt + output <= memory


@njit(cache=True)
def add_footprint(count, base, prompt, start, last, share):  # type: ignore[no-untyped-def]
    """Add `share` of a footprint in the steps start + 1 .. last to difference arrays, last < len(count) − 1.

    With C, A the running sums of `count` and `base`, C(t) requests hold A(t) + C(t)·t tokens in step t.
    """
    if last <= start:
        return
    count[start + 1] += share
    count[last + 1] -= share
    base[start + 1] += share * (prompt - start)
    base[last + 1] -= share * (prompt - start)
