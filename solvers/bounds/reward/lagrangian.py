"""Prices for the reward bound at scale: dual ascent on a sample and a coarse grid first, then on everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from kvbound.models.problem import Problem
from kvbound.solvers.bounds.ascent import Incumbent, climb
from kvbound.solvers.bounds.reward.dual import RewardDual
from kvbound.solvers.bounds.reward.result import RewardPrices
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from kvbound.solvers.bounds.dual import Dual

#: Prices per resource and kind on the first grid.
_FIRST_BLOCKS = 256
#: Requests in the smallest sample.
_LEAST_SAMPLE = 1000
#: First and last smoothing, relative to the mean reward of a request.
_FIRST_SMOOTHING, _LAST_SMOOTHING = 4e-3, 2e-5
#: Ascent steps per stage, and the relative gain of ten steps below which a stage ends.
_STEPS, _TOLERANCE = 60, 1e-5


class _Search:
    """Prices on their way down a ladder of samples, grids and smoothings."""

    def __init__(self, problem: Problem, deadline: Deadline, progress: ProgressCallback | None) -> None:
        self.problem, self.deadline, self.progress = problem, deadline, progress
        block = 1 << max(0, (problem.horizon // _FIRST_BLOCKS).bit_length() - 1)
        every = 1 << max(0, (problem.n // _LEAST_SAMPLE).bit_length() - 1)
        self.evaluations = 0
        self.dual = RewardDual(problem, block, every)
        self.best = Incumbent(-np.inf, np.zeros(self.dual.size))
        self._constant()
        self.prices = self.best.prices.copy()

    @property
    def mean(self) -> float:
        """Bound per request: the scale of the smoothing."""
        return max(1e-9, -self.best.value / max(1, int(self.dual.count.sum())))

    def _constant(self) -> None:
        """Start from the best constant price, found by halving from one that nobody can pay."""
        dual = self.dual
        free = dual.evaluate(np.zeros(dual.size), 0.0, gradient=False).hard
        self.best.offer(free, np.zeros(dual.size))
        # At this price all capacity over the horizon costs as much as all rewards together.
        price = -free / max(1.0, float(dual.number.sum()) * dual.steps)
        for _ in range(12):
            if self.deadline.passed:
                return
            self.best.offer(
                dual.evaluate(np.full(dual.size, price), 0.0, gradient=False).hard, np.full(dual.size, price)
            )
            price *= 0.5

    def stage(self, smoothing: float) -> None:
        """Climb at one smoothing, on the present sample and grid."""
        before = self.dual.evaluations
        self.prices = climb(cast("Dual", self.dual), self.prices, smoothing * self.mean, self.best, steps=_STEPS,
                            tolerance=_TOLERANCE, deadline=self.deadline)  # fmt: skip
        self.evaluations += self.dual.evaluations - before
        if self.progress is not None:
            self.progress(Progress("reward prices", self.deadline.elapsed, None, None))

    def move(self, block: int, every: int) -> None:
        """Change grid or sample; prices stay the same step by step."""
        factor = self.dual.block // block
        now, kept = (
            self._finer(prices, factor, -(-self.dual.steps // block)) for prices in (self.prices, self.best.prices)
        )
        self.dual = RewardDual(self.problem, block, every)
        self.prices = now
        self.best = Incumbent(self.dual.evaluate(kept, 0.0, gradient=False).hard, kept)

    def _finer(self, prices: FloatArray, factor: int, blocks: int) -> FloatArray:
        parts = np.split(prices, len(self.dual.rows))
        return np.concatenate([np.repeat(part, factor)[:blocks] for part in parts])


def reward_prices(
    problem: Problem, deadline: Deadline, progress: ProgressCallback | None = None
) -> tuple[float, RewardPrices, int]:
    """Return (bound, prices, evaluations): the bound in floating point, in units of 1 / denominator of the weights.

    The last tenth of the time is left for rounding and exact verification.
    """
    search = _Search(problem, deadline.share(0.9), progress)
    smoothing = _FIRST_SMOOTHING
    while not search.deadline.passed:
        search.stage(smoothing)
        block, every = max(1, search.dual.block // 2), max(1, search.dual.every // 2)
        if smoothing <= _LAST_SMOOTHING and (block, every) == (search.dual.block, search.dual.every):
            break
        smoothing = max(_LAST_SMOOTHING, 0.5 * smoothing)
        if (block, every) != (search.dual.block, search.dual.every):
            search.move(block, every)
    if search.dual.every > 1:  # out of time on a sample: its prices, valued on all requests
        search.move(search.dual.block, 1)
    return -search.best.value, search.dual.per_step(search.best.prices), search.evaluations
