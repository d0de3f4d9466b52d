"""The two certified bounds that routers are measured against: on the reward, and on Σ EEL."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvbound.checkers.certificate import Certificate
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.solvers.bounds.reward import mean_eel_bound, prepare, reward_bound
from kvbound.solvers.bounds.reward.result import RewardPrices
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import ProgressCallback


@dataclass(frozen=True, slots=True, eq=False)
class BoundPair:
    """No schedule earns more than `reward`, none that serves every request has a smaller Σ EEL than `total_eel`.

    Parameters
    ----------
    reward
        In units of 1 / denominator of the weights; None without a bound.
    total_eel
        Steps, None without a bound.
    prices
        The prices behind the reward bound, or None.
    seconds
        Wall time of both.
    certificates
        The proofs of the two, in this order.
    """

    reward: int | None
    total_eel: int | None
    prices: RewardPrices | None
    seconds: float
    certificates: tuple[Certificate, ...] = ()


NO_BOUND = BoundPair(None, None, None, 0.0)


def prove_bounds(
    problem: Problem, objective: Reward, time_limit: float | None, progress: ProgressCallback | None = None
) -> BoundPair:
    """Both bounds, each with its certificate verified in exact integers; `time_limit` seconds for each."""
    prepare()
    rewarded = replace(problem, objective=objective)
    reward = reward_bound(rewarded, deadline=Deadline(time_limit), progress=progress)
    eel = mean_eel_bound(problem, deadline=Deadline(time_limit), progress=progress)
    proofs = (reward.certificate, eel.certificate)
    return BoundPair(reward.value, eel.tel, reward.prices, reward.seconds + eel.seconds, proofs)
