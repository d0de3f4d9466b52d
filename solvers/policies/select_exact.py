"""Exact selector of Sorted-F: a knapsack over (number of requests, total peak).

d[c][w] = least Σo of c requests with total peak at most w, so F* = min_c d[c][M]/c². Any known batch of value F
bounds the table before it is filled. If a best batch has C requests and i is the c-th of them by output, then

    (Σo of the c − 1 shortest) + (C − c + 1)·o_i  ≤  Σo of the batch  ≤  F·C²,

which is convex in C: it must hold for C = c or for the largest size possible. Cells (i, c) where it fails are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.models.requests import IntArray
from kvbound.solvers.policies.select_swap import swap_batch
from kvbound.solvers.policies.view import Declined

_INFINITE = np.int64(1) << 62
#: What a batch costs besides its table, in table updates per remaining request (measured).
_SCAN = 400


def largest_batch(sorted_peak: IntArray, memory: int, cap: int) -> int:
    """Most requests whose peaks fit into `memory` together (and into the batch cap); at least 1."""
    return max(1, min(int(np.searchsorted(np.cumsum(sorted_peak), memory, side="right")), cap))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What of the table is needed.

    Parameters
    ----------
    keep
        Positions that can be in a best batch, ascending; shape (m,).
    allowed
        Whether keep[i] can be the c-th of a best batch by output, shape (m, sizes + 1); column 0 is unused.
    floor
        Least total peak of c requests, shape (sizes + 1,).
    """

    keep: IntArray
    allowed: npt.NDArray[np.bool_]
    floor: IntArray

    @classmethod
    def of(cls, prompt: IntArray, output: IntArray, memory: int, cap: int, known: IntArray) -> Cells:
        """Bound the table by a known batch (`output` ascending)."""
        peak = prompt + output
        # In floats with room to spare: a cell too many costs time, one too few the optimum.
        value = float(output[known].sum()) / len(known) ** 2 * (1 + 1e-9)
        sorted_peak = np.sort(peak)
        most = largest_batch(sorted_peak, memory, cap)
        shortest = np.concatenate((np.zeros(1), np.cumsum(output[:most], dtype=np.float64)))
        size = np.arange(most + 1)
        most = int(np.flatnonzero(shortest <= value * size.astype(float) ** 2)[-1])
        keep = np.flatnonzero(output <= value * (2 * most - 1))
        o, c = output[keep][:, None].astype(np.float64), np.arange(1, most + 1)
        alone = shortest[:most] + o <= value * c.astype(float) ** 2
        filled = shortest[:most] + (most - c + 1) * o <= value * most**2
        allowed = np.concatenate((np.zeros((len(keep), 1), np.bool_), alone | filled), axis=1)
        return cls(keep, allowed, np.concatenate((np.zeros(1, np.int64), np.cumsum(sorted_peak[:most]))))

    def updates(self, memory: int) -> int:
        """Table updates, at most: cells times the total peaks that can occur in them."""
        return int(self.allowed[:, 1:].sum(axis=0) @ np.maximum(0, memory + 1 - self.floor[:-1]))

    def bytes(self, memory: int) -> int:
        """Size of the tables."""
        return (8 + -(-len(self.keep) // 8)) * len(self.floor) * (memory + 1)


@dataclass(frozen=True, slots=True)
class ExactBudget:
    """Limits beyond which the exact selector declines; counted, not timed, so that the answer repeats.

    Parameters
    ----------
    updates
        Table updates over all batches, and what costs as much.
    bytes
        Memory of the tables of one batch.
    """

    updates: int = 5_000_000_000
    bytes: int = 800_000_000

    def require(self, prompt: IntArray, output: IntArray, memory: int, cap: int) -> None:
        """Raise `Declined` when the tables would pass a limit.

        The tables are counted along the batches of the swap search, which come near the exact ones, and not filled.
        Arguments as for `exact_batch`.
        """
        left = np.arange(len(prompt))
        spent = 0
        while left.size:
            s, o = prompt[left], output[left]
            known = swap_batch(s, o, memory, cap, "ladder")
            cells = Cells.of(s, o, memory, cap, known)
            spent += cells.updates(memory)
            size = cells.bytes(memory)
            # The remaining set shrinks linearly over at least Σp/M batches.
            expected = spent + _SCAN * len(left) * max(1.0, int((s + o).sum()) / (2 * memory))
            if expected > self.updates or size > self.bytes:
                raise Declined(
                    f"exact batches need more than {expected:.1e} table updates (limit {self.updates:.0e}) and tables "
                    f"of {size / 1e6:.0f} MB (limit {self.bytes / 1e6:.0f} MB); "
                    "use sorted-f:swap or sorted-f:quantile, or raise the limits with "
                    "sorted-f:exact,updates=…,megabytes=…"
                )
            left = np.delete(left, known)


@njit(cache=True)
def _table(peak, key, allowed, floor, least, taken):  # type: ignore[no-untyped-def]
    """least[c, w]: smallest key of c requests with total peak ≤ w; bit i%8 of taken[i//8, c, w]: i was taken last."""
    least[:, :] = _INFINITE
    least[0, :] = 0
    most, width = least.shape[0] - 1, least.shape[1]
    for i in range(len(peak)):
        bit = np.uint8(1 << (i % 8))
        p, v = peak[i], key[i]
        for c in range(min(most, i + 1), 0, -1):
            if not allowed[i, c]:
                continue
            # Slices of one length and no jumps: the loop becomes vector instructions.
            first = p + floor[c - 1]
            row, below, mark = least[c, first:], least[c - 1, first - p : width - p], taken[i // 8, c, first:]
            for w in range(len(row)):
                candidate = below[w] + v
                better = candidate < row[w]
                row[w] = candidate if better else row[w]
                mark[w] |= bit if better else np.uint8(0)


def exact_batch(prompt: IntArray, output: IntArray, memory: int, cap: int) -> IntArray:
    """Return the positions of a batch of least F; ties: larger, then smaller Σs, then lower positions.

    Parameters
    ----------
    prompt, output
        Lengths, `output` ascending, every peak at most `memory`; shape (n,).
    memory, cap
        Most tokens Σ_X p and most requests |X|.

    Raises
    ------
    Declined
        The lengths are too large for 64-bit keys.

    Notes
    -----
    Σo and Σs are minimised lexicographically in one integer key, so one table serves both. A request is taken only
    where it improves the table strictly: among equals the set whose last position is lowest wins, and so on downwards.
    """
    cells = Cells.of(prompt, output, memory, cap, swap_batch(prompt, output, memory, cap, "ladder"))
    keep, most = cells.keep, len(cells.floor) - 1
    s, o = prompt[keep], output[keep]
    peak = s + o
    shift = int(s.sum()) + 1
    if shift * (int(o.sum()) + 1) >= 1 << 61:
        raise Declined("the lengths are too large for the exact selector's integer keys; use sorted-f:swap")
    least = np.empty((most + 1, memory + 1), np.int64)
    taken = np.zeros((-(-len(peak) // 8), most + 1, memory + 1), np.uint8)
    _table(peak, o * shift + s, cells.allowed, cells.floor, least, taken)
    best = 0
    for c in range(most, 0, -1):  # from large to small: an equal F keeps the larger batch
        value = int(least[c, memory])
        if value >= _INFINITE:
            continue
        if best == 0 or (value // shift) * best * best < (int(least[best, memory]) // shift) * c * c:
            best = c
    return keep[_walk_back(peak, best, memory, taken)]


def _walk_back(peak: IntArray, size: int, memory: int, taken: np.ndarray) -> IntArray:
    chosen: list[int] = []
    c, w = size, memory
    for i in range(len(peak) - 1, -1, -1):
        if c and taken[i // 8, c, w] & (1 << (i % 8)):
            chosen.append(i)
            c, w = c - 1, w - int(peak[i])
    return np.array(chosen, np.int64)
