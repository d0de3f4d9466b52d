"""What long work tells its caller while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a running method: what it does, since when, and what it has."""

    stage: str
    seconds: float
    incumbent: int | None
    bound: int | None

    @property
    def gap(self) -> float | None:
        """(incumbent − bound) / |bound|, or None."""
        if self.incumbent is None or not self.bound:
            return None
        return (self.incumbent - self.bound) / abs(self.bound)


ProgressCallback = Callable[[Progress], None]
