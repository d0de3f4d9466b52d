"""Progress on a terminal: one line on stderr with stage, time, incumbent, bound and gap."""

from __future__ import annotations

import sys
import time
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

    begin = time.monotonic()
    with Console(stderr=True, markup=False, emoji=False).status(stage) as status:

        def show(event: Progress) -> None:
            status.update(describe(event, time.monotonic() - begin))

        yield show


def describe(event: Progress, elapsed: float) -> str:
    """The event in one line."""
    parts = [event.stage, f"{elapsed:.0f} s"]
    if event.incumbent is not None:
        parts.append(f"best {event.incumbent:,}")
    if event.bound is not None:
        parts.append(f"bound {event.bound:,}")
    if event.gap is not None:
        parts.append(f"gap {100 * event.gap:.2f} %")
    return "  ".join(parts)
