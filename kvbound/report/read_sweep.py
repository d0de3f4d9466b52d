"""The results file of `kvbound sweep`, as lines and proofs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.report.data import Instance, Line, Origin, Proof, Results
from kvbound.sweeps.content import unpack_schedule
from kvbound.sweeps.store import ResultStore, Stored

#: How the rules of certificates read in a table.
_RULES = {
    "volume": "recomputed from the volumes",
    "prices": "prices",
    "positional": "prices per position",
    "sequence": "multipliers of the sequence relaxation",
    "reward": "prices per kind of workers",
}


def read_sweep(path: Path, results: Results) -> None:
    """Add everything that the file holds; schedules stay there until one is drawn."""
    with ResultStore(path) as store:
        for key, row in store.instances().items():
            results.instances[key] = Instance(
                key, row["name"], row["n"], _span(row["memory"]), len(row["memory"]), _span(row["batch"]), row["origin"]
            )
        kept: dict[str, Stored] = {}
        for stored in store.cells(blobs=False):
            kept[stored.key] = stored
        drawable = set(store.keys("schedule IS NOT NULL"))
        upper = _reward_bounds(kept.values())
        for key, stored in kept.items():
            _add(path, key, stored, key in drawable, upper, results)
        for sweep in store.sweeps():
            results.origins.append(_origin(path, sweep, list(kept.values())))


def _add(path: Path, key: str, stored: Stored, drawable: bool, upper: dict[Any, float], results: Results) -> None:
    cell, out = stored.cell, stored.outcome
    instance = cell.instance or f"{cell.source} {cell.setting}"
    if instance not in results.instances:  # it could not be loaded
        results.instances[instance] = Instance(instance, cell.source, 0, "–", 0, "–", None)
    metrics = out.metrics or {}
    options = _words(cell.options)
    if cell.kind in ("bound", "exact") and (out.bound is not None or "reward_bound" in metrics):
        claim = str(metrics.get("proved_by") or cell.method)
        rule = metrics.get("rule")
        evidence = f"certificate: {_RULES.get(str(rule), str(rule))}" if out.verified and rule else claim
        if out.verified and rule == "volume":
            evidence = _RULES["volume"]
        unit, value = "TEL", None if out.bound is None else float(out.bound)
        if "reward_bound" in metrics:
            unit, value = "reward", metrics["reward_bound"] / metrics["reward_denominator"]
            evidence = f"certificate: {_RULES['reward']}"
        label = cell.method if cell.kind == "bound" else f"exact {cell.method}"
        results.proofs.append(
            Proof(instance, label, value, bool(out.verified), evidence, unit, options, cell.seed, out.seconds)
        )
        if cell.kind == "bound":
            return
    if cell.kind == "bound" and out.status == "done":
        results.proofs.append(
            Proof(instance, cell.method, None, False, "proved nothing", "TEL", options, cell.seed, out.seconds)
        )
        return
    n = results.instances[instance].n
    mean = metrics.get("mean_eel", out.tel / n if out.tel is not None and n else None)
    numbers: dict[str, float | None] = {
        k: float(v) for k, v in metrics.items() if isinstance(v, (int, float)) and not isinstance(v, bool)
    }
    most = upper.get((instance, metrics.get("objective")))
    gap = None
    if most and "reward" in metrics:
        gap = 1 - metrics["reward"] / (metrics["reward_denominator"] * most)
    draw = functools.partial(_draw, path, key, instance) if drawable and out.tel is not None else None
    results.lines.append(
        Line(instance, cell.kind, cell.method, options, cell.seed, out.status, out.tel, mean, out.seconds, numbers,
             None, gap if cell.kind == "router" else None, out.error, draw)
    )  # fmt: skip


def _reward_bounds(cells: Any) -> dict[Any, float]:
    """(instance, objective) -> least verified bound on the reward."""
    found: dict[Any, float] = {}
    for stored in cells:
        metrics = stored.outcome.metrics or {}
        if "reward_bound" in metrics and stored.outcome.verified:
            place = (stored.cell.instance, metrics.get("objective"))
            value = metrics["reward_bound"] / metrics["reward_denominator"]
            found[place] = min(value, found.get(place, value))
    return found


def _draw(path: Path, key: str, instance: str) -> tuple[Problem, Schedule]:
    with ResultStore(path) as store:
        problem = store.problem(instance)
        (stored,) = store.rows([key])
        assert stored.outcome.schedule is not None  # `keys` found it
        return problem, unpack_schedule(stored.outcome.schedule, problem.n)


def _origin(path: Path, sweep: dict[str, Any], cells: list[Stored]) -> Origin:
    seeds = sorted({stored.cell.seed for stored in cells})
    versions = sorted({stored.cell.version for stored in cells})
    counts: dict[str, int] = {}
    for stored in cells:
        counts[stored.outcome.status] = counts.get(stored.outcome.status, 0) + 1
    facts = (
        ("file", path.name),
        ("cells in the file", ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))),
        ("seeds", _listed(seeds)),
        ("kvbound", ", ".join(versions) or sweep["version"]),
        ("Python", sweep["python"]),
        ("platform", sweep["platform"]),
        ("backend", f"{sweep['backend']}, {sweep['jobs']} at a time"),
        ("started", sweep["started"]),
        ("finished", sweep["finished"] or "not finished"),
    )
    return Origin(f"sweep {sweep['name'] or sweep['id']}", facts, sweep["plan"])


def _span(values: list[int | None]) -> str:
    """A value per worker in a few words."""
    texts = ["none" if value is None else f"{value:,}" for value in values]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts[:4]) + (", …" if len(texts) > 4 else "")


def _words(options: dict[str, Any]) -> str:
    return ", ".join(f"{k} {v:.8}" if k == "code" else f"{k} {v}" for k, v in sorted(options.items()))


def _listed(seeds: list[int]) -> str:
    """Seeds as ranges where they are consecutive."""
    parts: list[str] = []
    i = 0
    while i < len(seeds):
        j = i
        while j + 1 < len(seeds) and seeds[j + 1] == seeds[j] + 1:
            j += 1
        parts.append(str(seeds[i]) if i == j else f"{seeds[i]} … {seeds[j]}")
        i = j + 1
    return ", ".join(parts)
