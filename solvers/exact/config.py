"""One configuration for every exact method; each backend translates it once."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from kvbound.models.errors import OptionError


@dataclass(frozen=True, slots=True)
class SolveConfig:
    """Limits and switches of one solve.

    Parameters
    ----------
    time_limit
        Seconds of wall time from the call of `solve` on, presolve and model building included; None is no limit.
    threads
        Threads of the solver; None: one per core, and for CP-SAT its portfolio of at least 8 workers on those cores.
    seed
        Random seed of solvers and heuristics.
    gap
        Stop when (objective − bound) / |bound| is at most this; 0 asks for the optimum.
    memory_limit
        Bytes that a model may take by estimate before `SizeError` refuses to build it; None is no limit.
    """

    time_limit: float | None = 60.0
    threads: int | None = None
    seed: int = 0
    gap: float = 0.0
    memory_limit: int | None = 4 << 30

    def __post_init__(self) -> None:
        if self.time_limit is not None and not (math.isfinite(self.time_limit) and self.time_limit >= 0):
            raise OptionError(f"time_limit is {self.time_limit}; it must be a number of seconds ≥ 0, or None")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise OptionError(f"threads is {self.threads}; it must be from 1 to 1024")
        if not 0 <= self.seed < 1 << 31:
            raise OptionError(f"seed is {self.seed}; it must be from 0 to 2^31 − 1")
        if not (math.isfinite(self.gap) and self.gap >= 0):
            raise OptionError(f"gap is {self.gap}; it must be a fraction ≥ 0, such as 0.01")
        if self.memory_limit is not None and self.memory_limit < 1:
            raise OptionError(f"memory_limit is {self.memory_limit}; it must be a number of bytes ≥ 1, or None")

    @property
    def cores(self) -> int:
        """Threads for solvers that run one per core."""
        return self.threads if self.threads is not None else os.cpu_count() or 1

    @property
    def portfolio(self) -> int:
        """Workers for CP-SAT, whose strategies complement each other even when they share a core."""
        return self.threads if self.threads is not None else max(8, os.cpu_count() or 1)
