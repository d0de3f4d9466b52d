"""Improvement search: how good after how long, and which stage brings what. Prints dated tables in Markdown.

    python benchmarks/search.py [--part reach|stages|terms|all] [--limits S ...] [--threads N] [--sources SOURCE ...]

`reach`: TEL of the best policy and of `improve` under each limit (separate runs, since a sweep spreads over its
limit), next to the certified Lagrangian bound. The gap is against that bound; where peaks are large against memory
(jaillet) stronger bounds exist (benchmarks/bounds.py).
`stages`: from the same schedule (the best policy's, then a searched one), what each stage gains alone in the same time.
`terms`: single beam searches with other widths and other scores.
Trace slices are taken from the folder named by KVBOUND_TRACES, or left out.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
from pathlib import Path

import numpy as np

from kvbound.checkers import require_valid
from kvbound.instances import load
from kvbound.models import Problem, Schedule
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import resolve, run_policy
from kvbound.solvers.search import improve, prepare
from kvbound.solvers.search.anneal import Annealing
from kvbound.solvers.search.beam import beam
from kvbound.solvers.search.incumbent import Budget, Incumbent
from kvbound.solvers.search.rounds import Rounds
from kvbound.solvers.search.sequence import Instance, most_active
from kvbound.solvers.search.windows import Windows

SOURCES = [
    *(f"jaillet:seed={seed}" for seed in range(10)),
    *(f"mix:n={n},long=0.2,seed=0" for n in (200, 500, 1000, 2000)),
]
TRACES = {
    "arXiv 0..499": ("arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv", 500),
    "Azure conversation 0..1999": ("AzureLLMInferenceTrace_conv.csv", 2000),
}
STAGES = ["jaillet:seed=0", "jaillet:seed=1", "mix:n=200,long=0.2,seed=0", "mix:n=1000,long=0.2,seed=0"]


def problems(sources: list[str]) -> list[tuple[str, Problem]]:
    """Generated instances, and slices of the traces that are there."""
    found = [(source, load(source).problem) for source in sources if source not in TRACES]
    folder = Path(os.environ.get("KVBOUND_TRACES", "traces"))
    for name, (file, number) in TRACES.items():
        if name not in sources:
            continue
        if not (folder / file).exists():
            print(f"<!-- {name} left out: no {file} in {folder} -->")
            continue
        found.append((name, load(str(folder / file), memory=16492, limit=number, drop_too_large=True).problem))
    return found


def best_policy(problem: Problem) -> tuple[str, int, Schedule]:
    """The best of four policies that take no time worth speaking of."""
    runs = [run_policy(problem, p, seed=0) for p in resolve(["svf", "mc-sf", "total-size", "sorted-f:swap"])]
    tel, name, schedule = min(
        ((r.tel, r.name, r.schedule) for r in runs if r.tel is not None and r.schedule is not None), key=lambda x: x[0]
    )
    return name, tel, schedule


def reach(sources: list[str], limits: list[float], threads: int) -> None:
    """Table 1: quality over time."""
    heads = " | ".join(f"{limit:g} s" for limit in limits)
    print(f"\n| instance | n | best policy | TEL | {heads} | moves | Lagrangian | gap | found by |")
    print("|---|--:|---|--:|" + "--:|" * len(limits) + "--:|--:|--:|---|")
    for name, problem in problems(sources):
        policy, tel, schedule = best_policy(problem)
        proved = bound(problem, "lagrangian", deadline=Deadline(60.0))
        assert proved.value is not None
        shown, last = [], None
        for limit in limits:
            last = improve(problem, schedule, deadline=Deadline(limit), seed=0, threads=threads)
            shown.append(str(last.tel))
        assert last is not None
        print(
            f"| {name} | {problem.n} | {policy} | {tel} | {' | '.join(shown)} | {last.moves} | {proved.value} | "
            f"{100 * (last.tel / proved.value - 1):.2f} % | {last.steps[-1].stage} |",
            flush=True,
        )


def stages(sources: list[str], seconds: float) -> None:
    """Table 2: each stage alone, from a policy's schedule and from a searched one."""
    print(f"\n| instance | from | TEL | beam {seconds:g} s | annealing {seconds:g} s | windows {seconds:g} s |")
    print("|---|---|--:|--:|--:|--:|")
    for name, problem in problems(sources):
        policy, _, schedule = best_policy(problem)
        searched = improve(problem, schedule, deadline=Deadline(seconds), seed=1).schedule
        for start, given in ((policy, schedule), (f"search, {seconds:g} s", searched)):
            results = []
            for kind in ("beam", "annealing", "windows"):
                clock = Deadline(seconds)
                best = Incumbent(problem, given, clock, None, None)
                budget, rng = Budget(best, clock, None), np.random.default_rng(0)
                if kind == "beam":
                    Rounds(problem, rng).sweep(best, budget)
                elif kind == "annealing":
                    Annealing(problem, rng).run(best, budget)
                else:
                    Windows(problem, rng).run(best, budget)
                results.append(f"{best.tel}")
                first = best.steps[0].tel
            print(f"| {name} | {start} | {first} | {' | '.join(results)} |", flush=True)


def terms(sources: list[str]) -> None:
    """Table 3: single beam searches from nothing, so that each term of the score shows; independent of the clock."""
    shapes = [(1, 10), (10, 10), (10, 30), (10, 100)]
    scores = [(0.94, 0.0, 0.0), (0.97, 0.0, 0.0), (1.0, 0.0, 0.0), (1.03, 0.0, 0.0), (1.03, 0.1, 0.0), (1.03, 0.0, 0.4)]
    cases = [(shape, (1.03, 0.0, 0.4)) for shape in shapes] + [((10, 30), score) for score in scores]
    print("\n| width | candidates | efficiency | waste | κ | " + " | ".join(sources) + " |")
    print("|--:|--:|--:|--:|--:|" + "--:|" * len(sources))
    loaded = [load(source).problem for source in sources]
    for (width, most), (efficiency, waste, kappa) in cases:
        found = [single(problem, width, most, efficiency, waste, kappa) for problem in loaded]
        cells = " | ".join(str(tel) for tel in found)
        print(f"| {width} | {most} | {efficiency} | {waste} | {kappa} | {cells} |", flush=True)


def single(problem: Problem, width: int, most: int, efficiency: float, waste: float, kappa: float) -> int:
    """TEL of one beam search of a backlog on one worker; the schedule is checked."""
    r, slots = problem.requests, most_active(problem) + 1
    capacity = float(problem.fleet.largest)
    load_of = r.volume.astype(np.float64)
    weight = load_of / capacity * (1.0 + waste * r.peak / capacity) / efficiency
    nobody = np.zeros((1, slots), np.int64)
    marks = np.random.default_rng(0).integers(1, 1 << 63, problem.n).astype(np.uint64)
    _, _, sequence, start, _ = beam(
        np.lexsort((r.output, weight)), Instance.of(problem), 0, np.zeros(1, np.int64), nobody, nobody.copy(), load_of,
        weight, capacity, False, width, most, kappa, int(r.output.mean()), marks,
    )  # fmt: skip
    starts = np.empty(problem.n, np.int64)
    starts[sequence] = start
    return require_valid(problem, Schedule(starts, np.zeros(problem.n, np.int64)))


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["reach", "stages", "terms", "all"], default="all")
    parser.add_argument("--limits", type=float, nargs="+", default=[5.0, 15.0, 60.0], help="seconds per search")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sources", nargs="+", default=None, help="instances instead of the usual ones")
    options = parser.parse_args()
    print(
        f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} at the start, Python {platform.python_version()}, threads {options.threads}"
    )
    prepare()
    best_policy(load("tiny:n=8,seed=0").problem)
    bound(load("tiny:n=8,seed=0").problem, "lagrangian", deadline=Deadline(5.0))
    if options.part in ("reach", "all"):
        reach(options.sources or [*SOURCES, *TRACES], options.limits, options.threads)
    if options.part in ("stages", "all"):
        stages(options.sources or STAGES, min(options.limits))
    if options.part in ("terms", "all"):
        terms(options.sources or [f"mix:n=2000,long=0.2,seed={seed}" for seed in (0, 1)])


if __name__ == "__main__":
    main()
