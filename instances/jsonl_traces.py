"""Trace files with one JSON object per line, found by their keys (Mooncake, FAST'25)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from kvbound.instances.trace import Trace
from kvbound.instances.values import Column
from kvbound.models.errors import InputError

_KEYS = ("timestamp", "input_length", "output_length")


def read_jsonl_trace(path: str, text: str) -> Trace:
    """Read a Mooncake trace: `timestamp` in milliseconds, `input_length` and `output_length` in tokens.

    `hash_ids` (prefix blocks) and further keys are not used: the model shares no prefixes.

    Raises
    ------
    InputError
        A line is not a JSON object, a key is missing, a value is no length or no time.
    """
    rows = text.split("\n")
    while rows and not rows[-1].strip():
        rows.pop()
    objects = [_object(path, line, row) for line, row in enumerate(rows, start=1)]
    lines = range(1, len(rows) + 1)
    time = _column(path, "timestamp", objects, lines).nanoseconds("milliseconds")
    prompt = _column(path, "input_length", objects, lines).lengths(0, "a prompt length")
    output = _column(path, "output_length", objects, lines).lengths(1, "an output length")
    return Trace(path, "Mooncake JSONL", prompt, output, np.array(lines, np.int64), time)


def _object(path: str, line: int, row: str) -> dict[str, object]:
    if not row.strip():
        raise InputError(f"{path}: line {line} is blank; remove it")
    try:
        value = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: line {line}: not valid JSON ({error}); is the file cut off?") from None
    if not isinstance(value, dict):
        raise InputError(
            f"{path}: line {line}: expected a JSON object with {', '.join(_KEYS)}, got {row.strip()[:60]!r}"
        )
    return value


def _column(path: str, key: str, objects: Sequence[dict[str, object]], lines: Sequence[int]) -> Column:
    for line, value in zip(lines, objects, strict=True):
        if key not in value:
            raise InputError(
                f"{path}: line {line}: missing key {key!r}; expected Mooncake rows with {', '.join(_KEYS)}, "
                f"got the keys {', '.join(map(str, value))[:120] or '(none)'}"
            )
    return Column(path, key, [value[key] for value in objects], lines)
