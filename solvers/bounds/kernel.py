"""The hot loop of the dual methods: prices in, smoothed minimum and row activities out.

A weight is piecewise linear in the age of a request, so its second differences c_h are few, and a request that
completes at C pays

    Σ_q φ(q − r·C)·p_q = Σ_h c_h·Ψ(r·C + h),   Ψ(i) = Σ_{q>i} (q − i)·p_q   (r points per step):

a few numbers per start whatever the output length, read from sums that are formed once. Then the minimum over the
starts is smoothed,

    min_k c_k  ≥  −μ·log Σ_k exp(−c_k/μ)  ≥  min_k c_k − μ·log(number of starts),

whose gradient is a distribution over starts: its footprint is the gradient of the dual. Requests are dealt to a
fixed number of chunks, so the result does not depend on the number of threads.

Layout: an array (lines, length) holds a row set f with r points per step as r lines, one per residue of the point
number, from line `line[f]` on; the point r·i + residue stands at `[line[f] + residue, pad + i]`. The inner loops run
over consecutive starts, which are consecutive entries.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: Chunks of requests: fixed, so that sums are formed in the same order on any machine.
CHUNKS = 2
#: exp(−16) ≈ 10⁻⁷ of the mass: starts that much worse (in units of μ) are ignored.
_CUT = 16.0
#: Starts priced before asking whether later ones can still matter.
_PANEL = 256


@njit(cache=True)
def _price(cost, psi, at, bend):  # type: ignore[no-untyped-def]
    """Add Σ_h bend[h]·psi[at[h] + i] to cost[i]: four at a time, which saves much reading and writing of cost."""
    size, h = len(cost), 0
    while h + 4 <= len(at):
        p0, p1 = psi[at[h] : at[h] + size], psi[at[h + 1] : at[h + 1] + size]
        p2, p3 = psi[at[h + 2] : at[h + 2] + size], psi[at[h + 3] : at[h + 3] + size]
        c0, c1, c2, c3 = bend[h], bend[h + 1], bend[h + 2], bend[h + 3]
        for i in range(size):
            cost[i] += (c0 * p0[i] + c1 * p1[i]) + (c2 * p2[i] + c3 * p3[i])
        h += 4
    while h < len(at):
        p0, c0 = psi[at[h] : at[h] + size], bend[h]
        for i in range(size):
            cost[i] += c0 * p0[i]
        h += 1


@njit(cache=True)
def _scatter(change, x, factor):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        change[i] += factor * x[i]


@njit(cache=True)
def _distribution(cost, best, mu, count, x):  # type: ignore[no-untyped-def]
    """Fill x with count·softmin of `cost`; return (first, stop of the part that is not 0, total of the weights)."""
    total = 0.0
    first = -1
    stop = 0
    limit = best + _CUT * mu
    for i in range(len(cost)):
        x[i] = 0.0
        if cost[i] < limit:
            x[i] = math.exp((best - cost[i]) / mu)
            total += x[i]
            if first < 0:
                first = i
            stop = i + 1
    for i in range(first, stop):
        x[i] *= count / total
    return first, stop, total


@njit(cache=True, nogil=True)
def evaluate(chunk, chunks, output, arrival, count, last, psi, ptr, at, bend, mu, gradient, best_start, best_cost, grad):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    """Price the requests chunk, chunk + chunks, …

    `psi` is as `write_prices` leaves it, flat; of request j the second differences bend[ptr[j]:ptr[j + 1]] stand
    at the entries `at` of it for completion 0. Returns (smoothed, exact) sums of the minima; fills best_start,
    best_cost and, if `gradient`, the second differences of all activities, grad[chunk], shaped like `psi`.
    """
    soft = hard = 0.0
    cost = np.empty(last + 2 + _PANEL)
    mass = np.empty(last + 2 + _PANEL)
    grad[chunk] = 0.0
    for j in range(chunk, len(output), chunks):
        k0 = arrival[j]
        oj = output[j]
        mine, bends = at[ptr[j] : ptr[j + 1]], bend[ptr[j] : ptr[j + 1]]
        end = max(last, k0) + 1
        best = math.inf
        where = k0
        k = k0
        while k < end and k + oj - k0 < best + _CUT * mu:
            size = min(_PANEL, end - k)
            here = cost[k - k0 : k - k0 + size]
            for i in range(size):
                here[i] = k + i + oj - k0
            _price(here, psi[k + oj :], mine, bends)
            for i in range(size):
                if here[i] < best:
                    best = here[i]
                    where = k + i
            k += size
        best_start[j] = where
        best_cost[j] = best
        hard += count[j] * best
        if not gradient:
            continue
        if mu > 0.0:
            i0, i1, total = _distribution(cost[: k - k0], best, mu, float(count[j]), mass)
            soft += count[j] * (best - mu * math.log(total))
        else:
            i0, i1 = where - k0, where - k0 + 1
            mass[i0] = float(count[j])
            soft += count[j] * best
        for h in range(ptr[j], ptr[j + 1]):
            first = at[h] + k0 + i0 + oj
            _scatter(grad[chunk, first : first + i1 - i0], mass[i0:i1], bend[h])
    return soft, hard


@njit(cache=True)
def write_prices(prices, begin, block, points, line, pad, psi):  # type: ignore[no-untyped-def]
    """Fill psi, shape (lines, length), with Ψ of each row set; its prices begin at prices[begin[f]], one per block."""
    length = psi.shape[1]
    for f in range(len(points)):
        r = line[f + 1] - line[f]
        total = moment = 0.0
        point = r * (length - pad)  # the point that the next entry has before it
        for i in range(length - 1, -1, -1):
            for residue in range(r - 1, -1, -1):
                moment += total
                psi[line[f] + residue, i] = moment
                point -= 1
                if 0 <= point < points[f]:
                    total += prices[begin[f] + point // block[f]]


@njit(cache=True)
def read_activity(grad, begin, block, points, line, pad, activity):  # type: ignore[no-untyped-def]
    """Add up second differences, shape (chunks, lines, length), to sums of activities, one per block of points."""
    chunks, _, length = grad.shape
    for f in range(len(points)):
        r = line[f + 1] - line[f]
        value = slope = 0.0
        point = -r * pad
        for i in range(length):
            for residue in range(r):
                value += slope
                for chunk in range(chunks):
                    slope += grad[chunk, line[f] + residue, i]
                if 0 <= point < points[f]:
                    activity[begin[f] + point // block[f]] += value
                point += 1
