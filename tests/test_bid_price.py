"""The bid-price router: admission against a step-by-step reference, learning against plain arithmetic, properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plain_fleet import plain_bid_price
from test_routers import random_fleet

from kvbound import Deadline, load
from kvbound.checkers.execution import require_valid_execution
from kvbound.models import Fleet, OptionError, Problem, Requests, Reward
from kvbound.models.footprint import earliest_start, fits_now, room_ahead
from kvbound.solvers.bounds.reward import reward_bound
from kvbound.solvers.engine import assumed_length
from kvbound.solvers.engine.execute import execution_of
from kvbound.solvers.routers import ROUTERS, BidPriceConfig, bid_price_router, run_router
from kvbound.solvers.routers.config import PUBLISHED
from kvbound.solvers.routers.learning import learn, look_ahead
from kvbound.solvers.routers.priced_run import GivenPrices, memory_bytes, run_bid_price
from kvbound.solvers.routers.prices import MEM, SLOT, WAITS, Prices
from kvbound.solvers.routers.resolve import _sample, resolve_prices
from kvbound.solvers.routers.run import arrival_state


def test_fits_now_is_the_rule_of_earliest_start() -> None:
    rng = np.random.default_rng(0)
    fitting = 0
    for _ in range(300):
        count, now = int(rng.integers(0, 9)), int(rng.integers(0, 30))
        ends = np.sort(now + rng.integers(1, 30, count))
        starts = now - rng.integers(0, 20, count)
        peaks = rng.integers(0, 12, count) + ends - starts
        memory = int(rng.integers(10, 250))
        room, base = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
        room_ahead(memory, now, ends, peaks, count, room, base)
        for _ in range(20):
            output = int(rng.integers(1, 30))
            prompt = int(rng.integers(0, max(1, memory - output)))
            k = earliest_start(prompt, output, memory, 1 << 40, now, ends, peaks, count)
            fits = fits_now(prompt, output, memory, now, ends, count, room, base)
            assert fits == (k == now and prompt + output <= memory)
            fitting += fits
    assert 500 < fitting < 5500


@pytest.mark.parametrize(
    ("hold", "order", "reserve"),
    [(False, "margin", 0), (True, "margin", 0), (True, "margin", 2), (True, "density", 0), (False, "density", 1),
     (True, "density", 4)],
)  # fmt: skip
def test_admission_under_given_prices_equals_the_step_by_step_reference(hold: bool, order: str, reserve: int) -> None:
    """Same attempts in the same order on 75 random cases; prices are multiples of 1/8, so that floats are exact."""
    rng = np.random.default_rng(11)
    held = evictions = 0
    for _ in range(75):
        problem = random_fleet(rng, 10)
        horizon, kinds = int(rng.integers(5, 90)), problem.fleet.kinds
        objective = Reward(horizon, *rng.integers(0, 4, 6).tolist(), eel_limit=20, ttft_limit=5)
        scale = float(rng.choice([0.0, 0.125, 0.5, 2.0]))
        memory, batch = (scale * rng.integers(0, 9, (len(kinds), horizon + 1)) for _ in range(2))
        config = BidPriceConfig(hold=hold, order=order, reserve=reserve)
        done = run_bid_price(problem, objective, config, arrival_state(problem), given=GivenPrices(memory, batch))
        execution = execution_of(problem, done.state)
        require_valid_execution(problem, execution)
        kind = [next(y for y, workers in enumerate(kinds) if g in workers) for g in range(len(problem.fleet))]
        expected = plain(problem, kind, memory, batch, objective, config)
        attempts = np.stack((execution.request, execution.worker, execution.start, execution.end), axis=1)
        assert [tuple(row) for row in attempts.tolist()] == expected
        evictions += execution.evictions
        held += int((execution.first_start(problem.requests) > problem.requests.arrival).sum())
    assert held > 50
    assert evictions > 10


def plain(  # type: ignore[no-untyped-def]
    problem: Problem, kind: list[int], memory: np.ndarray, batch: np.ndarray, objective: Reward, config: BidPriceConfig
):
    r = problem.requests

    def reward(j: int | None, k: int, length: int) -> float:
        a, left = 0 if j is None else int(r.arrival[j]), objective.horizon - k
        token, eel, ttft, served, eel_tail, ttft_tail = (int(w) for w in objective.weights)
        return float(
            served
            + token * min(length, left)
            + eel * max(0, left - length)
            + ttft * max(0, left - 1)
            + eel_tail * (k + length - a < objective.eel_limit)
            + ttft_tail * (k + 1 - a < objective.ttft_limit)
        )

    return plain_bid_price(
        list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)),
        assumed_length(problem, "point").tolist(),
        list(problem.fleet.memory),
        list(problem.fleet.batch),
        kind,
        memory.tolist(),
        batch.tolist(),
        reward,
        config.hold,
        config.order == "density",
        config.reserve,
    )


class PlainRandom:
    """xorshift64* in Python integers."""

    def __init__(self, state: int) -> None:
        self.x = state

    def __call__(self) -> float:
        mask = (1 << 64) - 1
        self.x ^= self.x >> 12
        self.x = (self.x ^ (self.x << 25)) & mask
        self.x ^= self.x >> 27
        return float(((self.x * 2685821657736338717) & mask) >> 11) / 2**53


def busy(seed: int) -> tuple[Problem, object, Prices]:
    """A run stopped at a moment at which several requests wait and run."""
    rng = np.random.default_rng(seed)
    n = 60
    requests = Requests(rng.integers(1, 20, n), rng.integers(1, 30, n), np.sort(rng.integers(0, 60, n)))
    problem = Problem(requests, Fleet((60, 60, 45), (4, 4, 3)))
    kept: list[Prices] = []

    class Stop(Exception):
        pass

    state = arrival_state(problem)

    def watch(now: int, prices: Prices) -> None:
        if now >= 40 and prices.at[WAITS] >= 5:
            kept.append(prices)
            raise Stop

    with pytest.raises(Stop):
        run_bid_price(problem, OBJECTIVE, BidPriceConfig(horizon=50, window=20, sample=8), state, watch=watch)
    return problem, state, kept[0]


OBJECTIVE = Reward(50, 0, 1, 1, 0, 3, 3, eel_limit=30, ttft_limit=6)


def test_a_subgradient_step_is_what_the_formula_says() -> None:
    """p ← [p − η·unit/capacity·(remaining − expected demand)]⁺ recomputed with plain loops."""
    problem, state, prices = busy(3)
    now, horizon, sample, gain, unit, rate = int(state.clock[0]), 50, 8, 1.0, 2.0, 0.3  # type: ignore[attr-defined]
    scaled = (horizon, *OBJECTIVE.scaled[1:])
    limit = np.array([60, 45])
    look_ahead(state, prices, now)
    used = np.zeros((2, 2, horizon + 1))
    for g, worker in enumerate(state.worker):  # type: ignore[attr-defined]
        for i in range(worker[2]):
            end, peak, _ = state.slot[g, :, i]  # type: ignore[attr-defined]
            for h in range(1, min(int(end) - now, horizon) + 1):
                used[prices.kind[g], MEM, h] += peak - end + now + h
                used[prices.kind[g], SLOT, h] += 1
    assert np.allclose(prices.remaining[:, :, 1:], prices.capacity[:, :, None] - used[:, :, 1:])

    rng = np.random.default_rng(4)
    prices.table[:] = rng.uniform(0, 0.2, prices.table.shape)
    table, random = prices.table.copy(), PlainRandom(int(prices.random[0]))
    waits, filled = int(prices.at[WAITS]), 20
    arrivals = filled / (now - prices.window[2].min() + 1) * horizon
    demand = np.zeros_like(table)
    for _ in range(sample):
        if random() * (waits + arrivals) < waits:
            j = int(prices.waiting[int(random() * waits)])
            s, o, first = int(problem.requests.prompt[j]), int(problem.requests.output[j]), 0
            arrival = int(problem.requests.arrival[j]) - now
        else:
            s, o, _ = (int(v) for v in prices.window[:, int(random() * filled)])
            arrival = first = int(random() * horizon)
        best, chosen = 0.0, None
        for y in range(2):
            for k in (first, *(first + 2**i for i in range(7))):
                if k >= horizon or s + o > limit[y]:
                    continue
                steps = range(k + 1, min(k + o, horizon) + 1)
                price = sum(table[y, SLOT, h] + (s + h - k) * table[y, MEM, h] for h in steps)
                left = horizon - k
                value = max(0, left - o) + max(0, left - 1) + 3 * (k + o - arrival < 30) + 3 * (k + 1 - arrival < 6)
                if value - price > best + 1e-9:
                    best, chosen = value - price, (y, k)
        if chosen is not None:
            y, k = chosen
            for h in range(k + 1, min(k + o, horizon) + 1):
                demand[y, MEM, h] += (s + h - k) * (waits + arrivals) / sample
                demand[y, SLOT, h] += (waits + arrivals) / sample
    o, s = prices.window[1], prices.window[0]
    tokens = (s * o + o * (o + 1) // 2).sum() / o.sum()
    expected = table.copy()
    for y in range(2):
        for r, size in ((MEM, tokens), (SLOT, 1.0)):
            step = rate * unit / prices.capacity[y, r] / size
            expected[y, r] = np.maximum(0, table[y, r] - step * (prices.remaining[y, r] - demand[y, r]))
    learn(state, prices, limit, now, 1, rate, sample, gain, unit, scaled)
    assert np.allclose(prices.table[:, :, 1:], expected[:, :, 1:], atol=1e-8)
    assert (prices.table[:, :, 1:] != table[:, :, 1:]).any()


def test_resolved_prices_are_optimal_for_the_sampled_dual() -> None:
    """No scaled or perturbed prices give the sampled dual a smaller value, evaluated with plain loops."""
    problem, state, prices = busy(3)
    now, horizon = int(state.clock[0]), 50  # type: ignore[attr-defined]
    seed = prices.random.copy()
    sample, expected = _sample(state, prices, now, horizon, 1.0)  # type: ignore[arg-type]
    prices.random[:] = seed
    assert resolve_prices(problem, OBJECTIVE, state, prices, 1.0)  # type: ignore[arg-type]
    each = max(1.0, expected / sample.shape[1])
    limit = np.array([60, 45])

    def dual(table: np.ndarray) -> float:
        total = float((prices.remaining[:, :, 1:] / each * table[:, :, 1:]).sum())
        for s, o, a in sample.T.tolist():
            best = 0.0
            for y, k in ((y, k) for y in range(2) for k in range(a, horizon) if s + o <= limit[y]):
                t = np.arange(k + 1, min(k + o, horizon) + 1)
                left = horizon - k
                value = max(0, left - o) + max(0, left - 1) + 3 * (k + o - a < 30) + 3 * (k + 1 - a < 6)
                best = max(best, value - float((table[y, SLOT, t] + (s + t - k) * table[y, MEM, t]).sum()))
            total += best
        return total

    optimum, rng = dual(prices.table), np.random.default_rng(0)
    assert prices.table.max() > 0
    for factor in (0.0, 0.5, 0.9, 1.1, 2.0):
        assert dual(factor * prices.table) >= optimum - 1e-6
    for _ in range(10):
        assert dual(prices.table * rng.uniform(0.8, 1.2, prices.table.shape)) >= optimum - 1e-6


def test_the_resolving_router_serves_every_request_once() -> None:
    rng = np.random.default_rng(5)
    for seed in range(5):
        problem = random_fleet(rng)
        config = BidPriceConfig(horizon=30, window=9, sample=4, resolve=3)
        done = run_router(problem, bid_price_router("mine", config), seed=seed).execution
        require_valid_execution(problem, done)


def test_serves_every_request_once_whatever_the_parameters() -> None:
    rng = np.random.default_rng(2)
    for seed in range(60):
        problem = random_fleet(rng)
        config = BidPriceConfig(
            steps=int(rng.integers(0, 4)),
            rate=float(rng.choice([0.0, 0.01, 1.0])),
            sample=int(rng.integers(1, 9)),
            horizon=int(rng.integers(1, 60)),
            window=int(rng.integers(1, 9)),
            slack=float(rng.choice([0.0, 1.0])),
            halve=bool(rng.random() < 0.5),
            hold=bool(rng.random() < 0.5),
            per_worker=bool(rng.random() < 0.5),
            period=int(rng.integers(1, 4)),
            order=str(rng.choice(["margin", "density"])),
            reserve=int(rng.integers(0, 4)),
        )
        weights = Reward(50, *rng.integers(0, 3, 6).tolist(), eel_limit=9, ttft_limit=4)
        done = run_router(problem, bid_price_router("mine", config), objective=weights, seed=seed).execution
        require_valid_execution(problem, done)
        assert sorted(done.request[done.serving(problem.requests)].tolist()) == list(range(problem.n))


def test_it_never_sees_the_true_lengths() -> None:
    """Two problems that differ only in true lengths beyond step 20 get the same decisions up to step 20."""
    rng = np.random.default_rng(8)
    n = 40
    prompt, arrival = rng.integers(1, 10, n), np.sort(rng.integers(0, 25, n))
    guess = rng.integers(1, 40, n)
    fleet = Fleet.uniform(120, 2, 5)
    long = [Requests(prompt, np.full(n, length), arrival, guess, guess) for length in (60, 90)]
    first, second = (run_router(Problem(r, fleet), ROUTERS["bid-price"]).execution for r in long)
    early = first.start < 20
    assert early.sum() > 5
    for name in ("request", "worker", "start"):
        assert (getattr(first, name)[early] == getattr(second, name)[: early.sum()]).all()


def test_rewards_are_not_clipped_so_that_weights_matter() -> None:
    """Where waiting for the long ones costs tokens, weights on tokens and on latency lead to different orders."""
    source = "uniform:n=300,prompt=1-20,output=5-60,memory=300,arrivals=poisson,rate=1.2,seed=0"
    problem = load(source, workers=2).problem
    runs = [run_router(problem, ROUTERS["bid-price"], objective=Reward.preset(name, 500, eel_limit=80, ttft_limit=20))
            for name in ("average", "tail", "throughput")]  # fmt: skip
    starts = [run.execution.schedule(problem.requests).start for run in runs]
    assert (starts[0] != starts[1]).any()
    assert (starts[0] != starts[2]).any()


def test_the_memory_of_the_router_does_not_grow_with_time() -> None:
    sizes = []
    for n in (100, 1000):
        problem = load(f"uniform:n={n},prompt=1-20,output=1-10,memory=200,arrivals=poisson,rate=0.5", workers=2).problem
        config = BidPriceConfig(horizon=50, window=32, sample=4)
        done = run_bid_price(problem, Reward.preset("average", 500), config, arrival_state(problem))
        sizes.append(memory_bytes(done.prices))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(("weights", "share"), [("average", 0.97), ("throughput", 0.95), ("tail", 0.95)])
def test_exact_duals_reach_95_percent_of_the_lp_on_a_large_smooth_instance(weights: str, share: float) -> None:
    """Overloaded by a fifth; n = 1000, each request small beside a worker; no noise; the bound is certified."""
    source = "uniform:n=1000,prompt=1-20,output=5-40,memory=600,arrivals=poisson,rate=6,seed=3"
    problem = load(source, workers=4).problem
    horizon = int(problem.requests.arrival.max()) + 40
    objective = Reward.preset(weights, horizon, eel_limit=60, ttft_limit=20)
    bound = reward_bound(replace(problem, objective=objective), "lagrangian", deadline=Deadline(60))
    given = GivenPrices(bound.prices.memory, bound.prices.batch)
    done = run_bid_price(problem, objective, PUBLISHED, arrival_state(problem), given=given)
    execution = execution_of(problem, done.state)
    require_valid_execution(problem, execution)
    start = execution.schedule(problem.requests).start
    earned = int(objective.reward(problem.requests, np.arange(problem.n), start).sum())
    assert share * bound.value <= earned <= bound.value


@pytest.mark.parametrize(
    "wrong",
    [{"steps": -1}, {"sample": 0}, {"horizon": 0}, {"window": 0}, {"period": 0}, {"rate": -0.1}, {"slack": -1.0},
     {"backlog_gain": float("nan")}, {"normaliser": 0.0}, {"resolve": 0}, {"order": "volume"}, {"reserve": -1}],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        BidPriceConfig(**wrong)  # type: ignore[arg-type]


def test_given_prices_have_to_be_prices() -> None:
    with pytest.raises(OptionError, match="negative"):
        GivenPrices(np.full((1, 5), -1.0), np.zeros((1, 5)))
    with pytest.raises(OptionError, match="shape"):
        GivenPrices(np.zeros((1, 5)), np.zeros((1, 6)))
    problem = Problem(Requests([1], [1]), Fleet((5, 6)))
    given, state = GivenPrices(np.zeros((1, 5)), np.zeros((1, 5))), arrival_state(problem)
    with pytest.raises(OptionError, match="the fleet has 2"):
        run_bid_price(problem, Reward.preset("average", 5), BidPriceConfig(), state, given=given)
