"""A trace as it stands in its file: lengths, times, line numbers. Nothing is cut, scaled or sorted here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models.requests import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Rows of one trace file, in the order of the file.

    Parameters
    ----------
    path
        The file as the user named it.
    format
        Name of the format, e.g. `Azure CSV`.
    prompt, output
        Tokens, shape (n,).
    line
        1-based line of each row in the file, shape (n,).
    time
        Arrival in nanoseconds on the file's own clock, shape (n,), or None when the file has no times.
    arrival
        Arrival in steps, shape (n,), or None; only the plain CSV and instance files have steps.
    failed
        Rows left out because the format says that these requests failed.
    notes
        What a reader of the result should know about the file.
    """

    path: str
    format: str
    prompt: IntArray
    output: IntArray
    line: IntArray
    time: IntArray | None = None
    arrival: IntArray | None = None
    failed: int = 0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.prompt)

    def take(self, index: IntArray | slice) -> Trace:
        """Return the rows at `index` (positions, mask or slice), in that order."""
        return Trace(
            self.path,
            self.format,
            self.prompt[index],
            self.output[index],
            self.line[index],
            None if self.time is None else self.time[index],
            None if self.arrival is None else self.arrival[index],
            self.failed,
            self.notes,
        )

    def by_time(self) -> Trace:
        """Return the rows by arrival time, ties in the order of the file; unchanged without times."""
        if self.time is None or (np.diff(self.time) >= 0).all():
            return self
        return self.take(np.argsort(self.time, kind="stable").astype(np.int64))
