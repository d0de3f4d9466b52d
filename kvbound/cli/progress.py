"""Progress on a terminal: one line on stderr with stage, incumbent, bound, gap and the time so far."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvbound.solvers.progress import Progress, ProgressCallback


@contextmanager
def reporting(stage: str) -> Iterator[ProgressCallback | None]:
    """Show `stage` and every `Progress` of the work inside; yields None when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Line
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Line(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task(stage, total=None)

        def show(event: Progress) -> None:
            line.update(task, description=describe(event))

        yield show


def describe(event: Progress) -> str:
    """The event in one line."""
    parts = [event.stage]
    if event.incumbent is not None:
        parts.append(f"best {event.incumbent:,}")
    if event.bound is not None:
        parts.append(f"bound {event.bound:,}")
    if event.gap is not None:
        parts.append(f"gap {100 * event.gap:.2f} %")
    return "  ".join(parts)
