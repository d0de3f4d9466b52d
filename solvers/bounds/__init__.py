"""Bounds that carry their proof: on TEL from below (docs/math.md §5), on REWARD from above (§6)."""

from kvbound.solvers.bounds.ladder import METHODS, bound, prepare
from kvbound.solvers.bounds.reduced import ReducedCosts, reduced_costs
from kvbound.solvers.bounds.result import BoundResult
from kvbound.solvers.bounds.reward import MeanEelBound, RewardBound, mean_eel_bound, reward_bound

__all__ = [
    "METHODS",
    "BoundResult",
    "MeanEelBound",
    "ReducedCosts",
    "RewardBound",
    "bound",
    "mean_eel_bound",
    "prepare",
    "reduced_costs",
    "reward_bound",
]
