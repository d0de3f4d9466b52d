"""Which kind of file is this? Found by content: CSV by header, JSON by its keys; the name never matters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kvbound.instances.csv_traces import read_csv_trace
from kvbound.instances.files import read_text
from kvbound.instances.instance_file import fleet_of, parse_instance
from kvbound.instances.jsonl_traces import read_jsonl_trace
from kvbound.instances.trace import Trace
from kvbound.models.errors import InputError
from kvbound.models.fleet import Fleet
from kvbound.models.requests import Requests


def read_trace(path: str | Path) -> Trace:
    """Read a trace (CSV or JSON lines) as it stands in its file: nothing cut, sorted or scaled.

    Raises
    ------
    InputError
        The file cannot be read, is of no known format or holds a bad value (file, line and value are named).
    """
    text = read_text(path)
    kind = _json_kind(text, str(path))
    if kind == "document":
        raise InputError(f"{path}: is an instance, not a trace; read it with read_instance or load")
    return read_jsonl_trace(str(path), text) if kind == "lines" else read_csv_trace(str(path), text)


def read_any(path: str) -> Trace | tuple[Requests, Fleet, str, str | None]:
    """Read a trace, or an instance as (requests, fleet, name, origin)."""
    text = read_text(path)
    kind = _json_kind(text, path)
    if kind == "document":
        requests, document = parse_instance(text, path)
        return requests, fleet_of(document), document.name, document.origin
    return read_jsonl_trace(path, text) if kind == "lines" else read_csv_trace(path, text)


def as_requests(trace: Trace, step_ns: int | None) -> Requests:
    """Return the rows of a trace as requests.

    Times become ⌊(time − time of the first row) / step⌋ with steps of `step_ns` nanoseconds, or 0 (a backlog)
    for None. Arrivals that the file gives in steps are kept.
    """
    if trace.arrival is not None:
        arrival = trace.arrival
    elif step_ns is None or trace.time is None:
        arrival = np.zeros(len(trace), np.int64)
    else:
        arrival = (trace.time - trace.time.min()) // step_ns
    return Requests(trace.prompt, trace.output, arrival)


def _json_kind(text: str, path: str) -> str | None:
    """`document` (an object with a format), `lines` (an object per line) or None (not JSON)."""
    stripped = text.strip()
    if stripped[0] not in "{[":
        return None
    for candidate in (stripped.split("\n", 1)[0], stripped):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if not (isinstance(value, dict) and "format" in value):
            return "lines"
        if value["format"] != "kvbound-instance":
            kind = str(value["format"])[:60]
            raise InputError(f"{path}: its format is {kind!r}; expected kvbound-instance or a trace")
        return "document"
    # Neither parses: cut off or damaged. Send it to the reader whose message helps most.
    return "document" if '"kvbound-instance"' in stripped[:400] else "lines"
