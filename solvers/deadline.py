"""A deadline that starts when it is made; whoever gets it asks for the remainder."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deadline:
    """Seconds from its creation; `seconds=None` never ends."""

    seconds: float | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def remaining(self) -> float | None:
        """Seconds left, at least 0; None when there is no limit."""
        return None if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.remaining == 0.0

    def share(self, fraction: float, most: float | None = None) -> Deadline:
        """A deadline for a part of the work: `fraction` of what remains, at most `most` seconds."""
        left = self.remaining
        limits = [x for x in (None if left is None else left * fraction, most) if x is not None]
        return Deadline(min(limits) if limits else None)
