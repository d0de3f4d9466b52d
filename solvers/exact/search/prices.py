"""Prices of the requests: subgradient ascent of the positional relaxation."""

from __future__ import annotations

import numpy as np

from kvbound.models.requests import IntArray, volume
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.search.relaxation import SCALE, Relaxation

#: Share of the old direction that is kept.
MOMENTUM = 0.75
#: First step length; it shrinks after three evaluations without progress.
FIRST_STEP, SHRINK, LEAST_STEP = 0.6, 0.6, 1e-3


class Ascent:
    """Subgradient ascent that can be paused.

    Parameters
    ----------
    relaxation
        Whose bound is raised.
    price
        Where to start (units of 1/SCALE); None: half of the other requests wait for the memory that a request occupies.
    evaluations
        Stop after so many.

    Attributes
    ----------
    price, bound
        Best prices so far (None before the first evaluation) and the bound on TEL + Σ a_j that they give, valid for
        all schedules better than the `upper` values handed to the methods.
    finished
        Whether more evaluations would not help.
    """

    def __init__(self, relaxation: Relaxation, price: IntArray | None, evaluations: int) -> None:
        work = relaxation.work
        self.relaxation = relaxation
        self.price: IntArray | None = None
        self.bound = 0
        self.finished = False
        self._left = evaluations
        self._best = -np.inf
        self._step, self._stall = FIRST_STEP, 0
        self._direction = np.zeros(work.n)
        if price is None:
            self._point = volume(work.peak - work.output, work.output) / work.memory * (work.n / 2)
        else:
            self._point = price / SCALE

    def advance(self, evaluations: int, upper: int | None, deadline: Deadline) -> None:
        """Make up to `evaluations` steps; stop early when the bound meets `upper` or the deadline passes."""
        for _ in range(min(evaluations, self._left)):
            self._left -= 1
            # Sums stay below a quarter of `big`: negative prices must never pass for "no schedule left".
            most = self.relaxation.big // (4 * len(self._point))
            trial = np.clip(np.rint(self._point * SCALE), -most, most).astype(np.int64)
            raw = self.relaxation.evaluate(trial, deadline)
            if raw is None:
                return
            if raw >= self.relaxation.big // 2:  # no schedule better than the incumbent is left
                assert upper is not None
                self.price, self.bound, self.finished = trial, upper, True
                return
            self._note(raw, trial)
            if upper is not None and self.bound >= upper:
                break
            gradient = 1.0 - self.relaxation.visits()
            norm = float(gradient @ gradient)
            if norm == 0 or self._step < LEAST_STEP:
                self.finished = True
                return
            value = raw / SCALE
            aim = max(1.02 * self._best - value, 1.0)
            if upper is not None:
                aim = min(aim, max(upper - value, 1.0))
            self._direction = MOMENTUM * self._direction + gradient
            self._point = self._point + 0.4 * self._step * aim / norm * self._direction
        self.finished = self.finished or self._left == 0

    def _note(self, raw: int, trial: IntArray) -> None:
        if raw / SCALE > self._best:
            self._best, self.price, self._stall = raw / SCALE, trial, 0
            self.bound = max(self.bound, -(-raw // SCALE))
            return
        self._stall += 1
        if self._stall == 3:
            self._step, self._stall = SHRINK * self._step, 0

    def settle(self, upper: int | None, deadline: Deadline) -> bool:
        """Put the best prices into the table and drop the states that cannot beat `upper`; False when time ran out."""
        assert self.price is not None
        fresh = self.relaxation.complete and np.array_equal(self.relaxation.price, self.price)
        if not fresh and self.relaxation.evaluate(self.price, deadline) is None:
            return False
        if upper is not None:
            self.relaxation.prune(upper - 1)
        return True
