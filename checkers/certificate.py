"""Bound certificates (docs/math.md §5.5): integer prices from which anybody recomputes the bound.

For prices ℓ/D ≥ 0 on the rows of valid weights, weak duality gives

    D·TEL* ≥ Σ_j min_{k ≥ a_j} [ D·(k + o_j − a_j) + Σ_rows ℓ·φ_j ] − Σ_rows ℓ·capacity ,

an integer made of integers. This module evaluates the right side exactly: in int64 when a bound on all
intermediate magnitudes proves that nothing can overflow, in Python integers otherwise. It trusts the
validity of the weights (proved in docs/math.md §4) and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kvbound.checkers.positional_rule import positional_bound
from kvbound.checkers.reward_rule import reward_bound
from kvbound.checkers.sequence_rule import sequence_bound
from kvbound.models.errors import CertificateError, OptionError
from kvbound.models.pricing import Layout, cheapest_starts, start_price
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.sequence import LEVELS
from kvbound.models.weights import Weight, weight_from

#: Rules by which a certificate may prove its bound.
RULES = ("prices", "volume", "positional", "sequence", "reward")
_INT64_SAFE = 1 << 62
#: Most (request, start) pairs that the slow path in Python integers agrees to price.
_SLOW_LIMIT = 20_000_000
#: Most ticks a certificate may span; a million-step horizon is 4 million ticks.
_MAX_TICKS = 400_000_000


@dataclass(frozen=True, slots=True, eq=False)
class PriceTerm:
    """Prices on the rows of one weight.

    Parameters
    ----------
    kind, parameters
        The weight (`kvbound.models.weights.weight_from`).
    ticks
        Ticks q ≥ 0 with a price, strictly ascending, shape (r,); the time is q / scale of the weight.
    prices
        Numerators ℓ ≥ 0, shape (r,).
    """

    kind: str
    parameters: tuple[int, ...]
    ticks: IntArray
    prices: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(_plain(p) for p in self.parameters))
        for name in ("ticks", "prices"):
            array = np.asarray(getattr(self, name))
            if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
                raise CertificateError(f"{name} of the {self.kind} prices must be a list of integers")
            object.__setattr__(self, name, array.astype(np.int64))
        if len(self.ticks) != len(self.prices):
            raise CertificateError(f"{self.kind}: {len(self.ticks)} ticks but {len(self.prices)} prices")
        if self.prices.size and self.prices.min() < 0:
            raise CertificateError(f"{self.kind}: price {self.prices.min()} is negative")
        if self.ticks.size:
            if self.ticks[0] < 0 or (self.ticks[1:] <= self.ticks[:-1]).any():  # differences might overflow
                raise CertificateError(f"{self.kind}: ticks must be ascending and not negative")
            if self.ticks[-1] > _MAX_TICKS:
                raise CertificateError(f"{self.kind}: tick {self.ticks[-1]} is off the grid (limit {_MAX_TICKS})")

    def dense(self, length: int) -> IntArray:
        """Prices at the ticks 0..length−1."""
        full = np.zeros(length, np.int64)
        full[self.ticks] = self.prices
        return full


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """A bound on the optimum of one problem, with its proof: from below for TEL, from above for REWARD.

    Parameters
    ----------
    rule
        `prices` (the formula above), `volume` (recomputed from the volumes, docs/math.md §5.1), `positional` (prices
        of the rows of docs/math.md §5.6), `sequence` (the sequence relaxation under multipliers, docs/bounds.md §1) or
        `reward` (an upper bound on the reward, docs/math.md §6; `kvbound.checkers.reward_rule`).
    method
        What produced it; for people, not part of the proof.
    fingerprint
        `Problem.fingerprint()` of the problem.
    denominator
        D ≥ 1.
    terms
        The prices; empty for `volume` and `sequence`. For `positional` the ticks are positions
        (`kvbound.checkers.positional_rule`).
    value
        The claimed bound in steps (for `reward` in units of 1 / denominator of the weights), or None when nothing is
        claimed beyond what the prices prove.
    level, multipliers
        For `sequence`: how many requests the relaxation remembers (2 or 3), and its numerators, one per distinct
        (prompt + output, output) in ascending order, shape (types,). For `positional`: no level, and numerators of
        what a request is worth, one per distinct (prompt + output, output, arrival) in ascending order.
    objective
        For `reward`: the identity of the objective, from which `Reward.from_identity` makes it; otherwise None.
    """

    rule: Literal["prices", "volume", "positional", "sequence", "reward"]
    method: str
    fingerprint: str
    denominator: int
    terms: tuple[PriceTerm, ...]
    value: int | None
    level: int | None = None
    multipliers: IntArray | None = None
    objective: str | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise CertificateError(f"unknown certificate rule {self.rule!r}; known: {', '.join(RULES)}")
        for name in ("denominator", "value"):
            number = getattr(self, name)
            if name == "value" and number is None:
                continue
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
                raise CertificateError(f"{name} is {number!r}; it must be an integer")
            object.__setattr__(self, name, int(number))  # NumPy integers would overflow
        if self.denominator < 1:
            raise CertificateError(f"denominator is {self.denominator}; it must be at least 1")
        if (self.objective is None) is (self.rule == "reward"):
            raise CertificateError("a reward certificate names its objective, and no other one does")
        if self.rule not in ("prices", "positional", "reward") and self.terms:
            raise CertificateError(f"a {self.rule} certificate carries no prices")
        if self.rule == "sequence" and self.level not in LEVELS:
            raise CertificateError("a sequence certificate needs level 2, 3 or 4 and its multipliers")
        if self.rule != "sequence" and self.level is not None:
            raise CertificateError(f"a {self.rule} certificate has no level")
        if self.rule in ("sequence", "positional"):
            if self.multipliers is None:
                raise CertificateError(f"a {self.rule} certificate needs its multipliers")
            array = np.asarray(self.multipliers)
            if array.ndim != 1 or array.dtype.kind not in "iu":
                raise CertificateError("multipliers must be a list of integers")
            object.__setattr__(self, "multipliers", array.astype(np.int64))
        elif self.multipliers is not None:
            raise CertificateError(f"a {self.rule} certificate carries no multipliers")


def verify(problem: Problem, certificate: Certificate) -> int:
    """Return the bound that `certificate` proves for `problem`, in steps (`reward`: as `Certificate.value`).

    Raises
    ------
    CertificateError
        It belongs to another problem, is malformed, or claims more than it proves.
    """
    if certificate.fingerprint != problem.fingerprint():
        raise CertificateError(
            f"the certificate is for another problem (fingerprint {certificate.fingerprint[:12]}…, {problem.name} has "
            f"{problem.fingerprint()[:12]}…): lengths, arrivals, memory, batch and workers must all be the same"
        )
    proven = evaluate(problem, certificate)
    claim = proven if certificate.value is None else certificate.value
    if claim < proven if certificate.rule == "reward" else claim > proven:
        raise CertificateError(f"the certificate claims {claim}, its prices prove only {proven}")
    return proven


def certified(problem: Problem, certificate: Certificate) -> Certificate:
    """Return the certificate claiming exactly what it proves."""
    return replace(certificate, value=evaluate(problem, certificate))


def evaluate(problem: Problem, certificate: Certificate) -> int:
    """Return the bound that the certificate's data prove: ⌈L⌉ in steps, or ⌊U⌋ for `reward`."""
    if certificate.rule == "reward":
        return reward_bound(problem, certificate.denominator, certificate.terms)
    if problem.objective.name != "tel":
        raise CertificateError(f"a {certificate.rule} certificate bounds TEL, not {problem.objective.name}")
    if certificate.rule == "volume":
        return volume_bound(problem)
    if certificate.multipliers is not None:
        if certificate.level is None:
            return positional_bound(problem, certificate.denominator, certificate.terms, certificate.multipliers)
        return sequence_bound(problem, certificate.level, certificate.denominator, certificate.multipliers)
    scaled = scaled_value(problem, certificate)
    # No schedule is faster than every request running at once, whatever the prices say.
    return max(-(-scaled // certificate.denominator), int_sum(problem.requests.output))


def scaled_value(problem: Problem, certificate: Certificate) -> int:
    """Return D·L of a price certificate, an exact integer."""
    weights, capacities = _weights(problem, certificate)
    groups, count = np.unique(
        np.stack((problem.requests.prompt, problem.requests.output, problem.requests.arrival)),
        axis=1,
        return_counts=True,
    )
    prompt, output, arrival = (np.ascontiguousarray(row) for row in groups)
    ticks = [int(term.ticks[-1]) if term.ticks.size else 0 for term in certificate.terms]
    horizon = max((-(-t // w.scale) for t, w in zip(ticks, weights, strict=True)), default=0)
    layout = Layout.build(prompt, output, problem.fleet.largest, weights, ticks) if weights else None
    paid = sum(int_sum(term.prices) * cap for term, cap in zip(certificate.terms, capacities, strict=True))
    if layout is None:
        return certificate.denominator * int_sum(output * count) - paid
    if fits_int64(certificate, layout, output, arrival, horizon):
        dense = [term.dense(t + 1) for term, t in zip(certificate.terms, ticks, strict=True)]
        lam, the = layout.prefix(dense, np.int64)
        cheapest, _ = cheapest_starts(layout, output, arrival, certificate.denominator, horizon, lam, the)
        least = [int(v) for v in cheapest]
    else:
        least = _cheapest_in_python(certificate, layout, output, arrival, horizon)
    return sum(v * int(c) for v, c in zip(least, count, strict=True)) - paid


def volume_bound(problem: Problem) -> int:
    """The volume bound (docs/math.md §5.1) for a pooled fleet, at least Σ o_j; in steps.

    The i requests that complete first need the i smallest volumes at least: ΣM·C_(i) ≥ Σ_{q ≤ i} v_(q).
    """
    total = running = 0
    for volume in np.sort(problem.requests.volume).tolist():
        running += volume
        total += running
    value = -(-total // problem.fleet.pooled_memory) - int_sum(problem.requests.arrival)
    return max(value, int_sum(problem.requests.output))


def int_sum(array: IntArray) -> int:
    """Sum as a Python integer: no overflow."""
    return sum(array.tolist())


def _plain(value: object) -> object:
    return int(value) if isinstance(value, np.integer) else value


def _weights(problem: Problem, certificate: Certificate) -> tuple[list[Weight], list[int]]:
    """Return the weights of the terms and the pooled capacity of their rows (docs/math.md §4 and §6)."""
    fleet = problem.fleet
    weights, capacities = [], []
    for term in certificate.terms:
        try:
            weight = weight_from(term.kind, term.parameters)
            if term.kind == "memory":
                capacity = fleet.pooled_memory
            elif term.kind == "batch":
                capacity = weight.capacity(fleet.largest, fleet.pooled_batch)
            else:  # a weight that is valid for the largest memory is valid for every smaller one
                capacity = len(fleet) * weight.capacity(fleet.largest, None)
        except OptionError as error:
            raise CertificateError(f"price term refused: {error}") from None
        last = 2 * weight.scale * (problem.horizon + int(problem.requests.output.max()))
        if term.ticks.size and term.ticks[-1] > last:
            raise CertificateError(
                f"{term.kind}: tick {term.ticks[-1]} lies far behind every useful time (limit {last})"
            )
        weights.append(weight)
        capacities.append(capacity)
    return weights, capacities


def fits_int64(certificate: Certificate, layout: Layout, output: IntArray, arrival: IntArray, horizon: int) -> bool:
    """Whether no intermediate value of pricing every start up to `horizon` can leave int64, by exact estimate."""
    last_end = max(horizon, int(arrival.max())) + int(output.max())
    scales = [weight_from(term.kind, term.parameters).scale for term in certificate.terms]
    totals = [int_sum(term.prices) for term in certificate.terms]
    last_ticks = [int(term.ticks[-1]) if term.ticks.size else 0 for term in certificate.terms]
    largest = layout.magnitude(scales, totals, last_ticks, last_end)
    return certificate.denominator * (last_end + 1) + largest < _INT64_SAFE


def _cheapest_in_python(
    certificate: Certificate, layout: Layout, output: IntArray, arrival: IntArray, horizon: int
) -> list[int]:
    pairs = sum(max(0, horizon - a) + 1 for a in arrival.tolist())
    if pairs > _SLOW_LIMIT:
        raise CertificateError(
            f"the denominator {certificate.denominator} needs integers beyond 64 bits and {pairs} starts are too many "
            f"for the slow exact path; write the certificate with a smaller denominator"
        )
    lam = [0] * int(layout.offsets[-1])
    the = [0] * int(layout.offsets[-1])
    for f, term in enumerate(certificate.terms):
        begin, end = int(layout.offsets[f]), int(layout.offsets[f + 1])
        price = dict(zip(term.ticks.tolist(), term.prices.tolist(), strict=True))
        for i in range(begin + 1, end):
            q = i - begin - 1
            lam[i] = lam[i - 1] + price.get(q, 0)
            the[i] = the[i - 1] + q * price.get(q, 0)
    columns = [getattr(layout, name).tolist() for name in ("lo", "hi", "a", "b", "scale", "base", "ticks")]
    ptr, formula = layout.ptr.tolist(), start_price.py_func
    least = []
    for j, (o, arrived) in enumerate(zip(output.tolist(), arrival.tolist(), strict=True)):
        costs = (
            certificate.denominator * (k + o - arrived) + formula(ptr[j], ptr[j + 1], k + o, *columns, lam, the)
            for k in range(arrived, max(arrived, horizon) + 1)
        )
        least.append(min(costs))
    return least
