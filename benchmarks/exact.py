"""Exact methods side by side: `python benchmarks/exact.py --help`.

Prints dated tables: every formulation with and without inequalities on tiny instances (docs/math.md §9), unit outputs,
large memory, and building the time-indexed program as arrays against Pyomo.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version

import numpy as np

from kvbound.models import Fleet, Problem, Requests
from kvbound.models.formulations import PLAIN, Cuts, build_time_indexed, usual_cuts
from kvbound.models.weights import LevelsWeight
from kvbound.solvers.exact import Result, SolveConfig, Termination, solve
from kvbound.solvers.exact.search_method import search_fits


def tiny(n: int, seed: int) -> Problem:
    """docs/math.md §9, M = 40."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(1, 6, n)
    output = np.array([rng.integers(1, 41 - s) for s in prompt])
    return Problem(Requests(prompt, output), Fleet((40,)), name=f"tiny {n}/{seed}")


def unit(n: int, seed: int, kind: str) -> Problem:
    """All outputs 1; prompts up to the memory (`M…`), to a third of it (`third`), or from M/5 to M/2 (`pairs`)."""
    rng = np.random.default_rng(seed)
    memory = {"M40": 40, "M100": 100, "M1000": 1000, "third": 100, "pairs": 200}[kind]
    low, high = {"third": (1, memory // 3), "pairs": (memory // 5, memory // 2)}.get(kind, (1, memory))
    requests = Requests(rng.integers(low, high, n), np.ones(n, np.int64))
    return Problem(requests, Fleet((memory,)), name=f"{kind} {n}/{seed}")


def roomy(n: int, seed: int, memory: int) -> Problem:
    """Peaks from 2 to M/10, prompts below M/20 of it."""
    rng = np.random.default_rng(seed)
    peak = rng.integers(2, memory // 10 + 1, n)
    prompt = np.array([rng.integers(0, min(memory // 20, p)) for p in peak])
    return Problem(Requests(prompt, peak - prompt), Fleet((memory,)), name=f"roomy M={memory} {n}/{seed}")


def formulations(args: argparse.Namespace) -> None:
    """Every formulation, plain and with inequalities, on tiny instances: median seconds, proved, mean gap."""
    print("\n## Formulations on tiny instances (M = 40)\n")
    print("| n | method | inequalities | proved | median seconds | worst | mean gap % | no bound |")
    print("|--:|---|---|--:|--:|--:|--:|--:|")
    for n in args.n:
        problems = [tiny(n, seed) for seed in range(args.seeds)]
        for method, label, cuts in _variants(args.methods):
            results = []
            for problem in problems:
                chosen = usual_cuts(problem) if cuts == "usual" else cuts
                if method == "search" and not search_fits(problem):
                    continue
                config = SolveConfig(time_limit=args.time_limit, threads=args.threads)
                results.append(solve(problem, method=method, config=config, cuts=chosen))
            print(f"| {n} | {method} | {label} | {_summary(results)}", flush=True)


def _variants(methods: list[str]) -> Iterable[tuple[str, str, object]]:
    stagger = Cuts(stagger=tuple(LevelsWeight(1, d) for d in (2, 6, 10, 14, 18)), symmetry=True)
    for method in methods:
        if method in ("cp-sat", "end-event"):
            yield from ((method, "none", PLAIN), (method, "SEP, windows, symmetry", "usual"))
        elif method in ("highs", "pyomo"):
            yield from ((method, "none", PLAIN), (method, "levels m = 1, symmetry", stagger))
        else:
            yield method, "its own", None


def _summary(results: list[Result]) -> str:
    seconds = [r.seconds for r in results]
    gaps = [100 * r.gap for r in results if r.gap is not None]
    proved = sum(r.termination is Termination.OPTIMAL for r in results)
    mean = f"{statistics.mean(gaps):.2f}" if gaps else "–"
    return (f"{proved}/{len(results)} | {statistics.median(seconds):.2f} | {max(seconds):.2f} | {mean} | "
            f"{len(results) - len(gaps)} |")


def families(args: argparse.Namespace) -> None:
    """`auto` on unit outputs (n = 60) and large memory (n = 50): gap per kind."""
    print("\n## auto on unit outputs (n = 60) and on large memory (n = 50, peaks ≤ M/10)\n")
    print("| kind | proved | median seconds | worst | mean gap % | worst gap % |")
    print("|---|--:|--:|--:|--:|--:|")
    units = ("M40", "M100", "M1000", "third", "pairs")
    kinds = [(f"unit {k}", [unit(60, s, k) for s in range(args.seeds)]) for k in units]
    kinds += [(f"large memory M = {m}", [roomy(50, s, m) for s in range(args.seeds)]) for m in (100, 200, 400)]
    for name, problems in kinds:
        config = SolveConfig(time_limit=args.time_limit, threads=args.threads)
        results = [solve(problem, config=config) for problem in problems]
        gaps = [100 * r.gap for r in results if r.gap is not None]
        proved = sum(r.termination is Termination.OPTIMAL for r in results)
        seconds = [r.seconds for r in results]
        print(f"| {name} | {proved}/{len(results)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} | "
              f"{statistics.mean(gaps):.2f} | {max(gaps):.2f} |", flush=True)


def building(args: argparse.Namespace) -> None:
    """Arrays against Pyomo at about `args.nonzeros` entries: building, and building plus hand-over to HiGHS."""
    import highspy
    from pyomo.contrib.solver.solvers.highs import Highs

    from kvbound.models.formulations.pyomo_model import build_pyomo
    from kvbound.solvers.exact.highs import load

    rng = np.random.default_rng(0)
    n, horizon = 100, 200
    while True:
        problem = Problem(Requests(rng.integers(1, 20, n), rng.integers(1, 80, n)), Fleet((2000,)))
        if build_time_indexed(problem, horizon=horizon).nonzeros >= args.nonzeros:
            break
        n += 20
    load(build_time_indexed(problem, horizon=horizon))  # imports and caches are not building

    def fastest(action, times):  # type: ignore[no-untyped-def]
        best = float("inf")
        for _ in range(times):
            begin = time.perf_counter()
            value = action()
            best = min(best, time.perf_counter() - begin)
        return best, value

    arrays, model = fastest(lambda: build_time_indexed(problem, horizon=horizon), 5)
    handed, _ = fastest(lambda: load(model), 3)
    pyomo, readable = fastest(lambda: build_pyomo(problem, horizon=horizon), 1)

    def hand_over() -> None:
        highspy.Highs.resetGlobalScheduler(True)
        solver = Highs()
        solver.config.time_limit = 1e-3
        solver.config.load_solutions = False
        solver.config.raise_exception_on_nonoptimal_result = False
        solver.solve(readable)

    passed, _ = fastest(hand_over, 1)
    print(f"\n## Building the time-indexed program: {model.columns:,} variables, {model.rows:,} rows, "
          f"{model.nonzeros:,} entries\n")
    print("| path | build s | hand-over s | sum s |\n|---|--:|--:|--:|")
    print(f"| arrays | {arrays:.3f} | {handed:.3f} | {arrays + handed:.3f} |")
    print(f"| Pyomo | {pyomo:.3f} | {passed:.3f} | {pyomo + passed:.3f} |")
    print(f"| ratio | {pyomo / arrays:.0f} | {passed / handed:.0f} | {(pyomo + passed) / (arrays + handed):.0f} |")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["formulations", "families", "building"],
                        choices=["formulations", "families", "building"])
    parser.add_argument("--n", type=int, nargs="+", default=[8, 10, 12, 14], help="sizes of the tiny instances")
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0 .. SEEDS-1")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per solve")
    parser.add_argument("--threads", type=int, default=None, help="threads of each solver (default: its own)")
    parser.add_argument("--methods", nargs="+", default=["auto", "search", "cp-sat", "end-event", "highs", "pyomo"])
    parser.add_argument("--nonzeros", type=int, default=1_000_000, help="entries of the build comparison")
    args = parser.parse_args()
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "highspy", "ortools", "pyomo"))
    print(f"# Exact methods, {datetime.date.today()}, Python {platform.python_version()}, {packages}")
    print(f"{args.seeds} seeds, {args.time_limit:g} s per solve")
    for part in args.parts:
        {"formulations": formulations, "families": families, "building": building}[part](args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
