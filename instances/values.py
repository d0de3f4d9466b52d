"""Cells of a trace as exact numbers: lengths in tokens, times in nanoseconds.

Times are integers because traces carry float noise (`5.8926549999999995`) and steps are made by
flooring: rounded to a nanosecond, the same trace in two formats gives the same arrivals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.requests import MAX_ARRIVAL, MAX_TOKENS, IntArray

#: Latest time accepted, in seconds (31 years): float seconds keep their nanosecond to 1e-7 or better.
MAX_SECONDS = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = re.compile(r"\s*([+-]?\d{1,18})(?:\.0*)?\s*", re.ASCII)
_TIMESTAMP = re.compile(r"\s*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a file, with what its errors have to name.

    Parameters
    ----------
    path, name
        File and column (or key) as the file spells them.
    cells
        Raw values: strings (CSV) or JSON values.
    lines
        1-based line of each cell in the file.
    """

    path: str
    name: str
    cells: Sequence[object]
    lines: Sequence[int]

    def error(self, row: int, expected: str) -> InputError:
        """Return the error for the cell at position `row`."""
        cell = self.cells[row]
        shown = repr(cell) if len(repr(cell)) <= 60 else repr(cell)[:57] + "..."
        return InputError(
            f"{self.path}: line {self.lines[row]}: {self.name} is {shown}; {expected}. Correct or remove the row"
        )

    def integers(self, low: int, high: int, meaning: str) -> IntArray:
        """Return the cells as integers from `low` to `high`; whole numbers such as `12.0` are accepted."""
        values = [_whole(c) for c in self.cells]
        for row, value in enumerate(values):
            if value is None or not low <= value <= high:
                raise self.error(row, f"expected {meaning}, a whole number from {low} to {high}")
        return np.array(values, dtype=np.int64)

    def lengths(self, low: int, meaning: str) -> IntArray:
        """Return token counts from `low` to `MAX_TOKENS`."""
        return self.integers(low, MAX_TOKENS, f"{meaning} in tokens")

    def steps(self) -> IntArray:
        """Return arrivals that are given in steps."""
        expected = (
            "an arrival step (for seconds: columns arrived_at,num_prefill_tokens,num_decode_tokens and --step-seconds)"
        )
        return self.integers(0, MAX_ARRIVAL, expected)

    def nanoseconds(self, kind: str) -> IntArray:
        """Return times in nanoseconds; `kind` is `seconds`, `milliseconds` or `datetime`."""
        convert: Callable[[object], int | None]
        if kind == "datetime":
            convert, expected = _from_timestamp, "a time such as 2023-11-16 18:15:46.6805900"
        else:
            scale = 1_000_000 if kind == "milliseconds" else 1_000_000_000
            convert, expected = (
                (lambda c: _from_number(c, scale)),
                f"a time in {kind}, from 0 to {MAX_SECONDS} s",
            )
        out = [convert(c) for c in self.cells]
        for row, value in enumerate(out):
            if value is None:
                raise self.error(row, f"expected {expected}")
        return np.array(out, dtype=np.int64)


def _whole(cell: object) -> int | None:
    """Return an integer value, or None for anything that is not one."""
    if isinstance(cell, str):
        if cell.isdecimal() and len(cell) < 19:  # nearly every cell
            return int(cell)
        match = _WHOLE.fullmatch(cell)
        return int(match[1]) if match else None
    if isinstance(cell, bool):
        return None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else None  # NaN and infinities are not integers
    return cell if isinstance(cell, int) else None


def _from_number(cell: object, scale: int) -> int | None:
    if isinstance(cell, bool) or not isinstance(cell, (str, int, float)):
        return None
    try:
        value = float(cell)
    except (ValueError, OverflowError):
        return None
    if not (math.isfinite(value) and 0 <= value * scale <= MAX_SECONDS * 1_000_000_000):
        return None
    return round(value * scale)


def _from_timestamp(cell: object) -> int | None:
    """Nanoseconds since 1970; a time without a zone counts as UTC (only differences are used)."""
    match = _TIMESTAMP.fullmatch(cell) if isinstance(cell, str) else None
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[1] + (match[3] or "+00:00"))
    except ValueError:  # a month 13
        return None
    whole = (moment - _EPOCH) // timedelta(seconds=1)
    if not 0 <= whole <= 9 * MAX_SECONDS:  # beyond the year 2255 nanoseconds leave int64
        return None
    return whole * 1_000_000_000 + int((match[2] or "0").ljust(9, "0"))
