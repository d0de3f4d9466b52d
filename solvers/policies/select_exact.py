"""Exact selector of Sorted-F: a knapsack over (number of requests, total peak)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from kvbound.models.requests import IntArray
from kvbound.solvers.policies.view import Declined, View

_INFINITE = np.int64(1) << 62


@dataclass(frozen=True, slots=True)
class ExactBudget:
    """Limits above which the exact selector declines.

    Parameters
    ----------
    operations
        Table updates over all batches, estimated before the start.
    bytes
        Memory of the tables of one batch.
    """

    operations: int = 40_000_000_000
    bytes: int = 800_000_000

    def require(self, view: View) -> None:
        """Raise `Declined` with the estimate when `view` is beyond the limits."""
        n, memory = len(view), view.memory
        most = largest_batch(np.sort(view.peak), memory, view.batch)
        batches = max(1, -(-int(view.peak.sum()) // memory), -(-n // most))
        work = n * most * (memory + 1) * batches // 2  # the remaining set shrinks linearly
        size = 8 * (most + 1) * (memory + 1) + (-(-n // 8)) * (most + 1) * (memory + 1)
        if work > self.operations or size > self.bytes:
            raise Declined(
                f"exact batches need about {work:.1e} table updates (limit {self.operations:.0e}) and "
                f"{size / 1e6:.0f} MB (limit {self.bytes / 1e6:.0f} MB) at n={n}, M={memory}; "
                f"use sorted-f:swap or sorted-f:quantile"
            )


def largest_batch(sorted_peak: IntArray, memory: int, cap: int | None) -> int:
    """Most requests whose peaks fit into `memory` together (and into the batch cap); at least 1."""
    fits = int(np.searchsorted(np.cumsum(sorted_peak), memory, side="right"))
    return max(1, fits if cap is None else min(fits, cap))


@njit(cache=True)
def _table(peak, key, memory, most, least, taken):  # type: ignore[no-untyped-def]
    """least[c, w]: smallest key of c requests with total peak ≤ w; bit i%8 of taken[i//8, c, w]: i was taken last."""
    least[:, :] = _INFINITE
    least[0, :] = 0
    for i in range(len(peak)):
        bit = np.uint8(1 << (i % 8))
        p, v = peak[i], key[i]
        if p > memory:
            continue
        for c in range(min(most, i + 1), 0, -1):
            row, below, mark = least[c], least[c - 1], taken[i // 8, c]
            for w in range(p, memory + 1):
                candidate = below[w - p] + v
                if candidate < row[w]:
                    row[w] = candidate
                    mark[w] |= bit


def exact_batch(prompt: IntArray, output: IntArray, memory: int, cap: int) -> IntArray:
    """Return the positions of a batch of least F; ties: larger, then smaller Σs.

    Σo and Σs are minimised lexicographically in one integer key, so one table serves both.
    """
    peak = prompt + output
    most = largest_batch(np.sort(peak), memory, cap)
    shift = int(prompt.sum()) + 1
    if shift * (int(output.sum()) + 1) >= 1 << 61:
        raise Declined("the lengths are too large for the exact selector's integer keys")
    key = output * shift + prompt
    least = np.empty((most + 1, memory + 1), np.int64)
    taken = np.zeros((-(-len(peak) // 8), most + 1, memory + 1), np.uint8)
    _table(peak, key, memory, most, least, taken)
    best = 0
    for c in range(most, 0, -1):  # from large to small: an equal F keeps the larger batch
        value = int(least[c, memory])
        if value >= _INFINITE:
            continue
        if best == 0 or (value // shift) * best * best < (int(least[best, memory]) // shift) * c * c:
            best = c
    return _walk_back(peak, best, memory, taken)


def _walk_back(peak: IntArray, size: int, memory: int, taken: np.ndarray) -> IntArray:
    chosen: list[int] = []
    c, w = size, memory
    for i in range(len(peak) - 1, -1, -1):
        if c and taken[i // 8, c, w] & (1 << (i % 8)):
            chosen.append(i)
            c, w = c - 1, w - int(peak[i])
    return np.array(chosen, np.int64)
