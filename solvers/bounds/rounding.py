"""Floating-point prices -> integer certificate, and the exact value that it proves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvbound.checkers.certificate import Certificate, PriceTerm, certified, int_sum
from kvbound.models.pricing import Layout
from kvbound.models.problem import Problem
from kvbound.models.weights import Weight
from kvbound.solvers.bounds.rows import FloatArray

#: Finest denominator tried; floats carry no more.
_MOST_BITS = 44
#: Leaves room below the checker's 2^62 for the rounding of prices.
_SAFE = float(1 << 61)


def certify_prices(
    problem: Problem, method: str, terms: Sequence[tuple[Weight, np.ndarray, FloatArray]]
) -> Certificate:
    """Round prices to integers over the finest power of two with which int64 suffices, and verify exactly.

    Parameters
    ----------
    terms
        Per weight: the weight, its ticks (ascending) and the prices in steps per unit of raw weight.

    Returns
    -------
    Certificate
        It claims what exact arithmetic proves, never what floats believed.
    """
    bits = _bits(problem, terms)
    while True:
        rounded = []
        for weight, ticks, price in terms:
            numerator = np.rint(np.ldexp(price, bits)).astype(np.int64)
            keep = numerator > 0
            if keep.any():
                rounded.append(PriceTerm(weight.kind, weight.parameters, ticks[keep], numerator[keep]))
        if all(int_sum(t.prices) < 1 << 61 for t in rounded) or bits == 0:
            break
        bits -= 1
    certificate = Certificate("prices", method, problem.fingerprint(), 1 << bits, tuple(rounded), None)
    return certified(problem, certificate)


def volume_certificate(problem: Problem) -> Certificate:
    """The certificate that the checker recomputes from the volumes."""
    return certified(problem, Certificate("volume", "volume", problem.fingerprint(), 1, (), None))


def _bits(problem: Problem, terms: Sequence[tuple[Weight, np.ndarray, FloatArray]]) -> int:
    """Largest b such that sums of prices over 2^b stay inside the checker's int64 path."""
    r = problem.requests
    used = [(w, int(t[-1]), float(p.sum())) for w, t, p in terms if len(t)]
    if not used:
        return 0
    layout = Layout.build(r.prompt, r.output, problem.fleet.largest, [w for w, _, _ in used], [0] * len(used))
    steps = max(int(r.arrival.max()), *(-(-top // w.scale) for w, top, _ in used)) + int(r.output.max()) + 1
    value, slope = float(np.abs(layout.a).max(initial=0)), float(np.abs(layout.b).max(initial=0))
    worst = max(max((value + slope * w.scale * steps + slope * top) * price, top * price) for w, top, price in used)
    size = steps + 2.0 * float(np.diff(layout.ptr).max(initial=0)) * worst
    return int(np.clip(np.floor(np.log2(_SAFE / size)), 0, _MOST_BITS))
