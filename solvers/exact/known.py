"""What is known before a backend starts, and what a backend answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvbound.checkers import Certificate, require_valid
from kvbound.models.formulations.cuts import PLAIN, AllowedStarts, Cuts
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.exact.outcome import Termination


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A backend's start.

    Parameters
    ----------
    incumbent, tel
        A checked schedule (the warm start) and its objective, or None: TEL, or minus the reward.
    bound, proved_by, certificate
        A lower bound, its prover and its certificate, or None.
    cuts
        Valid inequalities and symmetry rules for the formulation.
    horizon
        Steps of the model; None for `Problem.horizon`.
    allowed, cutoff
        Starts that remain; schedules with an objective ≥ `cutoff` may be missing from the restricted model.
    """

    incumbent: Schedule | None = None
    tel: int | None = None
    bound: int | None = None
    proved_by: str = ""
    certificate: Certificate | None = None
    cuts: Cuts = PLAIN
    horizon: int | None = None
    allowed: AllowedStarts | None = None
    cutoff: int | None = None

    def with_schedule(self, problem: Problem, schedule: Schedule) -> Known:
        """Take `schedule` when it is better; it is checked first (`ScheduleError` when it is not valid)."""
        tel = require_valid(problem, schedule)
        return self if self.tel is not None and self.tel <= tel else replace(self, incumbent=schedule, tel=tel)

    def with_bound(self, bound: int | None, proved_by: str, certificate: Certificate | None = None) -> Known:
        """Take `bound` when it is better."""
        if bound is None or (self.bound is not None and self.bound >= bound):
            return self
        return replace(self, bound=bound, proved_by=proved_by, certificate=certificate)

    @property
    def closed(self) -> bool:
        """Whether bound and incumbent meet."""
        return self.tel is not None and self.bound == self.tel

    def reached(self, gap: float) -> bool:
        """Whether the incumbent is proved to be within the relative `gap`."""
        if self.tel is None or self.bound is None:
            return False
        return self.tel - self.bound <= gap * abs(self.bound)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a backend found: `bound` is None when it proved none, `schedule` None when it has none."""

    termination: Termination
    schedule: Schedule | None
    bound: int | None
    native: str
    build_seconds: float
    solve_seconds: float
