"""The bound that prices on positions prove (docs/math.md §5.6), in Python's unlimited integers.

The rows of the theorem are priced with y ≥ 0 over a denominator D; requests are assigned to positions under one
multiplier per kind. Writing completions as sums of gaps makes the Lagrangian separable: one minimum per position,
one coefficient per gap. A gap with a negative coefficient is charged its largest possible length, so that any prices
prove something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvbound.models.errors import CertificateError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests, volume

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvbound.checkers.certificate import PriceTerm

#: Most (kind, position) pairs that are priced.
_MOST_PAIRS = 4_000_000


class Kinds(NamedTuple):
    """Distinct requests, ascending by (peak, output, arrival), with their number; each of shape (T,)."""

    peak: IntArray
    output: IntArray
    arrival: IntArray
    number: IntArray

    @property
    def volume(self) -> IntArray:
        """Memory-time of one request of each kind."""
        return volume(self.peak - self.output, self.output)


def kinds(requests: Requests) -> Kinds:
    """Group requests of equal lengths and arrival."""
    rows, number = np.unique(np.stack((requests.peak, requests.output, requests.arrival)), axis=1, return_counts=True)
    peak, output, arrival = (np.ascontiguousarray(row) for row in rows)
    return Kinds(peak, output, arrival, number.astype(np.int64))


def positional_bound(problem: Problem, denominator: int, terms: Sequence[PriceTerm], multipliers: IntArray) -> int:
    """Return the bound on TEL in steps that the prices prove, at least Σ o_j.

    Parameters
    ----------
    terms
        ``position`` with the parameter k: ticks m, prices of the rows (k, m); ``completion``: ticks k, prices of
        e_k ≥ a + o; ``volume``: ticks k, prices of ΣM·e_k ≥ Σ_{i ≤ k} v_(i). Positions count from 1.
    multipliers
        Numerators of what one request of each kind (`kinds`) is worth, shape (T,).

    Raises
    ------
    CertificateError
        Unknown rows, positions outside 1..n, a wrong number of multipliers, or too many pairs.
    """
    n, memory, kind = problem.n, problem.fleet.pooled_memory, kinds(problem.requests)
    if len(multipliers) != len(kind.peak):
        raise CertificateError(f"{len(multipliers)} multipliers, but there are {len(kind.peak)} kinds of requests")
    if len(kind.peak) * n > _MOST_PAIRS:
        raise CertificateError(f"{len(kind.peak)} kinds at {n} positions are too many for the positional rule")
    # Entry k of each array is for position (or gap) k; entries 0 stay unused.
    peak, output, done, used = (np.zeros(n + 2, object) for _ in range(4))
    stretch = np.zeros(n + 2, object)  # Σ price × coefficient of the gap before position k
    paid = 0
    for term in terms:
        _require(term, n)
        for q, price in zip(term.ticks.tolist(), term.prices.tolist(), strict=True):
            if term.kind == "position":
                k = term.parameters[0]
                peak[k] += price
                output[k + 1 : k + q + 1] += price
                stretch[k + 1 : k + q + 1] += price * np.arange(q, 0, -1).astype(object)
                paid += price * memory
            else:
                (done if term.kind == "completion" else used)[q] += price
                stretch[1 : q + 1] += price * (1 if term.kind == "completion" else memory)
    used = used[::-1].cumsum()[::-1]  # the volume at position k stands in all rows from k on
    gaps = denominator * np.arange(n, 0, -1).astype(object) - stretch[1 : n + 1]
    longest = int(kind.output.max()) + int(kind.arrival.max())
    total = longest * sum(min(0, g) for g in gaps.tolist()) - paid
    columns = [x.astype(object)[:, None] for x in (kind.peak, kind.output, kind.output + kind.arrival, kind.volume)]
    worth = multipliers.astype(object)
    cost = sum(c * x[None, 1 : n + 1] for c, x in zip(columns, (peak, output, done, used), strict=True))
    total += sum((cost - worth[:, None]).min(axis=0).tolist()) + sum((worth * kind.number).tolist())
    value = -(-int(total) // denominator) - sum(problem.requests.arrival.tolist())
    return max(value, sum(problem.requests.output.tolist()))


def _require(term: PriceTerm, n: int) -> None:
    """Refuse rows that the theorem does not know."""
    wanted = {"position": 1, "completion": 0, "volume": 0}.get(term.kind)
    if wanted is None or len(term.parameters) != wanted:
        raise CertificateError(f"unknown positional row {term.kind!r} with the parameters {term.parameters!r}")
    first = 0
    if term.kind == "position":
        first = term.parameters[0]
        if type(first) is not int or not 1 <= first < n:
            raise CertificateError(f"position {first!r} lies outside 1..{n - 1}")
    if term.ticks.size and (term.ticks[0] < 1 or first + term.ticks[-1] > n):
        raise CertificateError(f"{term.kind}: {term.ticks.tolist()[-1]} reaches beyond the last of {n} positions")
