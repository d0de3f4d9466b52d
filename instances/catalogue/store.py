"""The catalogue's files: one JSON document per group, one entry per line, validated on reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kvbound.instances.catalogue.entry import Entry
from kvbound.instances.files import read_text, write_atomic
from kvbound.models.errors import InputError

#: Folder of the entries that ship with the package.
SHIPPED = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class _Group:
    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    format: Literal["kvbound-catalogue"]
    schema_version: Literal[1]
    entries: list[Entry]


def catalogue(folder: Path | str | None = None) -> tuple[Entry, ...]:
    """Return all entries: of the package, or of the group files (`*.json`) in `folder`.

    Examples
    --------
    >>> from kvbound.instances.catalogue import catalogue
    >>> all(entry.bound.value <= entry.schedule.tel for entry in catalogue())
    True

    Raises
    ------
    InputError
        A file is damaged, an entry malformed, or a name stands twice.
    """
    where = SHIPPED if folder is None else Path(folder)
    if not where.is_dir():
        raise InputError(f"{where}: no such folder; a catalogue is a folder of group files such as jaillet.json")
    entries = tuple(entry for path in sorted(where.glob("*.json")) for entry in read_group(path))
    _require_unique(entries, str(where))
    return entries


def read_group(path: Path | str) -> tuple[Entry, ...]:
    """Read one group file (`InputError` names file, entry, field and value)."""
    text = read_text(path)
    try:
        found = TypeAdapter(_Group).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            raise InputError(f"{path}: not valid JSON ({first['msg']}); is the file cut off?") from None
        place = ".".join(map(str, first["loc"])) or "the document"
        shown = "" if isinstance(first["input"], (dict, list)) else f" ({first['input']!r:.60})"
        raise InputError(f"{path}: {_named(text, first['loc'])}{place}{shown}: {first['msg']}") from None
    entries = tuple(found.entries)
    _require_unique(entries, str(path))
    return entries


def write_group(path: Path | str, entries: Sequence[Entry]) -> None:
    """Write one group file whole or not at all, one entry per line."""
    _require_unique(entries, str(path))
    lines = ",\n".join(json.dumps(asdict(entry), separators=(",", ":"), ensure_ascii=False) for entry in entries)
    write_atomic(path, f'{{"format":"kvbound-catalogue","schema_version":1,"entries":[\n{lines}\n]}}\n')


def _named(text: str, place: tuple[int | str, ...]) -> str:
    """The name of the entry that an error is about, if it has one."""
    if len(place) < 2 or place[0] != "entries" or not isinstance(place[1], int):
        return ""
    entry = json.loads(text)["entries"][place[1]]
    return f"{entry['name']}: " if isinstance(entry, dict) and isinstance(entry.get("name"), str) else ""


def _require_unique(entries: Iterable[Entry], where: str) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise InputError(f"{where}: the instance {entry.name} stands twice; keep one entry")
        seen.add(entry.name)
