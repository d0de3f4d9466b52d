"""Routers in the settings of the published comparison, and prices on their way to those of the LP.

    python benchmarks/routing.py scenarios [a,b,c,d1,d2]     # --n 3000 --seeds 3
    python benchmarks/routing.py loads 0.85,0.95,1           # stable loads: gain, and what the bound allows
    python benchmarks/routing.py trace FILE                  # Azure conversation trace, its own arrivals
    python benchmarks/routing.py convergence FIGURE.svg
    python benchmarks/routing.py duals                       # prices of the bound given to the router, no noise

Published (Chen, Ye and Zhou, arXiv 2607.03948; 4 simulated A100, LMSYS lengths, predictions off by up to 20 %, against
Round-Robin): stable load mean EEL −45.75 %, P95 −42.49 %, P99 −25.85 %, throughput +0.90 %, SLO violations −11.10 %;
LOR −0.67 / −4.01 / −6.19 %, Power-of-2 −1.30 / −3.84 / −6.06 %; shift of the rate −44.81 / −45.69 / −31.15 %, +1.93 %,
−14.57 %. Their model, memory, batch size and unit of the rate are not disclosed, so loads are ours: 1 is what the
scarcer of memory and batch slots can do at full use.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from kvbound import Deadline, load
from kvbound.instances import with_predictions
from kvbound.models import Fleet, Problem, Requests, Reward
from kvbound.solvers.bounds.reward import mean_eel_bound, reward_bound
from kvbound.solvers.engine.execute import execution_of
from kvbound.solvers.routers import ROUTERS, bid_price_router, run_router
from kvbound.solvers.routers.config import PUBLISHED
from kvbound.solvers.routers.metrics import Limits, measure
from kvbound.solvers.routers.priced_run import GivenPrices, run_bid_price
from kvbound.solvers.routers.prices import MEM, SLOT, Prices
from kvbound.solvers.routers.run import arrival_state
from kvbound.statistics import interval

NAMES = ("round-robin", "random", "lor", "power-of-2", "least-kv", "lor:svf", "round-robin:central", "lor:central",
         "power-of-2:central", "least-kv:central", "lor:central:svf", "least-kv:central:svf",
         "bid-price:paper", "bid-price")  # fmt: skip
COLUMNS = ("mean_eel", "p95_eel", "p99_eel", "mean_ttft", "p99_ttft", "throughput", "slo_violations")
#: Seconds for each bound (`--bound-seconds`).
BOUND_SECONDS = [20.0]

#: Source of the lengths, load(s) of the arrivals (one per equal part of the requests).
SCENARIOS = {
    "a": ("stable load, 0.85", "mix:n={n},long=0,seed={seed}", (0.85,)),
    "b": ("slight overload, 1.05", "mix:n={n},long=0,seed={seed}", (1.05,)),
    "c": ("rate shift, 0.75 to 1.125", "mix:n={n},long=0,seed={seed}", (0.75, 1.125)),
    "d1": ("prefill/decode 1:4, 0.95", "uniform:n={n},prompt=20-180,output=80-720,seed={seed}", (0.95,)),
    "d2": ("prefill/decode 4:1, 0.95", "uniform:n={n},prompt=80-720,output=20-180,seed={seed}", (0.95,)),
}


def arrivals(requests: Requests, fleet: Fleet, loads: tuple[float, ...], seed: int) -> np.ndarray:
    """Poisson arrivals whose rate is a share of what the fleet can do."""
    n, rng = len(requests), np.random.default_rng([seed, 1])
    most = fleet.pooled_memory / requests.volume.mean()
    if fleet.pooled_batch is not None:
        most = min(most, fleet.pooled_batch / requests.output.mean())
    rate = np.repeat(np.array(loads) * most, -(-n // len(loads)))[:n]
    return np.floor(np.cumsum(rng.exponential(1.0, n) / rate)).astype(np.int64)


def scenario(key: str, n: int, seed: int, memory: int, batch: int) -> Problem:
    """One draw of a scenario: 4 workers, predictions U(0.8, 1.2)·o."""
    _, source, loads = SCENARIOS[key]
    lengths = load(source.format(n=n, seed=seed), memory=memory, workers=4, batch=batch, drop_too_large=True).problem
    r = lengths.requests
    problem = replace(lengths, requests=Requests(r.prompt, r.output, arrivals(r, lengths.fleet, loads, seed)))
    return with_predictions(problem, "point=0.2", seed)


def table(title: str, problems: list[Problem], names: tuple[str, ...], bounds: bool) -> None:
    """Routers × metrics, against Round-Robin in per cent, with 95 % intervals over the seeds."""
    print(f"\n## {title}\n", flush=True)
    print("| router | mean EEL | " + " | ".join(f"{c.replace('_', ' ')} %" for c in COLUMNS)
          + " | evictions | KV % | gap of mean EEL % |")  # fmt: skip
    print("|---|--:|" + "--:|" * len(COLUMNS) + "--:|--:|--:|")
    base: dict[str, list[float]] = {}
    floor = [float(mean_eel_bound(p, deadline=Deadline(BOUND_SECONDS[0])).mean) if bounds else None for p in problems]
    for name in names:
        found = []
        for seed, problem in enumerate(problems):
            objective = Reward.preset("average", int(problem.requests.arrival.max()) + 2000)
            run = run_router(problem, ROUTERS[name], objective=objective, seed=seed)
            found.append(measure(problem, run.execution, Limits.default(problem.requests)))
        if not base:
            base = {c: [getattr(m, c) for m in found] for c in COLUMNS}
        cells = [f"{np.mean([m.mean_eel for m in found]):.1f}"]
        for c in COLUMNS:
            change = interval([100 * (getattr(m, c) / b - 1) if b else None
                               for m, b in zip(found, base[c], strict=True)])  # fmt: skip
            half = "" if change is None or change.half is None else f" ±{change.half:.1f}"
            cells.append("–" if change is None else f"{change.mean:+.2f}{half}")
        gap = interval([None if f is None else 100 * (m.mean_eel / f - 1)
                        for m, f in zip(found, floor, strict=True)])  # fmt: skip
        evictions, kv = (np.mean([getattr(m, key) for m in found]) for key in ("evictions", "kv_utilisation"))
        cells += [f"{evictions:.0f}", f"{100 * kv:.1f}", "–" if gap is None else f"{gap.mean:.1f}"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def scenarios(keys: str, n: int, seeds: int, memory: int, batch: int, bounds: bool) -> None:
    """Tables of the scenarios named."""
    for key in keys.split(","):
        problems = [scenario(key, n, seed, memory, batch) for seed in range(seeds)]
        r = problems[0].requests
        tokens, slots = 4 * memory / r.volume.mean(), 4 * batch / r.output.mean()
        scarce = "memory" if tokens < slots else "batch"
        what = f"({key}) {SCENARIOS[key][0]}: n = {n}, 4 workers, M = {memory}, B = {batch}, {scarce} is scarce"
        table(f"{what}, {seeds} seeds", problems, NAMES, bounds)


def loads(text: str, n: int, seeds: int, memory: int, batch: int) -> None:
    """At which stable load the published -45.75 % is reached, and how much the certified bound allows at all."""
    print("| load | Round-Robin, mean EEL | lor:central:svf % | bid-price % | no schedule can do better than % |")
    print("|--:|--:|--:|--:|--:|")
    for load_of in (float(part) for part in text.split(",")):
        rows = []
        for seed in range(seeds):
            lengths = load(SCENARIOS["a"][1].format(n=n, seed=seed), memory=memory, workers=4, batch=batch,
                           drop_too_large=True).problem  # fmt: skip
            r = lengths.requests
            problem = replace(
                lengths, requests=Requests(r.prompt, r.output, arrivals(r, lengths.fleet, (load_of,), seed))
            )
            problem = with_predictions(problem, "point=0.2", seed)
            floor = float(mean_eel_bound(problem, deadline=Deadline(BOUND_SECONDS[0])).mean)
            objective = Reward.preset("average", int(problem.requests.arrival.max()) + 2000)
            found = []
            for name in ("round-robin", "lor:central:svf", "bid-price"):
                run = run_router(problem, ROUTERS[name], objective=objective, seed=seed)
                found.append(measure(problem, run.execution, Limits.default(r)).mean_eel)
            rows.append([found[0], *(100 * (x / found[0] - 1) for x in (*found[1:], floor))])
        base, *changes = np.mean(rows, axis=0)
        print(f"| {load_of} | {base:.1f} | " + " | ".join(f"{x:+.2f}" for x in changes) + " |", flush=True)


def trace(path: str, limit: int, memory: int, batch: int, step_seconds: float, windows: int) -> None:
    """Windows of the trace one after the other, each replayed by its own arrivals."""
    loaded = load(path, memory=memory, workers=4, batch=batch, limit=limit * windows, step_seconds=step_seconds,
                  drop_too_large=True)  # fmt: skip
    r, problems, shares = loaded.problem.requests, [], []
    for i in range(windows):
        part = slice(i * len(r) // windows, (i + 1) * len(r) // windows)
        cut = Requests(r.prompt[part], r.output[part], r.arrival[part] - r.arrival[part][0])
        shares.append(cut.volume.sum() / loaded.problem.fleet.pooled_memory / cut.arrival.max())
        problems.append(with_predictions(replace(loaded.problem, requests=cut), "point=0.2", i))
    loads = ", ".join(f"{share:.2f}" for share in shares)
    title = (f"{loaded.problem.name}: {windows} × {problems[0].n} requests, a step of {step_seconds} s, 4 workers, "
             f"M = {memory}, B = {batch}, load {loads} of memory")  # fmt: skip
    table(title, problems, NAMES, True)


def convergence(figure: str, n: int) -> None:
    """Learned prices against the LP's on a stationary workload: price of a mean request, margins, reward over time."""
    fleet = Fleet.uniform(1000, 4)
    r = load(f"uniform:n={n},prompt=1-40,output=5-80,seed=0", memory=1000).problem.requests
    problem = Problem(Requests(r.prompt, r.output, arrivals(r, fleet, (1.3,), 0)), fleet)
    horizon = int(problem.requests.arrival.max())
    objective = Reward.preset("throughput", horizon)
    begin = time.perf_counter()
    bound = reward_bound(replace(problem, objective=objective), "lagrangian", deadline=Deadline(60))
    print(f"n = {n}, load 1.3, horizon {horizon}, LP bound {bound.value:,} in {time.perf_counter() - begin:.0f} s")
    mean_prompt, mean_output = int(r.prompt.mean()), int(r.output.mean())
    ahead = np.arange(1, mean_output + 1)
    exact = bound.prices.memory[0], bound.prices.batch[0]
    rng = np.random.default_rng(1)
    sample = rng.integers(0, n, 200)
    steps, learned, given, agree = [], [], [], []

    def priced(tokens: np.ndarray, slots: np.ndarray, first: int, prompt: int, output: int) -> float:
        t = np.arange(first + 1, min(first + output, len(tokens) - 1) + 1)
        return float((slots[t] + (prompt + t - first) * tokens[t]).sum())

    def watch(now: int, prices: Prices) -> None:
        if now % 20 or now + len(ahead) >= horizon:
            return
        steps.append(now)
        table_now = prices.table[0]
        learned.append(priced(table_now[MEM], table_now[SLOT], 0, mean_prompt, mean_output) / mean_output)
        given.append(priced(*exact, now, mean_prompt, mean_output) / mean_output)
        signs = [
            (int(r.output[j]) > priced(table_now[MEM], table_now[SLOT], 0, int(r.prompt[j]), int(r.output[j])))
            == (min(int(r.output[j]), horizon - now) > priced(*exact, now, int(r.prompt[j]), int(r.output[j])))
            for j in sample
        ]
        agree.append(float(np.mean(signs)))

    config = replace(PUBLISHED, horizon=256, hold=True)
    run = run_router(problem, bid_price_router("mine", config), objective=objective, watch=watch)
    exact_run = run_bid_price(problem, objective, PUBLISHED, arrival_state(problem),
                              given=GivenPrices(bound.prices.memory, bound.prices.batch))  # fmt: skip
    curves = {"learned online": run.execution, "LP duals given": execution_of(problem, exact_run.state),
              "round-robin": run_router(problem, ROUTERS["round-robin"]).execution,
              "lor:central:svf": run_router(problem, ROUTERS["lor:central:svf"]).execution}  # fmt: skip
    drawn = {}
    for name, execution in curves.items():
        start = execution.schedule(problem.requests).start
        earned = objective.reward(problem.requests, np.arange(n), start)
        order = np.argsort(start)
        drawn[name] = start[order], np.cumsum(earned[order]) / bound.value
        print(f"{name}: reward {earned.sum() / bound.value:.4f} of the bound")
    for first, last in ((0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)):
        part = [i for i, t in enumerate(steps) if first * horizon <= t < last * horizon]
        if part:
            print(f"{first:4.0%} to {last:4.0%} of the horizon: price of a mean request / its reward: learned "
                  f"{np.mean([learned[i] for i in part]):.3f}, LP {np.mean([given[i] for i in part]):.3f}; "
                  f"margins of equal sign {np.mean([agree[i] for i in part]):.1%}")  # fmt: skip
    draw(figure, steps, learned, given, agree, drawn, horizon)


def duals(n: int) -> None:
    """Reward of the router with the prices of the LP bound, as a share of the bound, on a large smooth instance."""
    source = f"uniform:n={n},prompt=1-20,output=5-40,memory=600,arrivals=poisson,rate=6,seed=3"
    problem = load(source, workers=4).problem
    horizon = int(problem.requests.arrival.max()) + 40
    print(f"{source}, 4 workers, horizon {horizon}")
    weights = {"average": (0, 1, 1), "throughput": (1,), "tail": (0, 0, 0, 0, 1, 1), "served": (0, 0, 0, 1)}
    for name, numbers in weights.items():
        token, eel, ttft, served, eel_tail, ttft_tail = (*numbers, *[0] * (6 - len(numbers)))
        objective = Reward(horizon, token, eel, ttft, served, eel_tail, ttft_tail, 60, 20)
        bound = reward_bound(replace(problem, objective=objective), "lagrangian", deadline=Deadline(60))
        given = GivenPrices(bound.prices.memory, bound.prices.batch)
        for hold in (False, True):
            done = run_bid_price(problem, objective, replace(PUBLISHED, hold=hold), arrival_state(problem), given=given)
            start = execution_of(problem, done.state).schedule(problem.requests).start
            earned = objective.reward(problem.requests, np.arange(n), start).sum()
            print(f"{name}: bound {bound.value:,}, hold={hold}: {earned / bound.value:.4f}", flush=True)


def draw(figure: str, steps: list[int], learned: list[float], given: list[float], agree: list[float],
         rewards: dict[str, tuple[np.ndarray, np.ndarray]], horizon: int) -> None:  # fmt: skip
    """Three panels over time."""
    from kvbound.plot import figure_of_size, require_format, save_figure

    kind = require_format(figure)
    paper = figure_of_size(9.0, 8.0)
    price, sign, reward = paper.subplots(3, 1, sharex=True, height_ratios=(1.2, 0.8, 1.2))
    price.plot(steps, learned, color="#2a6f97", linewidth=1.1, label="learned online")
    price.plot(steps, given, color="#c1121f", linewidth=1.1, label="LP duals")
    price.set_ylabel("price of a mean request\n/ its reward")
    sign.plot(steps, agree, color="#2a6f97", linewidth=1.1)
    sign.set_ylabel("margins of\nequal sign")
    sign.set_ylim(0, 1.02)
    for (name, (when, total)), color in zip(rewards.items(), ("#2a6f97", "#c1121f", "#888888", "#6a994e"), strict=True):
        inside = when < horizon
        reward.plot(when[inside], total[inside], color=color, linewidth=1.1, label=name)
    reward.plot((0, horizon), (0, 1), ":", color="black", linewidth=0.9, label="bound, in proportion")
    reward.set_ylabel("reward so far / bound")
    reward.set_xlabel("step")
    for axes in (price, reward):
        axes.legend(fontsize=8, frameon=False)
    for axes in (price, sign, reward):
        axes.spines[["top", "right"]].set_visible(False)
    save_figure(paper, figure, kind)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("scenarios", "loads", "trace", "convergence", "duals"))
    parser.add_argument("which", nargs="?")
    parser.add_argument("--n", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--memory", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--step-seconds", type=float, default=0.05)
    parser.add_argument("--no-bounds", action="store_true")
    parser.add_argument("--windows", type=int, default=1)
    parser.add_argument("--bound-seconds", type=float, default=20.0)
    a = parser.parse_args()
    BOUND_SECONDS[0] = a.bound_seconds
    if a.what == "scenarios":
        scenarios(a.which or "a,b,c,d1,d2", a.n, a.seeds, a.memory or 4000, a.batch or 48, not a.no_bounds)
    elif a.what == "loads":
        loads(a.which or "0.85,0.9,0.95,1,1.05", a.n, a.seeds, a.memory or 4000, a.batch or 48)
    elif a.what == "trace":
        trace(a.which, a.n, a.memory or 60_000, a.batch or 64, a.step_seconds, a.windows)
    elif a.what == "duals":
        duals(a.n)
    else:
        convergence(a.which or "convergence.svg", a.n)


if __name__ == "__main__":
    main()
