"""Upper bounds on REWARD and lower bounds on a fleet's mean EEL, each with its certificate (docs/math.md §6)."""

from kvbound.solvers.bounds.reward.front import METHODS, prepare, reward_bound
from kvbound.solvers.bounds.reward.linear_program import RewardLp, solve_reward_lp
from kvbound.solvers.bounds.reward.mean_eel import MeanEelBound, mean_eel_bound
from kvbound.solvers.bounds.reward.result import RewardBound, RewardPrices

__all__ = [
    "METHODS",
    "MeanEelBound",
    "RewardBound",
    "RewardLp",
    "RewardPrices",
    "mean_eel_bound",
    "prepare",
    "reward_bound",
    "solve_reward_lp",
]
