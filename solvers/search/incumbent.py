"""What all stages of a search share: the best schedule so far, and what may still be spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.checkers.schedule import require_valid
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import Progress, ProgressCallback


@dataclass(frozen=True, slots=True)
class Step:
    """One improvement: when (seconds, moves), to which TEL, by which stage."""

    seconds: float
    moves: int
    tel: int
    stage: str


class Incumbent:
    """The best checked schedule, and how it came about. A working state: it changes as the search goes on."""

    __slots__ = ("_clock", "_progress", "moves", "problem", "schedule", "steps", "target", "tel")

    def __init__(
        self,
        problem: Problem,
        schedule: Schedule,
        clock: Deadline,
        target: int | None,
        progress: ProgressCallback | None,
    ) -> None:
        self.problem, self.schedule, self.tel = problem, schedule, require_valid(problem, schedule)
        self.moves, self.target = 0, target
        self.steps = [Step(clock.elapsed, 0, self.tel, "start")]
        self._clock, self._progress = clock, progress

    def offer(self, start: IntArray, worker: IntArray, stage: str) -> bool:
        """Take a schedule if it is better; whatever becomes the incumbent has passed the checker."""
        r = self.problem.requests
        if int((start + r.output - r.arrival).sum()) >= self.tel:
            return False
        schedule = Schedule(np.array(start, np.int64), np.array(worker, np.int64))
        self.tel, self.schedule = require_valid(self.problem, schedule), schedule
        self.steps.append(Step(self._clock.elapsed, self.moves, self.tel, stage))
        self.report(stage)
        return True

    def report(self, stage: str) -> None:
        """Tell the caller where the search is."""
        if self._progress is not None:
            self._progress(Progress(f"improving: {stage}", self._clock.elapsed, self.tel, self.target))

    @property
    def proved(self) -> bool:
        """Whether the target, a proven lower bound, is met."""
        return self.target is not None and self.tel <= self.target

    def order(self) -> IntArray:
        """The requests in order of start (ties: shorter output first), shape (n,)."""
        return np.lexsort((self.problem.requests.output, self.schedule.start)).astype(np.int64)


class Budget:
    """What a stage may spend: moves, or time, or both. A working state.

    With moves alone nothing depends on the clock, so that the same seed gives the same answer.
    """

    __slots__ = ("_first", "_most", "_rate", "clock", "incumbent")

    def __init__(self, incumbent: Incumbent, clock: Deadline, moves: int | None) -> None:
        self.incumbent, self.clock = incumbent, clock
        self._first, self._most = incumbent.moves, moves
        self._rate = 0.0

    @property
    def over(self) -> bool:
        """Whether to stop: nothing left, or the incumbent is proved optimal."""
        spent = self._most is not None and self.incumbent.moves - self._first >= self._most
        return spent or self.clock.passed or self.incumbent.proved

    @property
    def fraction(self) -> float:
        """How much is spent, from 0 to 1; 0 without any limit."""
        of_moves = 0.0 if self._most is None else (self.incumbent.moves - self._first) / max(1, self._most)
        of_time = 0.0 if not self.clock.seconds else self.clock.elapsed / self.clock.seconds
        return min(1.0, max(of_moves, of_time))

    def spend(self, moves: int, seconds: float) -> None:
        """Book `moves` that took `seconds`; the latest speed counts most."""
        self.count(moves)
        speed = moves / max(seconds, 1e-9)
        self._rate = speed if self._rate == 0.0 else 0.5 * (self._rate + speed)

    def count(self, moves: int) -> None:
        """Book `moves` that say nothing about the speed of the others."""
        self.incumbent.moves += moves

    @property
    def room_of_moves(self) -> float:
        """Moves left by count; infinitely many without a limit on them."""
        return np.inf if self._most is None else float(self.left)

    def moves_in(self, seconds: float) -> float:
        """Moves that `seconds` pay for; infinitely many without a time limit, so that nothing depends on the clock."""
        return np.inf if self.clock.seconds is None else seconds * self._rate

    def room(self, fraction: float) -> float:
        """Moves that `fraction` of what is left pays for, at the speed so far (no limit: infinitely many)."""
        by_moves, by_time = self.room_of_moves, np.inf
        left = self.clock.remaining
        if left is not None and self._rate > 0:
            by_time = left * self._rate
        return float(fraction * min(by_moves, by_time))

    def share(self, fraction: float) -> Budget:
        """A part of what is left, for one stage."""
        most = None if self._most is None else int(fraction * self.left)
        return Budget(self.incumbent, self.clock.share(fraction), most)

    @property
    def left(self) -> int:
        """Moves left; only with a limit on them."""
        assert self._most is not None
        return max(0, self._most - (self.incumbent.moves - self._first))
