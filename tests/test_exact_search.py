"""The dedicated search: equal to brute force, published optima, bounds valid at any price, anytime behaviour."""

from __future__ import annotations

import numpy as np
import pytest
from brute import optimum

from kvbound.checkers import require_valid
from kvbound.models import Fleet, OptionError, Problem, Requests, Schedule
from kvbound.models.errors import SizeError
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.search import solve_tel
from kvbound.solvers.exact.search.backward import Backward
from kvbound.solvers.exact.search.layers import Ending, run_pass
from kvbound.solvers.exact.search.prices import Ascent
from kvbound.solvers.exact.search.relaxation import SCALE, Relaxation, Shape
from kvbound.solvers.exact.search.solve import _one_by_one

KINDS = ("short", "large prompts", "unit outputs", "no prompts", "any", "twins")


def tiny(n: int, seed: int, memory: int = 40) -> Problem:
    rng = np.random.default_rng(seed)
    prompt = rng.integers(1, 6, n)
    output = np.array([rng.integers(1, memory - s + 1) for s in prompt])
    return Problem(Requests(prompt, output), Fleet((memory,)))


def draw(rng: np.random.Generator, most: int = 6) -> Problem:
    """A small problem of a random kind, now and then with arrivals and a batch cap."""
    n = int(rng.integers(1, most + 1))
    memory = int(rng.integers(4, 17 if n > 4 else 25))
    kind = KINDS[rng.integers(len(KINDS))]
    low, high, longest = {
        "short": (0, 2, 7),
        "large prompts": (memory // 2, memory - 1, 3),
        "unit outputs": (0, memory - 1, 1),
        "no prompts": (0, 0, 6),
        "any": (0, memory - 1, 6),
        "twins": (1, 2, 2),
    }[kind]
    prompt = rng.integers(low, high + 1, n)
    output = np.array([rng.integers(1, min(longest, memory - s) + 1) for s in prompt])
    arrival = rng.integers(0, 13, n) * rng.integers(0, 2, n) if rng.random() < 0.45 else np.zeros(n, np.int64)
    batch = int(rng.integers(1, 4)) if rng.random() < 0.35 else None
    return Problem(Requests(prompt, output, arrival), Fleet((memory,), (batch,)))


def brute(problem: Problem) -> int:
    r = problem.requests
    triples = [tuple(int(v) for v in row) for row in zip(r.prompt, r.output, r.arrival, strict=True)]
    return optimum(triples, list(problem.fleet.memory), list(problem.fleet.batch))


def cost(problem: Problem, work: Backward, distance) -> int:
    return require_valid(problem, Schedule(work.start_times(distance))) + int(problem.requests.arrival.sum())


@pytest.mark.parametrize("seed", range(20))
def test_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    for _ in range(6):
        problem = draw(rng)
        first = Schedule(_one_by_one(Backward.of(problem))) if rng.random() < 0.7 else None
        out = solve_tel(problem, deadline=Deadline(None), seed=seed, incumbent=first)
        assert out.proved
        assert out.start is not None
        assert require_valid(problem, Schedule(out.start)) == out.lower_bound == brute(problem)


@pytest.mark.parametrize("seed", range(12))
def test_passes_and_bounds_at_random_prices(seed):
    """Every level, any prices, before and after dropping states: the pass is exact and the bound is a bound."""
    rng = np.random.default_rng(100 + seed)
    for _ in range(3):
        problem = draw(rng, 5)
        work = Backward.of(problem)
        best = brute(problem) + int(problem.requests.arrival.sum())
        for level in (1, 2, 3, 4):
            for reach in (work.life, work.output):
                relaxation = Relaxation(work, Shape(level, reach))
                weaker = relaxation
                for threshold in (best + 2, best):
                    price = rng.integers(0, best * SCALE // problem.n + 1, problem.n)
                    bound = relaxation.evaluate(price, Deadline(None))
                    assert bound is not None
                    assert bound <= best * SCALE
                    free = run_pass(work, relaxation, None if relaxation is weaker else best, Deadline(None), 1 << 28)
                    assert free.distance is not None
                    assert cost(problem, work, free.distance) == best
                    below = run_pass(work, relaxation, best - 1, Deadline(None), 1 << 28)
                    assert below.ending is Ending.COMPLETE
                    assert below.distance is None
                    relaxation.prune(threshold)
                    kept = run_pass(work, relaxation, best, Deadline(None), 1 << 28)
                    assert kept.distance is not None
                    assert cost(problem, work, kept.distance) == best
                    if level < 4:
                        weaker, relaxation = relaxation, Relaxation(work, Shape(level + 1, reach))
                        relaxation.inherit(weaker)


@pytest.mark.parametrize(("n", "seed", "best"), [(8, 0, 507), (8, 1, 226), (10, 0, 823), (12, 1, 589)])
def test_known_optima(n, seed, best):
    out = solve_tel(tiny(n, seed), deadline=Deadline(None), seed=0)
    assert (out.proved, out.lower_bound, out.ending) == (True, best, "optimal")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seed", "best"), [(12, 0, 830), (14, 0, 976), (16, 0, 1190)])
def test_known_optima_larger(n, seed, best):
    out = solve_tel(tiny(n, seed), deadline=Deadline(None), seed=0)
    assert (out.proved, out.lower_bound) == (True, best)


def test_relabelling_changes_nothing():
    problem = tiny(8, 3)
    turned = Problem(problem.requests.take(np.arange(8)[::-1]), problem.fleet)
    a, b = (solve_tel(p, deadline=Deadline(None), seed=0).lower_bound for p in (problem, turned))
    assert a == b


def test_no_time_still_gives_schedule_and_bound():
    problem = tiny(14, 5)
    out = solve_tel(problem, deadline=Deadline(0.0), seed=0)
    assert out.ending == "deadline"
    assert not out.proved
    assert out.start is not None
    assert 0 < out.lower_bound <= require_valid(problem, Schedule(out.start))


def test_ctrl_c_returns_what_is_known():
    problem = tiny(12, 2)

    def stop(_) -> None:
        raise KeyboardInterrupt

    out = solve_tel(problem, deadline=Deadline(None), seed=0, progress=stop)
    assert out.interrupted
    assert out.start is not None
    assert 0 < out.lower_bound <= 372 <= require_valid(problem, Schedule(out.start))


def test_little_memory_ends_with_a_valid_bound():
    problem = tiny(12, 5)
    out = solve_tel(problem, deadline=Deadline(None), seed=0, memory_limit_bytes=200_000)
    assert out.start is not None
    assert out.lower_bound <= 265 <= require_valid(problem, Schedule(out.start))
    assert out.ending in {"memory", "optimal"}


def test_given_bound_that_meets_the_incumbent_ends_at_once():
    problem = tiny(8, 0)
    best = solve_tel(problem, deadline=Deadline(None), seed=0)
    assert best.start is not None
    out = solve_tel(problem, deadline=Deadline(None), seed=0, incumbent=Schedule(best.start), lower_bound=507)
    assert (out.proved, out.level, out.labels) == (True, 0, 0)


def test_refuses_fleets_and_crowds():
    with pytest.raises(OptionError, match="one worker"):
        solve_tel(Problem(Requests([1], [1]), Fleet((9, 9))), deadline=Deadline(1), seed=0)
    crowd = Problem(Requests([1] * 63, [1] * 63), Fleet((9,)))
    with pytest.raises(SizeError, match="62"):
        solve_tel(crowd, deadline=Deadline(1), seed=0)


def test_extreme_negative_prices_are_no_proof() -> None:
    """Prices at the clip once summed up to half of the table's infinity, which reads as "no better schedule left"."""
    rng = np.random.default_rng(1)
    prompt = rng.integers(1, 6, 8)
    problem = Problem(Requests(prompt, np.array([rng.integers(1, 41 - s) for s in prompt])), Fleet.uniform(40))
    work = Backward.of(problem)
    relaxation = Relaxation(work, Shape(2, work.output))
    ascent = Ascent(relaxation, np.full(8, -(1 << 60)), 1)
    ascent.advance(1, 241, Deadline())  # 241 is a schedule, 226 the optimum (tiny 8/1)
    assert not (ascent.finished and ascent.bound >= 226 + 1)
