"""The positional LP: known values, its certificate in exact integers, never above an optimum whatever the prices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from brute import optimum as least
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.checkers import Certificate, verify
from kvbound.checkers.certificate import PriceTerm, evaluate
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json
from kvbound.checkers.positional_rule import kinds
from kvbound.instances import load
from kvbound.models import Fleet, Problem, Requests
from kvbound.models.errors import CertificateError, SizeError
from kvbound.solvers.bounds import bound
from kvbound.solvers.bounds.positional import positional_prices
from kvbound.solvers.deadline import Deadline


def random_problem(rng: np.random.Generator, most: int = 4) -> Problem:
    workers = int(rng.integers(1, 3))
    memory = tuple(int(m) for m in rng.integers(3, 12, workers))
    n = int(rng.integers(1, most + 1))
    output = rng.integers(1, max(memory) + 1, n)
    prompt = np.array([rng.integers(0, max(memory) - o + 1) for o in output])
    arrival = rng.integers(0, 6, n) * int(rng.integers(0, 2))
    batch = tuple(None if rng.random() < 0.7 else int(rng.integers(1, 3)) for _ in memory)
    return Problem(Requests(prompt, output, arrival), Fleet(memory, batch))


def optimum(problem: Problem) -> int:
    r, fleet = problem.requests, problem.fleet
    triples = list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True))
    return least(triples, fleet.memory, fleet.batch)


def random_certificate(rng: np.random.Generator, problem: Problem) -> Certificate:
    """Any prices at all: some reasonable, some far too high."""
    n, size = problem.n, int(rng.choice([2, 10, 60]))
    terms = []
    for k in range(1, n):
        if rng.random() < 0.6:
            m = np.flatnonzero(rng.random(n - k) < 0.6) + 1
            terms.append(PriceTerm("position", (k,), m, rng.integers(0, size, len(m))))
    for name, most in (("completion", size), ("volume", 2)):
        if rng.random() < 0.5:
            k = np.flatnonzero(rng.random(n) < 0.6) + 1
            terms.append(PriceTerm(name, (), k, rng.integers(0, most, len(k))))
    worth = rng.integers(-5, 40 * n, len(kinds(problem.requests).peak))
    fingerprint = problem.fingerprint()
    return Certificate("positional", "test", fingerprint, int(rng.integers(1, 12)), tuple(terms), None, None, worth)


def plain(problem: Problem, c: Certificate) -> Fraction:
    """The Lagrangian of docs/math.md §5.6 row by row: each position takes its cheapest kind, each gap its best end."""
    n, memory, kind = problem.n, sum(problem.fleet.memory), kinds(problem.requests)
    worth = [Fraction(int(u), c.denominator) for u in c.multipliers]  # type: ignore[union-attr]
    constant = sum((u * int(x) for u, x in zip(worth, kind.number, strict=True)), Fraction(0))
    cost = [[-u] * n for u in worth]
    gap = [Fraction(n - i) for i in range(n)]
    for term in c.terms:
        for q, price in zip(term.ticks.tolist(), term.prices.tolist(), strict=True):
            y = Fraction(price, c.denominator)
            for t, (p, o, a, v) in enumerate(zip(kind.peak, kind.output, kind.arrival, kind.volume, strict=True)):
                if term.kind == "position":
                    k = term.parameters[0] - 1
                    cost[t][k] += y * int(p)
                    for i in range(k + 1, k + q + 1):
                        cost[t][i] += y * int(o)
                elif term.kind == "completion":
                    cost[t][q - 1] += y * int(o + a)
                else:
                    for i in range(q):
                        cost[t][i] += y * int(v)
            if term.kind == "position":
                constant -= y * memory
                for i in range(1, q + 1):  # gap k + i stands in e_{k+i}, …, e_{k+q}
                    gap[term.parameters[0] - 1 + i] -= y * (q - i + 1)
            else:
                for i in range(q):
                    gap[i] -= y * (memory if term.kind == "volume" else 1)
    longest = int(kind.output.max() + kind.arrival.max())
    ends = min(sum(g * x for g, x in zip(gap, chosen, strict=True)) for chosen in product((0, longest), repeat=n))
    return (
        constant + sum(min(column) for column in zip(*cost, strict=True)) + ends - int(problem.requests.arrival.sum())
    )


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_prices_prove_more_than_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    best = optimum(problem)
    certificate = random_certificate(rng, problem)
    value = verify(problem, certificate)
    exact = plain(problem, certificate)
    assert value == max(-(-exact.numerator // exact.denominator), int(problem.requests.output.sum()))
    assert value <= best
    proved = bound(problem, "positional", deadline=Deadline(20), upper=best)
    assert proved.verified
    assert proved.certificate is not None
    assert proved.value is not None
    assert proved.raw is not None
    assert max(proved.raw - 1e-4, int(problem.requests.output.sum())) <= proved.value <= best


def test_one_price_changed_by_one_proves_its_own_value_and_a_false_claim_is_refused() -> None:
    rng = np.random.default_rng(3)
    lower = 0
    for trial in range(13):
        problem = random_problem(rng) if trial else load("tiny:n=8,seed=0").problem
        best = optimum(problem) if trial else 507
        certificate = bound(problem, "positional", deadline=Deadline(20)).certificate
        assert certificate is not None
        assert certificate.value is not None
        assert certificate.multipliers is not None
        with pytest.raises(CertificateError, match="prove only"):
            verify(problem, replace(certificate, value=certificate.value + 1))
        for change in (-1, 1, certificate.denominator // 8):
            u = certificate.multipliers.copy()
            u[0] += change
            changed = [replace(certificate, value=None, multipliers=u)]
            for i, term in enumerate(certificate.terms):
                prices = term.prices.copy()
                prices[0] = max(0, prices[0] + change)
                terms = (*certificate.terms[:i], replace(term, prices=prices), *certificate.terms[i + 1 :])
                changed.append(replace(certificate, value=None, terms=terms))
            for other in changed:
                value = verify(problem, other)
                if trial:
                    exact = plain(problem, other)
                    assert value == max(-(-exact.numerator // exact.denominator), int(problem.requests.output.sum()))
                assert value <= best
                lower += value < certificate.value
    assert lower > 0  # the LP is at its optimum: a large change loses


@pytest.mark.parametrize(
    ("source", "alone", "with_volumes"),
    [
        ("tiny:n=8,seed=0", 439.27, 439.27),
        ("tiny:n=12,seed=0", 673.86, 673.86),
        ("jaillet:seed=0", 9189.97, 9386.81),
        ("jaillet:seed=1", 6460.00, 6699.09),
    ],
)
def test_known_values(source: str, alone: float, with_volumes: float) -> None:
    """docs/math.md §5.6; the certificate loses nothing against the LP."""
    problem = load(source).problem
    for volumes, known in ((False, alone), (True, with_volumes)):
        certificate, value, _ = positional_prices(problem, Deadline(), volumes=volumes)
        assert value == pytest.approx(known, abs=0.01)
        assert certificate.value == int(np.ceil(value - 1e-5))
        assert verify(problem, certificate_from_json(certificate_to_json(certificate), "memory")) == certificate.value


def test_identical_requests_are_grouped() -> None:
    problem = Problem(Requests([2] * 30, [9] * 30), Fleet.uniform(25))
    result = bound(problem, "positional", deadline=Deadline(20))
    assert result.certificate is not None
    assert result.certificate.multipliers is not None
    assert len(result.certificate.multipliers) == 1
    assert result.value is not None
    assert result.value >= (bound(problem, "volume", deadline=Deadline()).value or 0)


def test_malformed_certificates_are_refused() -> None:
    problem = Problem(Requests([1, 2, 2], [5, 4, 4]), Fleet.uniform(9))
    worth = np.array([10, 30])

    def certificate(*terms: PriceTerm, worth: np.ndarray = worth) -> Certificate:
        return Certificate("positional", "test", problem.fingerprint(), 4, terms, None, None, worth)

    one = np.array([1])
    for term, words in [
        (PriceTerm("position", (3,), one, one), "outside 1..2"),
        (PriceTerm("position", (0,), one, one), "outside 1..2"),
        (PriceTerm("position", (2,), np.array([2]), one), "beyond the last of 3"),
        (PriceTerm("volume", (), np.array([4]), one), "beyond the last of 3"),
        (PriceTerm("completion", (), np.array([0]), one), "beyond the last of 3"),
        (PriceTerm("memory", (), one, one), "unknown positional row"),
        (PriceTerm("volume", (1,), one, one), "unknown positional row"),
    ]:
        with pytest.raises(CertificateError, match=words):
            evaluate(problem, certificate(term))
    with pytest.raises(CertificateError, match="1 multipliers, but there are 2 kinds"):
        evaluate(problem, certificate(worth=np.array([10])))
    with pytest.raises(CertificateError, match="needs its multipliers"):
        Certificate("positional", "test", problem.fingerprint(), 4, (), None)
    with pytest.raises(CertificateError, match="has no level"):
        replace(certificate(), level=2)
    many = Problem(Requests(np.arange(1000) % 40, 1 + np.arange(1000) // 40), Fleet.uniform(100))
    with pytest.raises(SizeError, match="use --method lagrangian"):
        bound(many, "positional", deadline=Deadline(5))
