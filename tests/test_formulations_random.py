"""Every formulation against brute force: arrivals, batch caps, two workers (equal and unequal), identical requests."""

from __future__ import annotations

import random

import pytest
from reference import brute_force

from kvbound.models import Fleet, Problem, Requests
from kvbound.models.formulations import PLAIN, Cuts
from kvbound.models.formulations.unit_outputs import is_unit, positional_bound
from kvbound.models.weights import LevelsWeight, LinearWeight
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolutionStatus, SolveConfig, Termination, solve
from kvbound.solvers.exact.front import backends
from kvbound.solvers.exact.known import Known
from kvbound.solvers.exact.outcome import Result
from kvbound.solvers.exact.search_method import search_fits

CONFIG = SolveConfig(time_limit=60.0, threads=1)
LEVELS = (LevelsWeight(1, 0), LevelsWeight(1, 2), LevelsWeight(2, 1), LevelsWeight(3, 3))
ALL_CUTS = Cuts(True, LEVELS, True)
SWITCHES = {
    "highs": (PLAIN, Cuts(stagger=(*LEVELS, LinearWeight(1, 4, 2)), symmetry=True)),
    "cp-sat": (PLAIN, ALL_CUTS),
    "end-event": (PLAIN, ALL_CUTS),
    "search": (None,),
    "auto": (None,),
}


def draw(rng: random.Random, most: int) -> tuple[Problem, int]:
    """A random problem and its optimum."""
    workers = rng.choice([1, 1, 2])
    n, memory = rng.randint(1, most if workers == 1 else most - 1), rng.randint(4, 9)
    prompt = [rng.randint(0, 3) for _ in range(n)]
    longest = rng.choice([1, 3, 5, 5])
    output = [rng.randint(1, min(longest, memory - s)) for s in prompt]
    arrival = [rng.randint(0, 4) if rng.random() < 0.7 else 0 for _ in range(n)] if rng.random() < 0.4 else [0] * n
    if n > 1 and rng.random() < 0.3:
        prompt[1], output[1], arrival[1] = prompt[0], output[0], arrival[0]
    sizes = [memory] + [memory + rng.choice([0, 0, 1, 3])] * (workers - 1)
    caps = [rng.choice([None, None, 1, 2, 3]) for _ in range(workers)]
    problem = Problem(Requests(prompt, output, arrival), Fleet(tuple(sizes), tuple(caps)))
    return problem, brute_force(prompt, output, sizes, arrival, caps)


def require_optimum(result: Result, optimum: int, problem: Problem) -> None:
    where = (result.method, problem.requests, problem.fleet)
    assert (result.tel, result.bound, result.gap) == (optimum, optimum, 0), where
    assert result.termination is Termination.OPTIMAL, where
    assert result.status is SolutionStatus.OPTIMAL


def compare(method: str, seed: int, number: int, most: int) -> None:
    rng = random.Random(seed)
    for _ in range(number):
        problem, optimum = draw(rng, most)
        if method == "search" and not search_fits(problem):
            continue
        for cuts in SWITCHES[method]:
            require_optimum(solve(problem, method=method, config=CONFIG, cuts=cuts), optimum, problem)
        if is_unit(problem):
            answer = backends()["unit-outputs"](problem, CONFIG, Known(), Deadline(60.0), None)
            assert answer.bound == optimum
            assert positional_bound(problem) <= optimum


@pytest.mark.parametrize("method", SWITCHES)
def test_a_few_random_problems(method: str) -> None:
    compare(method, 1, 40, 4)


@pytest.mark.slow
@pytest.mark.parametrize("method", SWITCHES)
@pytest.mark.parametrize("seed", range(4))
def test_many_random_problems(method: str, seed: int) -> None:
    compare(method, 10 + seed, 80, 6)


def test_pyomo_on_random_problems() -> None:
    rng = random.Random(5)
    for _ in range(4):
        problem, optimum = draw(rng, 3)
        require_optimum(solve(problem, method="pyomo", config=CONFIG), optimum, problem)
