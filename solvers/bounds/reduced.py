"""Reduced costs of starts under a certificate, in its own integers: the raw material of reduced-cost fixing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.checkers.certificate import Certificate, fits_int64, scaled_value
from kvbound.models.errors import CertificateError
from kvbound.models.pricing import Layout, start_costs
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.weights import weight_from


@dataclass(frozen=True, slots=True, eq=False)
class ReducedCosts:
    """What each start costs above the cheapest start of its request, under fixed prices.

    Parameters
    ----------
    denominator
        D: every number below is in units of 1/D steps.
    value
        D·L, the exact unrounded bound of the prices.
    first
        Start of entry 0 of each row, the arrivals; shape (n,).
    least
        D·min_k c_jk, the cheapest start of each request: what the prices make it worth; shape (n,).
    excess
        Per request the reduced costs D·(c_jk − min_k c_jk) ≥ 0 of the starts first_j, first_j + 1, …
    """

    denominator: int
    value: int
    first: IntArray
    least: IntArray
    excess: tuple[IntArray, ...]

    def remaining(self, upper: int) -> list[IntArray]:
        """Starts that a schedule with TEL < `upper` can use, ascending, one array per request.

        A schedule that starts j at k costs at least L + reduced cost, so this loses no better schedule. Starts
        beyond the table cost more than its last entry, which lies beyond the last price; they are added as long
        as they are affordable.
        """
        room = self.denominator * (upper - 1) - self.value
        out: list[IntArray] = []
        for begin, row in zip(self.first.tolist(), self.excess, strict=True):
            kept = begin + np.flatnonzero(row <= room)
            beyond = (room - int(row[-1])) // self.denominator
            if beyond > 0:
                kept = np.concatenate((kept, begin + len(row) + np.arange(beyond)))
            out.append(kept.astype(np.int64))
        return out


def reduced_costs(problem: Problem, certificate: Certificate) -> ReducedCosts:
    """Return the exact reduced costs of every start up to the last priced step.

    Raises
    ------
    CertificateError
        It has no prices, belongs to another problem, or its integers do not fit int64.
    """
    if certificate.rule != "prices" or not certificate.terms:
        raise CertificateError("only a certificate with prices has reduced costs")
    if certificate.fingerprint != problem.fingerprint():
        raise CertificateError("the certificate is for another problem")
    value = scaled_value(problem, certificate)
    r = problem.requests
    weights = [weight_from(t.kind, t.parameters) for t in certificate.terms]
    ticks = [int(t.ticks[-1]) if t.ticks.size else 0 for t in certificate.terms]
    last = max(int(r.arrival.max()), *(-(-t // w.scale) for t, w in zip(ticks, weights, strict=True)))
    layout = Layout.build(r.prompt, r.output, problem.fleet.largest, weights, ticks)
    if not fits_int64(certificate, layout, r.output, r.arrival, last):
        raise CertificateError("the certificate's integers do not fit 64 bits; write it with a smaller denominator")
    lam, the = layout.prefix([t.dense(k + 1) for t, k in zip(certificate.terms, ticks, strict=True)], np.int64)
    rows, least = [], np.empty(problem.n, np.int64)
    for j, (output, arrival) in enumerate(zip(r.output.tolist(), r.arrival.tolist(), strict=True)):
        cost = start_costs(layout, j, output, arrival, certificate.denominator, last, lam, the)
        least[j] = cost.min()
        rows.append(cost - least[j])
    return ReducedCosts(certificate.denominator, value, r.arrival, least, tuple(rows))
