"""Whose fault is the gap on chat/document mixes: the schedule's or the bound's? Down-scaled instances solved exactly.

    python benchmarks/bounds_scaled.py [--scale K] [--n N ...] [--seeds S] [--limit SECONDS]

Every length of `mix:n=N,long=0.2` and its memory of 16492 are divided by K (rounded up; memory down), which keeps what
fits beside what; the exact search then proves the optimum of the small instance. Beside it: the best policy, the
improvement search, and the certified Lagrangian bound with memory prices and with stagger prices (the methods that
also run at paper scale), all as ratios to the proved optimum. Instances not proved within the limit are counted and
left out of the means.
"""

from __future__ import annotations

import argparse
import datetime

import numpy as np

from kvbound.instances import load
from kvbound.models import Fleet, Problem, Requests
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolutionStatus, SolveConfig, solve
from kvbound.solvers.policies import resolve, run_policy
from kvbound.solvers.search import improve

MEMORY = 16492


def scaled(n: int, seed: int, scale: int) -> Problem:
    """The mix divided by `scale`; no output below 1, no prompt below 0."""
    requests = load(f"mix:n={n},long=0.2,seed={seed},memory={MEMORY}").problem.requests
    prompt, output = -(-requests.prompt // scale), -(-requests.output // scale)
    return Problem(Requests(prompt, output, np.zeros(n, dtype=np.int64)), Fleet((MEMORY // scale,)))


def measure(problem: Problem, limit: float) -> dict[str, float] | None:
    """Ratios to the proved optimum, or None when the limit comes first."""
    runs = [run_policy(problem, policy, seed=0) for policy in resolve(["svf", "mc-sf", "sorted-f:swap"])]
    best = min((run for run in runs if run.tel is not None), key=lambda run: run.tel or 0)
    assert best.schedule is not None
    assert best.tel is not None
    found = improve(problem, best.schedule, deadline=Deadline(5.0), seed=0)
    result = solve(problem, method="auto", config=SolveConfig(time_limit=limit, threads=1))
    if result.status is not SolutionStatus.OPTIMAL or result.objective is None:
        return None
    optimum = result.objective
    plain, stagger = (bound(problem, method, deadline=Deadline(20.0)).value for method in ("lagrangian", "stagger"))
    assert plain is not None
    assert stagger is not None
    return {
        "policy / optimum": best.tel / optimum,
        "searched / optimum": found.tel / optimum,
        "optimum / memory prices": optimum / plain,
        "optimum / stagger prices": optimum / stagger,
        "policy / memory prices": best.tel / plain,
    }


def main() -> None:
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=128)
    parser.add_argument("--n", type=int, nargs="+", default=[12, 16, 20, 24])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each exact solve")
    options = parser.parse_args()
    print(f"{datetime.date.today()}, lengths and M = {MEMORY} divided by {options.scale}, {options.limit:g} s each")
    header = None
    for n in options.n:
        rows = [measure(scaled(n, seed, options.scale), options.limit) for seed in range(options.seeds)]
        proved = [row for row in rows if row is not None]
        if header is None and proved:
            header = list(proved[0])
            print("\n| n | proved | " + " | ".join(header) + " |\n|--:|--:|" + "--:|" * len(header))
        means = [f"{np.mean([row[key] for row in proved]):.4f}" for key in header or ()] if proved else []
        print(f"| {n} | {len(proved)} of {options.seeds} | {' | '.join(means)} |", flush=True)


if __name__ == "__main__":
    main()
