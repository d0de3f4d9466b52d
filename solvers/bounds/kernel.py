"""The hot loop of the dual methods: prices in, smoothed minimum and row activities out.

For every request all starts are priced by prefix sums (one difference per window, written so that the inner
loops run over consecutive starts and become vector instructions), then the minimum over the starts is smoothed,

    min_k c_k  ≥  −μ·log Σ_k exp(−c_k/μ)  ≥  min_k c_k − μ·log(number of starts),

whose gradient is a distribution over starts: its footprint is the gradient of the dual. Requests are dealt to a
fixed number of chunks, so the result does not depend on the number of threads.

Layout: an array (lines, length) holds a row set f with r points per step as r lines, one per residue of the point
number, from line `at[f]` on; the point r·i + residue stands at `[at[f] + residue, pad + i]`.
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
_PANEL = 512


@njit(cache=True)
def _add_flat(cost, upper, lower, a):  # type: ignore[no-untyped-def]
    for i in range(len(cost)):
        cost[i] += a * (upper[i] - lower[i])


@njit(cache=True)
def _add_sloped(cost, upper, lower, upper2, lower2, b, base, slope):  # type: ignore[no-untyped-def]
    for i in range(len(cost)):
        cost[i] += (base - slope * i) * (upper[i] - lower[i]) + b * (upper2[i] - lower2[i])


@njit(cache=True)
def _scatter(upper, lower, x, base, slope):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        v = (base - slope * i) * x[i]
        lower[i] += v
        upper[i] -= v


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
def evaluate(chunk, chunks, prompt, output, arrival, count, last, pad, lam, the, lam_at, the_at, per_step, ptr, row, first, stop, a, b, mu, gradient, best_start, best_cost, grad0, grad1):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    """Price the requests chunk, chunk + chunks, …

    `lam` and `the` are as `write_prices` leaves them, `the` only for row sets with slopes. Returns (smoothed, exact)
    sums of the minima; fills best_start, best_cost and, if `gradient`, the difference arrays grad0[chunk] (constant
    part) and grad1[chunk] (slope part), shaped like `lam` and `the`.
    """
    n = len(output)
    soft = hard = 0.0
    cost = np.empty(last + 2 + _PANEL)
    mass = np.empty(last + 2 + _PANEL)
    grad0[chunk] = 0.0
    grad1[chunk] = 0.0
    for j in range(chunk, n, chunks):
        k0 = arrival[j]
        oj = output[j]
        end = max(last, k0) + 1
        best = math.inf
        at = k0
        k = k0
        while k < end and k + oj - k0 < best + _CUT * mu:
            size = min(_PANEL, end - k)
            here = cost[k - k0 : k - k0 + size]
            for i in range(size):
                here[i] = k + i + oj - k0
            for w in range(ptr[j], ptr[j + 1]):
                f = row[w]
                r = per_step[f]
                ra, rb = stop[w] % r, first[w] % r
                ha = pad + k + oj + (stop[w] - ra) // r
                hb = pad + k + oj + (first[w] - rb) // r
                upper = lam[lam_at[f] + ra, ha : ha + size]
                lower = lam[lam_at[f] + rb, hb : hb + size]
                if b[w] == 0.0:
                    _add_flat(here, upper, lower, a[w])
                else:
                    upper2 = the[the_at[f] + ra, ha : ha + size]
                    lower2 = the[the_at[f] + rb, hb : hb + size]
                    _add_sloped(here, upper, lower, upper2, lower2, b[w], a[w] - b[w] * r * (k + oj), b[w] * r)
            for i in range(size):
                if here[i] < best:
                    best = here[i]
                    at = k + i
            k += size
        best_start[j] = at
        best_cost[j] = best
        hard += count[j] * best
        if not gradient:
            continue
        if mu > 0.0:
            i0, i1, total = _distribution(cost[: k - k0], best, mu, float(count[j]), mass)
            soft += count[j] * (best - mu * math.log(total))
        else:
            i0, i1 = at - k0, at - k0 + 1
            mass[i0] = float(count[j])
            soft += count[j] * best
        x = mass[i0:i1]
        size = i1 - i0
        k = k0 + i0
        for w in range(ptr[j], ptr[j + 1]):
            f = row[w]
            r = per_step[f]
            ra, rb = stop[w] % r, first[w] % r
            ha = pad + k + oj + (stop[w] - ra) // r
            hb = pad + k + oj + (first[w] - rb) // r
            upper = grad0[chunk, lam_at[f] + ra, ha : ha + size]
            lower = grad0[chunk, lam_at[f] + rb, hb : hb + size]
            _scatter(upper, lower, x, a[w] - b[w] * r * (k + oj), b[w] * r)
            if b[w] != 0.0:
                upper = grad1[chunk, the_at[f] + ra, ha : ha + size]
                lower = grad1[chunk, the_at[f] + rb, hb : hb + size]
                _scatter(upper, lower, x, b[w], 0.0)
    return soft, hard


@njit(cache=True)
def write_prices(prices, at, block, points, begin, sloped, lam, lam_at, the, the_at):  # type: ignore[no-untyped-def]
    """Write the prefix sums of all prices into the lines.

    lam[lam_at[f] + residue, i] becomes the sum of the prices of the points < r·i + residue − begin[f] of row set f,
    and, where sloped[f], `the` the same of point·price. The prices of f stand from prices[at[f]] on, one for each
    `block[f]` of its points.
    """
    for f in range(len(points)):
        r = lam_at[f + 1] - lam_at[f]
        total = moment = 0.0
        point = -begin[f] - 1  # the point that the next entry counts for the first time
        left, price = block[f], at[f]
        for i in range(lam.shape[1]):
            for residue in range(r):
                if 0 <= point < points[f]:
                    total += prices[price]
                    moment += prices[price] * point
                    left -= 1
                    if left == 0:
                        left, price = block[f], price + 1
                point += 1
                lam[lam_at[f] + residue, i] = total
                if sloped[f]:
                    the[the_at[f] + residue, i] = moment


@njit(cache=True)
def read_activity(grad0, grad1, at, block, points, begin, sloped, lam_at, the_at, activity):  # type: ignore[no-untyped-def]
    """Add up the differences, shape (chunks, lines, length): what the rows hold, summed like the prices per block."""
    chunks, _, length = grad0.shape
    for f in range(len(points)):
        r = lam_at[f + 1] - lam_at[f]
        constant = slope = 0.0
        point, left, price = -begin[f], block[f], at[f]
        for i in range(length):
            for residue in range(r):
                for chunk in range(chunks):
                    constant += grad0[chunk, lam_at[f] + residue, i]
                    if sloped[f]:
                        slope += grad1[chunk, the_at[f] + residue, i]
                if 0 <= point < points[f]:
                    activity[price] += constant + slope * point
                    left -= 1
                    if left == 0:
                        left, price = block[f], price + 1
                point += 1
