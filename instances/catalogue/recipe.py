"""From an entry to its problem."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from kvbound.instances.catalogue.entry import Entry, Recipe
from kvbound.instances.load import Loaded, load
from kvbound.instances.parameters import nearest
from kvbound.models.errors import InputError

#: Environment variable that names the folder of the trace files.
TRACES = "KVBOUND_TRACES"


class TraceMissing(InputError):
    """A trace file is not there; the entry can be neither used nor verified."""


def trace_folder(given: Path | str | None = None) -> Path:
    """The folder of the trace files: `given`, else the environment variable `KVBOUND_TRACES`, else the current one."""
    return Path(given if given is not None else os.environ.get(TRACES, "."))


def build(name: str, recipe: Recipe, traces: Path | str | None = None) -> Loaded:
    """Return the problem of a recipe, called `name`.

    Raises
    ------
    TraceMissing
        Its trace file is not in the folder.
    """
    source = recipe.source
    if recipe.trace:
        path = trace_folder(traces) / source
        if not path.is_file():
            raise TraceMissing(
                f"{name}: the trace file {source} is not in {path.parent}; set {TRACES} to the folder that has it"
            )
        source = str(path)
    loaded = load(
        source,
        memory=recipe.memory,
        limit=recipe.limit,
        offset=recipe.offset,
        drop_too_large=recipe.drop_too_large,
    )
    return dataclasses.replace(loaded, problem=dataclasses.replace(loaded.problem, name=name))


def load_named(entries: tuple[Entry, ...], name: str, traces: Path | str | None = None) -> Loaded:
    """Return the problem of the entry `name`, and refuse it when its lengths are not those of the entry.

    Raises
    ------
    InputError
        There is no such entry, its trace file is missing (`TraceMissing`), or something else came out.
    """
    by_name = {entry.name: entry for entry in entries}
    if name not in by_name:
        raise InputError(
            f"the catalogue has no instance {name!r}{nearest(name, by_name)}; `kvbound catalogue` lists them"
        )
    entry = by_name[name]
    loaded = build(name, entry.recipe, traces)
    if loaded.problem.fingerprint() != entry.fingerprint:
        raise InputError(
            f"{name}: {entry.recipe.source} gives other requests than those of the catalogue "
            f"({loaded.problem.fingerprint()[:12]}… instead of {entry.fingerprint[:12]}…); is it another version?"
        )
    return loaded
