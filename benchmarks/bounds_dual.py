"""The dual method against its rivals: plain subgradient with the same kernel, and the LP optimum by HiGHS.

    python benchmarks/bounds_dual.py [--part subgradient|lp] [--limit SECONDS] [--sources A B …]
                                     [--rows memory|stagger|both] [--weights K] [--starts N]

`subgradient`: value over time of the smoothed dual ascent and of projected subgradient steps of Polyak's length
    towards a goal above the best value (halved when nothing improves), same rows, same start, same kernel.
`lp`: the dual ascent, and HiGHS on the same program written by differences (interior point without crossover, its
    fastest way that we know of), memory rows and memory with the stagger rows that the ascent chose (the K with the
    largest prices). `--starts` lifts the size up to which HiGHS is asked.

CPU seconds of one thread: set NUMBA_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Callable

import numpy as np

from kvbound.instances import load
from kvbound.models import Problem
from kvbound.models.errors import KvboundError
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight
from kvbound.solvers.bounds import linear_program
from kvbound.solvers.bounds.lagrangian import PriceSearch, memory_prices, raise_stagger_prices, stagger_prices
from kvbound.solvers.bounds.linear_program import lp_prices
from kvbound.solvers.bounds.rounding import certify_prices
from kvbound.solvers.deadline import Deadline

SUBGRADIENT = ["jaillet:seed=0", "jaillet:seed=1", "mix:n=200,long=0.2,seed=0", "mix:n=2000,long=0.2,seed=0"]
LP = ["jaillet:seed=0", "jaillet:seed=4", "mix:n=200,long=0.2,seed=0"]
MARKS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)

Trace = list[tuple[float, float]]


def clock() -> float:
    """CPU seconds of this process."""
    return time.process_time()


def ascent(problem: Problem, limit: float) -> Trace:
    """Best value after each step of the smoothed ascent."""
    trace: Trace = []
    began = clock()

    def report(value: float) -> None:
        trace.append((clock() - began, value))
        if clock() - began > limit:
            raise TimeoutError

    try:
        search = memory_prices(problem, Deadline(), report)
        trace.append((clock() - began, search.best.value))
    except TimeoutError:
        pass
    return trace


def subgradient(problem: Problem, limit: float) -> Trace:
    """p ← (p + (goal − L(p))·g/‖g‖²)⁺ from the same fluid prices, with the goal 5 % above the best value at first;
    after 20 steps without a gain that distance is halved and the best prices are taken up again."""
    trace: Trace = []
    began = clock()
    search = PriceSearch(problem, Deadline())
    prices, best, kept, above, stalled = search.prices, search.best.value, search.prices, 0.05, 0
    while clock() - began < limit:
        at = search.dual.evaluate(prices, 0.0)
        stalled += 1
        if at.hard > best:
            best, kept, stalled = at.hard, prices, 0
        trace.append((clock() - began, best))
        size = float((at.gradient * at.gradient).sum())
        if size == 0.0:
            break
        if stalled == 20:
            above, stalled, prices = above / 2.0 if above > 1e-6 else 0.01, 0, kept
            continue
        prices = np.maximum(0.0, prices + (best * (1.0 + above) - at.hard) / size * at.gradient)
    return trace


def against_subgradient(sources: list[str], limit: float) -> None:
    """Value over time of both, in per cent below the best of the two."""
    print("\n| instance | method | best | " + " | ".join(f"{m:g} s" for m in MARKS if m <= limit) + " |")
    print("|---|---|--:|" + "--:|" * sum(m <= limit for m in MARKS))
    for source in sources:
        problem = load(source).problem
        ascent(problem, 1.0)  # compiled and warm
        traces = {"dual ascent": ascent(problem, limit), "subgradient": subgradient(problem, limit)}
        best = max(trace[-1][1] for trace in traces.values())
        for name, trace in traces.items():
            cells = []
            for mark in (m for m in MARKS if m <= limit):
                value = max((v for t, v in trace if t <= mark), default=None)
                cells.append("–" if value is None else f"{100 * (1 - value / best):.3f} %")
            print(f"| {source} | {name} | {max(v for _, v in trace):.1f} | {' | '.join(cells)} |", flush=True)


def heaviest(search: PriceSearch, most: int) -> tuple[Weight, ...]:
    """The stagger weights of a search by the sum of their prices, `most` of them."""
    plain = MemoryWeight | BatchWeight
    sums = [float(p.sum()) for p in search.dual.split(search.best.prices)]
    order = sorted(range(len(sums)), key=lambda i: -sums[i])
    return tuple(search.rows[i].weight for i in order if not isinstance(search.rows[i].weight, plain))[:most]


def against_highs(sources: list[str], limit: float, rows_of: str = "both", most: int = 100) -> None:
    """Both values and times, without and with stagger rows; `limit` is HiGHS's."""
    print("\n| instance | starts | rows of | LP by HiGHS | s | dual ascent | s | below LP | times faster |")
    print("|---|--:|---|--:|--:|--:|--:|--:|--:|")
    for source in sources:
        problem = load(source).problem
        weights = () if rows_of == "memory" else heaviest(stagger_prices(problem, Deadline(30.0)), most)
        sets = [()] if rows_of != "stagger" else []
        sets += [weights] if weights else []
        for rows in sets:
            certify_prices(problem, "lagrangian", PriceSearch(problem, Deadline()).terms())  # compiled and warm
            began = clock()
            search = _with_weights(problem, rows)
            certificate = certify_prices(problem, "lagrangian", search.terms())
            dual = clock() - began
            name = f"memory, {len(rows)} stagger weights" if rows else "memory"
            starts = int((np.maximum(search.last, problem.requests.arrival) - problem.requests.arrival + 1).sum())
            began = clock()
            try:
                _, value, _ = lp_prices(problem, Deadline(limit), rows)
            except KvboundError as error:
                print(
                    f"| {source} | {starts} | {name} | {error} | | {certificate.value} | {dual:.2f} | | |", flush=True
                )
                continue
            highs = clock() - began
            below = 100 * (1 - search.best.value / value)
            print(
                f"| {source} | {starts} | {name} | {value:.2f} | {highs:.2f} | {search.best.value:.2f} | {dual:.2f} "
                f"| {below:.4f} % | {highs / dual:.0f} |",
                flush=True,
            )


def _with_weights(problem: Problem, weights: tuple[Weight, ...]) -> PriceSearch:
    """The dual ascent on a given set of rows, memory prices first."""
    search = memory_prices(problem, Deadline())
    if not weights:
        return search
    search.extend(weights)
    raise_stagger_prices(search)
    return search


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["subgradient", "lp", "all"], default="all")
    parser.add_argument("--limit", type=float, default=None, help="CPU seconds per method, or HiGHS's wall-clock limit")
    parser.add_argument("--sources", nargs="+", default=None)
    parser.add_argument("--rows", choices=["memory", "stagger", "both"], default="both")
    parser.add_argument("--weights", type=int, default=100, help="stagger weights in the LP, at most")
    parser.add_argument("--starts", type=int, default=linear_program.MOST_STARTS, help="starts in the LP, at most")
    options = parser.parse_args()
    print(f"{datetime.date.today()}, CPU seconds of one thread")
    stagger_prices(load("tiny:n=8,seed=0").problem, Deadline(5.0))  # compile first
    linear_program.MOST_STARTS = options.starts
    parts: dict[str, tuple[Callable[[list[str], float], None], list[str], float]] = {
        "subgradient": (against_subgradient, SUBGRADIENT, 20.0),
        "lp": (lambda s, t: against_highs(s, t, options.rows, options.weights), LP, 600.0),
    }
    for part, (run, sources, limit) in parts.items():
        if options.part in (part, "all"):
            run(options.sources or sources, options.limit or limit)


if __name__ == "__main__":
    main()
