"""The price kernel against sums written out tick by tick."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from kvbound.models import pricing
from kvbound.models.pricing import Layout, cheapest_starts, start_costs
from kvbound.models.weights import BatchWeight, LevelsWeight, LinearWeight, MemoryWeight


def plain_cost(weights, segments, prices, j, k, output, arrival, unit):
    """unit·(k + o − a) + Σ_weights Σ_q φ(q − c·C)·ℓ_q, in Python numbers."""
    total = unit * (k + output - arrival)
    for weight, parts, price in zip(weights, segments, prices, strict=True):
        for e in range(parts.ptr[j], parts.ptr[j + 1]):
            for d in range(parts.lo[e], parts.hi[e] + 1):
                q = weight.scale * (k + output) + d
                if 0 <= q < len(price):
                    total += (int(parts.a[e]) + int(parts.b[e]) * d) * price[q].item()
    return total


def case(rng: np.random.Generator, dtype):
    memory = int(rng.integers(6, 18))
    n = int(rng.integers(1, 6))
    output = rng.integers(1, memory + 1, n)
    prompt = np.array([rng.integers(0, memory - o + 1) for o in output])
    arrival = rng.integers(0, 9, n) * int(rng.integers(0, 2))
    weights = [MemoryWeight(), BatchWeight(), LevelsWeight(2, 3), LinearWeight(1, 3, 4), LevelsWeight(1, 0)]
    weights = [w for w in weights if rng.random() < 0.7] or [MemoryWeight()]
    horizon = int(rng.integers(1, 25))
    ticks = [w.scale * horizon - int(rng.integers(0, w.scale)) for w in weights]
    prices = [np.where(rng.random(t + 1) < 0.6, rng.integers(0, 20, t + 1), 0) for t in ticks]
    if dtype is np.float64:
        prices = [p * rng.random(len(p)) for p in prices]
    layout = Layout.build(prompt, output, memory, weights, ticks)
    parts = [w.segments(prompt, output, memory) for w in weights]
    return prompt, output, arrival, weights, horizon, prices, layout, parts


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_start_costs_equal_the_plain_sums(dtype) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        _, output, arrival, weights, horizon, prices, layout, parts = case(rng, dtype)
        lam, the = layout.prefix(prices, dtype)
        unit = 3 if dtype is np.int64 else 1.0
        for j in range(len(output)):
            o, a = int(output[j]), int(arrival[j])
            costs = start_costs(layout, j, o, a, unit, a + horizon + 3, lam, the)
            expected = [plain_cost(weights, parts, prices, j, k, o, a, unit) for k in range(a, a + horizon + 4)]
            assert costs.dtype == dtype
            if dtype is np.int64:
                assert costs.tolist() == expected
            else:
                np.testing.assert_allclose(costs, expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_cheapest_start_is_the_first_minimum_over_all_starts(dtype) -> None:
    rng = np.random.default_rng(2)
    for _ in range(35):
        _, output, arrival, weights, horizon, prices, layout, parts = case(rng, dtype)
        lam, the = layout.prefix(prices, dtype)
        unit = int(rng.integers(1, 60)) if dtype is np.int64 else float(rng.random() * 30)
        value, start = cheapest_starts(layout, output, arrival, unit, horizon, lam, the)
        for j in range(len(output)):
            o, a = int(output[j]), int(arrival[j])
            # Far beyond the horizon: nothing is paid there, so nothing there is cheaper.
            costs = [plain_cost(weights, parts, prices, j, k, o, a, unit) for k in range(a, max(a, horizon) + 40)]
            if dtype is np.int64:
                assert value[j] == min(costs)
                assert start[j] == a + costs.index(min(costs))
            else:
                assert value[j] == pytest.approx(min(costs), rel=1e-9)


def test_starts_from_the_horizon_on_pay_nothing() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        _, output, arrival, _, horizon, prices, layout, _ = case(rng, np.int64)
        lam, the = layout.prefix(prices, np.int64)
        for j in range(len(output)):
            a = int(arrival[j])
            costs = start_costs(layout, j, int(output[j]), a, 1, max(a, horizon) + 5, lam, the)
            tail = costs[max(0, horizon - a) :]
            assert tail.tolist() == [max(a, horizon) + i + int(output[j]) - a for i in range(len(tail))]


def test_zero_prices_start_everything_on_arrival() -> None:
    output, arrival = np.array([3, 5]), np.array([0, 50])
    layout = Layout.build(np.array([1, 2]), output, 9, [MemoryWeight()], [20])
    lam, the = layout.prefix([np.zeros(21, np.int64)], np.int64)
    value, start = cheapest_starts(layout, output, arrival, 1, 20, lam, the)
    assert value.tolist() == [3, 5]
    assert start.tolist() == [0, 50]


def test_no_start_before_arrival_has_a_cost() -> None:
    layout = Layout.build(np.array([1]), np.array([3]), 9, [MemoryWeight()], [20])
    lam, the = layout.prefix([np.ones(21, np.int64)], np.int64)
    assert start_costs(layout, 0, 3, 10, 1, 5, lam, the).tolist() == []


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_one_thread_and_many_agree(dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)
    rng = np.random.default_rng(4)
    for _ in range(5):
        _, output, arrival, _, horizon, prices, layout, _ = case(rng, dtype)
        lam, the = layout.prefix(prices, dtype)
        results = []
        for limit in (0, 10**9):
            monkeypatch.setattr(pricing, "_ALONE_BELOW", limit)
            results.append(cheapest_starts(layout, output, arrival, 2, horizon, lam, the))
        assert results[0][0].tolist() == results[1][0].tolist()
        assert results[0][1].tolist() == results[1][1].tolist()
