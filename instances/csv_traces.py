"""Trace files in CSV. A format is found by its header, never by the file's name.

Columns and quirks: Azure (Patel et al., Splitwise, ISCA 2024), vidur replay and length files, BurstGPT
(versions 1 to 3; columns are looked up by name), and a plain `prompt,output[,arrival]` for own data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kvbound.instances.trace import Trace
from kvbound.instances.values import Column
from kvbound.models.errors import InputError


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How one format names its columns.

    Parameters
    ----------
    name
        For messages.
    prompt, output
        Required columns.
    time, clock
        Column of the arrival and its unit: `datetime`, `seconds` or `steps`; None without arrivals.
    time_required
        Whether the format is only recognised with its time column.
    total
        Column that repeats prompt + output, if any; a difference is noted, the column is not used.
    zero_output_failed
        Whether the format documents output 0 as a failed request; elsewhere output 0 is an error.
    """

    name: str
    prompt: str
    output: str
    time: str | None = None
    clock: str | None = None
    time_required: bool = True
    total: str | None = None
    zero_output_failed: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """Columns without which the file is not of this format."""
        return (*((self.time,) if self.time and self.time_required else ()), self.prompt, self.output)


FORMATS = (
    CsvFormat("Azure CSV", "ContextTokens", "GeneratedTokens", "TIMESTAMP", "datetime"),
    CsvFormat("vidur replay CSV", "num_prefill_tokens", "num_decode_tokens", "arrived_at", "seconds"),
    CsvFormat("vidur length CSV", "num_prefill_tokens", "num_decode_tokens", total="num_total_tokens"),
    CsvFormat(
        "BurstGPT CSV",
        "Request tokens",
        "Response tokens",
        "Timestamp",
        "seconds",
        total="Total tokens",
        zero_output_failed=True,
    ),
    CsvFormat("plain CSV", "prompt", "output", "arrival", "steps", time_required=False),
)


def read_csv_trace(path: str, text: str) -> Trace:
    """Read a CSV trace from `text`; `path` is for messages.

    Raises
    ------
    InputError
        Unknown header, missing column, a row with too few or too many fields, a value that is no length.
    """
    header, rows, lines = table(path, text)
    form = _recognise(path, header)
    if not rows:
        raise InputError(f"{path}: has a header but no rows")
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))

    def column(name: str) -> Column:
        key = _find(header, name)
        assert key is not None  # _recognise saw it
        return Column(path, key, cells[key], lines)

    prompt = column(form.prompt).lengths(0, "a prompt length")
    output = column(form.output).lengths(0 if form.zero_output_failed else 1, "an output length")
    time = arrival = None
    if form.time is not None and _find(header, form.time) is not None:
        if form.clock == "steps":
            arrival = column(form.time).steps()
        else:
            time = column(form.time).nanoseconds(form.clock or "seconds")
    notes = []
    if form.total is not None and _find(header, form.total) is not None:
        off = np.flatnonzero(column(form.total).lengths(0, "a total") != prompt + output)
        if off.size:
            notes.append(
                f"{off.size} row(s) where {form.total} is not prompt + output (first: line {lines[off[0]]}); "
                f"the total is not used"
            )
    if form.name == "plain CSV":  # somebody's own: a column that is not understood may be meant to be one that is
        used = {_find(header, name) for name in (form.prompt, form.output, "arrival")}
        if unused := [name for name in header if name not in used]:
            notes.append(f"column(s) not used: {', '.join(unused)}; arrivals in steps stand in a column named arrival")
    failed = output == 0  # non-empty only where the format documents failed requests
    count = int(failed.sum())
    if count == len(output):
        raise InputError(f"{path}: all {count} rows have {form.output} 0, so every request failed and none is left")
    if count:
        notes.append(
            f"{count} failed request(s) left out ({form.output} = 0; first: line {lines[int(np.argmax(failed))]})"
        )
    whole = Trace(path, form.name, prompt, output, np.array(lines, np.int64), time, arrival, count, tuple(notes))
    return whole.take(np.flatnonzero(~failed).astype(np.int64)) if count else whole


def table(path: str, text: str) -> tuple[list[str], list[list[str]], Sequence[int]]:
    """Return header, rows and the 1-based line of each row; blank lines at the end are dropped."""
    # csv wants line ends untouched (newline=""); it takes \n, \r\n and a missing final newline alike.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: not valid CSV ({error})") from None
    while rows and _blank(rows[-1]):
        rows.pop()
        lines.pop()
    header = [name.strip() for name in rows[0]] if rows else []
    if not any(header):
        raise InputError(f"{path}: line 1 is blank; expected a header. {_expected()}")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path}: line 1: the column {twice!r} stands twice in the header; remove one")
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(header):
            what = "is blank" if _blank(row) else f"has {len(row)} field(s), the header has {len(header)}"
            raise InputError(f"{path}: line {line} {what}. Correct or remove the row (is the file cut off?)")
    return header, rows[1:], lines[1:]


def _blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _find(header: Sequence[str], name: str) -> str | None:
    """The header's own spelling of a column, whatever its case."""
    return next((h for h in header if h.lower() == name.lower()), None)


def _recognise(path: str, header: Sequence[str]) -> CsvFormat:
    for form in FORMATS:
        if all(_find(header, name) is not None for name in form.required):
            return form
    # Nearest format: the one that misses least, if the header has anything of it at all.
    best = min(FORMATS, key=lambda f: sum(_find(header, name) is None for name in f.required))
    missing = [name for name in best.required if _find(header, name) is None]
    shown = ",".join(header)[:120]
    if len(missing) < len(best.required):
        raise InputError(
            f"{path}: line 1: missing column {missing[0]!r}; the header {shown!r} looks like "
            f"{best.name}, which needs {','.join(best.required)}"
        )
    hint = ""
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        hint = " Separate the columns by commas."
    elif all(name.replace(".", "").isdigit() for name in header):
        hint = " The first line holds numbers: add a header."
    raise InputError(f"{path}: line 1: unknown header {shown!r}.{hint} {_expected()}")


def _expected() -> str:
    forms = "; ".join(f"{','.join(f.required)} ({f.name})" for f in FORMATS)
    return (
        f"For data of your own: prompt,output and, if there are any, arrival in steps. Known headers contain: {forms}"
    )
