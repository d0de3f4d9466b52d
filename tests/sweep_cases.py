"""Plans for the tests of sweeps, and a policy that leaves a mark each time it runs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from cli import COMMAND

from kvbound.sweeps.store import ResultStore

#: Appends one line per run, naming the instance: what was executed, whatever the results file says.
COUNTING = """
import hashlib, os
def order(view):
    with open(os.environ["KVBOUND_TEST_LOG"], "a") as log:
        log.write(hashlib.sha256(view.prompt.tobytes() + view.output.tobytes()).hexdigest() + "\\n")
    return range(len(view))
"""


def write_plan(folder: Path, seeds: int, methods: str, sources: str = '["tiny:n=8,seed={seed}"]') -> Path:
    """A plan of policies by name and `counting.py`, over `seeds` seeds."""
    (folder / "counting.py").write_text(COUNTING)
    plan = folder / "plan.toml"
    plan.write_text(
        f'name = "test"\nsources = {sources}\nseeds = {{ count = {seeds} }}\n'
        f'policy_files = ["counting.py"]\n{methods}\n'
    )
    return plan


def start(folder: Path, file: str, *options: str) -> subprocess.Popen[str]:
    """Start `kvbound sweep plan.toml` in a process group of its own."""
    command = [COMMAND, "sweep", "plan.toml", "-o", file, "--json", *options]
    return subprocess.Popen(
        command, cwd=folder, env=environment(folder), start_new_session=True, stdout=subprocess.PIPE, text=True
    )


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "KVBOUND_TEST_LOG": str(folder / "log"), "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def executed(folder: Path) -> Counter[str]:
    """Instance -> how often `counting.py` has run on it."""
    log = folder / "log"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def stored(path: Path) -> set[str]:
    """Keys of the cells in a results file that may not be there yet."""
    if not path.exists():
        return set()
    try:
        with ResultStore(path) as store:
            return set(store.keys())
    except Exception:  # killed or looked at while the tables are being made
        return set()


def kill_at_random(folder: Path, file: str, more: int, rng: random.Random, *options: str) -> int:
    """Run a sweep until it has stored about `more` further cells, kill -9 its whole group; return cells stored."""
    before = len(stored(folder / file))
    goal = before + rng.randint(1, more)
    process = start(folder, file, *options)
    try:
        while process.poll() is None and len(stored(folder / file)) < goal:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.05))
        ended = process.poll() is not None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            ended = True
        process.communicate()
    assert not ended, "the sweep was over before it could be killed"
    return len(stored(folder / file))
