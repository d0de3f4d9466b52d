"""Reductions at work: answers on both sides, policies and bounds on planted yes-instances. Prints Markdown tables.

    python benchmarks/reductions.py [--part iff|varied|policies|bounds|all] [--instances N] [--seeds K] [--limit S]

`iff`: random 3-Partition instances (planted, random, near misses), m = 2…5, L = 1…4: is the optimal TEL at most the
threshold exactly when our exhaustive search finds triples? TEL and REWARD are decided by the exact solvers of
schedules, which know nothing of the reduction; CP-SAT on the numbers is the third opinion.
`varied`: the same for outputs that vary inside the instance.
`policies`: how often a policy or local search finds the optimum of a planted yes-instance, and its ratio otherwise.
`bounds`: which bound reaches the optimum.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from kvbound.checkers import require_valid
from kvbound.decision import hard_instance
from kvbound.models import Problem, Schedule
from kvbound.models.errors import KvboundError
from kvbound.reductions import Reduced, ThreePartition, planted_yes, reduce, three_partition
from kvbound.reductions.equal_outputs import EqualOutputs
from kvbound.reductions.generators import _random
from kvbound.reductions.varied_outputs import VariedOutputs
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolutionStatus, SolveConfig, solve
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.three_partition import solve_three_partition
from kvbound.solvers.policies import run_policy
from kvbound.solvers.search import improve, prepare

POLICIES = ("sorted-f:exact", "sorted-f:swap", "sorted-f:quantile", "svf", "mc-sf", "fcfs")
BOUNDS = ("volume", "lp", "lagrangian", "stagger", "positional", "sequence")
SIZES = (5, 10, 20, 30, 40, 50)
TARGETS = (40, 100, 400)


def sample(i: int) -> tuple[str, ThreePartition]:
    """Instance i: m from 2 to 5, three kinds in turn."""
    m, kind, target = 2 + i % 4, ("planted", "random", "near miss")[i // 4 % 3], TARGETS[i // 12 % 3]
    if kind == "planted":
        return kind, planted_yes(m, target, i)[0]
    if kind == "random":
        return kind, ThreePartition(_random(m, target, np.random.default_rng(i)), target)
    return kind, hard_instance("near-miss", m, max(target, 100), i)[0]


def optimum(problem: Problem, limit: float) -> tuple[int | None, float]:
    """Optimal TEL (or minus the optimal reward), proved, or None; and the seconds it took."""
    began = time.perf_counter()
    method = "auto" if problem.objective.serve_all else "highs"
    result = solve(problem, method=method, config=SolveConfig(time_limit=limit, threads=1))
    return (result.tel if result.status is SolutionStatus.OPTIMAL else None), time.perf_counter() - began


def iff(instances: int, limit: float) -> None:
    """Both sides of the equivalence, by independent solvers."""
    rows: dict[tuple[int, int], Counter[str]] = {}
    for i in range(instances):
        length, (_, instance) = 1 + i // 36 % 4, sample(i)
        count = rows.setdefault((instance.m, length), Counter())
        triples = three_partition(instance)
        ended, found = solve_three_partition(instance.numbers, instance.target, deadline=Deadline(limit))
        assert ended in (Termination.OPTIMAL, Termination.INFEASIBLE)
        assert (found is None) == (triples is None), instance
        tel, reward = reduce(instance, "tel", length=length), reduce(instance, "reward")
        best, seconds = optimum(tel.target.problem, limit)
        served, _ = optimum(reward.target.problem, limit)
        count["yes" if triples else "no"] += 1
        count["seconds"] += seconds  # type: ignore[assignment]
        for name, value, good in (
            ("TEL", best, best is not None and best <= tel.threshold),
            ("REWARD", served, served is not None and -served >= reward.threshold),
        ):
            if value is None:
                count[f"{name} undecided"] += 1
            else:
                assert good == (triples is not None), (name, instance, length, value)
                count[f"{name} agree"] += 1
        if best is not None and triples is None:
            assert best >= tel.if_no, (instance, best)
            count["no and TEL* = T + L"] += best == tel.if_no
        back_and_forth(tel, triples)
        back_and_forth(reward, triples)
    print("\n| m | L | yes | no | TEL agrees | REWARD agrees | undecided | no with TEL* = T + L | s per TEL optimum |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    total: Counter[str] = Counter()
    for (m, length), c in sorted(rows.items()):
        total += c
        print_iff(str(m), str(length), c)
    print_iff("all", "1–4", total)


def print_iff(m: str, length: str, c: Counter[str]) -> None:
    """One row of the table."""
    undecided = c["TEL undecided"] + c["REWARD undecided"]
    print(
        f"| {m} | {length} | {c['yes']} | {c['no']} | {c['TEL agree']} | {c['REWARD agree']} | {undecided} | "
        f"{c['no and TEL* = T + L']} | {c['seconds'] / (c['yes'] + c['no']):.2f} |",
        flush=True,
    )


def back_and_forth(reduced: Reduced, triples: tuple[tuple[int, ...], ...] | None) -> None:
    """Lift the triples, map them back: both checkers judge both ways."""
    if triples is not None:
        schedule: Schedule = reduced.lift(triples)
        require_valid(reduced.target.problem, schedule)
        assert sorted(reduced.back(schedule)) == sorted(triples)


def varied(instances: int, limit: float) -> None:
    """Outputs that vary inside the instance: optimum ≤ T iff yes, and the optimal schedule gives the triples."""
    rng, rows = np.random.default_rng(0), {}
    for i in range(instances):
        m = 2 + i % 2
        instance = planted_yes(m, 60, i)[0] if i // 2 % 2 else hard_instance("no", m, 100, i)[0]
        extras = tuple(int(e) for e in rng.integers(0, 2 if m == 3 else 4, 3 * m))
        edge = VariedOutputs(extras=extras) if max(extras) else VariedOutputs()
        decision = edge.forward(instance)
        yes = three_partition(instance) is not None
        count = rows.setdefault(m, Counter())
        count["yes" if yes else "no"] += 1
        result = solve(decision.problem, config=SolveConfig(time_limit=limit, threads=1))
        count["seconds"] += result.seconds
        if result.tel is not None and result.tel <= decision.threshold:
            assert yes, (instance, extras)
            instance.verify(edge.back(instance, result.schedule))
        elif result.bound is not None and result.bound > decision.threshold:
            assert not yes, (instance, extras)
        else:
            count["undecided"] += 1
            continue
        count["agree"] += 1
        count["optimum proved"] += result.status is SolutionStatus.OPTIMAL
    print("\n| m | outputs | yes | no | agrees | undecided | optimum proved | s each |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for m, c in sorted(rows.items()):
        spread = "10–13" if m == 2 else "10–11"
        print(
            f"| {m} | {spread} | {c['yes']} | {c['no']} | {c['agree']} | {c['undecided']} | {c['optimum proved']} | "
            f"{c['seconds'] / (c['yes'] + c['no']):.2f} |",
            flush=True,
        )


def searched(problem: Problem, seed: int, threshold: int, limit: float) -> tuple[int, float]:
    """TEL of local search from svf, stopped at the known optimum or at `limit`."""
    start = run_policy(problem, "svf").schedule
    assert start is not None
    found = improve(problem, start, deadline=Deadline(limit), seed=seed, target=threshold)
    return require_valid(problem, found.schedule), found.seconds


def policies(seeds: int, limit: float, target: int = 1000) -> None:
    """Policies and local search on planted yes-instances."""
    for length in (1, 4):
        print(f"\nL = {length}, B = {target}: optima found of {seeds} · mean ratio to the optimum (largest)\n")
        print("| | " + " | ".join(f"m = {m}" for m in SIZES) + " |")
        print("|---|" + "--:|" * len(SIZES))
        cases = {m: [reduce(planted_yes(m, target, s)[0], "tel", length=length) for s in range(seeds)] for m in SIZES}
        for name in POLICIES:
            row(name, cases, lambda r, _, n=name: run_policy(r.target.problem, n, seed=0).tel)
        row(
            f"local search, {limit:g} s",
            cases,
            lambda r, seed: searched(r.target.problem, seed, r.threshold, limit)[0],
        )


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
    parser.add_argument("--limit", type=float, default=None, help="seconds per optimum (120), search (2), bound (20)")
    options = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, Python {platform.python_version()}")
    prepare()
    parts: dict[str, Callable[[], None]] = {
        "iff": lambda: iff(options.instances, options.limit or 120.0),
        "varied": lambda: varied(options.instances // 2, options.limit or 120.0),
        "policies": lambda: policies(options.seeds, options.limit or 2.0),
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
