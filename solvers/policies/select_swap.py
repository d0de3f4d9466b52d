"""Local-swap selector of Sorted-F: greedy starts, then add, exchange and drop while F falls."""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.models.requests import IntArray
from kvbound.solvers.policies.batch_value import keeps_f


@njit(cache=True)
def _greedy(order, output, peak, memory, cap, inside):  # type: ignore[no-untyped-def]
    """Fill in the given order while the peak fits and F does not rise; return (number, Σo, Σp)."""
    count, total, held = 0, 0, 0
    inside[:] = False
    for j in order:
        if count >= cap or held + peak[j] > memory:
            continue
        if keeps_f(total, count, output[j]):
            inside[j] = True
            count += 1
            total += output[j]
            held += peak[j]
    return count, total, held


@njit(cache=True)
def _improve(output, peak, memory, cap, inside, count, total, held):  # type: ignore[no-untyped-def]
    """Best moves until none lowers (F, Σp); positions are sorted by output."""
    n = len(output)
    while True:
        added = False
        if count < cap:
            for j in range(n):  # the first that fits has the least output
                if not inside[j] and held + peak[j] <= memory:
                    if keeps_f(total, count, output[j]):
                        inside[j] = True
                        count += 1
                        total += output[j]
                        held += peak[j]
                        added = True
                    break
        if added:
            continue
        # Dropping the largest output: total' / (count−1)² < total / count²
        if count > 1:
            last = n - 1
            while not inside[last]:
                last -= 1
            if (total - output[last]) * count * count < total * (count - 1) * (count - 1):
                inside[last] = False
                count -= 1
                total -= output[last]
                held -= peak[last]
                continue
        best_gain, best_room, out, into = 0, 0, -1, -1
        for i in range(n):
            if not inside[i]:
                continue
            for j in range(n):
                if output[j] > output[i] or output[i] - output[j] < best_gain:
                    break
                if inside[j] or held - peak[i] + peak[j] > memory:
                    continue
                gain, room = output[i] - output[j], peak[i] - peak[j]
                if gain > best_gain or (gain == best_gain and room > best_room):
                    best_gain, best_room, out, into = gain, room, i, j
                if gain > 0:
                    break  # later ones gain no more; equal ones matter only for room
        if out < 0:
            return count, total, held
        inside[out], inside[into] = False, True
        total += output[into] - output[out]
        held += peak[into] - peak[out]


def swap_batch(prompt: IntArray, output: IntArray, memory: int, cap: int) -> IntArray:
    """Return the positions of a batch that no add, exchange or drop improves.

    `output` must be ascending. Greedy starts, ours: by output, by peak and by output·peak; the best local optimum
    (least F, then more requests, then smaller Σp) is returned.
    """
    peak = prompt + output
    orders = (
        np.arange(len(output)),
        np.argsort(peak, kind="stable"),
        np.argsort(output * peak, kind="stable"),
    )
    best: tuple[int, int, int] | None = None
    chosen = np.zeros(0, np.int64)
    for order in orders:
        inside = np.zeros(len(output), np.bool_)
        start = _greedy(order, output, peak, memory, cap, inside)
        count, total, held = (int(x) for x in _improve(output, peak, memory, cap, inside, *start))
        if best is None or _better((count, total, held), best):
            best, chosen = (count, total, held), np.flatnonzero(inside)
    return chosen


def _better(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    left, right = a[1] * b[0] ** 2, b[1] * a[0] ** 2
    return left < right or (left == right and (a[0], -a[2]) > (b[0], -b[2]))
