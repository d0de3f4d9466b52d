"""Decision time of the bid-price router, and the memory it keeps.

    python benchmarks/routing_latency.py time      # 64 workers, horizon 2000, 500 waiting
    python benchmarks/routing_latency.py resolve   # the variant that solves an LP every 400 steps
    python benchmarks/routing_latency.py memory    # a million requests

Time: an overloaded fleet runs until 500 requests wait; then every period is timed while arrivals keep about 500
waiting, as wall time and as CPU time of this thread (on a machine that others share, wall time holds their time, too).
Worst case: periods repeated from that state with every second worker emptied, so that many requests start at once.
Memory: resident set and the router's own arrays along a run at a stable load.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from kvbound.models import Fleet, Problem, Requests, Reward
from kvbound.solvers.engine.state import COUNT, NOW
from kvbound.solvers.engine.workers import settle
from kvbound.solvers.routers import ROUTERS, BidPriceConfig, priced_run
from kvbound.solvers.routers.config import ORDERS
from kvbound.solvers.routers.priced_loop import DECIDE, decide, next_decision
from kvbound.solvers.routers.priced_run import memory_bytes, run_bid_price
from kvbound.solvers.routers.prices import WAITS, Prices, new_prices
from kvbound.solvers.routers.resolve import resolve_prices
from kvbound.solvers.routers.run import arrival_state

WORKERS, HORIZON, WAITING = 64, 2000, 500


def arguments(config: BidPriceConfig, scaled: tuple[int, ...]) -> tuple[object, ...]:
    """The arguments of `decide` after state, prices and limits."""
    c = config
    return (
        c.steps,
        c.rate,
        c.sample,
        c.slack,
        c.backlog_gain,
        0.0,
        c.halve,
        c.hold,
        ORDERS.index(c.order),
        c.reserve,
        scaled,
    )


def overloaded(seed: int, kinds: int) -> Problem:
    """64 workers of about 30 requests each, arrivals 30 % above what they can finish."""
    rng = np.random.default_rng(seed)
    n = 30_000
    prompt = rng.integers(1, 400, n)
    output = np.minimum(1 + rng.exponential(200, n).astype(np.int64), 1500)
    memory = tuple(9000 - 200 * (g % kinds) for g in range(WORKERS))
    volume = (prompt * output + output * (output + 1) // 2).mean()
    arrival = np.floor(np.cumsum(rng.exponential(volume / sum(memory) / 1.3, n))).astype(np.int64)
    guess = np.maximum(1, np.rint(output * rng.uniform(0.8, 1.2, n)).astype(np.int64))
    return Problem(Requests(prompt, output, arrival, guess, guess), Fleet(memory, (64,) * WORKERS))


def measure(kinds: int, periods: int) -> None:
    """Time `periods` periods with about 500 waiting."""
    problem = overloaded(0, kinds)
    config = BidPriceConfig(horizon=HORIZON)
    scaled = (HORIZON, *Reward.preset("average", HORIZON).scaled[1:])
    state = arrival_state(problem)
    prices = new_prices(problem.fleet, config, problem.n, state.slot.shape[2], 0)
    limit = np.array([max(problem.fleet.memory[g] for g in np.flatnonzero(prices.kind == y))
                      for y in range(len(prices.table))], np.int64)  # fmt: skip
    wall, cpu, waits, running = [], [], [], []
    fresh = True
    while next_decision(state, prices, 1, fresh) == DECIDE and len(wall) < periods:
        fresh = False
        before = int(prices.at[WAITS])
        begin, used = time.perf_counter(), time.thread_time()
        decide(state, prices, limit, *arguments(config, scaled))
        used, begin = time.thread_time() - used, time.perf_counter() - begin
        if before >= WAITING:
            # Those above 500 leave without trace, so that about 500 wait in every period that is timed.
            prices.at[WAITS] = min(int(prices.at[WAITS]), WAITING)
            wall.append(begin)
            cpu.append(used)
            waits.append(before)
            running.append(int(state.worker[:, COUNT].sum()))
    print(f"{kinds} kind(s) of workers, {len(wall)} periods, waiting {min(waits)}..{max(waits)}, "
          f"running {np.median(running):.0f}, step {int(state.clock[NOW])}")  # fmt: skip
    report("  steady overload", wall, cpu)
    wall, cpu = [], []
    for _ in range(min(periods, 300)):
        again = state._replace(**{k: getattr(state, k).copy() for k in ("job", "worker", "slot", "log", "clock")})
        memory = prices._replace(**{k: getattr(prices, k).copy() for k in prices._fields})
        for g in range(0, WORKERS, 2):
            again.worker[g, COUNT] = 0
            settle(again, g, int(again.clock[NOW]))
        begin, used = time.perf_counter(), time.thread_time()
        decide(again, memory, limit, *arguments(config, scaled))
        cpu.append(time.thread_time() - used)
        wall.append(time.perf_counter() - begin)
    report(f"  half the fleet empty, {int(memory.at[8])} start at once", wall, cpu)


def resolving(n: int) -> None:
    """Time of `bid-price:resolve` with the LP solved afresh every 400 steps, and of those LPs by themselves."""
    rng = np.random.default_rng(2)
    prompt, output = rng.integers(1, 200, n), 1 + rng.exponential(80, n).astype(np.int64)
    fleet = Fleet.uniform(4000, 4, 48)
    volume = (prompt * output + output * (output + 1) // 2).mean()
    arrival = np.floor(np.cumsum(rng.exponential(volume / fleet.pooled_memory / 1.05, n))).astype(np.int64)
    problem = Problem(Requests(prompt, output, arrival), fleet)
    spent: list[tuple[float, float]] = []

    def timed(*given: Any) -> bool:
        begin, used = time.perf_counter(), time.thread_time()
        done = resolve_prices(*given)
        spent.append((time.perf_counter() - begin, time.thread_time() - used))
        return done

    priced_run.resolve_prices = timed
    config = ROUTERS["bid-price:resolve"].config
    assert config is not None
    done = run_bid_price(problem, Reward.preset("average", 10**6), config, arrival_state(problem))
    priced_run.resolve_prices = resolve_prices
    wall, cpu = zip(*spent, strict=True)
    ms, late = done.milliseconds, np.percentile(done.milliseconds, 99)
    print(f"bid-price:resolve, W = {config.horizon}, an LP of at most 40 requests every {config.resolve} steps")
    print(f"  {n} requests, {len(ms)} decisions, median {np.median(ms):.2f}, P99 {late:.2f} ms, {len(spent)} LPs")
    report("  one LP", list(wall), list(cpu))


def report(what: str, wall: list[float], cpu: list[float]) -> None:
    """Median and percentiles in milliseconds."""
    rows = [f"{name} median {np.median(x) * 1e3:.3f} P99 {np.percentile(x, 99) * 1e3:.3f} max {max(x) * 1e3:.3f} ms"
            for name, x in (("wall", wall), ("CPU", cpu))]  # fmt: skip
    print(f"{what}: {'; '.join(rows)}", flush=True)


def resident() -> float:
    """Resident set in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(n: int) -> None:
    """Resident set along n requests at a load of about 90 %; the record of attempts is touched before."""
    rng = np.random.default_rng(1)
    prompt, output = rng.integers(1, 60, n), 1 + rng.exponential(12, n).astype(np.int64)
    fleet = Fleet.uniform(1500, 4, 32)
    volume = (prompt * output + output * (output + 1) // 2).mean()
    arrival = np.floor(np.cumsum(rng.exponential(volume / fleet.pooled_memory / 0.9, n))).astype(np.int64)
    problem = Problem(Requests(prompt, output, arrival), fleet)
    state = arrival_state(problem)
    state.log.fill(0)
    marks: list[tuple[float, float, int]] = []
    every = int(arrival[-1]) // 10 + 1
    begin = time.perf_counter()

    def watch(now: int, prices: Prices) -> None:
        if now >= every * len(marks):
            marks.append((now, resident(), memory_bytes(prices)))
            print(f"step {now:>9,}  resident {marks[-1][1]:.1f} MB  router {marks[-1][2] / 1e3:.1f} kB", flush=True)

    done = run_bid_price(problem, Reward.preset("average", 10**6), BidPriceConfig(horizon=256, sample=16), state,
                         watch=watch)  # fmt: skip
    print(f"{n:,} requests, {len(done.milliseconds):,} decisions in {time.perf_counter() - begin:.0f} s; "
          f"from 10 % to 100 %: {marks[-1][1] - marks[1][1]:+.1f} MB resident")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["resolve"]:
        resolving(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
    elif sys.argv[1:2] == ["memory"]:
        memory(int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
    else:
        for number in (1, 4):
            measure(number, int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
