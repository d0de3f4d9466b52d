"""Rows that can carry prices: a weight, the ticks at which it is evaluated, and how finely its prices vary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kvbound.models.fleet import Fleet
from kvbound.models.requests import IntArray
from kvbound.models.weights import BatchWeight, LevelsWeight, LinearWeight, MemoryWeight, Weight

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PricedRows:
    """The rows of one weight at the ticks q = phase + stride·i, i = 0..points−1.

    Prices are constant on blocks of `block` consecutive points: any block length gives a valid bound, a
    coarse grid just makes the dual smaller (docs/math.md §5.3).
    """

    weight: Weight
    phase: int
    stride: int
    points: int
    block: int = 1

    @classmethod
    def of(cls, weight: Weight, last: int, block: int = 1) -> PricedRows:
        """Rows of `weight` up to step `last`.

        Memory and batch at every step; levels at the midpoints of half steps, where windows that end at
        fractions of a step are told apart; the linear weight at whole steps, where what is held is largest.
        """
        if isinstance(weight, LevelsWeight):
            return cls(weight, 1, 2, 2 * last, block)
        if isinstance(weight, LinearWeight):
            return cls(weight, 0, weight.scale, last + 1, block)
        return cls(weight, 0, 1, last + 1, block)

    @property
    def per_step(self) -> int:
        """Points per step."""
        return self.weight.scale // self.stride

    @property
    def blocks(self) -> int:
        """Number of prices."""
        return -(-self.points // self.block)

    @property
    def ticks(self) -> IntArray:
        """The ticks, shape (points,)."""
        return self.phase + self.stride * np.arange(self.points, dtype=np.int64)

    def with_block(self, block: int) -> PricedRows:
        """The same rows with another block length."""
        return replace(self, block=block)

    def spread(self, prices: FloatArray) -> FloatArray:
        """Prices per block -> prices per point."""
        return np.repeat(prices, self.block)[: self.points]

    def gather(self, values: FloatArray) -> FloatArray:
        """Sums per block of values per point."""
        if self.block == 1:
            return values
        return np.add.reduceat(values, np.arange(0, self.points, self.block))


def unit(weight: Weight, fleet: Fleet) -> int:
    """Raw weight that counts as 1 in the scaled rows of the dual: capacity of the largest worker."""
    if isinstance(weight, BatchWeight):
        return weight.capacity(fleet.largest, fleet.pooled_batch)
    return weight.capacity(fleet.largest, None)


def right_side(weight: Weight, fleet: Fleet) -> float:
    """Capacity of a scaled row with all workers pooled (docs/math.md §6)."""
    if isinstance(weight, MemoryWeight):
        return fleet.pooled_memory / fleet.largest
    return 1.0 if isinstance(weight, BatchWeight) else float(len(fleet))


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Segments in point offsets e = i − per_step·C: on first ≤ e < stop the scaled weight is a + b·e.

    Those of request j are `ptr[j]:ptr[j+1]`; `row` says to which rows each belongs.
    """

    ptr: IntArray
    row: IntArray
    first: IntArray
    stop: IntArray
    a: FloatArray
    b: FloatArray

    @classmethod
    def build(cls, prompt: IntArray, output: IntArray, fleet: Fleet, rows: list[PricedRows]) -> Windows:
        """Convert `Weight.segments` of every row set; offsets between points fall away."""
        owner, which, first, stop, a, b = [], [], [], [], [], []
        for f, r in enumerate(rows):
            s = r.weight.segments(prompt, output, fleet.largest)
            lo = -((r.phase - s.lo) // r.stride)  # ⌈(lo − phase)/stride⌉
            hi = (s.hi - r.phase) // r.stride + 1
            keep = np.flatnonzero(lo < hi)
            scale = unit(r.weight, fleet)
            owner.append(np.repeat(np.arange(len(prompt)), np.diff(s.ptr))[keep])
            which.append(np.full(len(keep), f))
            first.append(lo[keep])
            stop.append(hi[keep])
            a.append((s.a[keep] + s.b[keep] * r.phase) / scale)
            b.append(s.b[keep] * r.stride / scale)
        flat = np.concatenate(owner)
        order = np.argsort(flat, kind="stable")
        ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(flat, minlength=len(prompt)))))
        return cls(
            ptr,
            np.concatenate(which)[order].astype(np.int64),
            np.concatenate(first)[order].astype(np.int64),
            np.concatenate(stop)[order].astype(np.int64),
            np.concatenate(a)[order].astype(np.float64),
            np.concatenate(b)[order].astype(np.float64),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Bends:
    """Second differences of the scaled weights: of request j the value bend[h] at the offset point[h], h in
    `ptr[j]:ptr[j+1]`, of row set row[h]; φ(e) = Σ bend[h]·(e − point[h])⁺.
    """

    ptr: IntArray
    row: IntArray
    point: IntArray
    bend: FloatArray

    @classmethod
    def of(cls, w: Windows) -> Bends:
        """Four per window, at its two ends; those that meet are added, those that cancel fall away."""
        windows = len(w.row)
        start, end = w.a + w.b * w.first, w.a + w.b * w.stop
        owner = np.repeat(np.arange(len(w.ptr) - 1), np.diff(w.ptr))
        point = np.concatenate((w.first - 1, w.first, w.stop - 1, w.stop))
        bend = np.concatenate((start, w.b - start, -end, end - w.b))
        owner, row = np.tile(owner, 4), np.tile(w.row, 4)
        order = np.lexsort((point, row, owner))
        owner, row, point, bend = owner[order], row[order], point[order], bend[order]
        fresh = np.ones(4 * windows, np.bool_)
        fresh[1:] = (np.diff(owner) != 0) | (np.diff(row) != 0) | (np.diff(point) != 0)
        at = np.flatnonzero(fresh)
        bend = np.add.reduceat(bend, at) if windows else bend
        keep = np.abs(bend) > 1e-12
        owner, row, point, bend = owner[at][keep], row[at][keep], point[at][keep], bend[keep]
        ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(owner, minlength=len(w.ptr) - 1))))
        return cls(ptr, row, point, bend)
