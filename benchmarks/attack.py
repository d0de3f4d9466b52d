"""Does the search find the known bad families by itself? `python benchmarks/attack.py`

For each policy: the ratio of its family at memory M (docs/math.md §9; against an exact or a long search), and the
certified ratio of `kvbound.attack` from random starts, which knows no family, with at most as many requests as the
family has. The table says when it reached 90 % and 100 % of the family's ratio.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import time

from kvbound.attack import attack
from kvbound.attack_certify import Effort, certify, finding
from kvbound.attack_sides import Target
from kvbound.instances import load
from kvbound.instances.adversarial.groups import Space, shown
from kvbound.models.problem import Problem
from kvbound.solvers.progress import Progress


def family_ratio(problem: Problem, target: Target, seconds: float) -> tuple[float, str]:
    """TEL(policy) / reference on the family's instance, and the kind of reference."""
    kind = "optimum" if problem.n <= 30 else "best-known"
    record = certify(problem, target, kind, finding("family", 0, 0, 0.0), Effort(seconds, None))
    return float(record.value), record.reference.kind


class Trace:
    """When the search passed which ratio, read from its own progress reports (about one a second)."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def __call__(self, event: Progress) -> None:
        """Take one report."""
        words = event.stage.split()
        if "ratio" in words:
            self.points.append((event.seconds, float(words[words.index("ratio") + 1])))

    def first(self, ratio: float) -> str:
        """Seconds until the search had that ratio."""
        at = next((seconds for seconds, value in self.points if value >= ratio), None)
        return "never" if at is None else f"{at:.0f} s"


def main() -> None:
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", nargs="+", default=["fcfs", "total-size"], help="policies that have a family")
    parser.add_argument("--memory", type=int, default=36)
    parser.add_argument("--seconds", type=float, default=600.0, help="for one search")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    print(
        f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} at the start, Python {platform.python_version()}, "
        f"{options.seconds:g} s per search, {options.jobs} process(es)\n"
    )
    print(
        "| policy | n ≤ | M | family's ratio | seed | ratio found | share | 90 % after | 100 % after | instances | n |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    found = []
    for name in options.policies:
        problem = load(f"family:{name},memory={options.memory}").problem
        target = Target.named(name)
        family, kind = family_ratio(problem, target, 30.0)
        space = Space(problem.n, options.memory)
        for seed in options.seeds:
            trace, began = Trace(), time.monotonic()
            result = attack(
                target, space, against="best-known", time_limit=options.seconds, seed=seed, jobs=options.jobs,
                progress=trace,
            )  # fmt: skip
            share = 100 * result.ratio / family
            print(
                f"| {name} | {space.n} | {space.memory} | {family:.4f} ({kind}) | {seed} | {result.ratio:.4f} "
                f"| {share:.1f} % | {trace.first(0.9 * family)} | {trace.first(family)} | {result.evaluations:,} "
                f"| {result.record.n} |",
                flush=True,
            )
            found.append(f"{name}, seed {seed}, {time.monotonic() - began:.0f} s: {shown(result.groups)}")
    print("\n" + "\n".join(found))
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
