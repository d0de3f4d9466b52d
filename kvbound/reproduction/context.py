"""What an experiment gets: its scale, where traces are, and a count of what was checked."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from kvbound.checkers import require_valid, verify
from kvbound.checkers.certificate import Certificate
from kvbound.models.errors import ScheduleError
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import resolve, run_policy
from kvbound.solvers.progress import Progress, ProgressCallback

#: Environment variable that names the folder of the trace files.
TRACES = "KVBOUND_TRACES"
#: The smallest run that still goes through every line, for tests.
TINY = "tiny"
T = TypeVar("T")


def find_traces() -> Path | None:
    """The folder that the environment variable KVBOUND_TRACES names, or None."""
    named = os.environ.get(TRACES)
    return Path(named) if named and Path(named).is_dir() else None


class Context:
    """Scale of a run (`quick`, `full` or `tiny`), number of seeds, traces; counts what was checked and verified."""

    def __init__(
        self,
        scale: str = "full",
        seeds: int | None = None,
        *,
        traces: Path | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.scale, self.traces = scale, traces
        self._seeds, self._progress, self._begin = seeds, progress, time.perf_counter()
        self.schedules = self.certificates = 0
        self.skipped: list[str] = []
        self.stop: list[int] = []

    def pick(self, quick: T, full: T, tiny: T | None = None) -> T:
        """The value for this scale."""
        if self.scale == TINY and tiny is not None:
            return tiny
        return full if self.scale == "full" else quick

    def seeds(self, quick: int, full: int) -> range:
        """The seeds: as asked for on the command line, else by scale."""
        return range(self._seeds if self._seeds is not None else self.pick(quick, full, 2))

    def tell(self, stage: str) -> None:
        """Report progress; end here when Ctrl-C came (`stop`) and the work before swallowed it and returned early."""
        if self.stop:
            raise KeyboardInterrupt
        if self._progress is not None:
            self._progress(Progress(stage, time.perf_counter() - self._begin, None, None))

    def trace(self, name: str) -> Path | None:
        """A trace file, or None with a visible note."""
        path = None if self.traces is None else self.traces / name
        if path is not None and path.is_file():
            return path
        note = f"no {name}: set {TRACES} to the folder of the trace files for these rows"
        if note not in self.skipped:
            self.skipped.append(note)
        return None

    def tels(self, problems: Sequence[Problem], policy: str) -> list[int]:
        """TEL of a policy on each problem; every schedule has passed the checker (`run_policy`)."""
        (chosen,) = resolve([policy])
        found = []
        for problem in problems:
            run = run_policy(problem, chosen, seed=0)
            if run.tel is None:
                raise ScheduleError(f"{problem.name}: {policy} declined: {run.declined}")
            self.schedules += 1
            found.append(run.tel)
        return found

    def judged(self, problem: Problem, schedule: Schedule) -> int:
        """TEL of a schedule, after the checker."""
        self.schedules += 1
        return require_valid(problem, schedule)

    def bound(self, problem: Problem, method: str, seconds: float, upper: int | None = None) -> int:
        """A lower bound on TEL whose certificate was verified in exact integers, here once more."""
        found = bound(problem, method, deadline=Deadline(seconds), upper=upper)
        assert found.certificate is not None, f"{method} gave no certificate"
        return self.verified(problem, found.certificate)

    def verified(self, problem: Problem, certificate: Certificate) -> int:
        """Value of a certificate, recomputed."""
        self.certificates += 1
        return verify(problem, certificate)
