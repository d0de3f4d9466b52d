"""A deadline that starts when it is made; whoever gets it asks for the remainder. Ctrl-C can be one, too."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Deadline:
    """Seconds from its creation; `seconds=None` never ends. An event `stop` that is set ends it at once."""

    seconds: float | None = None
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event | None = field(default=None, compare=False)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def remaining(self) -> float | None:
        """Seconds left, at least 0; None when there is no limit."""
        if self.stopped:
            return 0.0
        return None if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    @property
    def stopped(self) -> bool:
        """Whether the event `stop` has ended it."""
        return self.stop is not None and self.stop.is_set()

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.remaining == 0.0

    def share(self, fraction: float, most: float | None = None) -> Deadline:
        """A deadline for a part of the work: `fraction` of what remains, at most `most` seconds."""
        left = self.remaining
        limits = [x for x in (None if left is None else left * fraction, most) if x is not None]
        return Deadline(min(limits) if limits else None, stop=self.stop)


@contextmanager
def until_interrupted(seconds: float | None) -> Iterator[Deadline]:
    """A deadline that the first Ctrl-C ends, so that the work returns what it has; the second one interrupts as usual.

    Outside the main thread signals belong to somebody else, and only the seconds count.
    """
    stop = threading.Event()
    deadline = Deadline(seconds, stop=stop)
    before: Any = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        if stop.is_set() and callable(before):
            before(number, frame)
        stop.set()

    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:
        yield deadline
        return
    try:
        yield deadline
    finally:
        signal.signal(signal.SIGINT, before)
