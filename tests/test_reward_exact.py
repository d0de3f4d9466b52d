"""Exact optima of REWARD: every method against brute force, and what the front says about other methods."""

from __future__ import annotations

import random

import pytest
from reward_cases import draw, optimum

from kvbound.checkers import require_valid
from kvbound.models import Fleet, OptionError, Problem, Requests, Reward
from kvbound.models.formulations import Cuts
from kvbound.models.formulations.cp_staircase import build_staircase
from kvbound.models.weights import LevelsWeight, LinearWeight
from kvbound.solvers.exact import SolutionStatus, SolveConfig, Termination, solve

CONFIG = SolveConfig(time_limit=60.0, threads=1)
STAGGER = Cuts(stagger=(LevelsWeight(1, 0), LevelsWeight(1, 2), LevelsWeight(3, 1), LinearWeight(1, 4, 2)))
METHODS = ("highs", "cp-sat", "pyomo", "auto")


def compare(method: str, seed: int, number: int, most: int = 6, horizon: int = 8) -> None:
    rng = random.Random(seed)
    for _ in range(number):
        problem = draw(rng, most, horizon)
        best = optimum(problem)
        switches = (None, STAGGER) if method == "highs" else (None,)
        for cuts in switches:
            result = solve(problem, method=method, config=CONFIG, cuts=cuts)
            where = (method, problem.requests, problem.fleet, problem.objective)
            assert (result.reward, result.reward_bound) == (best, best), where
            assert (result.termination, result.status) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL), where
            assert result.tel is None
            assert result.schedule is not None
            assert result.objective == require_valid(problem, result.schedule)


@pytest.mark.parametrize("method", METHODS)
def test_a_few_random_rewards(method: str) -> None:
    compare(method, 1, 12, 5)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(10, 13))
def test_many_random_rewards(method: str, seed: int) -> None:
    compare(method, seed, 80)


@pytest.mark.slow
def test_eight_requests_on_two_workers() -> None:
    for method in ("highs", "cp-sat"):
        compare(method, 99, 12, 8, 7)


def test_an_early_stop_says_what_it_has() -> None:
    rng = random.Random(4)
    requests = Requests(*([rng.randint(1, 9) for _ in range(60)] for _ in range(2)))
    problem = Problem(requests, Fleet((20, 25), (3, None)), Reward.preset("average", 60))
    result = solve(problem, config=SolveConfig(time_limit=60.0, threads=1, memory_limit=1))
    assert result.termination is Termination.MEMORY_LIMIT
    assert result.reward is not None
    assert result.reward_bound is not None
    assert 0 < result.reward <= result.reward_bound
    assert result.certificate is not None
    assert result.gap == pytest.approx(float((result.reward_bound - result.reward) / result.reward_bound))


def test_nothing_arrives_in_time() -> None:
    problem = Problem(Requests([1, 1], [2, 2], [5, 9]), Fleet((4,)), Reward(5, served=1))
    for method in METHODS:
        result = solve(problem, method=method, config=CONFIG)
        assert (result.reward, result.reward_bound, result.gap) == (0, 0, None)
        assert result.status is SolutionStatus.OPTIMAL


def test_other_methods_refuse_rewards() -> None:
    problem = Problem(Requests([1], [2]), Fleet((4,)), Reward(5, served=1))
    for method in ("search", "end-event"):
        with pytest.raises(OptionError, match=r"minimises TEL; for REWARD take auto, highs, cp-sat, pyomo"):
            solve(problem, method=method, config=CONFIG)
    with pytest.raises(OptionError, match="where a horizon cuts footprints"):
        build_staircase(problem, cuts=Cuts(separation=True))
