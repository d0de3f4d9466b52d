"""Sweeps in one process: plans, keys, results, exports, verification, failing cells."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli import answer, inline, refusal
from sweep_cases import write_plan

import kvbound
from kvbound.sweeps.cell import Cell, Outcome
from kvbound.sweeps.content import instance_hash, pack_requests, pack_schedule, unpack_problem
from kvbound.sweeps.plan import Plan, read_plan
from kvbound.sweeps.store import ResultStore

PLAN = """
name = "small"
sources = ["tiny:n=6,seed={seed}"]
seeds = [0, 1]
policies = ["fcfs", "svf"]
routers = ["power-of-2"]
bounds = ["volume", "lagrangian", "reward", "mean-eel"]
searches = ["fcfs"]
exact = ["search"]
[setting]
batch = ["none"]
noise = ["none", "0.3"]
[options]
time_limit = "none"
moves = 50
weights = "throughput"
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results file with every kind of cell."""
    folder = tmp_path_factory.mktemp("sweep")
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    found = answer("sweep", plan, "--jobs", "1")
    # Two seeds, with and without noise; nine methods.
    assert (found["cells"], found["ran"], found["done"], found["left"]) == (36, 36, 36, 0), found
    return folder / "plan.sqlite"


def edit(path: Path, tmp_path: Path, statement: str, *values: Any) -> Path:
    """A copy of a results file, with one statement run on it."""
    copy = tmp_path / "copy.sqlite"
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        assert target.execute(statement, values).rowcount == 1
    source.close()
    target.close()
    return copy


def test_a_second_run_has_nothing_to_do(small: Path) -> None:
    found = answer("sweep", small.with_suffix(".toml"), "-o", small, "--jobs", "1")
    assert (found["skipped"], found["ran"], found["done"]) == (36, 0, 36)


def test_every_cell_is_what_the_commands_say(small: Path) -> None:
    with ResultStore(small) as store:
        rows = list(store.cells())
        for row in rows:
            assert row.key == row.cell.key
            assert row.attempts == 1
        pick = {(r.cell.kind, r.cell.method): r for r in rows if r.cell.seed == 1 and not r.cell.setting}
        problem = store.problem(pick["policy", "svf"].cell.instance)
    assert problem.requests == kvbound.load("tiny:n=6,seed=1").problem.requests
    svf = kvbound.run_policy(problem, kvbound.POLICIES["svf"])
    assert pick["policy", "svf"].outcome.tel == svf.tel
    assert pick["policy", "svf"].outcome.schedule == pack_schedule(svf.schedule)  # type: ignore[arg-type]
    proved = kvbound.bound(problem, "lagrangian", deadline=kvbound.Deadline())
    assert pick["bound", "lagrangian"].outcome.bound == proved.value
    optimum = pick["exact", "search"].outcome
    assert optimum.tel == optimum.bound == kvbound.solve(problem, config=kvbound.SolveConfig(threads=1)).tel
    assert optimum.tel <= pick["search", "fcfs"].outcome.tel <= pick["policy", "fcfs"].outcome.tel  # type: ignore[operator]


def test_noise_makes_another_instance_and_its_executions_are_kept(small: Path) -> None:
    with ResultStore(small) as store:
        rows = [r for r in store.cells() if r.cell.method == "svf" and r.cell.setting.get("noise")]
        assert rows
        for row in rows:
            assert store.problem(row.cell.instance).requests.predicted_low is not None
            assert row.outcome.execution is not None


def test_results_as_csv_parquet_and_json_agree(small: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = answer("results", small)["cells"]
    done = inline("results", small, "--csv", tmp_path / "o.csv", "--parquet", tmp_path / "o.parquet")
    assert done.returncode == 0, done.stderr
    assert "36 cells of 4 instances" in done.stdout
    with (tmp_path / "o.csv").open() as file:
        lines = list(csv.DictReader(file))
    frame = pyarrow.parquet.read_table(tmp_path / "o.parquet").to_pylist()
    assert len(table) == len(lines) == len(frame) == 36
    for row, line, typed in zip(table, lines, frame, strict=True):
        assert list(row) == list(line) == list(typed)
        for name, value in row.items():
            assert typed[name] == value
            assert line[name] == ("" if value is None else str(int(value) if isinstance(value, bool) else value))
    exact = {(r["instance"], r["seed"]): r["tel"] for r in table if r["kind"] == "exact"}
    for row in table:
        if row["tel"] is not None:
            assert row["best_bound"] <= exact[row["instance"], row["seed"]] <= row["tel"]
            assert row["ratio"] == row["tel"] / row["best_bound"]


def test_parquet_without_pyarrow_names_the_way_out(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    assert 'pip install "kvbound[sweep]", or use --csv' in refusal("results", small, "--parquet", "o.parquet")


def test_all_that_is_stored_is_true(small: Path) -> None:
    found = answer("sweep", "--verify", small, "--sample", "0")
    assert (found["cells"], found["schedules"], found["certificates"], found["claims"]) == (36, 20, 16, 4)
    assert found["faults"] == []
    assert answer("sweep", "--verify", small, "--sample", "5")["cells"] == 5


def tampered_schedule(row: Any) -> bytes:
    starts = np.frombuffer(zlib.decompress(row), "<i8").copy()
    starts[0] += 1
    return zlib.compress(starts.tobytes())


def tampered_certificate(row: bytes) -> bytes:
    document = json.loads(zlib.decompress(row))
    document["value"] += 1
    return zlib.compress(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("column", "change", "kind", "says"),
    [
        ("schedule", tampered_schedule, "policy", "schedule"),
        ("schedule", lambda _: b"xx", "policy", "damaged"),
        ("schedule", lambda _: None, "router", "without a schedule"),
        ("tel", lambda tel: tel - 1, "policy", "TEL is stored as"),
        ("metrics", lambda text: text.replace('"makespan":', '"makespan":1'), "policy", "makespan is stored as 1"),
        ("bound", lambda value: value + 1, "bound", "the certificate proves"),
        ("certificate", tampered_certificate, "bound", "prove only"),
        ("certificate", lambda _: None, "bound", "without a certificate"),
        ("method", lambda _: "mc-sf", "policy", "the key does not fit"),
        ("seed", lambda _: 7, "router", "the key does not fit"),
    ],
)
def test_verify_names_what_was_changed(
    small: Path, tmp_path: Path, column: str, change: Any, kind: str, says: str
) -> None:
    with sqlite3.connect(small) as db:
        where = f"kind = '{kind}' AND method != 'reward' AND setting = '{{}}' AND tel IS NOT NULL"
        where = where.replace(" AND tel IS NOT NULL", " AND method = 'lagrangian'") if kind == "bound" else where
        key, value = db.execute(f"SELECT key, {column} FROM cells WHERE {where} ORDER BY key").fetchone()
    db.close()
    copy = edit(small, tmp_path, f"UPDATE cells SET {column} = ? WHERE key = ?", change(value), key)
    found = answer("sweep", "--verify", copy, "--sample", "0", code=1)
    assert {fault["key"] for fault in found["faults"]} == {key}
    assert says in " ".join(fault["what"] for fault in found["faults"]), found["faults"]


def test_verify_sees_a_changed_instance(small: Path, tmp_path: Path) -> None:
    with sqlite3.connect(small) as db:
        key, blob = db.execute("SELECT hash, requests FROM instances ORDER BY hash").fetchone()
    db.close()
    copy = edit(small, tmp_path, "UPDATE instances SET requests = ? WHERE hash = ?", tampered_schedule(blob), key)
    faults = answer("sweep", "--verify", copy, "--sample", "0", code=1)["faults"]
    assert len(faults) == 9
    assert all("the instance was changed" in fault["what"] for fault in faults)


def test_a_cell_that_fails_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def order(view):\n    return view.nothing_of_that_name\n")
    (tmp_path / "plan.toml").write_text(
        'sources = ["tiny:n=5,seed={seed}", "no-such-file.csv"]\nseeds = [0, 1]\n'
        'policies = ["fcfs"]\npolicy_files = ["broken.py"]\n'
    )
    found = answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path, code=1)
    assert (found["done"], found["failed"]) == (2, 6)
    table = answer("results", tmp_path / "plan.sqlite")["cells"]
    errors = {(r["source"], r["method"]): r["error"] for r in table}
    assert "broken.py:2: AttributeError" in errors["tiny:n=5,seed=0", "broken"]
    assert "no-such-file.csv: no such file" in errors["no-such-file.csv", "fcfs"]
    assert errors["tiny:n=5,seed=1", "fcfs"] is None
    # Failed cells wait for --retry; a repaired policy is another policy, with another key.
    assert answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path, code=1)["ran"] == 0
    assert answer("sweep", "plan.toml", "--jobs", "1", "--retry", cwd=tmp_path, code=1)["ran"] == 6
    (tmp_path / "broken.py").write_text("def order(view):\n    return range(len(view))\n")
    (tmp_path / "no-such-file.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,3,4\n")
    found = answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)
    assert (found["done"], found["failed"], found["ran"]) == (8, 0, 6)
    left = [r for r in answer("results", tmp_path / "plan.sqlite")["cells"] if r["status"] == "failed"]
    assert [(r["source"], r["method"]) for r in left] == [
        (f"tiny:n=5,seed={k}", "broken") for k in (0, 1)
    ]  # the old rule


def test_a_policy_that_declines_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('sources = ["mix:n=300"]\npolicies = ["sorted-f:exact,updates=1"]\n')
    found = answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)
    assert (found["declined"], found["failed"]) == (1, 0)


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ('sources = ["tiny"]\npolices = ["fcfs"]', "polices: unknown key; did you mean 'policies'?"),
        ('sources = ["tiny"]\npolicies = ["fcfz"]', "policies: unknown policy 'fcfz': did you mean 'fcfs'?"),
        ('sources = ["tiny"]\nrouters = ["lorr"]', "routers: unknown router 'lorr'"),
        ('sources = ["tiny"]\nbounds = ["volumes"]', "bounds: unknown bound method 'volumes': did you mean 'volume'?"),
        ('sources = ["tiny"]\nexact = ["cpsat"]', "exact: unknown exact method 'cpsat'"),
        ('sources = ["tiny"]', "names no method"),
        ('policies = ["fcfs"]', "sources is missing"),
        ('sources = ["tiny"]\nseeds = [-1]\npolicies = ["fcfs"]', "seeds.0 = -1"),
        ('sources = ["tiny"]\npolicies = ["fcfs"]\n[setting]\nmemory = [9, -3]', "setting.memory.1 = -3"),
        ('sources = ["tiny"]\npolicies = ["fcfs"]\n[setting]\nmemroy = 9', "setting.memroy: unknown key"),
        ('sources = ["tiny"]\npolicies = ["fcfs"]\n[limits]\nseconds = "9"', "limits.seconds = '9'"),
        ("sources = [", "is not TOML"),
        ('sources = ["tiny"]\npolicy_files = ["absent.py"]', "absent.py: no such file"),
    ],
)
def test_a_wrong_plan_is_refused_by_name(tmp_path: Path, plan: str, says: str) -> None:
    (tmp_path / "plan.toml").write_text(plan)
    message = refusal("sweep", "plan.toml", cwd=tmp_path)
    assert says in message
    assert not (tmp_path / "plan.sqlite").exists()


def test_files_that_are_no_results_are_refused(tmp_path: Path, small: Path) -> None:
    (tmp_path / "text.sqlite").write_text("not a database, and long enough to look like one" * 20)
    assert "is no results file of kvbound" in refusal("results", tmp_path / "text.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE x (y)")
    db.close()
    assert "no results file of kvbound" in refusal("results", tmp_path / "other.sqlite")
    assert "no such file" in refusal("results", tmp_path / "absent.sqlite")
    assert "is a folder" in refusal("results", tmp_path)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(small) as source, sqlite3.connect(newer) as target:
        source.backup(target)
        target.execute("PRAGMA user_version = 99")
    source.close()
    target.close()
    assert "has version 99 of the tables" in refusal("results", newer)
    assert "not both" in refusal("sweep")


def test_a_locked_file_is_reported_not_waited_for_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    ResultStore(path, create=True).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(kvbound.InputError, match="another process keeps the results file locked"):  # noqa: SIM117
            with ResultStore(path, patience=0.1) as store:
                store.begin("x", "", "loky", 1)
    finally:
        holder.close()


def test_backends_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.toml").write_text('sources = ["tiny"]\npolicies = ["fcfs"]\n')
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    assert 'pip install "kvbound[ray]"' in refusal("sweep", "plan.toml", "--backend", "ray", cwd=tmp_path)
    assert "unknown backend 'slurm'" in refusal("sweep", "plan.toml", "--backend", "slurm", cwd=tmp_path)
    assert "--address is for clusters" in refusal("sweep", "plan.toml", "--address", "x:1", cwd=tmp_path)


def test_the_key_depends_on_content_and_nothing_else() -> None:
    problem = kvbound.load("tiny:n=6,seed=0").problem
    renamed = kvbound.Problem(problem.requests, problem.fleet, name="other", origin="elsewhere")
    assert instance_hash(problem) == instance_hash(renamed)
    more = kvbound.load("tiny:n=6,seed=0", memory=problem.fleet.memory[0] + 1).problem
    noisy = kvbound.with_predictions(problem, "0.2", 1)
    assert len({instance_hash(p) for p in (problem, more, noisy)}) == 3
    cell = Cell("a", 0, {}, "hash", "policy", "fcfs", {})
    assert cell.key == Cell("b", 0, {"memory": 3}, "hash", "policy", "fcfs", {}).key
    others = [
        Cell("a", 1, {}, "hash", "policy", "fcfs", {}),
        Cell("a", 0, {}, "hush", "policy", "fcfs", {}),
        Cell("a", 0, {}, "hash", "search", "fcfs", {}),
        Cell("a", 0, {}, "hash", "policy", "svf", {}),
        Cell("a", 0, {}, "hash", "policy", "fcfs", {"weights": "tail"}),
        Cell("a", 0, {}, "hash", "policy", "fcfs", {}, version="9"),
    ]
    assert len({cell.key, *(c.key for c in others)}) == 7


@pytest.mark.parametrize("noise", [None, "0.2", "bins=4"])
def test_an_instance_comes_back_as_it_was(noise: str | None) -> None:
    problem = kvbound.load("tiny:n=7,seed=2,arrivals=poisson,rate=0.5", workers=2, batch=3).problem
    if noise is not None:
        problem = kvbound.with_predictions(problem, noise, 0)
    from kvbound.sweeps.content import fleet_text

    again = unpack_problem(7, pack_requests(problem.requests), fleet_text(problem.fleet), "x")
    assert again.requests == problem.requests
    assert again.fleet == problem.fleet


def test_an_answer_is_never_replaced_and_claims_are_exclusive(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with ResultStore(path, create=True) as one, ResultStore(path) as two:
        instance = one.put_instance(kvbound.load("tiny:n=4").problem)
        cell = Cell("tiny:n=4", 0, {}, instance, "policy", "fcfs", {})
        one.begin("one", "", "loky", 1)
        two.begin("two", "", "loky", 1)
        assert one.claim(cell.key) == 1
        assert two.claim(cell.key) == "taken"
        one.put(cell, Outcome("failed", error="x"))
        assert two.claim(cell.key) == "stored"
        assert two.claim(cell.key, retry=True) == 1
        two.put(cell, Outcome("done", tel=5))
        assert one.claim(cell.key, retry=True) == "stored"
        one.put(cell, Outcome("done", tel=6))
        assert [row.outcome.tel for row in one.cells()] == [5]


def test_the_claims_of_a_dead_sweep_lapse(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with ResultStore(path, create=True) as store:
        store.begin("old", "", "loky", 1)
        assert store.claim("k") == 1
        with sqlite3.connect(path) as db:
            db.execute("UPDATE sweeps SET pid = 99999999")  # no such process
        db.close()
        with ResultStore(path) as other:
            other.begin("new", "", "loky", 1)
            assert other.claim("k") == 2  # begun for the second time
            with sqlite3.connect(path) as db:
                db.execute("UPDATE sweeps SET beat = '2020-01-01T00:00:00.000+00:00'")
            db.close()
            assert store.claim("k") == 3  # alive by its number, but silent for years


def test_two_settings_of_one_content_are_one_cell(tmp_path: Path) -> None:
    memory = kvbound.load("tiny:n=5").problem.fleet.memory[0]
    (tmp_path / "plan.toml").write_text(
        f'sources = ["tiny:n=5"]\npolicies = ["fcfs"]\n[setting]\nmemory = [{memory}, {memory + 1}, {memory}]\n'
    )
    assert answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)["cells"] == 2


def test_ctrl_c_keeps_what_is_there_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plan(tmp_path, 10, 'policies = ["fcfs"]')
    monkeypatch.setenv("KVBOUND_TEST_LOG", str(tmp_path / "log"))
    kept = ResultStore.put
    calls = iter(range(100))

    def interrupted(*args: Any) -> None:
        kept(*args)
        if next(calls) == 6:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ResultStore, "put", interrupted)
        done = inline("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)
    assert done.returncode == 130
    assert "interrupted, 13 cells left; the same command goes on with them" in done.stdout
    found = answer("sweep", "plan.toml", "--jobs", "1", cwd=tmp_path)
    assert (found["skipped"], found["ran"], found["left"]) == (7, 13, 0)


def test_the_plan_of_the_documentation_is_a_plan(tmp_path: Path) -> None:
    from blocks import ROOT, blocks_of

    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    (text,) = [b.code for b in blocks_of(ROOT / "docs" / "sweeps.md") if b.language == "toml"]
    (tmp_path / "plan.toml").write_text(text)
    plan, _ = read_plan(tmp_path / "plan.toml")
    assert set(Plan.model_fields) == set(plan.model_fields_set), "the example shows every key"
    assert len(list(plan.settings())) == 2 * 2 * 2 * 2
    assert len(plan.methods({})) == 8
    for kind in ("setting", "options", "limits"):
        for key in getattr(plan, kind).__class__.model_fields:
            assert re.search(rf"`({kind}\.)?{key}`", page), key


def test_results_may_come_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from Ray's backend of joblib, which has no generators."""
    from contextlib import contextmanager

    from kvbound.sweeps import run
    from kvbound.sweeps.backends import Pool

    @contextmanager
    def groups(*_: Any) -> Any:
        yield Pool(1, streams=False)

    monkeypatch.setattr(run, "pool", groups)
    (tmp_path / "plan.toml").write_text(
        'sources = ["tiny:n=5,seed={seed}"]\nseeds = { count = 9 }\nrouters = ["lor"]\n'
    )
    assert answer("sweep", "plan.toml", cwd=tmp_path)["done"] == 9
