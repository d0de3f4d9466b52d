"""The results as a JSON document (docs/schemas/kvbound-reproduction.schema.json), written and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

import kvbound
from kvbound.instances.files import read_text, write_atomic
from kvbound.models.errors import InputError
from kvbound.reproduction.findings import Outcome


@dataclass(frozen=True, slots=True)
class Results:
    """Outcomes of experiments, the version of kvbound that wrote them; `interrupted` after Ctrl-C."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    format: Literal["kvbound-reproduction"]
    schema_version: Literal[1]
    version: str
    interrupted: bool
    experiments: tuple[Outcome, ...]


def results(outcomes: Sequence[Outcome], interrupted: bool = False) -> Results:
    """Outcomes as a document."""
    return Results("kvbound-reproduction", 1, kvbound.__version__, interrupted, tuple(outcomes))


def as_json(found: Results) -> dict[str, Any]:
    """The document as plain data."""
    document: dict[str, Any] = TypeAdapter(Results).dump_python(found, mode="json")
    return document


def write_results(path: Path, found: Results) -> None:
    """Write the document, all or nothing."""
    write_atomic(path, TypeAdapter(Results).dump_json(found, indent=1).decode() + "\n")


def read_results(path: Path) -> Results:
    """Read a document (`InputError` names file, field and value)."""
    try:
        return TypeAdapter(Results).validate_json(read_text(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        raise InputError(f"{path}: {place}: {first['msg']}; write it with `kvbound reproduce -o FILE`") from None


def schema() -> dict[str, Any]:
    """JSON schema of the document."""
    return TypeAdapter(Results).json_schema()
