"""What the parts of the dedicated search are worth: `python benchmarks/exact_roots.py [--n 12 14] [--seeds 10]`.

Root bounds of the relaxation by level next to prices of the time-indexed relaxation, and the labels that the proof
"no schedule below the optimum" takes, by level, with and without the left-shift rule (docs/exact.md). Every pass
must come out empty-handed at optimum − 1, otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from exact import tiny

from kvbound.models import Problem
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolveConfig, solve
from kvbound.solvers.exact.search import labels
from kvbound.solvers.exact.search.backward import Backward
from kvbound.solvers.exact.search.layers import Ending, PassResult, run_pass
from kvbound.solvers.exact.search.prices import Ascent
from kvbound.solvers.exact.search.relaxation import Relaxation, Shape

EVALUATIONS = 60
MEMORY = 2 << 30


def root(work: Backward, level: int, upper: int | None) -> Ascent:
    """Ascent of one level from scratch; with `upper` known (its states are dropped afterwards)."""
    ascent = Ascent(Relaxation(work, Shape(level, work.output)), None, EVALUATIONS)
    ascent.advance(EVALUATIONS, upper, Deadline(None))
    return ascent


def proof(work: Backward, ascent: Ascent, optimum: int, seconds: float, strict: bool) -> PassResult:
    """Exhaust threshold optimum − 1."""
    ascent.settle(optimum, Deadline(None))
    expand: Callable[..., Any] = labels.expand
    if not strict:
        labels.expand = lambda *a: expand(*a[:4], False, *a[5:])
    try:
        return run_pass(work, ascent.relaxation, optimum - 1, Deadline(seconds), MEMORY)
    finally:
        labels.expand = expand


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Value and CPU seconds."""
    begin = time.process_time()
    value = action()
    return value, time.process_time() - begin


def rows(problem: Problem, args: argparse.Namespace) -> tuple[dict[str, tuple[float, float]], dict[str, Any]]:
    """(root gap %, CPU s) per bound and (labels, children, CPU s, complete) per proof."""
    optimum = solve(problem, config=SolveConfig(time_limit=300.0)).tel
    assert optimum is not None
    gaps, proofs, work = {}, {}, Backward.of(problem)
    for method in ("lagrangian", "stagger"):
        out, cpu = timed(lambda name=method: bound(problem, name, deadline=Deadline(args.seconds), upper=None))
        gaps[f"{method} prices, certified"] = (100 * (optimum - out.value) / optimum, cpu)
    for level in (1, 2, 3):
        out, cpu = timed(lambda k=level: root(work, k, None))
        gaps[f"positions, level {level}"] = (100 * (optimum - out.bound) / optimum, cpu)
        if level == 1:
            continue
        for strict in (True, False):
            found, cpu = timed(lambda a=out, s=strict: proof(work, a, optimum, args.seconds, s))
            label = f"level {level}, {'with' if strict else 'without'} left shift"
            proofs[label] = (found.labels, found.children, cpu, found.ending is Ending.COMPLETE)
            if found.distance is not None:
                print(f"CONTRADICTION {problem.name}: a schedule below {optimum}", file=sys.stderr)
                args.wrong = True
    return gaps, proofs


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[12])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0, help="per certified bound and per proof")
    args = parser.parse_args()
    args.wrong = False
    rows(tiny(6, 0), args)  # compile
    for n in args.n:
        load = " ".join(f"{x:.1f}" for x in os.getloadavg())
        print(
            f"\n## Bounds and proofs, tiny n = {n}, {args.seeds} seeds, {EVALUATIONS} evaluations per level\n\n"
            f"{datetime.datetime.now():%Y-%m-%d %H:%M}, load average {load}\n"
        )
        every = [rows(tiny(n, seed), args) for seed in range(args.seeds)]
        print("| bound | gap % median | worst | CPU s median |\n|---|--:|--:|--:|")
        for name in every[0][0]:
            gap, cpu = zip(*(gaps[name] for gaps, _ in every), strict=True)
            print(f"| {name} | {statistics.median(gap):.2f} | {max(gap):.2f} | {statistics.median(cpu):.2f} |")
        print("\n| proof at optimum − 1 | complete | labels median | most | children median | CPU s median | most |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for name in every[0][1]:
            number, looked, cpu, complete = zip(*(proofs[name] for _, proofs in every), strict=True)
            print(
                f"| {name} | {sum(complete)}/{len(every)} | {statistics.median(number):,.0f} | {max(number):,} "
                f"| {statistics.median(looked):,.0f} | {statistics.median(cpu):.2f} | {max(cpu):.2f} |",
                flush=True,
            )
    return int(args.wrong)


if __name__ == "__main__":
    sys.exit(main())
