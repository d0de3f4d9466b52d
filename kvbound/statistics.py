"""Mean and 95 % confidence interval over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: 97.5 % quantiles of Student's t for 1..30 degrees of freedom; beyond them the normal 1.96 plus 2.5/df is close.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interval:
    """mean ± half, Student's t at 95 %; half is None with fewer than two values."""

    mean: float
    half: float | None


def interval(values: Sequence[float | None]) -> Interval | None:
    """The interval of `values`; None when one is missing or there is none."""
    present = [v for v in values if v is not None]
    if not present or len(present) < len(values):
        return None
    n = len(present)
    mean = math.fsum(present) / n
    if n == 1:
        return Interval(mean, None)
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in present) / (n - 1))
    t = _T[n - 2] if n - 2 < len(_T) else 1.96 + 2.5 / (n - 1)
    return Interval(mean, t * spread / math.sqrt(n))
