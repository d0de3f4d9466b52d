"""Weights: what one request counts for at a point of time, for each kind of valid row.

A weight gives request j the integer value φ_j(t − C_j) at time t, and in every feasible schedule the values
of the requests on one worker add up to at most the weight's `capacity` (docs/math.md §4). Memory and batch
are weights too. Each is written as *segments*: on the tick offsets d = lo..hi from the completion it is a + b·d.
Prices, Lagrangian bounds, LP rows and certificates are computed from these segments and nothing else.

Ticks: a weight with `scale` c is evaluated at times t = q/c, q integer, so that d = q − c·C_j is an integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from kvbound.models.errors import OptionError
from kvbound.models.requests import IntArray

#: Ticks per step of the stagger weights: their windows may end at fractions of a step, quarter points
#: (the midpoints of half steps) tell all levels with m ≤ 1 apart and most others.
STAGGER_SCALE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Segments of a weight for n requests, in CSR form: those of request j are `ptr[j]:ptr[j+1]`.

    For tick offsets lo ≤ d ≤ hi from completion (d = q − scale·C_j) the value is a + b·d; elsewhere 0.
    """

    ptr: IntArray
    lo: IntArray
    hi: IntArray
    a: IntArray
    b: IntArray


class Weight(Protocol):
    """A valid weight of one worker."""

    kind: ClassVar[str]

    @property
    def scale(self) -> int:
        """Ticks per step."""
        ...

    @property
    def parameters(self) -> tuple[int, ...]:
        """Integers that name the member of the family, as they stand in a certificate."""
        ...

    def capacity(self, memory: int, batch: int | None) -> int:
        """Most that the values can add up to on one worker."""
        ...

    def segments(self, prompt: IntArray, output: IntArray, memory: int) -> Segments:
        """Segments of each request, shape (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryWeight:
    """Tokens held: s_j + age while active (the memory row of docs/math.md §1)."""

    kind: ClassVar[str] = "memory"
    scale: ClassVar[int] = 1
    parameters: ClassVar[tuple[int, ...]] = ()

    def capacity(self, memory: int, batch: int | None) -> int:
        return memory

    def segments(self, prompt: IntArray, output: IntArray, memory: int) -> Segments:
        return _single(1 - output, np.zeros_like(output), prompt + output, np.ones_like(output))


@dataclass(frozen=True, slots=True)
class BatchWeight:
    """One slot while active (the batch row of docs/math.md §1)."""

    kind: ClassVar[str] = "batch"
    scale: ClassVar[int] = 1
    parameters: ClassVar[tuple[int, ...]] = ()

    def capacity(self, memory: int, batch: int | None) -> int:
        if batch is None:
            raise OptionError("there is no batch cap, so there is no batch row")
        return batch

    def segments(self, prompt: IntArray, output: IntArray, memory: int) -> Segments:
        return _single(1 - output, np.zeros_like(output), np.ones_like(output), np.zeros_like(output))


@dataclass(frozen=True, slots=True)
class LevelsWeight:
    """STAG-m,β: levels that outlive a completion (docs/math.md §4).

    The value is the largest i ≤ m with t in (C_j − α, C_j + ω), where w = p_j − iM/(m+1) > 0,
    α = min(w, o_j − β), ω = min(w/(m+1−i), β); the capacity is m. Requests with o_j < β have weight 0.
    """

    levels: int
    delay: int
    kind: ClassVar[str] = "levels"
    scale: ClassVar[int] = STAGGER_SCALE

    def __post_init__(self) -> None:
        if not (1 <= self.levels <= 1000 and 0 <= self.delay <= 10**8):
            raise OptionError(f"levels={self.levels}, delay={self.delay}: need 1 ≤ levels ≤ 1000 and delay ≥ 0")

    @property
    def parameters(self) -> tuple[int, ...]:
        return (self.levels, self.delay)

    def capacity(self, memory: int, batch: int | None) -> int:
        return self.levels

    def segments(self, prompt: IntArray, output: IntArray, memory: int) -> Segments:
        c, m = self.scale, self.levels
        rows, los, his = [], [], []
        for i in range(1, m + 1):
            # d > −c·α and d < c·ω in integers; w is excess/(m+1).
            excess = (m + 1) * (prompt + output) - i * memory
            lo = np.maximum(-((c * excess - 1) // (m + 1)), 1 - c * (output - self.delay))
            hi = np.minimum((c * excess - 1) // ((m + 1) * (m + 1 - i)), c * self.delay - 1)
            keep = np.flatnonzero((excess > 0) & (output >= self.delay) & (lo <= hi))
            rows.append(keep)
            los.append(lo[keep])
            his.append(hi[keep])
        # The intervals of one request need not be nested, so "largest i" is resolved piece by piece.
        return _largest_level(
            np.concatenate(rows),
            np.concatenate(los),
            np.concatenate(his),
            np.concatenate([np.full(len(r), i + 1) for i, r in enumerate(rows)]),
            len(prompt),
        )


@dataclass(frozen=True, slots=True)
class LinearWeight:
    """STAG-ε,β: linear in the middle, with an extension after completion (docs/math.md §4); ε = `top`/`bottom`.

    Values are multiplied by scale·M, so the capacity is scale·M.
    """

    top: int
    bottom: int
    delay: int
    kind: ClassVar[str] = "linear"
    scale: ClassVar[int] = STAGGER_SCALE

    def __post_init__(self) -> None:
        if not (0 < 2 * self.top <= self.bottom <= 10**6 and 0 <= self.delay <= 10**8):
            raise OptionError(f"epsilon={self.top}/{self.bottom}, delay={self.delay}: need 0 < ε ≤ 1/2 and delay ≥ 0")

    @property
    def parameters(self) -> tuple[int, ...]:
        return (self.top, self.bottom, self.delay)

    def capacity(self, memory: int, batch: int | None) -> int:
        return self.scale * memory

    def segments(self, prompt: IntArray, output: IntArray, memory: int) -> Segments:
        c, top, bottom, delay = self.scale, self.top, self.bottom, self.delay
        peak = prompt + output
        # Ticks of the active part: age > β, i.e. d ≥ 1 − c·(o − β), and d ≤ 0.
        first = 1 - c * (output - delay)
        # u = (c·p + d)/c; u ≥ εM  <=>  d ≥ ⌈c·top·M/bottom⌉ − c·p; u > (1−ε)M likewise.
        linear_from = np.maximum(first, -((-c * top * memory) // bottom) - c * peak)
        full_from = np.maximum(first, (c * (bottom - top) * memory) // bottom + 1 - c * peak)
        pieces: list[tuple[IntArray, ...]] = []
        allowed = output >= delay
        zero = np.zeros_like(peak)
        _add(pieces, allowed, linear_from, np.minimum(full_from - 1, 0), c * peak, zero + 1)
        _add(pieces, allowed, full_from, zero, zero + c * memory, zero)
        # After completion, δ = d/c: r is constant on runs of d, and on a run the value is 1 or (p − rδ)/M.
        need = c * top * memory  # εM in units of 1/(c·bottom)
        until = np.minimum(np.minimum(c * delay - 1, (need - 1) // bottom), c * peak + (-need) // bottom)
        room = (memory - peak) * c * bottom
        d = np.ones_like(peak)
        while (alive := allowed & (d <= until)).any():
            left = np.where(alive, need - d * bottom, 1)  # (εM − δ)·c·bottom > 0
            others = np.where(alive, room // left, 0)
            # r stays the same while (r+1)(εM − δ) > M − p; the value is positive while rδ < p.
            last = np.minimum(until, (need - room // (others + 1) - 1) // bottom)
            positive = np.where(others > 0, (c * peak - 1) // np.maximum(others, 1), last)
            one = others == 0
            end = np.minimum(last, positive)
            _add(pieces, alive, d, end, np.where(one, c * memory, c * peak), -others)
            d = np.where(alive, np.where(positive < last, until, last) + 1, until + 1)
        rows, lo, hi, a, b = (np.concatenate(column) for column in zip(*pieces, strict=True))
        return _csr(rows, lo, hi, a, b, len(peak))


def weight_from(kind: str, parameters: tuple[int, ...]) -> Weight:
    """Return the weight that a certificate names; unknown kinds and wrong parameters raise `OptionError`."""
    families = {
        ("memory", 0): MemoryWeight,
        ("batch", 0): BatchWeight,
        ("levels", 2): LevelsWeight,
        ("linear", 3): LinearWeight,
    }
    family = families.get((kind, len(parameters)))
    if family is None or not all(type(p) is int for p in parameters):
        raise OptionError(f"unknown weight {kind!r} with the parameters {parameters!r}")
    return family(*parameters)


def _single(lo: IntArray, hi: IntArray, a: IntArray, b: IntArray) -> Segments:
    return Segments(np.arange(len(lo) + 1, dtype=np.int64), lo, hi, a, b)


def _add(
    pieces: list[tuple[IntArray, ...]],
    mask: npt.NDArray[np.bool_],
    lo: IntArray,
    hi: IntArray,
    a: IntArray,
    b: IntArray,
) -> None:
    keep = np.flatnonzero(mask & (lo <= hi))
    pieces.append((keep, lo[keep], hi[keep], a[keep], b[keep]))


def _csr(rows: IntArray, lo: IntArray, hi: IntArray, a: IntArray, b: IntArray, n: int) -> Segments:
    order = np.lexsort((lo, rows))
    ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(rows, minlength=n))))
    return Segments(ptr, lo[order], hi[order], a[order], b[order])


def _largest_level(rows: IntArray, lo: IntArray, hi: IntArray, level: IntArray, n: int) -> Segments:
    """Cut overlapping intervals so that each tick keeps the largest level only."""
    out: list[tuple[int, int, int, int]] = []
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], np.arange(n + 1))
    for j in range(n):
        mine = order[bounds[j] : bounds[j + 1]]
        if len(mine) == 1:
            out.append((j, int(lo[mine[0]]), int(hi[mine[0]]), int(level[mine[0]])))
            continue
        cuts = sorted({int(x) for x in lo[mine]} | {int(x) + 1 for x in hi[mine]})
        for left, right in pairwise(cuts):
            value = max((int(level[q]) for q in mine if lo[q] <= left and right - 1 <= hi[q]), default=0)
            if value:
                out.append((j, left, right - 1, value))
    table = np.array(out, dtype=np.int64).reshape(-1, 4)
    return _csr(table[:, 0], table[:, 1], table[:, 2], table[:, 3], np.zeros(len(table), np.int64), n)
