"""Exact methods side by side: `python benchmarks/exact.py --help`.

Prints dated Markdown tables: `tiny` (every formulation on tiny instances of docs/math.md §9, with and without the
inequalities), `each` (`auto` instance by instance), `unit` and `roomy` (`auto` on unit outputs and on large memory),
`building` (arrays against Pyomo). All kernels are compiled before the first clock starts. Two methods that prove
different optima, or a proved bound above somebody's schedule, end the run with exit code 1.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeVar

import numpy as np

from kvbound.models import Fleet, Problem, Requests
from kvbound.models.formulations import PLAIN, Cuts, build_time_indexed
from kvbound.models.weights import LevelsWeight
from kvbound.solvers.exact import METHODS, Result, SolveConfig, Termination, solve

T = TypeVar("T")

PARTS = ("tiny", "each", "unit", "roomy", "building")
#: Unit outputs: memory, least and largest prompt.
UNIT = {
    "M40": (40, 1, 40),
    "M100": (100, 1, 100),
    "M1000": (1000, 1, 1000),
    "third": (100, 1, 33),
    "pairs": (200, 40, 100),
}
ROOMY = (100, 200, 400)


@dataclass(frozen=True, slots=True)
class Run:
    """One solve: the result, and CPU seconds of this process with all its threads beside the wall seconds."""

    problem: Problem
    result: Result
    cpu: float


class Ledger:
    """Best bound and schedule per instance over all methods: they must never contradict each other."""

    def __init__(self) -> None:
        self.bound: dict[str, tuple[int, str]] = {}
        self.tel: dict[str, tuple[int, str]] = {}
        self.wrong: list[str] = []

    def note(self, name: str, method: str, result: Result) -> None:
        """Compare with what other methods said about the same instance."""
        if result.bound is not None and result.bound > self.bound.get(name, (-1, ""))[0]:
            self.bound[name] = result.bound, method
        if result.tel is not None and (name not in self.tel or result.tel < self.tel[name][0]):
            self.tel[name] = result.tel, method
        if name in self.bound and name in self.tel and self.bound[name][0] > self.tel[name][0]:
            self.wrong.append(f"{name}: bound {self.bound[name]} above TEL {self.tel[name]}")


def tiny(n: int, seed: int) -> Problem:
    """docs/math.md §9, M = 40."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(1, 6, n)
    output = np.array([rng.integers(1, 41 - s) for s in prompt])
    return Problem(Requests(prompt, output), Fleet((40,)), name=f"tiny {n}/{seed}")


def unit(n: int, seed: int, kind: str) -> Problem:
    """All outputs 1, prompts uniform in the range of `UNIT[kind]` (a prompt as large as M leaves no token: M − 1)."""
    memory, low, high = UNIT[kind]
    rng = np.random.default_rng(seed)
    requests = Requests(rng.integers(low, high, n), np.ones(n, np.int64))
    return Problem(requests, Fleet((memory,)), name=f"{kind} {n}/{seed}")


def roomy(n: int, seed: int, memory: int) -> Problem:
    """Peaks from 2 to M/10, prompts below M/20."""
    rng = np.random.default_rng(seed)
    peak = rng.integers(2, memory // 10 + 1, n)
    prompt = np.array([rng.integers(0, min(memory // 20, p)) for p in peak])
    return Problem(Requests(prompt, peak - prompt), Fleet((memory,)), name=f"roomy M={memory} {n}/{seed}")


def run(problem: Problem, method: str, cuts: Cuts | None, args: argparse.Namespace, ledger: Ledger) -> Run:
    """Solve one instance by one method."""
    config = SolveConfig(time_limit=args.time_limit, threads=args.threads)
    begin = time.process_time()
    result = solve(problem, method=method, config=config, cuts=cuts)
    cpu = time.process_time() - begin
    ledger.note(problem.name, method, result)
    return Run(problem, result, cpu)


def warm_up(args: argparse.Namespace) -> float:
    """Compile every kernel, with narrow and wide tables, and import every solver; return the seconds."""
    begin = time.perf_counter()
    long, short = (SolveConfig(time_limit=t, threads=args.threads) for t in (120.0, 3.0))
    wide = Problem(Requests(np.full(3, 2), np.array([150, 160, 170])), Fleet((300,)))
    late = Problem(Requests([2, 3, 4], [5, 6, 7], [0, 1, 2]), Fleet((14,)))
    for problem in (tiny(6, 0), tiny(8, 1), wide, late):
        solve(problem, method="search", config=long)
    for problem in (tiny(6, 0), unit(12, 1, "M40"), unit(12, 2, "pairs"), roomy(8, 0, 100)):
        solve(problem, config=long)
    solve(roomy(30, 0, 200), config=short)
    for method in set(args.methods) - {"auto", "search"}:
        solve(tiny(4, 0), method=method, config=short)
    return time.perf_counter() - begin


def variants(methods: list[str]) -> Iterable[tuple[str, str, Cuts | None]]:
    """(method, name of its inequalities, switches); None where the method has no switches or takes `usual_cuts`."""
    stagger = Cuts(stagger=tuple(LevelsWeight(1, d) for d in (2, 6, 10, 14, 18)), symmetry=True)
    for method in methods:
        if method in ("cp-sat", "end-event"):
            yield from ((method, "none", PLAIN), (method, "SEP, windows, symmetry", None))
        elif method in ("highs", "pyomo"):
            yield from ((method, "none", PLAIN), (method, "levels m = 1, symmetry", stagger))
        else:
            yield method, "its own", None


def summary(runs: list[Run]) -> str:
    """Cells of a table row: how many, proved, wall and CPU seconds, gaps."""
    if not runs:
        return "0 | – | – | – | – | – | – | – |"
    wall, cpu = [r.result.seconds for r in runs], [r.cpu for r in runs]
    gaps = [100 * r.result.gap for r in runs if r.result.gap is not None]
    proved = sum(r.result.termination is Termination.OPTIMAL for r in runs)
    shown = f"{statistics.median(gaps):.2f} | {max(gaps):.2f}" if gaps else "– | –"
    return (
        f"{len(runs)} | {proved} | {statistics.median(wall):.2f} | {max(wall):.2f} | {statistics.median(cpu):.2f} "
        f"| {max(cpu):.2f} | {shown} | {len(runs) - len(gaps)} |"
    )


HEAD = "seeds | proved | wall s median | worst | CPU s median | worst | gap % median | worst | no gap"


def head(title: str, first: str) -> None:
    """Title with the load of the machine, and the head of a table of summaries."""
    print(f"\n## {title}\n\nstarted {datetime.datetime.now():%Y-%m-%d %H:%M}, {_load()}\n")
    columns = f"| {first} | {HEAD} |"
    print(columns + "\n|" + "---|" * (columns.count("|") - 1), flush=True)


def _load() -> str:
    return "load average " + " ".join(f"{x:.1f}" for x in os.getloadavg())


def formulations(args: argparse.Namespace, ledger: Ledger) -> None:
    """Every formulation, plain and with inequalities; one that proves nothing is not tried on larger instances."""
    head(f"Formulations on tiny instances (M = 40), {args.time_limit:g} s per solve", "n | method | inequalities")
    hopeless: set[tuple[str, str]] = set()
    for n in args.n:
        for method, label, cuts in variants(args.methods):
            if (method, label) in hopeless:
                continue
            runs: list[Run] = []
            for problem in (tiny(n, seed) for seed in range(args.seeds)):
                if sum(r.result.seconds for r in runs) > args.budget:
                    break
                runs.append(run(problem, method, cuts, args, ledger))
            print(f"| {n} | {method} | {label} | {summary(runs)}", flush=True)
            if runs and not any(r.result.termination is Termination.OPTIMAL for r in runs):
                hopeless.add((method, label))
    if hopeless:
        print(
            "\nProved nothing at some size and left out after it: "
            + "; ".join(f"{m} ({label})" for m, label in sorted(hopeless))
        )
    print(f"\nended {datetime.datetime.now():%H:%M}, {_load()}", flush=True)


def _detail(r: Run) -> str:
    out = r.result
    return (
        f"| {r.problem.name} | {out.tel} | {out.bound} | {out.method}: {out.proved_by} | {out.seconds:.2f} "
        f"| {r.cpu:.2f} |"
    )


def family(args: argparse.Namespace, ledger: Ledger, title: str, kinds: dict[str, list[Problem]]) -> None:
    """`auto` on families of instances, with one row per kind and the instances below."""
    head(f"auto on {title}, {args.time_limit:g} s per solve", "kind")
    details = []
    for name, problems in kinds.items():
        runs: list[Run] = []
        for problem in problems:
            if sum(r.result.seconds for r in runs) > args.budget:
                break
            runs.append(run(problem, "auto", None, args, ledger))
        print(f"| {name} | {summary(runs)}", flush=True)
        details += [_detail(r) for r in runs]
    print("\n| instance | TEL | bound | proved by | wall s | CPU s |\n|---|--:|--:|---|--:|--:|")
    print("\n".join(details))
    print(f"\nended {datetime.datetime.now():%H:%M}, {_load()}", flush=True)


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

    def fastest(action: Callable[[], T], times: int) -> tuple[float, T]:
        best = float("inf")
        for _ in range(times):
            begin = time.process_time()
            value = action()
            best = min(best, time.process_time() - begin)
        return best, value

    arrays, model = fastest(lambda: build_time_indexed(problem, horizon=horizon), 5)
    handed, _ = fastest(lambda: load(model), 3)
    pyomo, readable = fastest(lambda: build_pyomo(problem, horizon=horizon), 2)

    def hand_over() -> None:
        highspy.Highs.resetGlobalScheduler(True)
        solver = Highs()
        solver.config.time_limit = 1e-3
        solver.config.load_solutions = False
        solver.config.raise_exception_on_nonoptimal_result = False
        solver.solve(readable)

    passed, _ = fastest(hand_over, 1)
    print(
        f"\n## Building the time-indexed program: {model.columns:,} variables, {model.rows:,} rows, "
        f"{model.nonzeros:,} entries\n"
    )
    print(f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {_load()}; CPU s, fastest of several\n")
    print("| path | build | hand-over | sum |\n|---|--:|--:|--:|")
    print(f"| arrays | {arrays:.3f} | {handed:.3f} | {arrays + handed:.3f} |")
    print(f"| Pyomo | {pyomo:.3f} | {passed:.3f} | {pyomo + passed:.3f} |")
    print(f"| ratio | {pyomo / arrays:.0f} | {passed / handed:.0f} | {(pyomo + passed) / (arrays + handed):.0f} |")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"from {', '.join(PARTS)}; default: all")
    parser.add_argument("--n", type=int, nargs="+", default=[8, 10, 12, 14], help="sizes of the tiny instances")
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0 .. SEEDS-1")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per solve")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds per row; no new seed after")
    parser.add_argument("--threads", type=int, default=None, help="threads of each solver (default: its own)")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--unit-n", type=int, nargs="+", default=[60], help="sizes of the unit-output instances")
    parser.add_argument("--roomy-n", type=int, nargs="+", default=[50], help="sizes of the large-memory instances")
    parser.add_argument("--nonzeros", type=int, default=1_000_000, help="entries of the build comparison")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "highspy", "ortools", "pyomo"))
    print(
        f"# Exact methods, {datetime.date.today()}, Python {platform.python_version()}, {packages}, "
        f"{os.cpu_count()} cores, threads {args.threads or 'default'}"
    )
    print(f"kernels compiled and solvers imported in {warm_up(args):.1f} s, not counted below", flush=True)
    ledger, seeds = Ledger(), range(args.seeds)
    for part in args.parts:
        if part == "tiny":
            formulations(args, ledger)
        elif part == "each":
            family(args, ledger, "tiny instances (M = 40)", {f"n = {n}": [tiny(n, s) for s in seeds] for n in args.n})
        elif part == "unit":
            kinds = {f"{k}, n = {n}": [unit(n, s, k) for s in seeds] for n in args.unit_n for k in UNIT}
            family(args, ledger, "unit outputs", kinds)
        elif part == "roomy":
            kinds = {f"M = {m}, n = {n}": [roomy(n, s, m) for s in seeds] for n in args.roomy_n for m in ROOMY}
            family(args, ledger, "large memory (peaks ≤ M/10)", kinds)
        else:
            building(args)
    for line in ledger.wrong:
        print(f"CONTRADICTION {line}", file=sys.stderr)
    return 1 if ledger.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
