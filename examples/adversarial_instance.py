"""Which requests make my scheduler look bad? Search the worst instance, certify the ratio, see why.

    python examples/adversarial_instance.py [FOLDER]

Writes record.json (instance, both schedules, ratio) and why.svg into FOLDER (default: the current one). Others see
the same with

    kvbound explain record.json
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kvbound
from kvbound.attack import attack
from kvbound.attack_sides import Target
from kvbound.explain import explain
from kvbound.instances.adversarial.groups import Space
from kvbound.instances.adversarial.record import write_record
from kvbound.plot_explain import plot_explanation


def order(view):
    """My scheduler: short prompts first. What could go wrong?"""
    return np.lexsort((view.output, view.prompt))


def main(folder: Path) -> None:
    """At most eight requests, 20 tokens of memory, 400 instances looked at."""
    mine = kvbound.custom_policy("short-prompts", order)
    found = attack(Target(mine), Space(n=8, memory=20), evaluations=400, time_limit=10, seed=0)
    record = found.record
    problem = record.problem
    print(f"{found.evaluations:,} instances looked at; the worst has {problem.n} requests:")
    for prompt, output in zip(problem.requests.prompt, problem.requests.output, strict=True):
        print(f"  prompt {prompt:2}, output {output:2}")

    assert record.reference.schedule is not None
    mine_starts, better = record.policy.schedule, record.reference.schedule.schedule
    tel, least = (kvbound.check(problem, schedule).objective for schedule in (mine_starts, better))
    print(f"TEL {tel} against {least} ({record.reference.kind}): {tel / least:.3f} times as much")
    print(f"so the approximation ratio of {mine.name} is at least {record.value}")

    why = explain(problem, mine.name, mine_starts, better, record.reference.kind)
    print("\n".join(why.lines()))
    write_record(folder / "record.json", record)
    plot_explanation(why, folder / "why.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
