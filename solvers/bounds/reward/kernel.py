"""The hot loop of the reward dual: prices in, smoothed best margins and row activities out.

As in `kvbound.solvers.bounds.kernel` a smoothed minimum has a distribution over starts as gradient; what differs is
that a start earns a reward, that nobody has to be served, that kinds of workers compete, and that the rows are those
of memory and batch alone, so that prefix sums of the prices do.
Everything is written as a cost to be minimised: minus the margin, 0 for staying unserved.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from kvbound.models.reward import earned

#: exp(−16) ≈ 10⁻⁷ of the mass: starts that much worse (in units of the smoothing) are ignored.
_CUT = 16.0
#: Starts priced before asking whether later ones can still matter.
_PANEL = 128


@njit(cache=True)
def _add_flat(cost, upper, lower):  # type: ignore[no-untyped-def]
    for i in range(len(cost)):
        cost[i] += upper[i] - lower[i]


@njit(cache=True)
def _add_sloped(cost, upper, lower, upper2, lower2, base):  # type: ignore[no-untyped-def]
    for i in range(len(cost)):
        cost[i] += (base - i) * (upper[i] - lower[i]) + (upper2[i] - lower2[i])


@njit(cache=True)
def _scatter(upper, lower, x, base, slope):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        v = (base - slope * i) * x[i]
        lower[i] += v
        upper[i] -= v


@njit(cache=True)
def _rewards(cost, first, output, arrival, scaled):  # type: ignore[no-untyped-def]
    for i in range(len(cost)):
        cost[i] = -earned(first + i, output, arrival, scaled)


@njit(cache=True)
def _weigh(cost, best, mu):  # type: ignore[no-untyped-def]
    """Turn costs into weights exp((best − cost)/μ) in place; return (first, stop of those that are not 0, total)."""
    total = 0.0
    first = len(cost)
    stop = 0
    limit = best + _CUT * mu
    for i in range(len(cost)):
        if cost[i] < limit:
            cost[i] = math.exp((best - cost[i]) / mu)
            total += cost[i]
            first = min(first, i)
            stop = i + 1
        else:
            cost[i] = 0.0
    return first, stop, total


@njit(cache=True, nogil=True)
def evaluate(chunk, chunks, prompt, output, arrival, count, fits, scaled, memory, slope, batch, mu, gradient, best_kind, best_start, grad0, grad1):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    """Evaluate Σ count·min(0, min over kinds and starts of −margin), smoothed and exact.

    `memory[g, i]`, `batch[g, i]` are sums of the prices of the steps up to i on kind g, `slope` of step·price; they
    stay constant beyond the horizon. `fits[j, g]` says on which kinds j may run. Fills best_kind (−1: unserved),
    best_start and, if `gradient`, what starts and ends at each step: grad0 (constant part of the tokens held) and
    grad1 (number active), shape (chunks, kinds, length).
    """
    n, kinds = fits.shape
    horizon = scaled[0]
    soft = hard = 0.0
    cost = np.empty((kinds, horizon + 1))
    from_to = np.zeros((kinds, 2), np.int64)
    grad0[chunk] = 0.0
    grad1[chunk] = 0.0
    for j in range(chunk, n, chunks):
        k0 = arrival[j]
        o = output[j]
        best = 0.0
        kind = -1
        at = -1
        k = k0
        while k < horizon and -earned(k, o, k0, scaled) < best + _CUT * mu:
            size = min(_PANEL, horizon - k)
            for g in range(kinds):
                if not fits[j, g]:
                    continue
                here = cost[g, k - k0 : k - k0 + size]
                _rewards(here, k, o, k0, scaled)
                _add_sloped(here, memory[g, k + o : k + o + size], memory[g, k : k + size],
                            slope[g, k + o : k + o + size], slope[g, k : k + size], float(prompt[j] - k))  # fmt: skip
                _add_flat(here, batch[g, k + o : k + o + size], batch[g, k : k + size])
                for i in range(size):
                    if here[i] < best:
                        best = here[i]
                        kind = g
                        at = k + i
            k += size
        best_kind[j] = kind
        best_start[j] = at
        hard += count[j] * best
        if not gradient or k == k0:
            continue
        total = math.exp(best / mu)
        for g in range(kinds):
            if fits[j, g]:
                from_to[g, 0], from_to[g, 1], mass = _weigh(cost[g, : k - k0], best, mu)
                total += mass
        soft += count[j] * (best - mu * math.log(total))
        for g in range(kinds):
            if not fits[j, g]:
                continue
            i0, i1 = from_to[g]
            if i0 >= i1:
                continue
            x = cost[g, i0:i1]
            for i in range(len(x)):
                x[i] *= count[j] / total
            k1, size = k0 + i0, i1 - i0
            _scatter(grad0[chunk, g, k1 + o : k1 + o + size], grad0[chunk, g, k1 : k1 + size], x,
                     float(prompt[j] - k1), 1.0)  # fmt: skip
            _scatter(grad1[chunk, g, k1 + o : k1 + o + size], grad1[chunk, g, k1 : k1 + size], x, 1.0, 0.0)
    return soft, hard
