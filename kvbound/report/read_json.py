"""The JSON of `gap`, `bound`, `route`, `pareto` and `prices`, as lines, proofs, fronts and prices."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule
from kvbound.report.data import FrontData, Instance, Line, Origin, PriceData, Proof, Results

_KNOWN = "the JSON of kvbound gap, bound, route, pareto or prices (with --json), or the file of kvbound sweep"
_FIGURES = ("evictions", "lost_tokens", "recomputed_tokens", "makespan")


def read_json(path: Path, results: Results) -> None:
    """Add one document; it is recognised by its keys."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: neither a results file nor JSON ({error}); give {_KNOWN}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: is a JSON {type(document).__name__}, not a document; give {_KNOWN}")
    reader = next((read for key, read in _READERS.items() if key in document), None)
    if reader is None or not isinstance(document.get("instance"), dict):
        keys = ", ".join(sorted(map(str, document))[:6])
        raise InputError(f"{path}: its keys are {keys}; expected {_KNOWN}")
    try:
        instance = _instance(document["instance"])
        held = results.instances.get(instance.key)
        results.instances[instance.key] = held or instance
        reader(document, instance, results)
        notes = [str(note) for note in document.get("notes", [])]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"{path}: is not what kvbound writes today ({type(error).__name__}: {error}); run the command again"
        ) from None
    results.notes.extend(f"{path.name}: {note}" for note in notes)
    results.origins.append(_origin(path, document, instance))


def _instance(d: dict[str, Any]) -> Instance:
    def text(value: Any) -> str:
        many = value if isinstance(value, list) else [value]
        words = ["none" if v is None else f"{v:,}" for v in many]
        return words[0] if len(set(words)) == 1 else ", ".join(words[:4]) + (", …" if len(words) > 4 else "")

    key = d["fingerprint"]
    return Instance(key, d["name"], int(d["n"]), text(d["memory"]), int(d["workers"]), text(d["batch"]), d["origin"])


def _gap(document: dict[str, Any], instance: Instance, results: Results) -> None:
    seed, requests = document.get("seed"), document.get("requests")
    if document["bound"] is not None:
        results.proofs.append(_proof(document["bound"], instance, seed))
    rows = [*document["policies"], *([document["exact"]] if "exact" in document else [])]
    for row in rows:
        kind = {"exact": "exact", "best known": "search"}.get(row["name"], "policy")
        name = row["name"]
        if "declined" in row:
            line = Line(instance.key, kind, name, seed=seed, status="declined", error=row["declined"])
        elif row.get("valid") is False:
            broken = row["violations"]
            why = f"breaks {len(broken):,} rule(s): {broken[0]['message'] if broken else ''}"
            line = Line(instance.key, "schedule", name, status="invalid", error=why)
        else:
            figures = {key: row[key] for key in _FIGURES if row.get(key) is not None}
            draw = None
            if requests is not None and row.get("starts") is not None:
                draw = functools.partial(_draw, document["instance"], requests, row)
            line = Line(instance.key, kind, name, "", seed, "done", row["tel"], row["mean_eel"], row["seconds"],
                        figures, draw=draw)  # fmt: skip
        results.lines.append(line)


def _draw(instance: dict[str, Any], requests: dict[str, Any], row: dict[str, Any]) -> tuple[Problem, Schedule]:
    workers = instance["workers"]
    memory, batch = (v if isinstance(v, list) else [v] * workers for v in (instance["memory"], instance["batch"]))
    lengths = Requests(requests["prompt"], requests["output"], requests["arrival"])
    problem = Problem(lengths, Fleet(tuple(memory), tuple(batch)), name=instance["name"], origin=instance["origin"])
    return problem, Schedule(np.array(row["starts"]), np.array(row["workers"]))


def _bound(document: dict[str, Any], instance: Instance, results: Results) -> None:
    results.proofs.append(_proof(document, instance, document.get("seed")))


def _proof(found: dict[str, Any], instance: Instance, seed: int | None) -> Proof:
    value = None if found["value"] is None else float(found["value"])
    words = str(found["proved_by"]).removesuffix(", verified in exact integer arithmetic")
    return Proof(
        instance.key, found["method"], value, bool(found["verified"]), words, "TEL", "", seed, found["seconds"]
    )


def _route(document: dict[str, Any], instance: Instance, results: Results) -> None:
    count, noise = document["seeds"], document["noise"]
    words = f"{count} seed{'s' if count != 1 else ''}" + (f", noise {noise}" if noise else "")
    seed = document.get("seed") if document["seeds"] == 1 else None
    for unit, key in (("mean EEL", "mean_eel"), ("reward", "reward")):
        value = document["bounds"][key]
        if value is not None:
            how = "certificate: prices" + (", mean over the seeds" if document["seeds"] > 1 else "")
            results.proofs.append(Proof(instance.key, "prices", value, True, how, unit, words, seed))
    for row in document["routers"]:
        figures = {k: v for k, v in row.items() if k not in ("name", "ci")}
        results.lines.append(
            Line(instance.key, "router", row["name"], words, seed, "done", None, row["mean_eel"], row["seconds"],
                 figures, row["eel_gap"], row["gap"])
        )  # fmt: skip


def _pareto(document: dict[str, Any], instance: Instance, results: Results) -> None:
    ends, axes = (tuple(map(str, document[key])) for key in ("between", "axes"))
    results.fronts.append(
        FrontData(instance.name, (ends[0], ends[1]), (axes[0], axes[1]), document["points"], document["routers"])
    )


def _prices(document: dict[str, Any], instance: Instance, results: Results) -> None:
    history = document.get("history")
    if history is None:
        raise KeyError("history")
    binds = [kind["binds"] for kind in document["kinds"]]
    results.prices.append(
        PriceData(instance.name, document["router"], history["step"], history["ahead"], history["price"],
                  history["waiting"], binds)
    )  # fmt: skip


def _origin(path: Path, document: dict[str, Any], instance: Instance) -> Origin:
    facts = [("file", path.name), ("instance", instance.name), ("origin", instance.origin or "–")]
    if document.get("seed") is not None:
        count = document.get("seeds", 1)
        first = document["seed"]
        facts.append(("seeds", str(first) if count == 1 else f"{first} … {first + count - 1}"))
    facts.append(("kvbound", str(document.get("version", "not stated"))))
    facts.append(("fingerprint", instance.key[:16] + "…"))
    if document.get("interrupted"):
        facts.append(("interrupted", "yes: these are the results by then"))
    return Origin(path.name, tuple(facts))


#: A key that tells the document -> its reader; `points` before `routers`, which a front has as well.
_READERS: dict[str, Callable[[dict[str, Any], Instance, Results], None]] = {
    "policies": _gap,
    "points": _pareto,
    "routers": _route,
    "kinds": _prices,
    "value": _bound,
}
