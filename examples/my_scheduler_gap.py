"""How far from the best possible is my own scheduler? A log as CSV, a policy, a certified gap.

    python examples/my_scheduler_gap.py [FOLDER]

Writes requests.csv, schedule.json and proof.json into FOLDER (default: the current one), so that others can check
the result without this script:

    kvbound check requests.csv schedule.json --memory 4000
    kvbound verify requests.csv proof.json --memory 4000
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import kvbound

MEMORY = 4000  # KV tokens of the worker


def write_log(path: Path, n: int = 60) -> None:
    """What an engine's log would hold: three chats for every document, arriving over 300 steps."""
    rng = np.random.default_rng(7)
    document = rng.random(n) < 0.25
    prompt = np.where(document, rng.integers(800, 2500, n), rng.integers(20, 200, n))
    output = np.where(document, rng.integers(30, 120, n), rng.integers(40, 300, n))
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("prompt", "output", "arrival"))
        rows.writerows(zip(prompt.tolist(), output.tolist(), sorted(rng.integers(0, 300, n).tolist()), strict=True))


def order(view):
    """My scheduler: chats before documents, inside both the shortest answer first."""
    document = view.prompt > view.memory / 5
    return np.lexsort((view.arrival, view.output, document))


def main(folder: Path) -> None:
    """Run it beside two built-in policies, prove a bound, state the gap."""
    log = folder / "requests.csv"
    write_log(log)
    problem = kvbound.load(str(log), memory=MEMORY).problem
    mine = kvbound.custom_policy("mine", order)
    result = kvbound.compare(problem, [mine, "fcfs", "svf"], bound="lagrangian", time_limit=10)
    print(f"{problem.n} requests, memory {MEMORY}: no schedule has a TEL below {result.bound.value:,}")
    for row in result.rows:
        print(f"  {row.name:6} TEL {row.tel:>7,}   at most {100 * (result.ratio(row) - 1):5.1f} % above the optimum")

    schedule = result.rows[0].schedule
    kvbound.write_schedule(folder / "schedule.json", problem, schedule, policy="mine")
    kvbound.write_certificate(folder / "proof.json", result.bound.certificate)
    assert kvbound.check(problem, schedule).objective == result.rows[0].tel
    assert kvbound.verify(problem, result.bound.certificate) == result.bound.value


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
