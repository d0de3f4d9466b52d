"""What an experiment states: one row per figure and setting, with the published figure beside ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict

from kvbound.statistics import interval

Statistic = Literal["mean", "max", "share"]
#: stated: as near to the published setting as its description allows; reading: one ambiguous parameter read
#: otherwise; traces: with rows of real traces; sensitivity: a point of a curve.
Role = Literal["stated", "reading", "traces", "sensitivity"]
_STRICT = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Published:
    """A published figure: a number (`low` = `high`) or a range."""

    __pydantic_config__ = _STRICT
    low: float
    high: float

    @classmethod
    def of(cls, low: float, high: float | None = None) -> Published:
        """A number, or a range."""
        return cls(low, low if high is None else high)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure over seeds.

    Parameters
    ----------
    statistic
        `mean`: with Student's t interval at 95 %; `share` of trials, 0..1: with the Agresti–Coull half width, which is
        not 0 when all trials agree; `max`: the largest value.
    value, half
        The figure; half width of its interval, None for `max` and for fewer than two values.
    values
        One per seed, in the order of the seeds.
    """

    __pydantic_config__ = _STRICT
    statistic: Statistic
    value: float
    half: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], statistic: Statistic = "mean") -> Estimate:
        """Summarise one value per seed."""
        numbers = tuple(float(v) for v in values)
        found = interval(numbers)
        assert found is not None, "an estimate needs a value"
        if statistic == "max":
            return cls(statistic, max(numbers), None, numbers)
        if statistic == "share":
            trials = len(numbers) + 4
            centre = (sum(numbers) + 2) / trials
            return cls(statistic, found.mean, 1.96 * math.sqrt(centre * (1 - centre) / trials), numbers)
        return cls(statistic, found.mean, found.half, numbers)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    series
        What is judged: a policy, a router, or what MC-SF is compared with.
    figure
        What is measured of it, in words and formulas.
    unit
        `` (a ratio), `%`, or `share`.
    published, ours
        The published figure, None where none is published; ours.
    setting
        How it was measured, complete enough to do it again.
    why
        Why the two differ, or what the row shows.
    role
        What the setting is.
    """

    __pydantic_config__ = _STRICT
    series: str
    figure: str
    unit: Literal["", "%", "share"]
    published: Published | None
    ours: Estimate
    setting: str
    why: str
    role: Role


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one experiment found.

    Parameters
    ----------
    name, title, paper
        As registered.
    rows, conclusions
        The table; sentences about it, made of its figures.
    skipped
        What could not be done and why (missing traces).
    quick, complete
        Whether it was the short version; False when Ctrl-C ended it.
    seconds, cpu_seconds
        Wall and processor time.
    schedules, certificates
        Schedules and executions that passed the checker; bounds whose certificate was verified in exact integers.
    date, version, cores
        Day of the run, version of kvbound, cores of the machine.
    """

    __pydantic_config__ = _STRICT
    name: str
    title: str
    paper: str
    rows: tuple[Row, ...]
    conclusions: tuple[str, ...]
    skipped: tuple[str, ...]
    quick: bool
    complete: bool
    seconds: float
    cpu_seconds: float
    schedules: int
    certificates: int
    date: str
    version: str
    cores: int
