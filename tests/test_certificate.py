"""Bound certificates: never above the optimum, exact, and refused for every lie."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from brute import levels_value, linear_value, optimum

from kvbound.checkers import Certificate, PriceTerm, verify
from kvbound.checkers import certificate as module
from kvbound.checkers.certificate import certified, evaluate, scaled_value, volume_bound
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json, read_certificate
from kvbound.models import Fleet, Problem, Requests
from kvbound.models.errors import CertificateError, KvboundError
from kvbound.models.pricing import Layout, cheapest_starts
from kvbound.models.weights import LevelsWeight, LinearWeight, MemoryWeight


def random_problem(rng: np.random.Generator, n: int = 4) -> Problem:
    workers = int(rng.integers(1, 3))
    memory = tuple(int(m) for m in rng.integers(3, 11, workers))
    if rng.random() < 0.5:
        memory = (memory[0],) * workers
    caps = tuple(None if rng.random() < 0.4 else int(rng.integers(1, 4)) for _ in memory)
    largest = max(memory)
    output = rng.integers(1, largest + 1, n)
    if rng.random() < 0.3:
        output[:] = output[0]
    prompt = np.array([rng.integers(0, largest - o + 1) for o in output])
    arrival = rng.integers(0, 6, n) * int(rng.integers(0, 2))
    return Problem(Requests(prompt, output, arrival), Fleet(memory, caps))


def random_terms(rng: np.random.Generator, problem: Problem, scale: int) -> tuple[PriceTerm, ...]:
    """Prices of all kinds; about as large as useful ones: an average step is worth `scale` in all."""
    horizon = problem.horizon
    kinds: list[tuple[str, tuple[int, ...], int, int]] = [("memory", (), 1, problem.fleet.pooled_memory)]
    if problem.fleet.pooled_batch is not None:
        kinds.append(("batch", (), 1, problem.fleet.pooled_batch))
    for _ in range(3):
        m, delay = int(rng.integers(1, 5)), int(rng.integers(0, 7))
        kinds.append(("levels", (m, delay), 4, m))
        bottom = int(rng.integers(2, 12))
        kinds.append(
            (
                "linear",
                (int(rng.integers(1, bottom // 2 + 1)), bottom, int(rng.integers(0, 7))),
                4,
                4 * problem.fleet.largest,
            )
        )
    picked = [kinds[i] for i in rng.permutation(len(kinds))[: int(rng.integers(1, 4))]]
    terms = []
    for kind, parameters, per_step, capacity in picked:
        ticks = np.flatnonzero(rng.random(per_step * horizon) < rng.random())
        shape = (
            np.maximum(0, horizon - ticks / per_step) * rng.random()
            if rng.random() < 0.7
            else rng.random(len(ticks)) * horizon
        )
        prices = np.floor(shape * scale * len(problem.requests) / (capacity * per_step * horizon)).astype(np.int64)
        terms.append(PriceTerm(kind, parameters, ticks, prices))
    return tuple(terms)


def good_terms(rng: np.random.Generator, problem: Problem, denominator: int, target: int) -> tuple[PriceTerm, ...]:
    """Prices from a few subgradient steps towards `target`, so that the bound comes close to the optimum."""
    fleet, requests, horizon = problem.fleet, problem.requests, problem.horizon
    weights = [MemoryWeight(), LevelsWeight(int(rng.integers(1, 4)), int(rng.integers(0, 5)))]
    weights.append(LinearWeight(int(rng.integers(1, 4)), 6, int(rng.integers(0, 5))))
    capacity = [fleet.pooled_memory, *(len(fleet) * w.capacity(fleet.largest, None) for w in weights[1:])]
    ticks = [w.scale * horizon for w in weights]
    layout = Layout.build(requests.prompt, requests.output, fleet.largest, weights, ticks)
    parts = [w.segments(requests.prompt, requests.output, fleet.largest) for w in weights]
    prices = [np.zeros(t + 1) for t in ticks]
    best, kept = -np.inf, prices
    for _ in range(30):
        lam, the = layout.prefix(prices, np.float64)
        value, start = cheapest_starts(layout, requests.output, requests.arrival, 1.0, horizon, lam, the)
        bound = value.sum() - sum(size * p.sum() for size, p in zip(capacity, prices, strict=True))
        if bound > best:
            best, kept = bound, prices
        slopes = []
        for weight, part, price, size in zip(weights, parts, prices, capacity, strict=True):
            used = np.full(len(price), -float(size))
            for e, j in enumerate(np.repeat(np.arange(problem.n), np.diff(part.ptr))):
                q = weight.scale * int(start[j] + requests.output[j]) + np.arange(part.lo[e], part.hi[e] + 1)
                inside = (q >= 0) & (q < len(used))
                used[q[inside]] += (part.a[e] + part.b[e] * np.arange(part.lo[e], part.hi[e] + 1))[inside]
            slopes.append(np.where((price == 0) & (used < 0), 0, used) / size)
        step = (target - bound) / max(1e-9, sum((g @ g) for g in slopes))
        prices = [np.maximum(0, p + step * g / size) for p, g, size in zip(prices, slopes, capacity, strict=True)]
    return tuple(
        PriceTerm(w.kind, w.parameters, np.arange(len(p)), np.floor(p * denominator).astype(np.int64))
        for w, p in zip(weights, kept, strict=True)
    )


def certificate(
    problem: Problem, terms=(), denominator: int = 1, value: int | None = None, rule="prices"
) -> Certificate:
    return Certificate(rule, "test", problem.fingerprint(), denominator, tuple(terms), value)


def plain_value(problem: Problem, cert: Certificate) -> Fraction:
    """L of docs/math.md §5.3 with nothing but fractions and the definitions of §4 (identical weights per worker)."""
    largest, fleet = problem.fleet.largest, problem.fleet
    total, paid = Fraction(0), Fraction(0)

    def share(kind, parameters, s, o, after):
        if kind in ("memory", "batch"):
            age = o + after
            return (s + age if kind == "memory" else 1) if after <= 0 < age else 0
        if kind == "levels":
            return levels_value(s, o, largest, *parameters, after)
        top, bottom, delay = parameters
        return 4 * largest * linear_value(s, o, largest, Fraction(top, bottom), delay, after)

    capacity = {"memory": sum(fleet.memory), "batch": fleet.pooled_batch}
    rows = []
    for term in cert.terms:
        scale = 1 if term.kind in capacity else 4
        size = capacity.get(term.kind) or len(fleet) * (term.parameters[0] if term.kind == "levels" else 4 * largest)
        for q, price in zip(term.ticks.tolist(), term.prices.tolist(), strict=True):
            rows.append((term.kind, term.parameters, Fraction(q, scale), Fraction(price, cert.denominator)))
            paid += Fraction(price, cert.denominator) * size
    last = max((int(t) + 1 for _, _, t, _ in rows), default=0)
    for s, o, a in zip(
        *(x.tolist() for x in (problem.requests.prompt, problem.requests.output, problem.requests.arrival)), strict=True
    ):
        total += min(
            k + o - a + sum(price * share(kind, par, s, o, t - (k + o)) for kind, par, t, price in rows if price)
            for k in range(a, max(a, last) + 5)
        )
    return total - paid


def test_no_certificate_is_above_the_optimum() -> None:
    rng = np.random.default_rng(11)
    bounds = []
    for _ in range(60):
        problem = random_problem(rng)
        rows = list(
            zip(
                *(x.tolist() for x in (problem.requests.prompt, problem.requests.output, problem.requests.arrival)),
                strict=True,
            )
        )
        best = optimum(rows, problem.fleet.memory, problem.fleet.batch)
        assert volume_bound(problem) <= best
        assert int(problem.requests.output.sum()) <= volume_bound(problem)
        for trial in range(6):
            denominator = 10_000 if trial == 0 else int(rng.integers(1, 200))
            terms = random_terms(rng, problem, denominator)
            if trial == 0:
                terms = good_terms(rng, problem, denominator, best)
            bound = verify(problem, certificate(problem, terms, denominator))
            assert bound <= best
            bounds.append((bound, best, int(problem.requests.output.sum())))
    # The comparison can fail: many of these bounds say more than Σ o_j, and some meet the optimum exactly.
    assert sum(low < bound for bound, _, low in bounds) > 30
    assert sum(low < bound == best for bound, best, low in bounds) > 3


def test_the_value_equals_the_formula_in_fractions() -> None:
    rng = np.random.default_rng(12)
    for _ in range(25):
        problem = random_problem(rng, 2)
        denominator = int(rng.integers(1, 50))
        cert = certificate(problem, random_terms(rng, problem, denominator), denominator)
        assert Fraction(scaled_value(problem, cert), denominator) == plain_value(problem, cert)


def test_the_path_in_python_integers_gives_the_same_value(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(13)
    cases = []
    for _ in range(40):
        problem = random_problem(rng, 3)
        cert = certificate(problem, random_terms(rng, problem, 1000), 1000)
        cases.append((problem, cert, scaled_value(problem, cert)))
    calls = []
    slow = module._cheapest_in_python
    monkeypatch.setattr(module, "_INT64_SAFE", 0)
    monkeypatch.setattr(module, "_cheapest_in_python", lambda *a: calls.append(1) or slow(*a))
    for problem, cert, value in cases:
        assert scaled_value(problem, cert) == value
    assert len(calls) == len(cases)


def test_huge_denominators_stay_exact() -> None:
    """Scaling prices and denominator together changes nothing, even beyond 64 bits."""
    rng = np.random.default_rng(14)
    for _ in range(15):
        problem = random_problem(rng, 3)
        small = certificate(problem, random_terms(rng, problem, 100), 100)
        for factor in (10**12, 10**15):
            terms = tuple(replace(t, prices=t.prices * factor) for t in small.terms)
            large = certificate(problem, terms, 100 * factor)
            assert scaled_value(problem, large) == factor * scaled_value(problem, small)
    enormous = certificate(problem, (), 10**40)
    assert scaled_value(problem, enormous) == 10**40 * int(problem.requests.output.sum())


def test_magnitudes_beyond_64_bits_take_the_slow_path_and_are_right() -> None:
    late = 10**9
    problem = Problem(Requests([0, 0], [10**8, 10**8], [late, late]), Fleet((10**8,)))
    cert = certificate(problem, [PriceTerm("memory", (), np.array([1]), np.array([2**61]))], 10**10)
    assert scaled_value(problem, cert) == 10**10 * 2 * 10**8 - 2**61 * 10**8


def test_too_many_starts_for_the_slow_path_are_refused_with_the_way_out() -> None:
    problem = Problem(Requests([0], [10**8]), Fleet((10**8,)))
    cert = certificate(problem, [PriceTerm("memory", (), np.array([10**8]), np.array([2**61]))], 1)
    with pytest.raises(CertificateError, match="smaller denominator"):
        verify(problem, cert)


def tiny() -> tuple[Problem, Certificate]:
    """Two requests that do not fit together; prices on the first window prove 10.25, hence 11 of 12."""
    problem = Problem(Requests([1, 1], [4, 4]), Fleet((5,)))
    return problem, certificate(problem, [PriceTerm("levels", (1, 0), np.arange(7, 16), np.full(9, 1))], 4)


def test_certified_claims_what_it_proves() -> None:
    problem, cert = tiny()
    proven = verify(problem, cert)
    whole = certified(problem, cert)
    assert whole.value == proven == verify(problem, whole)
    assert verify(problem, replace(cert, value=proven - 1)) == proven
    assert proven == 11
    assert optimum([(1, 4, 0), (1, 4, 0)], (5,), (None,)) == 12


def test_a_claim_above_the_proof_is_refused() -> None:
    problem, cert = tiny()
    proven = verify(problem, cert)
    with pytest.raises(CertificateError, match=f"claims {proven + 1}, its prices prove only {proven}"):
        verify(problem, replace(cert, value=proven + 1))


def test_one_price_changed_by_one_still_proves_its_own_value() -> None:
    problem, cert = tiny()
    (term,) = cert.terms
    for i in range(len(term.prices)):
        for change in (-1, 1):
            prices = term.prices.copy()
            prices[i] += change
            other = replace(cert, terms=(replace(term, prices=prices),))
            assert Fraction(scaled_value(problem, other), cert.denominator) == plain_value(problem, other)
            assert verify(problem, other) <= 12


def test_another_problem_is_refused() -> None:
    problem, cert = tiny()
    for other in (
        Problem(Requests([1, 1], [4, 3]), Fleet((5,))),
        Problem(Requests([1, 1], [4, 4]), Fleet((6,))),
        Problem(Requests([1, 1], [4, 4], [0, 1]), Fleet((5,))),
        Problem(Requests([1, 1], [4, 4]), Fleet((5, 5))),
    ):
        with pytest.raises(CertificateError, match="another problem"):
            verify(other, cert)
    assert verify(problem, cert) == 11


@pytest.mark.parametrize(
    ("ticks", "prices", "words"),
    [
        ([1, 2], [1, -1], "negative"),
        ([2, 1], [1, 1], "ascending"),
        ([1, 1], [1, 1], "ascending"),
        ([-1, 1], [1, 1], "ascending and not negative"),
        ([1, 2**62], [1, 1], "off the grid"),
        ([1, 2], [1], "2 ticks but 1 prices"),
        ([0.5, 1.0], [1, 1], "integers"),
        ([1, 2], [0.5, 1.0], "integers"),
        ([1, 2], [1, 2**70], "integers"),
        ([[1, 2]], [[1, 2]], "list of integers"),
        ([2**63 - 1, -(2**63)], [1, 1], "ascending"),  # the difference of these two wraps around to 1
        (np.array([1, 2**63 + 5], np.uint64), [1, 1], "ascending"),
    ],
)
def test_bad_price_rows_are_refused(ticks, prices, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        PriceTerm("memory", (), np.array(ticks), np.array(prices))


def test_a_tick_behind_every_useful_time_is_refused_before_it_costs_memory() -> None:
    problem, cert = tiny()
    with pytest.raises(CertificateError, match="useful time"):
        verify(problem, replace(cert, terms=(PriceTerm("memory", (), np.array([399_999_999]), np.array([1])),)))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("nonsense", ()),
        ("memory", (1,)),
        ("levels", (0, 1)),
        ("levels", (2,)),
        ("linear", (2, 3, 1)),
        ("batch", ()),
        ("levels", (1.5, 1)),
        ("levels", (1, "2")),
    ],
)
def test_unknown_or_impossible_weights_are_refused(kind: str, parameters) -> None:
    problem, cert = tiny()  # without a batch cap, so `batch` is refused too
    with pytest.raises(CertificateError, match="price term refused"):
        verify(problem, replace(cert, terms=(PriceTerm(kind, parameters, np.array([1]), np.array([1])),)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"denominator": 0}, "denominator"),
        ({"denominator": -5}, "denominator"),
        ({"denominator": 2.5}, "denominator"),
        ({"denominator": True}, "denominator"),
        ({"value": 1.5}, "value"),
        ({"rule": "faith"}, "unknown certificate rule"),
        ({"rule": "volume"}, "carries no prices"),
    ],
)
def test_bad_certificates_are_refused(change, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        replace(tiny()[1], **change)


def test_numpy_integers_do_not_sneak_into_the_arithmetic() -> None:
    problem, cert = tiny()
    other = replace(cert, denominator=np.int64(4), value=np.int64(1))
    assert type(other.denominator) is int
    assert type(other.value) is int
    assert verify(problem, other) == verify(problem, cert)


def test_volume_certificate() -> None:
    problem = Problem(Requests([0, 0, 0], [4, 4, 2]), Fleet((4,)))
    # Volumes 3, 10, 10: (3 + 13 + 23)/4 = 9.75, and Σ o = 10.
    assert volume_bound(problem) == 10
    crowded = Problem(Requests([4] * 5, [4] * 5), Fleet((8,)))
    assert volume_bound(crowded) == -(-26 * 15 // 8)
    assert volume_bound(Problem(crowded.requests, Fleet((8, 8)))) == -(-26 * 15 // 16)
    cert = certified(crowded, certificate(crowded, rule="volume"))
    assert verify(crowded, cert) == volume_bound(crowded) == cert.value
    with pytest.raises(CertificateError, match="claims"):
        verify(crowded, replace(cert, value=cert.value + 1))


def test_json_round_trip(tmp_path) -> None:
    rng = np.random.default_rng(15)
    for _ in range(20):
        problem = random_problem(rng)
        cert = certified(problem, certificate(problem, random_terms(rng, problem, 77), 77))
        path = tmp_path / "certificate.json"
        path.write_text(certificate_to_json(cert), encoding="utf-8")
        back = read_certificate(path)
        assert verify(problem, back) == cert.value == back.value
        assert certificate_to_json(back) == certificate_to_json(cert)
    volume = certified(problem, certificate(problem, rule="volume"))
    assert verify(problem, certificate_from_json(certificate_to_json(volume), "x")) == volume.value


def document() -> dict:
    return json.loads(certificate_to_json(tiny()[1]))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"schema_version": 2},
        {"rule": "faith"},
        {"denominator": 0},
        {"denominator": "10"},
        {"denominator": 1.0},
        {"denominator": None},
        {"value": "12"},
        {"value": 12.0},
        {"fingerprint": None},
        {"extra": 1},
        {"terms": None},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [1], "prices": [-1]}]},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [1], "prices": [1.5]}]},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [1], "prices": [2**64]}]},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [-1], "prices": [1]}]},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [2, 1], "prices": [1, 1]}]},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [1, 2], "prices": [1]}]},
        {"terms": [{"kind": "memory", "parameters": [], "ticks": [1], "prices": [1], "capacity": 1}]},
        {"terms": [{"kind": "memory", "ticks": [1], "prices": [1]}]},
        {"terms": [{"kind": "memory", "parameters": [True], "ticks": [1], "prices": [1]}]},
    ],
)
def test_malformed_documents_are_refused_and_name_the_file(change) -> None:
    with pytest.raises(CertificateError):
        certificate_from_json(json.dumps(document() | change), "mine.json")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "12", '{"format": "kvbound-certificate"}', "\u0000", "[" * 5000]
)
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(CertificateError, match=r"mine\.json"):
        certificate_from_json(text, "mine.json")


def test_unreadable_files_are_refused(tmp_path) -> None:
    with pytest.raises(CertificateError, match="cannot be read"):
        read_certificate(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KvboundError, match=r"binary\.json"):
        read_certificate(tmp_path / "binary.json")


def test_a_huge_denominator_survives_the_file() -> None:
    problem, cert = tiny()
    large = certified(problem, replace(cert, denominator=10**30))
    back = certificate_from_json(certificate_to_json(large), "x")
    assert back.denominator == 10**30
    assert verify(problem, back) == large.value


def test_evaluate_bounds_tel_only() -> None:
    class Other:
        name = identity = "reward"
        serve_all = False
        horizon = None

        def start_cost(self, requests, request, start):
            return start

    problem = Problem(Requests([1], [1]), Fleet((5,)), Other())
    with pytest.raises(CertificateError, match="not reward"):
        evaluate(problem, certificate(problem))
