"""Lower bounds: never above the optimum, in order of strength, reproducible, and with a certificate that verifies."""

from __future__ import annotations

import numpy as np
import pytest
from brute import optimum as least
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.checkers import Certificate, verify
from kvbound.checkers.certificate import scaled_value, volume_bound
from kvbound.models import Fleet, Problem, Requests
from kvbound.models.errors import CertificateError, OptionError, SizeError, SolverError
from kvbound.models.weights import LevelsWeight, LinearWeight, MemoryWeight
from kvbound.solvers.bounds import METHODS, bound, reduced_costs
from kvbound.solvers.bounds.dual import Dual
from kvbound.solvers.bounds.fluid import fluid_prices
from kvbound.solvers.bounds.lagrangian import PriceSearch, finish
from kvbound.solvers.bounds.linear_program import lp_prices
from kvbound.solvers.bounds.rounding import certify_prices
from kvbound.solvers.bounds.rows import Bends, PricedRows, Windows, unit
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import Progress

pytestmark = pytest.mark.usefixtures("compiled_bounds")

LADDER = ("volume", "lp", "lagrangian", "stagger", "best")


def tiny(n: int, seed: int, memory: int = 40) -> Problem:
    rng = np.random.default_rng(seed)
    prompt = rng.integers(1, 6, n)
    output = np.array([rng.integers(1, memory - s + 1) for s in prompt])
    return Problem(Requests(prompt, output), Fleet.uniform(memory))


def small(rng: np.random.Generator, n: int = 4) -> Problem:
    workers = int(rng.integers(1, 3))
    memory = tuple(int(m) for m in rng.integers(3, 11, workers))
    caps = tuple(None if rng.random() < 0.5 else int(rng.integers(1, 4)) for _ in memory)
    output = rng.integers(1, max(memory) + 1, n)
    prompt = np.array([rng.integers(0, max(memory) - o + 1) for o in output])
    return Problem(Requests(prompt, output, rng.integers(0, 6, n) * int(rng.integers(0, 2))), Fleet(memory, caps))


def optimum(problem: Problem) -> int:
    r, fleet = problem.requests, problem.fleet
    triples = list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True))
    return least(triples, fleet.memory, fleet.batch)


@pytest.mark.parametrize("seed", range(25))
def test_no_method_exceeds_the_optimum(seed: int) -> None:
    problem = small(np.random.default_rng(seed))
    best = optimum(problem)
    for method in LADDER:
        result = bound(problem, method, deadline=Deadline(5.0), upper=best)
        assert result.verified
        assert result.certificate is not None
        assert result.value is not None
        assert result.value == verify(problem, result.certificate) <= best


def test_known_values() -> None:
    """The LP columns of docs/math.md §4 for tiny 8/0: 400.4 with memory rows, 503.9 with the table's weights."""
    problem = tiny(8, 0)
    assert bound(problem, "lp", deadline=Deadline()).value == 401
    assert bound(problem, "lagrangian", deadline=Deadline()).value == 401
    stagger = bound(problem, "stagger", deadline=Deadline(8.0))
    assert stagger.value is not None
    assert 495 <= stagger.value <= 507


def test_ladder_is_ordered() -> None:
    problem = tiny(9, 1)
    values = [bound(problem, m, deadline=Deadline(6.0)).value or 0 for m in ("volume", "lagrangian", "lp", "stagger")]
    assert values == sorted(values)
    assert values[1] >= 0.999 * values[2]
    assert bound(problem, "best", deadline=Deadline(6.0)).value >= 0.99 * values[3]  # type: ignore[operator]


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_fluid_prices_reproduce_the_volume_bound(seed: int, n: int, memory: int) -> None:
    """docs/math.md §5.1: L(fluid prices) ≥ Σ of ascending volumes / M when nothing arrives late."""
    rng = np.random.default_rng(seed)
    output = rng.integers(1, memory + 1, n)
    problem = Problem(Requests([rng.integers(0, memory - o + 1) for o in output], output), Fleet.uniform(memory))
    last = int(problem.requests.volume.sum()) // memory + 1
    rows = PricedRows.of(MemoryWeight(), last)
    value = Dual(problem, [rows], last).evaluate(fluid_prices(problem, last) * memory, 0.0).hard
    assert value >= np.cumsum(np.sort(problem.requests.volume)).sum() / memory - 1e-6
    assert certify_prices(problem, "fluid", [(MemoryWeight(), rows.ticks, fluid_prices(problem, last))]).value >= (  # type: ignore[operator]
        volume_bound(problem) - 1
    )


@pytest.mark.parametrize("block", [1, 3])
def test_gradient_is_the_derivative(block: int) -> None:
    rng = np.random.default_rng(5)
    problem = Problem(Requests([2, 3, 3, 1], [9, 12, 12, 5], [0, 4, 4, 1]), Fleet.uniform(17, 2, 3))
    weights = [MemoryWeight(), LevelsWeight(1, 3), LevelsWeight(2, 2), LinearWeight(1, 4, 3)]
    dual = Dual(problem, [PricedRows.of(w, 40, block) for w in weights], 40)
    prices = rng.random(dual.size) * 0.3
    at = dual.evaluate(prices, 0.7)
    for i in rng.integers(0, dual.size, 40):
        step = np.zeros(dual.size)
        step[i] = 1e-5
        ahead, behind = dual.evaluate(prices + step, 0.7).soft, dual.evaluate(prices - step, 0.7).soft
        assert (ahead - behind) / 2e-5 == pytest.approx(at.gradient[i], abs=1e-5)


def test_second_differences_are_the_weights() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        problem = small(rng, 5)
        r, fleet = problem.requests, problem.fleet
        weights = [MemoryWeight(), LevelsWeight(int(rng.integers(1, 3)), int(rng.integers(0, 3)))]
        weights += [LinearWeight(1, 3, int(rng.integers(0, 3))), LinearWeight(2, 5, 1)]
        rows = [PricedRows.of(w, 9) for w in weights]
        bends = Bends.of(Windows.build(r.prompt, r.output, fleet, rows))
        offsets = np.arange(-80, 80)  # in points, from completion
        for j in range(problem.n):
            for f, row in enumerate(rows):
                parts, got = row.weight.segments(r.prompt, r.output, fleet.largest), np.zeros(len(offsets))
                for h in range(bends.ptr[j], bends.ptr[j + 1]):
                    if bends.row[h] == f:
                        got += bends.bend[h] * np.maximum(offsets - bends.point[h], 0)
                want = np.zeros(len(offsets))
                for e in range(parts.ptr[j], parts.ptr[j + 1]):
                    ticks = row.phase + row.stride * offsets
                    inside = (parts.lo[e] <= ticks) & (ticks <= parts.hi[e])
                    want += np.where(inside, parts.a[e] + parts.b[e] * ticks, 0) / unit(row.weight, fleet)
                assert got == pytest.approx(want, abs=1e-9)


def test_dual_equals_the_exact_certificate() -> None:
    """Floats and exact integers evaluate the same function."""
    rng = np.random.default_rng(1)
    problem = Problem(Requests([2, 30, 3, 1], [9, 12, 12, 5], [0, 4, 4, 1]), Fleet((47, 60)))
    weights = [MemoryWeight(), LevelsWeight(2, 4), LinearWeight(2, 5, 3)]
    dual = Dual(problem, [PricedRows.of(w, 60, 2) for w in weights], 60)
    prices = rng.random(dual.size) * 0.1
    terms = [
        (r.weight, r.ticks, r.spread(p) / r.weight.capacity(60, None))
        for r, p in zip(dual.rows, dual.split(prices), strict=True)
    ]
    certificate = certify_prices(problem, "test", terms)
    exact = scaled_value(problem, certificate) / certificate.denominator
    assert dual.evaluate(prices, 0.0).hard == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_reduced_costs_keep_an_optimal_schedule(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    problem = small(rng, 4)
    best = optimum(problem)
    result = bound(problem, "stagger", deadline=Deadline(3.0))
    assert result.certificate is not None
    if result.certificate.rule != "prices" or not result.certificate.terms:
        pytest.skip("the bound needs no prices")
    table = reduced_costs(problem, result.certificate)
    assert all(int(row.min()) == 0 for row in table.excess)
    kept = table.remaining(best + 1)
    # Restricting every request to its remaining starts must leave the optimum: shift arrivals to the first one left.
    assert all(len(k) for k in kept)
    shifted = problem.requests.arrival.copy()
    shifted[:] = [k[0] for k in kept]
    late = Problem(Requests(problem.requests.prompt, problem.requests.output, shifted), problem.fleet)
    assert optimum(late) + int((shifted - problem.requests.arrival).sum()) == best


def test_reduced_costs_need_prices() -> None:
    problem = tiny(8, 0)
    with pytest.raises(CertificateError, match="prices"):
        reduced_costs(problem, Certificate("volume", "volume", problem.fingerprint(), 1, (), None))


def test_same_result_twice() -> None:
    """Without a deadline nothing depends on the clock."""
    first, second = (bound(tiny(5, 1), "stagger", deadline=Deadline()) for _ in range(2))
    assert first.raw == second.raw
    assert first.value == second.value
    assert first.iterations == second.iterations


def test_refusals_and_reports() -> None:
    problem = tiny(8, 0)
    assert set(LADDER) <= set(METHODS)
    with pytest.raises(OptionError, match="volume, lp"):
        bound(problem, "magic", deadline=Deadline(1.0))
    with pytest.raises(SolverError, match="lies above"):
        bound(problem, "lagrangian", deadline=Deadline(5.0), upper=10)
    seen: list[Progress] = []
    bound(problem, "lagrangian", deadline=Deadline(5.0), upper=507, progress=seen.append)
    assert seen
    assert all(p.incumbent == 507 and p.bound is not None for p in seen)


def test_single_request_and_passed_deadline() -> None:
    one = Problem(Requests([3], [5], [7]), Fleet.uniform(8))
    for method in LADDER:
        assert bound(one, method, deadline=Deadline(5.0)).value == 5
    assert bound(tiny(10, 0), "best", deadline=Deadline(0.0)).verified


def test_the_lp_in_differences_is_the_time_indexed_lp() -> None:
    """Its optimum with memory, batch and stagger rows is what the dual methods climb to, on any fleet."""
    rng = np.random.default_rng(8)
    for trial in range(8):
        problem = tiny(6, trial) if trial < 3 else small(rng, 5)
        weights = (LevelsWeight(1, 2), LevelsWeight(3, 4), LinearWeight(1, 4, 3)) if trial % 2 else ()
        terms, value, _ = lp_prices(problem, Deadline(), weights)
        assert certify_prices(problem, "lp", terms).value == max(
            int(np.ceil(value - 1e-3)), int(problem.requests.output.sum())
        )
        search = PriceSearch(problem, Deadline())
        search.extend(weights)
        finish(search, 5e-6)
        assert search.best.value == pytest.approx(value, rel=1e-3)
        assert search.best.value <= value * (1 + 1e-6)


def test_the_lp_declines_what_is_too_large() -> None:
    problem = Problem(Requests(np.full(3000, 10), 1 + np.arange(3000)), Fleet.uniform(4000))
    with pytest.raises(SizeError, match="use --method lagrangian"):
        bound(problem, "lp", deadline=Deadline(5.0))


def test_levels_prove_what_an_independent_program_found() -> None:
    """Levels with m = 1, 2 and seven delays prove 502.6 on tiny 8/0, memory alone 400.4 (other code found that)."""
    weights = tuple(LevelsWeight(m, delay) for m in (1, 2) for delay in (0, 2, 4, 7, 10, 14, 18))
    assert lp_prices(tiny(8, 0), Deadline())[1] == pytest.approx(400.4, abs=0.1)
    assert lp_prices(tiny(8, 0), Deadline(), weights)[1] == pytest.approx(502.6, abs=0.1)
