"""Prices for the reward bound at scale (docs/math.md §6)."""

from __future__ import annotations

from kvbound.models.problem import Problem
from kvbound.solvers.bounds.reward.dual import RewardDual
from kvbound.solvers.bounds.reward.ladder import Rung, climb_ladder
from kvbound.solvers.bounds.reward.result import RewardPrices
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import Progress, ProgressCallback

#: First and last smoothing, relative to the mean reward of a request.
_SMOOTHING = (4e-3, 2e-5)


def reward_prices(
    problem: Problem, deadline: Deadline, progress: ProgressCallback | None = None
) -> tuple[float, RewardPrices, int]:
    """Return (bound, prices, evaluations): the bound in floating point, in units of 1 / denominator of the weights.

    The last tenth of the time is left for rounding and exact verification.
    """

    def make(block: int, every: int) -> Rung:
        dual = RewardDual(problem, block, every)
        return Rung(dual, (dual.blocks,) * len(dual.rows), int(dual.count.sum()))

    def report(value: float) -> None:
        if progress is not None:
            progress(Progress("reward prices", deadline.elapsed, None, None))

    top = climb_ladder(make, problem.horizon, problem.n, _SMOOTHING, deadline.share(0.9), report)
    assert isinstance(top.dual, RewardDual)
    return -top.value, top.dual.per_step(top.prices), top.evaluations
