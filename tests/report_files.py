"""Result files for the tests of reports: small, made by the code that makes real ones."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from cli import answer

import kvbound
from kvbound.sweeps.cell import Cell, Kind, Outcome
from kvbound.sweeps.store import ResultStore
from kvbound.sweeps.work import run_cell

#: What every test of escaping looks for: it must never reach the page as it is.
NASTY = "<script>alert('x')</script>&\"'"


def sweep_file(path: Path) -> Path:
    """Four instances of three sizes, policies, a search, bounds with and without certificate, a router, failures."""
    methods: list[tuple[Kind, str, dict[str, float]]] = [
        ("bound", "volume", {}), ("bound", "lagrangian", {"time_limit": 5.0}), ("policy", "fcfs", {}),
        ("policy", "svf", {}), ("router", "lor", {}),
    ]  # fmt: skip
    with ResultStore(path, create=True) as store:
        store.begin(f"test {NASTY}", f'sources = ["{NASTY}"]', "loky", 1)
        for n, seed in ((6, 0), (8, 0), (8, 1), (10, 0)):
            problem = kvbound.load(f"tiny:n={n},seed={seed}").problem
            key = store.put_instance(problem)
            for kind, method, options in methods:
                cell = Cell(problem.name, seed, {}, key, kind, method, options)
                store.put(cell, run_cell(problem, cell))
        cell = Cell(f"nothing {NASTY}.csv", 0, {}, "", "policy", "svf", {})
        store.put(cell, Outcome("failed", error=f"no such file {NASTY}"))
        store.put(Cell("tiny:n=6,seed=0", 0, {}, key, "policy", "mc-sf", {}), Outcome("timeout", error="over 1 s"))
        claim = Outcome("done", bound=1, verified=False, metrics={"proved_by": "somebody", "termination": "time-limit"})
        store.put(Cell("tiny:n=10,seed=0", 0, {}, key, "exact", "search", {"time_limit": 1.0}), claim)
    return path


@functools.cache
def command_documents() -> dict[str, str]:
    """What commands print with --json, by file name."""
    fleet = ("tiny:n=30,seed=0", "--workers", "2", "--batch", "3", "--rate", "0.3")
    commands: dict[str, tuple[str, ...]] = {
        "gap.json": ("gap", "tiny:n=8,seed=0", "--policies", "fcfs,svf", "--with-schedules", "--time-limit", "5"),
        "plain.json": ("gap", "tiny:n=9,seed=5", "--policies", "fcfs,svf", "--bound", "volume"),
        "bound.json": ("bound", "tiny:n=8,seed=0", "--method", "volume"),
        "route.json": ("route", *fleet, "--routers", "lor,lor:central,bid-price", "--time-limit", "3"),
        "pareto.json": ("pareto", *fleet, "--points", "3", "--routers", "lor"),
        "prices.json": ("prices", *fleet),
    }
    return {name: json.dumps(answer(*command)) for name, command in commands.items()}


def write_documents(folder: Path, *names: str) -> list[Path]:
    """Write some of them (default: all) into `folder`."""
    documents = command_documents()
    paths = [folder / name for name in names or documents]
    for path in paths:
        path.write_text(documents[path.name], encoding="utf-8")
    return paths
