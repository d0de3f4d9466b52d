"""One door to the bounds on REWARD."""

from __future__ import annotations

import functools

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.reward import Reward
from kvbound.solvers.bounds.reward.lagrangian import reward_prices
from kvbound.solvers.bounds.reward.linear_program import solve_reward_lp
from kvbound.solvers.bounds.reward.mean_eel import mean_eel_bound
from kvbound.solvers.bounds.reward.result import RewardBound, reward_of
from kvbound.solvers.bounds.reward.rounding import certify_reward
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import ProgressCallback

#: Methods by name, with one line for help texts.
METHODS: dict[str, str] = {
    "lp": "the pooled LP and its duals, by HiGHS; small",
    "lagrangian": "the same bound by prices; any size",
}


def reward_bound(
    problem: Problem,
    method: str = "lagrangian",
    *,
    deadline: Deadline,
    progress: ProgressCallback | None = None,
) -> RewardBound:
    """Return an upper bound on the reward whose certificate has been verified in exact integer arithmetic.

    Parameters
    ----------
    problem
        Objective REWARD; any arrivals, batch sizes and mix of workers (pooled by kind, docs/math.md §6).
    method
        One of `METHODS`.
    deadline
        ``lagrangian`` stops there with the best prices so far, or earlier when they no longer gain.
    progress
        Called now and then.

    Raises
    ------
    OptionError
        Unknown method, or another objective.
    SizeError, LimitError
        ``lp``: it is too large, or HiGHS found no optimum in time.
    """
    began = deadline.elapsed
    reward = reward_of(problem)
    if method not in METHODS:
        raise OptionError(f"unknown method {method!r} of a reward bound; known: {', '.join(METHODS)}")
    if method == "lp":
        lp = solve_reward_lp(problem, deadline=deadline)
        raw, prices, iterations = lp.value, lp.prices, lp.iterations
    else:
        raw, prices, iterations = reward_prices(problem, deadline, progress)
    certificate = certify_reward(problem, method, prices)
    assert certificate.value is not None
    seconds = deadline.elapsed - began
    return RewardBound(method, certificate.value, reward.denominator, raw, prices, certificate, seconds, iterations)


@functools.cache
def prepare() -> None:
    """Load the compiled kernels before a clock starts: compiling them, once, must not eat a limit."""
    problem = Problem(Requests(np.array([1, 2]), np.array([2, 2])), Fleet((5,), (2,)), Reward(4, eel=1))
    reward_bound(problem, deadline=Deadline(None))
    mean_eel_bound(problem, deadline=Deadline(None))
