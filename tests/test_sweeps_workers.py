"""Sweeps on workers: killed and resumed, on a cluster, two at once, cells over their limits.

The fast tests do with few cells what the slow ones do with a thousand.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import COMMAND, answer
from sweep_cases import COUNTING, environment, executed, kill_at_random, start, stored, write_plan

from kvbound.models.errors import InputError
from kvbound.sweeps.plan import read_plan
from kvbound.sweeps.run import Summary, sweep
from kvbound.sweeps.same import differences
from kvbound.sweeps.store import ResultStore

FEW = 'policies = ["fcfs", "svf", "sorted-f:swap"]\nrouters = ["power-of-2"]\nbounds = ["volume"]\n'
#: Ten methods: with fifty seeds of two sources a thousand cells.
MANY = (
    'policies = ["fcfs", "mc-sf", "svf", "sorted-f:swap", "sorted-f:quantile"]\n'
    'routers = ["lor", "power-of-2"]\nbounds = ["volume", "lp"]\n[options]\ntime_limit = "none"\n'
)
SOURCES = '["tiny:n=8,seed={seed}", "tiny:n=12,seed={seed}"]'


def run(folder: Path, file: str, *options: str) -> dict[str, Any]:
    process = start(folder, file, *options)
    out, _ = process.communicate(timeout=3000)
    assert process.returncode == 0
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def same(folder: Path, one: str, other: str) -> list[str]:
    with ResultStore(folder / one) as a, ResultStore(folder / other) as b:
        return differences(a, b)


def resumed(folder: Path, kills: int, cells: int, jobs: int) -> None:
    """Kill a sweep `kills` times, let it end, and hold it against one that nobody disturbed."""
    rng, rows = random.Random(8), 0
    most = 2 * cells // (3 * kills)  # the last kill falls before the end
    for _ in range(kills):
        done = stored(folder / "killed.sqlite")
        rows = kill_at_random(folder, "killed.sqlite", most, rng, "--jobs", str(jobs))
        assert done <= stored(folder / "killed.sqlite")  # nothing is lost
    found = run(folder, "killed.sqlite", "--jobs", str(jobs))
    assert found["skipped"] == rows
    assert found["ran"] == cells - rows
    assert (found["done"], found["left"]) == (cells, 0)
    counted = executed(folder)
    runs = counted.total()
    # Repeated are only cells that were running at a kill, or whose result was on its way to the file.
    assert len(counted) <= runs <= len(counted) + kills * 2 * jobs
    with ResultStore(folder / "killed.sqlite") as store:
        again = sum(row.attempts - 1 for row in store.cells(blobs=False))
    assert again <= kills * 4 * jobs  # claimed at a kill: also those next in the queue of a worker, or just handed out
    found = run(folder, "whole.sqlite", "--jobs", str(jobs))
    assert (found["ran"], found["done"]) == (cells, cells)
    assert same(folder, "killed.sqlite", "whole.sqlite") == []


def test_a_killed_sweep_goes_on_and_equals_an_undisturbed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVBOUND_TEST_LOG", str(tmp_path / "log"))
    write_plan(tmp_path, 20, FEW)
    rows = kill_at_random(tmp_path, "killed.sqlite", 60, random.Random(8), "--jobs", "1")
    found = answer("sweep", "plan.toml", "-o", "killed.sqlite", "--jobs", "1", cwd=tmp_path)
    assert (found["skipped"], found["ran"], found["done"]) == (rows, 120 - rows, 120)
    assert 20 <= executed(tmp_path).total() <= 21  # at most the cell that was running
    assert answer("sweep", "plan.toml", "-o", "whole.sqlite", "--jobs", "1", cwd=tmp_path)["ran"] == 120
    assert same(tmp_path, "killed.sqlite", "whole.sqlite") == []


@pytest.mark.slow
def test_a_thousand_cells_killed_ten_times(tmp_path: Path) -> None:
    write_plan(tmp_path, 50, MANY, SOURCES)
    resumed(tmp_path, kills=10, cells=1000, jobs=2)
    assert answer("sweep", "--verify", tmp_path / "killed.sqlite", "--sample", "0")["faults"] == []


def test_a_dask_cluster_of_two_workers_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setenv("KVBOUND_TEST_LOG", str(tmp_path / "log"))
    write_plan(tmp_path, 8, FEW + "[setting]\nworkers = 2\n")
    found = answer("sweep", "plan.toml", "-o", "dask.sqlite", "--backend", "dask", "--jobs", "2", cwd=tmp_path)
    assert (found["cells"], found["done"]) == (48, 48)
    answer("sweep", "plan.toml", "-o", "here.sqlite", "--jobs", "1", cwd=tmp_path)
    assert same(tmp_path, "dask.sqlite", "here.sqlite") == []


@pytest.mark.slow
def test_limits_hold_on_dask_too(tmp_path: Path) -> None:
    """Its workers are daemons, which may have no children of multiprocessing."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    write_plan(tmp_path, 4, FEW + "[limits]\nseconds = 3\n")
    plan = (tmp_path / "plan.toml").read_text().replace('["counting.py"]', '["counting.py", "endless.py"]')
    (tmp_path / "plan.toml").write_text(plan)
    found = run(tmp_path, "dask.sqlite", "--backend", "dask", "--jobs", "2")
    assert (found["done"], found["timeout"]) == (24, 4)


@pytest.mark.slow
def test_a_thousand_cells_on_dask_and_on_loky_are_the_same(tmp_path: Path) -> None:
    from distributed import LocalCluster

    write_plan(tmp_path, 50, MANY, SOURCES)
    found = run(tmp_path, "loky.sqlite", "--jobs", "2")
    assert (found["cells"], found["done"]) == (1000, 1000)
    with pytest.MonkeyPatch.context() as patch:  # workers that know nothing of the sweep but its address
        for name, value in environment(tmp_path).items():
            patch.setenv(name, value)
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            found = run(tmp_path, "dask.sqlite", "--backend", "dask", "--address", cluster.scheduler_address)
    assert (found["ran"], found["done"]) == (1000, 1000)
    assert same(tmp_path, "loky.sqlite", "dask.sqlite") == []


def test_another_sweep_may_make_the_file_after_the_first_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, connect = tmp_path / "made.sqlite", ResultStore._connect

    class Slow:
        """A connection whose first answer is followed by somebody else's making of the file."""

        def __init__(self, real: sqlite3.Connection) -> None:
            self.real, self.asked = real, 0

        def execute(self, *query: Any) -> Any:
            if self.asked:
                return self.real.execute(*query)
            answer = self.real.execute(*query).fetchall()
            self.asked += 1
            monkeypatch.setattr(ResultStore, "_connect", connect)
            ResultStore(path, create=True).close()
            return SimpleNamespace(fetchone=lambda: answer[0] if answer else None, fetchall=lambda: answer)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

    monkeypatch.setattr(ResultStore, "_connect", lambda self, *how: Slow(connect(self, *how)))
    with ResultStore(path, create=True) as store:
        assert store.begin("a", "", "loky", 1) == 1


def test_a_new_file_waits_for_whoever_writes_to_it(tmp_path: Path) -> None:
    """SQLite says at once that a file whose journal is to become a write-ahead log is locked; the store waits."""
    path = tmp_path / "new.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match="keeps the results file locked; wait"):
        ResultStore(path, create=True, patience=0.2)
    release = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    release.start()
    with ResultStore(path, create=True) as store:
        assert store.begin("a", "", "loky", 1) == 1
        assert not other.in_transaction  # it came after the other's end
    release.join()
    other.close()


def test_two_sweeps_at_once_share_a_file_and_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two threads, each with a connection of its own; the slow test has processes."""
    monkeypatch.setenv("KVBOUND_TEST_LOG", str(tmp_path / "log"))
    monkeypatch.chdir(tmp_path)
    plan, text = read_plan(write_plan(tmp_path, 10, FEW))

    def one() -> Summary:
        with ResultStore("shared.sqlite", create=True) as store:
            return sweep(plan, store, text=text, jobs=1)

    with ThreadPoolExecutor(2) as threads:
        found = [future.result() for future in [threads.submit(one) for _ in range(2)]]
    assert [f.statuses for f in found] == [{"done": 60}] * 2  # each has waited for what the other was doing
    assert sum(f.ran for f in found) == 60
    assert set(executed(tmp_path).values()) == {1}
    with ResultStore("shared.sqlite") as store:
        assert [s["finished"] is not None for s in store.sweeps()] == [True, True]


@pytest.mark.slow
def test_two_large_sweeps_at_once(tmp_path: Path) -> None:
    share(tmp_path, seeds=100, methods=MANY, cells=1000)


def share(folder: Path, seeds: int, methods: str, cells: int) -> None:
    write_plan(folder, seeds, methods)
    both = [start(folder, "shared.sqlite", "--jobs", "1") for _ in range(2)]
    found = []
    for process in both:
        out, _ = process.communicate(timeout=3000)
        assert process.returncode == 0
        found.append(json.loads(out))
    assert [f["done"] for f in found] == [cells, cells]  # each has waited for what the other was doing
    assert sum(f["ran"] for f in found) == cells
    assert set(executed(folder).values()) == {1}
    assert len(stored(folder / "shared.sqlite")) == cells


ENDLESS = "def order(view):\n    while True:\n        pass\n"
GREEDY = "def order(view):\n    held = []\n    while True:\n        held.append(bytearray(20_000_000))\n"
ABORT = "import os\ndef order(view):\n    os.abort()\n"


def test_cells_over_their_limits_are_ended_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    (tmp_path / "greedy.py").write_text(GREEDY)
    grid = 'sources = ["tiny:n=5"]\npolicies = ["fcfs"]\npolicy_files = ["{}.py"]\n[limits]\n{}\n'
    (tmp_path / "plan.toml").write_text(grid.format("greedy", "megabytes = 700"))
    found = answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)
    assert (found["done"], found["memory"], found["failed"]) == (1, 1, 0)
    (tmp_path / "plan.toml").write_text(grid.format("endless", "seconds = 2"))
    found = answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)
    assert (found["done"], found["timeout"], found["failed"]) == (1, 1, 0)
    errors = {r["method"]: r["error"] for r in answer("results", tmp_path / "plan.sqlite")["cells"]}
    assert errors["endless"] == "stopped at the limit of 2 s"
    assert errors["greedy"].endswith("MB of memory, the limit is 700 MB")


@pytest.mark.slow
@pytest.mark.parametrize("limits", ["", "[limits]\nseconds = 60\n"])
def test_a_cell_that_kills_its_process_fails_alone(tmp_path: Path, limits: str) -> None:
    """Without limits it takes a worker of loky with it; the cells in flight are then run apart."""
    (tmp_path / "abort.py").write_text(ABORT)
    (tmp_path / "plan.toml").write_text(
        'sources = ["tiny:n=5,seed={seed}"]\nseeds = { count = 3 }\npolicies = ["fcfs", "svf"]\n'
        f'policy_files = ["abort.py"]\n{limits}'
    )
    done = subprocess.run(
        [COMMAND, "sweep", "plan.toml", "--jobs", "2", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["done"], found["failed"], found["left"]) == (6, 3, 0)
    errors = {r["error"] for r in answer("results", tmp_path / "plan.sqlite")["cells"] if r["method"] == "abort"}
    assert errors == {"the process of the cell was ended by SIGABRT"}


@pytest.mark.slow
def test_a_dask_worker_needs_none_of_our_files(tmp_path: Path) -> None:
    """Instances and policy files travel with the cells: a worker elsewhere has no folder of ours."""
    from distributed import LocalCluster

    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    (home / "mine.py").write_text(COUNTING.replace('os.environ["KVBOUND_TEST_LOG"]', repr(str(away / "seen"))))
    (home / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,3,4\n")
    (home / "plan.toml").write_text('sources = ["trace.csv"]\npolicies = ["fcfs"]\npolicy_files = ["mine.py"]\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(away)
        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
            found = run(home, "r.sqlite", "--backend", "dask", "--address", cluster.scheduler_address)
    assert (found["done"], found["failed"]) == (2, 0)
    assert (away / "seen").exists()


@pytest.mark.slow
def test_workers_end_with_a_sweep_that_is_killed_alone(tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text("import time\ndef order(view):\n    time.sleep(600)\n")
    (tmp_path / "plan.toml").write_text(
        'sources = ["tiny:n=5,seed={seed}"]\nseeds = { count = 2 }\npolicy_files = ["sleepy.py"]\n'
        "[limits]\nseconds = 700\n"
    )
    process = start(tmp_path, "r.sqlite", "--jobs", "2")

    def running() -> int:
        """Processes of the sweep's group that run cells, or would."""
        found = subprocess.run(["ps", "-ww", "-eo", "pgid,args"], capture_output=True, text=True, check=True).stdout
        mine = [line for line in found.splitlines() if line.split()[0] == str(process.pid)]
        return sum("LokyProcess" in line or "sweeps.runner" in line for line in mine)

    deadline = time.monotonic() + 300
    while running() < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    try:
        assert running() == 4  # two workers, each with its runner
    finally:
        process.kill()
        process.communicate()
    while running() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running() == 0
