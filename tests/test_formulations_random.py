"""Every formulation against brute force: arrivals, batch caps, two workers (equal and unequal), identical requests."""

from __future__ import annotations

import random

import pytest
from reference import brute_force

from kvbound.instances import load
from kvbound.models import Fleet, Problem, Requests
from kvbound.models.formulations import PLAIN, Cuts
from kvbound.models.formulations.pyomo_model import build_pyomo
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
TIME_INDEXED_CUTS = Cuts(stagger=(*LEVELS, LinearWeight(1, 4, 2)), symmetry=True)
SWITCHES = {
    "highs": (PLAIN, TIME_INDEXED_CUTS),
    "pyomo": (PLAIN, TIME_INDEXED_CUTS),
    "cp-sat": (PLAIN, ALL_CUTS),
    "end-event": (PLAIN, ALL_CUTS),
    "search": (None,),
    "auto": (None,),
}


def draw(rng: random.Random, most: int) -> Problem:
    """A random problem."""
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
    return Problem(Requests(prompt, output, arrival), Fleet(tuple(sizes), tuple(caps)))


def optimum_of(problem: Problem) -> int:
    r, fleet = problem.requests, problem.fleet
    return brute_force(r.prompt.tolist(), r.output.tolist(), fleet.memory, r.arrival.tolist(), fleet.batch)


def require_optimum(result: Result, optimum: int, problem: Problem) -> None:
    where = (result.method, problem.requests, problem.fleet)
    assert (result.tel, result.bound, result.gap) == (optimum, optimum, 0), where
    assert result.termination is Termination.OPTIMAL, where
    assert result.status is SolutionStatus.OPTIMAL


def compare(method: str, seed: int, number: int, most: int) -> None:
    rng = random.Random(seed)
    for _ in range(number):
        problem = draw(rng, most)
        optimum = optimum_of(problem)
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


MANY_SEEDS, MANY = range(10, 14), 80


@pytest.mark.slow
@pytest.mark.parametrize("method", SWITCHES)
@pytest.mark.parametrize("seed", MANY_SEEDS)
def test_many_random_problems(method: str, seed: int) -> None:
    compare(method, seed, MANY, 6)


def test_every_kind_is_among_the_many() -> None:
    problems = [draw(rng, 6) for rng in map(random.Random, MANY_SEEDS) for _ in range(MANY)]
    assert len(problems) > 300
    for some in (
        [p for p in problems if len(p.fleet) == 2],
        [p for p in problems if any(cap is not None for cap in p.fleet.batch)],
        [p for p in problems if p.requests.arrival.any()],
        [p for p in problems if p.n >= 5],
    ):
        assert len(some) >= 80


def test_pyomo_gives_up_while_it_builds() -> None:
    problem = load("tiny:n=40,seed=1").problem
    result = solve(problem, method="pyomo", config=SolveConfig(time_limit=0.5, threads=1, memory_limit=1 << 36))
    assert (result.termination, result.status) == (Termination.TIME_LIMIT, SolutionStatus.NONE)
    assert result.native == "not started"  # the whole model takes a minute to build
    assert (result.schedule, result.bound) == (None, None)


def test_pyomo_solves_without_feasibility_jump_too(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load("tiny:n=4,seed=0").problem
    usual = solve(problem, method="pyomo", config=CONFIG)
    monkeypatch.setattr("kvbound.solvers.exact.pyomo_highs._JUMP_SECONDS", 1e9)
    require_optimum(solve(problem, method="pyomo", config=CONFIG), optimum_of(problem), problem)
    require_optimum(usual, optimum_of(problem), problem)


def test_a_pyomo_build_can_be_stopped_at_every_point() -> None:
    problem = Problem(Requests([1, 2], [2, 3]), Fleet((6,), (2,)))
    looks: list[None] = []
    build_pyomo(problem, watch=lambda: looks.append(None))
    columns = sum(problem.horizon - problem.requests.output + 1)
    assert len(looks) > 2 * columns  # each for memory and for batch
    for last in range(len(looks)):
        left = iter(range(last))
        with pytest.raises(StopIteration):
            build_pyomo(problem, watch=lambda left=left: next(left))  # type: ignore[misc]
