"""Result files, recognised by content: the SQLite file of a sweep, or the JSON of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kvbound.models.errors import InputError
from kvbound.report.data import Results
from kvbound.report.read_json import read_json
from kvbound.report.read_sweep import read_sweep

_SQLITE = b"SQLite format 3\x00"


def read_results(paths: Sequence[str | Path]) -> Results:
    """Read every file into one collection.

    Raises
    ------
    InputError
        A file cannot be read, or holds no results of kvbound; the message says what it may be.
    """
    results = Results()
    for path in map(Path, paths):
        try:
            with path.open("rb") as file:
                head = file.read(len(_SQLITE))
        except OSError as error:
            what = error.strerror or "cannot be read"
            raise InputError(f"{path}: {what}; `kvbound sweep PLAN.toml -o FILE` or a command with --json > FILE "
                             "makes a file of results") from None  # fmt: skip
        (read_sweep if head == _SQLITE else read_json)(path, results)
    if not (results.lines or results.proofs or results.fronts or results.prices):
        raise InputError(f"{', '.join(map(str, paths))}: no result in it yet")
    return results
