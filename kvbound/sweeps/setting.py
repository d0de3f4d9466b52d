"""From a place in the grid to a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvbound.instances import load
from kvbound.models.problem import Problem

#: Changes that `load` makes; `rate` and `noise` come after it, drawn from the seed.
_LOAD = ("memory", "workers", "batch", "limit", "offset", "step_seconds", "drop_too_large")


@dataclass(frozen=True, slots=True)
class Setting:
    """One instance of the grid.

    Parameters
    ----------
    source
        Any SOURCE of the commands.
    seed
        Seed of arrivals and noise that the plan asks for, and of the methods.
    changes
        memory, workers, batch, limit, offset, step_seconds, drop_too_large, rate, noise, as far as they are given.
    """

    source: str
    seed: int
    changes: dict[str, Any]

    def problem(self) -> Problem:
        """Load it; `KvboundError` as from `kvbound.load`."""
        from kvbound.routing import seeded

        loaded = load(self.source, **{key: value for key, value in self.changes.items() if key in _LOAD})
        return seeded(loaded.problem, self.seed, self.changes.get("rate"), self.changes.get("noise"))
