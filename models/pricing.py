"""What a start costs under prices: one kernel for all weights, in int64 (certificates) or float64 (dual methods).

A price ℓ_q ≥ 0 at tick q of a weight charges a start Σ_q φ(q − scale·C)·ℓ_q. On a segment φ = a + b·d this is

    (a − b·scale·C)·(Λ[hi] − Λ[lo−1]) + b·(Θ[hi] − Θ[lo−1]),   Λ = prefix sums of ℓ_q, Θ of q·ℓ_q,

so one start costs O(segments) whatever its output length, and prices need no matrix (docs/math.md §5.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.models.requests import IntArray
from kvbound.models.threads import in_chunks, threads
from kvbound.models.weights import Segments, Weight

#: Pairs (request, start) below which one thread is faster than waking another.
_ALONE_BELOW = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """All segments of all weights for all requests, flat, ready for the kernel.

    Built once per (requests, weights, ticks); prices may then change as often as a dual method likes.

    Parameters
    ----------
    ptr
        Segments of request j are `ptr[j]:ptr[j+1]`, shape (n+1,).
    lo, hi, a, b
        The segments (see `kvbound.models.weights.Segments`).
    scale, base, ticks
        Per segment: ticks per step of its weight, where the weight's prefix sums begin in the flat array,
        and the last tick that can carry a price.
    offsets
        Where each weight's prefix sums begin, shape (weights + 1,).
    """

    ptr: IntArray
    lo: IntArray
    hi: IntArray
    a: IntArray
    b: IntArray
    scale: IntArray
    base: IntArray
    ticks: IntArray
    offsets: IntArray

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """What the kernels take, in their order: everything but the offsets."""
        return self.ptr, self.lo, self.hi, self.a, self.b, self.scale, self.base, self.ticks

    @classmethod
    def build(
        cls, prompt: IntArray, output: IntArray, memory: int, weights: Sequence[Weight], ticks: Sequence[int]
    ) -> Layout:
        """Lay out `weights`, of which weight f may have prices at the ticks 0..ticks[f]."""
        parts: list[Segments] = [w.segments(prompt, output, memory) for w in weights]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum([t + 2 for t in ticks], dtype=np.int64)))
        owner = np.concatenate([np.repeat(np.arange(len(prompt)), np.diff(p.ptr)) for p in parts])
        order = np.argsort(owner, kind="stable")

        def column(name: str) -> IntArray:
            flat: IntArray = np.concatenate([getattr(p, name) for p in parts]).astype(np.int64)
            return flat[order]

        def repeated(values: Sequence[int]) -> IntArray:
            flat = np.concatenate([np.full(len(p.lo), v, np.int64) for p, v in zip(parts, values, strict=True)])
            return flat[order]

        ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(owner, minlength=len(prompt)))))
        return cls(
            ptr.astype(np.int64),
            column("lo"),
            column("hi"),
            column("a"),
            column("b"),
            repeated([w.scale for w in weights]),
            repeated([int(x) for x in offsets[:-1]]),
            repeated(list(ticks)),
            offsets,
        )

    def prefix(
        self, prices: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the flat prefix sums (Λ, Θ) of `prices[f][q]`, q = 0..ticks[f]; entry i is the sum over q < i."""
        lam = np.zeros(int(self.offsets[-1]), dtype)
        the = np.zeros(int(self.offsets[-1]), dtype)
        for f, price in enumerate(prices):
            begin, end = int(self.offsets[f]) + 1, int(self.offsets[f + 1])
            np.cumsum(price, out=lam[begin:end], dtype=dtype)
            np.cumsum(price * np.arange(len(price)).astype(dtype), out=the[begin:end], dtype=dtype)
        return lam, the

    def magnitude(self, scales: Sequence[int], totals: Sequence[int], last_ticks: Sequence[int], last_end: int) -> int:
        """What no intermediate value of `start_price` exceeds in size, for completions up to `last_end`.

        Weight f has `scales[f]` ticks per step, integer prices ≥ 0 that sum up to `totals[f]`, the last one at
        `last_ticks[f]` (docs/math.md §5.5).
        """
        value, slope = int(np.abs(self.a).max(initial=0)), int(np.abs(self.b).max(initial=0))
        worst = 0
        for scale, total, top in zip(scales, totals, last_ticks, strict=True):
            worst = max(worst, (value + slope * scale * last_end) * total + slope * top * total, top * total)
        return 2 * int(np.diff(self.ptr).max(initial=0)) * worst


@njit(cache=True, inline="always")
def start_price(first, last, completion, lo, hi, a, b, scale, base, ticks, lam, the):  # type: ignore[no-untyped-def]
    """Price of a start with that completion: the formula above summed over the segments `first:last`."""
    total = lam[0] * 0
    for e in range(first, last):
        centre = scale[e] * completion
        left = max(centre + lo[e], 0)
        right = min(centre + hi[e], ticks[e])
        if left <= right:
            i, k = base[e] + left, base[e] + right + 1
            total += (a[e] - b[e] * centre) * (lam[k] - lam[i]) + b[e] * (the[k] - the[i])
    return total


@njit(cache=True, nogil=True)
def _cheapest(chunk, chunks, output, arrival, unit, horizon, ptr, lo, hi, a, b, scale, base, ticks, lam, the, value, start):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    for j in range(chunk, len(output), chunks):
        best = value[j] * 0
        best_start = -1
        for k in range(arrival[j], max(arrival[j], horizon) + 1):
            flat = unit * (k + output[j] - arrival[j])
            if best_start >= 0 and flat >= best:
                break  # prices are ≥ 0, so no later start can be cheaper
            cost = flat + start_price(ptr[j], ptr[j + 1], k + output[j], lo, hi, a, b, scale, base, ticks, lam, the)
            if best_start < 0 or cost < best:
                best = cost
                best_start = k
        value[j] = best
        start[j] = best_start


def cheapest_starts(
    layout: Layout,
    output: IntArray,
    arrival: IntArray,
    unit: Any,
    horizon: int,
    lam: npt.NDArray[Any],
    the: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return min over starts k ≥ a_j of unit·(k + o_j − a_j) + price, and its first minimiser, per request.

    `horizon` is a step after which no price is left: later starts cost more and pay nothing, so the
    minimum over k ≤ horizon is the minimum over all k (docs/math.md §5.4). `unit` is the price of one
    step of latency: 1.0 in float methods, the denominator D in certificates. dtype follows `lam`.
    """
    value = np.zeros(len(output), lam.dtype)
    start = np.zeros(len(output), np.int64)
    in_chunks(_cheapest, threads(), output, arrival, lam.dtype.type(unit), horizon, *layout.arrays, lam, the, value,
              start, alone=len(output) * horizon < _ALONE_BELOW)  # fmt: skip
    return value, start


@njit(cache=True)
def _all_costs(j, output, arrival, unit, ptr, lo, hi, a, b, scale, base, ticks, lam, the, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        k = arrival + i
        out[i] = unit * (k + output - arrival) + start_price(
            ptr[j], ptr[j + 1], k + output, lo, hi, a, b, scale, base, ticks, lam, the
        )


def start_costs(
    layout: Layout,
    request: int,
    output: int,
    arrival: int,
    unit: Any,
    last: int,
    lam: npt.NDArray[Any],
    the: npt.NDArray[Any],
) -> npt.NDArray[Any]:
    """Return the cost of each start k = a_j..last of one request, shape (last − a_j + 1,), dtype of `lam`."""
    out = np.zeros(max(0, last - arrival + 1), lam.dtype)
    _all_costs(
        request,
        output,
        arrival,
        lam.dtype.type(unit),
        *layout.arrays,
        lam,
        the,
        out,
    )
    return out
