"""Reductions at work: answers on both sides, policies and bounds on planted yes-instances. Prints Markdown tables.

    python benchmarks/reductions.py [--part iff|varied|policies|bounds|all] [--instances N] [--seeds K] [--jobs J]

`iff`: random 3-Partition instances (planted, random, near misses), m = 2…5, L = 1…4: is the optimal TEL at most the
threshold exactly when our exhaustive search finds triples? TEL and REWARD are optimised by HiGHS on the
time-indexed program, which knows nothing of thresholds and triples; CP-SAT on the numbers is the third opinion.
`varied`: the same for outputs that vary inside the instance.
`policies`: how often a policy or local search finds the optimum of a planted yes-instance, and its ratio otherwise.
`bounds`: which bound reaches the optimum.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from kvbound.checkers import require_valid
from kvbound.decision import hard_instance
from kvbound.models import Problem
from kvbound.models.errors import KvboundError
from kvbound.models.formulations.cuts import Cuts
from kvbound.models.weights import LevelsWeight
from kvbound.reductions import Reduced, ThreePartition, planted_yes, reduce, three_partition
from kvbound.reductions.equal_outputs import EqualOutputs
from kvbound.reductions.generators import _random
from kvbound.reductions.varied_outputs import VariedOutputs
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import Result, SolutionStatus, SolveConfig, solve
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.three_partition import solve_three_partition
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.search import improve, prepare

NAMES = ("sorted-f:exact", "sorted-f:swap", "sorted-f:quantile", "svf", "mc-sf", "fcfs")
BOUNDS = ("volume", "lp", "lagrangian", "stagger", "positional", "sequence")
MOVES = 100_000
SIZES = (5, 10, 20, 30, 40, 50)
TARGETS = (40, 100, 400)
Row = tuple[int, str]
Tally = dict[Row, Counter[str]]


def sample(i: int) -> tuple[str, ThreePartition]:
    """Instance i: m from 2 to 5, three kinds in turn."""
    m, kind, target = 2 + i % 4, ("planted", "random", "near miss")[i // 4 % 3], TARGETS[i // 12 % 3]
    if kind == "planted":
        return kind, planted_yes(m, target, i)[0]
    if kind == "random":
        return kind, ThreePartition(_random(m, target, np.random.default_rng(i)), target)
    return kind, hard_instance("near-miss", m, max(target, 100), i)[0]


#: "At most three active": a valid row (docs/math.md §4.1) that HiGHS needs to close instances with m = 5 in seconds.
THREE = Cuts(stagger=(LevelsWeight(3, 0),), symmetry=True)


def optimise(problem: Problem, limit: float) -> Result:
    """The exact solver of schedules: the time-indexed program by HiGHS."""
    cuts = THREE if problem.objective.serve_all else None
    return solve(problem, method="highs", config=SolveConfig(time_limit=limit, threads=1), cuts=cuts)


def one_iff(i: int, limit: float) -> tuple[Row, Counter[str]]:
    """Instance i on both sides; a disagreement ends the run."""
    length, (_, instance) = 1 + i // 36 % 4, sample(i)
    count: Counter[str] = Counter()
    triples = three_partition(instance)
    ended, found = solve_three_partition(instance.numbers, instance.target, deadline=Deadline(limit))
    assert ended in (Termination.OPTIMAL, Termination.INFEASIBLE)
    assert (found is None) == (triples is None), instance
    count["yes" if triples else "no"] += 1
    for name, reduced in (("TEL", reduce(instance, "tel", length=length)), ("REWARD", reduce(instance, "reward"))):
        began = time.process_time()
        result = optimise(reduced.target.problem, limit)
        count[f"{name} ms"] += round(1000 * (time.process_time() - began))
        if result.status is not SolutionStatus.OPTIMAL or result.schedule is None:
            count["undecided"] += 1
            continue
        good = (
            result.tel is not None and result.tel <= reduced.threshold
            if name == "TEL"
            else result.reward is not None and result.reward >= reduced.threshold
        )
        assert good == (triples is not None), (name, instance, length, result.objective)
        count[f"{name} agrees"] += 1
        if result.tel is not None and triples is None:
            assert result.tel >= reduced.if_no, (instance, result.tel)
            count["no and TEL* = T + L"] += result.tel == reduced.if_no
        if triples is not None:  # both checkers judge both maps
            instance.verify(reduced.back(result.schedule))
            assert sorted(reduced.back(reduced.lift(triples))) == sorted(triples)
            count["mapped back"] += 1
    return (instance.m, str(length)), count


def tally(one: Callable[[int, float], tuple[Row, Counter[str]]], number: int, limit: float, jobs: int) -> Tally:
    """Counters by row of all instances; on Ctrl-C of those that are done."""
    rows: Tally = {}
    # Each worker in a session of its own: Ctrl-C reaches this process alone, which then shows what is done.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=os.setsid)
    waiting = [pool.submit(one, i, limit) for i in range(number)]
    try:
        for done, future in enumerate(as_completed(waiting), 1):
            key, count = future.result()
            rows.setdefault(key, Counter()).update(count)
            if sys.stderr.isatty() or done % 50 == 0:
                print(f"\r{done} of {number}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: the table shows what is done", file=sys.stderr)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return dict(sorted(rows.items()))


def iff(instances: int, limit: float, jobs: int) -> None:
    """Both sides of the equivalence, by independent solvers."""
    print(
        "\n| m | L | yes | no | TEL agrees | REWARD agrees | undecided | mapped back | no with TEL* = T + L | CPU s |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    total: Counter[str] = Counter()
    for (m, length), count in tally(one_iff, instances, limit, jobs).items():
        total.update(count)
        print_iff(str(m), length, count)
    print_iff("all", "1–4", total)


def print_iff(m: str, length: str, c: Counter[str]) -> None:
    """One row of the table."""
    print(
        f"| {m} | {length} | {c['yes']} | {c['no']} | {c['TEL agrees']} | {c['REWARD agrees']} | {c['undecided']} | "
        f"{c['mapped back']} | {c['no and TEL* = T + L']} | {c['TEL ms'] / 1000 / (c['yes'] + c['no']):.2f} |",
        flush=True,
    )


def one_varied(i: int, limit: float) -> tuple[Row, Counter[str]]:
    """Instance i with outputs that vary: optimum ≤ T iff yes, and the optimal schedule gives the triples."""
    rng, m = np.random.default_rng(i), 2 + i % 3 // 2  # two thirds with m = 2, one third with m = 3
    instance = planted_yes(m, 60, i)[0] if i // 3 % 2 else hard_instance("no", m, 100, i)[0]
    extras = tuple(int(e) for e in rng.integers(0, 2 if m == 3 else 4, 3 * m))
    edge = VariedOutputs(extras=extras) if max(extras) else VariedOutputs()
    decision, count = edge.forward(instance), Counter[str]()
    yes = three_partition(instance) is not None
    count["yes" if yes else "no"] += 1
    began = time.process_time()
    result = optimise(decision.problem, limit)
    count["TEL ms"] += round(1000 * (time.process_time() - began))
    if result.status is not SolutionStatus.OPTIMAL or result.tel is None:
        count["undecided"] += 1
    else:
        assert (result.tel <= decision.threshold) == yes, (instance, extras, result.tel)
        count["agrees"] += 1
        if yes:
            instance.verify(edge.back(instance, result.schedule))
        else:
            assert result.tel >= edge.if_no(instance)
    return (m, ""), count


def varied(instances: int, limit: float, jobs: int) -> None:
    """Outputs that vary inside the instance, both sides."""
    print("\n| m | yes | no | agrees | undecided | CPU s each |")
    print("|--:|--:|--:|--:|--:|--:|")
    for (m, _), c in tally(one_varied, instances, limit, jobs).items():
        number = c["yes"] + c["no"]
        print(
            f"| {m} | {c['yes']} | {c['no']} | {c['agrees']} | {c['undecided']} | {c['TEL ms'] / 1000 / number:.2f} |",
            flush=True,
        )


def searched(problem: Problem, seed: int, threshold: int) -> int:
    """TEL of local search (`improve`) from svf, stopped at the known optimum or after `MOVES` moves."""
    start = run_policy(problem, POLICIES["svf"]).schedule
    assert start is not None
    found = improve(problem, start, deadline=Deadline(), seed=seed, moves=MOVES, target=threshold)
    return require_valid(problem, found.schedule)


def policies(seeds: int, lengths: Sequence[int], target: int = 1000) -> None:
    """Policies and local search on planted yes-instances."""
    for length in lengths:
        print(f"\nL = {length}, B = {target}: optima found of {seeds} · mean ratio to the optimum (largest)\n")
        print("| | " + " | ".join(f"m = {m}" for m in SIZES) + " |")
        print("|---|" + "--:|" * len(SIZES))
        cases = {m: [reduce(planted_yes(m, target, s)[0], "tel", length=length) for s in range(seeds)] for m in SIZES}
        for name in NAMES:
            row(name, cases, lambda r, _, n=name: run_policy(r.target.problem, POLICIES[n], seed=0).tel)
        name = f"local search, {MOVES:,} moves"
        row(name, cases, lambda r, seed: searched(r.target.problem, seed, r.threshold))


def row(name: str, cases: dict[int, list[Reduced]], run: Callable[[Reduced, int], int | None]) -> None:
    """One row: hits and ratios of one method over all sizes."""
    cells = []
    for reduced in cases.values():
        ratios = []
        for seed, case in enumerate(reduced):
            tel = run(case, seed)
            if tel is None:
                break
            ratios.append(tel / case.threshold)
        if len(ratios) < len(reduced):
            cells.append("declined")
            continue
        hits = sum(r == 1 for r in ratios)
        cells.append(f"{hits} · {sum(ratios) / len(ratios):.4f} ({max(ratios):.4f})")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def bounds(limit: float, target: int = 100) -> None:
    """Every bound beside the optimum of one planted yes-instance per size."""
    for length in (1, 4):
        print(f"\nL = {length}, B = {target}: bound (share of the optimum); seconds\n")
        print("| m | optimum T | " + " | ".join(BOUNDS) + " | certificate of the reduction |")
        print("|--:|--:|" + "---|" * (len(BOUNDS) + 1))
        for m in (2, 5, 10, 20, 50):
            instance = planted_yes(m, target, 0)[0]
            edge = EqualOutputs(length)
            decision = edge.forward(instance)
            cells = [bound_cell(decision.problem, name, limit, decision.threshold) for name in BOUNDS]
            proved = edge.proof_of_threshold(instance)
            steps = sum(len(term.ticks) for term in proved.terms)
            print(f"| {m} | {decision.threshold} | {' | '.join(cells)} | {proved.value}, {steps} prices |", flush=True)


def bound_cell(problem: Problem, method: str, limit: float, best: int) -> str:
    """Value, share and time of one bound, or why there is none."""
    began = time.perf_counter()
    try:
        value = bound(problem, method, deadline=Deadline(limit), upper=best).value
    except KvboundError:
        return "declines"
    if value is None:
        return "none"
    assert value <= best
    tight = "**tight**" if value == best else f"{value / best:.3f}"
    return f"{value} ({tight}); {time.perf_counter() - began:.1f}"


def main() -> None:
    """Parse the options and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["iff", "varied", "policies", "bounds", "all"], default="all")
    parser.add_argument("--instances", type=int, default=576, help="instances of `iff`; `varied` takes half as many")
    parser.add_argument("--seeds", type=int, default=20, help="instances per size in `policies`")
    parser.add_argument("--limit", type=float, default=None, help="seconds per optimum (300), per bound (20)")
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 4], help="L of `policies`")
    parser.add_argument("--jobs", type=int, default=1, help="processes of `iff` and `varied`")
    options = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, Python {platform.python_version()}")
    prepare()
    parts: dict[str, Callable[[], None]] = {
        "iff": lambda: iff(options.instances, options.limit or 300.0, options.jobs),
        "varied": lambda: varied(options.instances // 2, options.limit or 300.0, options.jobs),
        "policies": lambda: policies(options.seeds, options.lengths),
        "bounds": lambda: bounds(options.limit or 20.0),
    }
    for part, run in parts.items():
        if options.part in (part, "all"):
            began = time.perf_counter()
            print(f"\n## {part}")
            run()
            print(f"\n({part}: {time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
