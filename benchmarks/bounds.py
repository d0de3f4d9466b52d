"""Lower bounds: strength against the LP, and against schedules, with times. Prints dated tables in Markdown.

    python benchmarks/bounds.py [--part lp|scale|reach|all] [--limit SECONDS]

`lp`: the Lagrangian bound next to the LP optimum by HiGHS on instances whose LP fits.
`scale`: all policies and the Lagrangian bound at paper scale (M = 16492).
`reach`: every verified bound next to the best policy and a schedule searched for as long as one bound may take.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import resource
import time
from collections.abc import Callable, Sequence

from kvbound.instances import load
from kvbound.models import Problem
from kvbound.models.errors import KvboundError
from kvbound.solvers.bounds import BoundResult, bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import resolve, run_policy
from kvbound.solvers.search import improve, prepare

FITS = [f"jaillet:seed={seed}" for seed in range(10)] + [
    f"mix:n={n},long=0.2,seed={s},memory=4200" for n, s in ((12, 0), (16, 1), (20, 2))
]
REACH = [
    "tiny:n=8,seed=0",
    "tiny:n=12,seed=0",
    "tiny:n=14,seed=0",
    "jaillet:seed=0",
    "jaillet:seed=1",
    "mix:n=200,long=0.2,seed=0",
    "mix:n=2000,long=0.2,seed=0",
]
SCALE = [
    *(f"mix:n=2000,long=0.2,seed={seed}" for seed in range(3)),
    "azure:n=2000,seed=0",
    "mix:n=10000,long=0.2,seed=0",
]


def timed(
    problem: Problem, method: str, limit: float | None, upper: int | None = None
) -> tuple[BoundResult | None, float]:
    """The bound (None when the method declines) and the wall-clock seconds."""
    began = time.perf_counter()
    try:
        result = bound(problem, method, deadline=Deadline(limit), upper=upper)
    except KvboundError as error:
        print(f"<!-- {problem.name}: {method} declines: {error} -->")
        return None, time.perf_counter() - began
    return result, time.perf_counter() - began


def against_the_lp(limit: float) -> None:
    """Table 1: dual ascent against HiGHS."""
    print("\n| instance | n | M | LP optimum | s | Lagrangian | s | below LP | times faster |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for source in FITS:
        problem = load(source).problem
        dual, dual_seconds = timed(problem, "lagrangian", limit)
        lp, lp_seconds = timed(problem, "lp", None)
        if lp is None or dual is None or lp.raw is None or dual.raw is None:
            continue
        print(
            f"| {source} | {problem.n} | {problem.fleet.largest} | {lp.raw:.2f} | {lp_seconds:.2f} | {dual.raw:.2f} | "
            f"{dual_seconds:.2f} | {100 * (1 - dual.raw / lp.raw):.4f} % | {lp_seconds / dual_seconds:.0f} |",
            flush=True,
        )


def at_scale(limit: float) -> None:
    """Table 2: all policies and the Lagrangian bound at paper scale."""
    print("\n| instance | n | all policies, s | Lagrangian | s | best policy | TEL | ratio ≤ |")
    print("|---|--:|--:|--:|--:|---|--:|--:|")
    for source in SCALE:
        problem = load(source).problem
        began = time.perf_counter()
        runs = [run_policy(problem, policy, seed=0) for policy in resolve(["all"])]
        policies = time.perf_counter() - began
        tel, name = min((r.tel, r.name) for r in runs if r.tel is not None)
        dual, seconds = timed(problem, "lagrangian", limit)
        assert dual is not None
        assert dual.value is not None
        print(
            f"| {source} | {problem.n} | {policies:.2f} | {dual.value} | {seconds:.1f} | {name} | {tel} "
            f"| {tel / dual.value:.4f} |",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory so far {peak:.0f} MiB")


def reach(limit: float, sources: Sequence[str] = REACH) -> None:
    """Table 3: verified bounds against policies and against a searched schedule."""
    print("\n| instance | policy | TEL | best known | volume | lagrangian | positional | stagger | sequence | gap |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for source in sources:
        problem = load(source).problem
        runs = [run_policy(problem, policy, seed=0) for policy in resolve(["svf", "mc-sf", "sorted-f:swap"])]
        best = min((r for r in runs if r.tel is not None), key=lambda r: r.tel or 0)
        assert best.schedule is not None
        found = improve(problem, best.schedule, deadline=Deadline(limit), seed=0)
        values, shown = [], []
        for method in ("volume", "lagrangian", "positional", "stagger", "sequence"):
            result, seconds = timed(problem, method, limit, found.tel)
            shown.append("–" if result is None else f"{result.value} ({seconds:.0f} s)")
            values += [] if result is None or result.value is None else [result.value]
        gap = 100 * (found.tel / max(values) - 1)
        print(f"| {source} | {best.name} | {best.tel} | {found.tel} | {' | '.join(shown)} | {gap:.2f} % |", flush=True)


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["lp", "scale", "reach", "all"], default="all")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per bound")
    parser.add_argument("--sources", nargs="+", default=REACH, help="instances of the part `reach`")
    options = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, Python {platform.python_version()}, limit {options.limit} s")
    bound(load("tiny:n=8,seed=0").problem, "stagger", deadline=Deadline(5.0))  # compile first
    bound(load("tiny:n=8,seed=0").problem, "sequence", deadline=Deadline(5.0))
    prepare()
    for policy in resolve(["all"]):
        run_policy(load("tiny:n=8,seed=0").problem, policy)
    parts: dict[str, Callable[[float], None]] = {
        "lp": against_the_lp,
        "scale": at_scale,
        "reach": lambda limit: reach(limit, options.sources),
    }
    for part, run in parts.items():
        if options.part in (part, "all"):
            run(options.limit)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
