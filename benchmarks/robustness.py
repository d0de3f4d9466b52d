"""Uncertain output lengths and arrivals over time: `python benchmarks/robustness.py --help`.

Prints dated Markdown tables. `noise`: policies under predictions that are off by up to a share ε; all see one and the
same guess ô = o·U(1 − ε, 1 + ε), the point policies the guess itself, A_max and A_min an end of the interval that fits
it. `models`: bins, log-normal factors and bare guesses instead. `online`: Poisson arrivals, lengths known.
`speed`: the engine at n = 100 000. Lengths are the look-alike 80/20 mixture of chats and documents, M = 16492, one
worker. Every execution has passed the checker of executions before its figures count; ± is the standard error of the
mean over seeds. Kernels are compiled before a clock starts; seconds are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import time
from collections.abc import Sequence
from importlib.metadata import version

from kvbound.instances import load, with_predictions
from kvbound.models import Problem
from kvbound.solvers.policies import PolicyRun, resolve, run_policy

PARTS = ("noise", "models", "online", "speed")
MEMORY = 16492
EPSILONS = (0.0, 0.2, 0.5, 0.8)
#: The issue's policies, then two more orders with point predictions.
UNCERTAIN = (
    "sorted-f:a-min",
    "sorted-f:a-min,evict=youngest",
    "a-min",
    "a-max",
    "sorted-f:swap",
    "mc-sf",
    "svf",
    "fcfs",
)
MODELS = ("bins=64", "bins=256", "point=0.5", "lognormal=0.5", "lognormal=1")
ONLINE = ("fcfs", "mc-sf", "total-size", "svf", "sorted-f:online", "sorted-f:swap")
RATES = (0.05, 0.08, 0.1, 0.15, 0.3)
SPEED = ("fcfs", "mc-sf", "svf", "a-max", "a-min", "sorted-f:a-min", "sorted-f:online")


def mixture(n: int, seed: int, extra: str = "") -> Problem:
    """80 % chats, 20 % documents, by published quantiles."""
    return load(f"mix:n={n},long=0.2,memory={MEMORY},seed={seed}{extra}").problem


def mean_error(values: Sequence[float]) -> str:
    """Mean ± standard error."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:,.1f}"
    return f"{mean:,.1f} ± {statistics.stdev(values) / len(values) ** 0.5:,.1f}"


def run_all(problems: Sequence[Problem], name: str) -> list[PolicyRun]:
    """One policy on every problem; each run is checked."""
    policy = resolve([name])[0]
    runs = [run_policy(problem, policy) for problem in problems]
    for run in runs:
        assert run.tel is not None, f"{name} declined: {run.declined}"
    return runs


def eels(problems: Sequence[Problem], runs: Sequence[PolicyRun]) -> list[float]:
    """Mean EEL per problem."""
    return [(run.tel or 0) / problem.n for problem, run in zip(problems, runs, strict=True)]


def noisy_rows(names: Sequence[str], settings: Sequence[tuple[str, Sequence[Problem]]], hindsight: list[float]) -> None:
    """A table of policies under one noise setting after the other."""
    print("| noise | policy | mean EEL | to hindsight | evictions | lost tokens | recomputed tokens |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for label, problems in settings:
        for name in names:
            runs = run_all(problems, name)
            values = eels(problems, runs)
            done = [run.execution for run in runs if run.execution is not None]
            assert len(done) == len(runs)
            ratio = statistics.fmean(v / h for v, h in zip(values, hindsight, strict=True))
            lost = (
                statistics.fmean(getattr(d, key) for d in done)
                for key in ("evictions", "lost_tokens", "recomputed_tokens")
            )
            cells = " | ".join(f"{x:,.0f}" for x in lost)
            print(f"| {label} | {name} | {mean_error(values)} | {ratio:.3f} | {cells} |", flush=True)


def noise(sizes: Sequence[int], seeds: int) -> None:
    """The robustness table."""
    for n in sizes:
        base = [mixture(n, seed) for seed in range(seeds)]
        hindsight = eels(base, run_all(base, "sorted-f:swap"))
        print(f"\n### Predictions off by up to ε: n = {n}, {seeds} seeds, all requests at step 0\n")
        print(f"Hindsight: sorted-f:swap with known lengths, mean EEL {mean_error(hindsight)}.\n")
        settings = [
            (f"ε = {e}", [with_predictions(p, f"noise={e}", seed) for seed, p in enumerate(base)]) for e in EPSILONS
        ]
        noisy_rows(UNCERTAIN, settings, hindsight)


def models(n: int, seeds: int) -> None:
    """Other noise models."""
    base = [mixture(n, seed) for seed in range(seeds)]
    hindsight = eels(base, run_all(base, "sorted-f:swap"))
    print(f"\n### Other noise models: n = {n}, {seeds} seeds, all requests at step 0\n")
    settings = [(model, [with_predictions(p, model, seed) for seed, p in enumerate(base)]) for model in MODELS]
    noisy_rows(UNCERTAIN[:-1], settings, hindsight)


def online(n: int, seeds: int) -> None:
    """Arrivals over time: the fixed keys and Sorted-F-Online."""
    print(f"\n### Poisson arrivals, known lengths: n = {n}, {seeds} seeds, mean EEL\n")
    print("sorted-f:swap ranks all requests beforehand, those to come included: a yardstick, not an online policy.\n")
    print("| rate per step | load | " + " | ".join(ONLINE) + " |")
    print("|--:|--:|" + "--:|" * len(ONLINE))
    for rate in RATES:
        problems = [mixture(n, seed, f",arrivals=poisson,rate={rate}") for seed in range(seeds)]
        load_factor = statistics.fmean(
            float(p.requests.volume.sum()) / (MEMORY * max(1, int(p.requests.arrival.max()))) for p in problems
        )
        cells = (mean_error(eels(problems, run_all(problems, name))) for name in ONLINE)
        print(f"| {rate} | {load_factor:.2f} | " + " | ".join(cells) + " |", flush=True)


def speed(n: int) -> None:
    """CPU seconds of whole policy runs: order, execution, check."""
    small = mixture(200, 0, ",arrivals=poisson,rate=0.2,noise=0.5")
    for name in SPEED:
        run_all([small], name)
    print(f"\n### Time of a whole run (order, execution, check): n = {n}, CPU seconds of one thread\n")
    print("| policy | known, at step 0 | known, rate 0.1 | ε = 0.5, at step 0 | ε = 0.5, rate 0.1 | attempts then |")
    print("|---|--:|--:|--:|--:|--:|")
    settings = ["", ",arrivals=poisson,rate=0.1", ",noise=0.5", ",arrivals=poisson,rate=0.1,noise=0.5"]
    problems = [mixture(n, 0, extra) for extra in settings]
    for name in SPEED:
        cells, attempts = [], 0
        for problem in problems:
            begin = time.process_time()
            run = run_all([problem], name)[0]
            cells.append(f"{time.process_time() - begin:.2f}")
            attempts = problem.n if run.execution is None else len(run.execution)
        print(f"| {name} | " + " | ".join(cells) + f" | {attempts:,} |", flush=True)


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000], help="n of the noise tables")
    parser.add_argument("--n", type=int, default=2000, help="n of the tables `models` and `online`")
    parser.add_argument("--large", type=int, default=100_000, help="n of the speed table")
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0, 1, …")
    arguments = parser.parse_args()
    wanted = arguments.parts or list(PARTS)
    for part in wanted:
        if part not in PARTS:
            parser.error(f"unknown part {part!r}; known: {', '.join(PARTS)}")
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    print(f"Printed by benchmarks/robustness.py on {datetime.date.today()}: Python {platform.python_version()},")
    print(f"{packages}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start (other work ran beside it).")
    for part in wanted:
        match part:
            case "noise":
                noise(arguments.sizes, arguments.seeds)
            case "models":
                models(arguments.n, arguments.seeds)
            case "online":
                online(arguments.n, arguments.seeds)
            case "speed":
                speed(arguments.large)


if __name__ == "__main__":
    main()
