"""Sweeps that are killed, shared and spread over a cluster give what one undisturbed sweep gives: a dated table.

    python benchmarks/sweeps.py [--cells N] [--kills K] [--jobs J] [--seed S]

One plan (policies, routers, bounds on two generators) is run five times, each by the `kvbound` command in a process
group of its own: undisturbed; killed K times with SIGKILL at random moments and resumed each time; on a local Dask
cluster of J workers; by two sweeps at once on one file; and once more on a finished file. A policy file appends a line
to a log each time it runs, so that executions are counted by somebody else than the sweep. Files are compared cell by
cell; times do not count.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from kvbound.models.errors import KvboundError
from kvbound.sweeps.same import differences
from kvbound.sweeps.store import ResultStore
from kvbound.sweeps.verify import verify_store

COMMAND = str(Path(sys.executable).with_name("kvbound"))
COUNTING = """
import os
def order(view):
    with open(os.environ["KVBOUND_LOG"], "a") as log:
        log.write(f"{len(view)} {view.prompt.tolist()} {view.output.tolist()}".replace(" ", "") + "\\n")
    return range(len(view))
"""
PLAN = """
name = "benchmark"
sources = ["tiny:n=8,seed={seed}", "tiny:n=12,seed={seed}"]
seeds = { count = %d }
policies = ["fcfs", "mc-sf", "svf", "sorted-f:swap", "sorted-f:quantile"]
policy_files = ["counting.py"]
routers = ["lor", "power-of-2"]
bounds = ["volume", "lp"]
[options]
time_limit = "none"
"""
#: Methods in the plan times its sources.
_PER_SEED = 20


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder with the plan, and how to run it."""

    folder: Path
    cells: int
    jobs: int

    def start(self, file: str, *options: str) -> subprocess.Popen[str]:
        """Start a sweep in a process group of its own."""
        environment = {**os.environ, "KVBOUND_LOG": str(self.folder / f"{file}.log")}
        return subprocess.Popen(
            [COMMAND, "sweep", "plan.toml", "-o", file, "--json", "--jobs", str(self.jobs), *options],
            cwd=self.folder, env=environment, start_new_session=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def finish(self, process: subprocess.Popen[str]) -> dict[str, int]:
        """Wait for a sweep and return its summary."""
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"a sweep ended with exit code {process.returncode}")
        return dict(json.loads(out))

    def stored(self, file: str) -> int:
        """Cells in a results file that may not be there yet."""
        try:
            with ResultStore(self.folder / file) as store:
                return len(store.keys())
        except (KvboundError, sqlite3.Error):  # not there yet, or looked at while the tables are made
            return 0

    def executions(self, file: str) -> tuple[int, int]:
        """(runs of the counting policy, instances it ran on)."""
        lines = (self.folder / f"{file}.log").read_text().split()
        return len(lines), len(set(lines))

    def row(self, name: str, file: str, begin: float, what: str) -> None:
        """Print a line of the table."""
        runs, distinct = self.executions(file)
        with ResultStore(self.folder / file) as mine, ResultStore(self.folder / "whole.sqlite") as whole:
            different = len(differences(mine, whole))
        seconds = time.monotonic() - begin
        print(
            f"| {name} | {self.stored(file)} | {runs} | {distinct} | {different} | {seconds:.0f} | {what} |", flush=True
        )


def killed(bench: Bench, kills: int, rng: random.Random) -> str:
    """Kill a sweep again and again, each time after a random number of further cells, then let it end."""
    file, at = "killed.sqlite", []
    for _ in range(kills):
        goal = bench.stored(file) + rng.randint(1, 2 * bench.cells // (3 * kills))
        process = bench.start(file)
        while process.poll() is None and bench.stored(file) < goal:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.1))
        if process.poll() is not None:
            raise SystemExit("the sweep was over before it could be killed")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        at.append(bench.stored(file))
    found = bench.finish(bench.start(file))
    return f"killed at {', '.join(map(str, at))} cells; the last run skipped {found['skipped']}, ran {found['ran']}"


def main() -> None:
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=1000, help=f"a multiple of {_PER_SEED}")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    options = parser.parse_args()
    print(
        f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} at the start, Python {platform.python_version()}, jobs {options.jobs}, "
        f"seed {options.seed}\n"
    )
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), options.cells, options.jobs)
        (bench.folder / "plan.toml").write_text(PLAN % (options.cells // _PER_SEED))
        (bench.folder / "counting.py").write_text(COUNTING)
        print("| sweep | cells stored | runs of the counting policy | its cells | cells that differ | s | remarks |")
        print("|---|---:|---:|---:|---:|---:|---|")
        begin = time.monotonic()
        bench.finish(bench.start("whole.sqlite"))
        bench.row("loky, undisturbed", "whole.sqlite", begin, "")
        begin = time.monotonic()
        what = killed(bench, options.kills, random.Random(options.seed))
        bench.row(f"loky, {options.kills} times kill -9", "killed.sqlite", begin, what)
        begin = time.monotonic()
        bench.finish(bench.start("dask.sqlite", "--backend", "dask"))
        bench.row(f"Dask, {options.jobs} workers", "dask.sqlite", begin, "")
        begin = time.monotonic()
        shares = [bench.finish(p)["ran"] for p in [bench.start("shared.sqlite") for _ in range(2)]]
        bench.row("two at once, one file", "shared.sqlite", begin, f"ran {shares[0]} and {shares[1]} cells")
        begin = time.monotonic()
        again = bench.finish(bench.start("whole.sqlite"))
        bench.row("again on the finished file", "whole.sqlite", begin, f"ran {again['ran']} cells")
        with ResultStore(bench.folder / "killed.sqlite") as store:
            verdict = verify_store(store, None)
        print(
            f"\nChecked anew in the killed file: {verdict.cells} of {verdict.checkable} cells, {verdict.schedules} "
            f"schedules, {verdict.certificates} certificates, {len(verdict.faults)} faults."
        )


if __name__ == "__main__":
    main()
