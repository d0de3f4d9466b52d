"""The fleet loop of the baselines against a step-by-step reference; small cases by hand; names."""

from __future__ import annotations

import numpy as np
import pytest
from plain_fleet import plain_route

from kvbound.checkers.execution import require_valid_execution
from kvbound.models import Fleet, OptionError, Problem, Requests
from kvbound.solvers.engine import assumed_length
from kvbound.solvers.routers import BASELINES, ROUTERS, resolve_routers, run_router


def random_fleet(rng: np.random.Generator, most: int = 14) -> Problem:
    """Small and tight, workers alike or not, lengths known, roughly predicted or plainly wrong."""
    n, workers = int(rng.integers(1, most)), int(rng.integers(1, 5))
    largest = int(rng.integers(4, 40))
    memory = [largest] * workers
    if rng.random() < 0.4:
        memory = [largest, *rng.integers(max(2, largest // 2), largest + 1, workers - 1).tolist()]
    batch = [None if rng.random() < 0.6 else int(rng.integers(1, 5)) for _ in memory]
    prompt = rng.integers(0, max(1, largest // int(rng.integers(1, 5))), n)
    output = np.array([rng.integers(1, largest - s + 1) for s in prompt])
    arrival = rng.integers(0, int(rng.integers(1, 60)), n)
    kind = rng.integers(0, 3)
    guess = output if kind == 0 else rng.integers(1, largest + 5, n)
    if kind == 1:
        guess = np.maximum(1, np.rint(output * rng.uniform(0.6, 1.4, n)).astype(np.int64))
    return Problem(Requests(prompt, output, arrival, guess, guess), Fleet(tuple(memory), tuple(batch)))


def plain(problem: Problem, name: str, seed: int) -> list[tuple[int, int, int, int]]:
    r, router = problem.requests, ROUTERS[name]
    return plain_route(
        list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)),
        assumed_length(problem, "point").tolist(),
        list(problem.fleet.memory),
        list(problem.fleet.batch),
        name.split(":")[0],
        router.central,
        router.svf,
        np.random.default_rng([seed, 3]).random((max(router.choices, 1), problem.n)).tolist(),
    )


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_equals_the_step_by_step_reference(name: str) -> None:
    """Same attempts in the same order on 150 random cases; each keeps every rule and serves every request once."""
    rng = np.random.default_rng([list(BASELINES).index(name), 7])
    evictions = several = 0
    for seed in range(150):
        problem = random_fleet(rng)
        done = run_router(problem, ROUTERS[name], seed=seed).execution
        attempts = np.stack((done.request, done.worker, done.start, done.end), axis=1)
        assert [tuple(row) for row in attempts.tolist()] == plain(problem, name, seed)
        require_valid_execution(problem, done)
        assert sorted(done.request[done.serving(problem.requests)].tolist()) == list(range(problem.n))
        evictions += done.evictions
        several += len(set(done.worker.tolist())) > 1
    assert evictions > 20
    assert several > 50, "cases with one worker show nothing"


def workers_of(name: str, prompt: list[int], output: list[int], arrival: list[int], fleet: Fleet) -> list[int]:
    problem = Problem(Requests(prompt, output, arrival), fleet)
    schedule = run_router(problem, ROUTERS[name], seed=0).execution.schedule(problem.requests)
    return schedule.worker.tolist()


def test_round_robin_takes_workers_in_turn_whatever_they_do() -> None:
    fleet = Fleet.uniform(100, 3, 1)
    assert workers_of("round-robin", [1] * 5, [50, 1, 1, 1, 1], [0, 0, 0, 9, 9], fleet) == [0, 1, 2, 0, 1]
    # Request 3 waits for the long request 0 though workers 1 and 2 are idle; held centrally it does not.
    problem = Problem(Requests([1] * 4, [50, 1, 1, 1], [0, 0, 0, 9]), fleet)
    held = {name: run_router(problem, ROUTERS[name]).execution for name in ("round-robin", "round-robin:central")}
    assert held["round-robin"].schedule(problem.requests).start.tolist() == [0, 0, 0, 50]
    assert held["round-robin:central"].schedule(problem.requests).start.tolist() == [0, 0, 0, 9]


def test_lor_counts_requests_and_least_kv_tokens() -> None:
    fleet = Fleet.uniform(100, 2)
    lengths = ([60, 1, 1, 1], [30, 30, 30, 30], [0, 1, 2, 3])
    assert workers_of("lor", *lengths, fleet) == [0, 1, 0, 1]
    assert workers_of("least-kv", *lengths, fleet) == [0, 1, 1, 1]


def test_svf_lets_the_small_one_of_a_queue_go_first() -> None:
    problem = Problem(Requests([5, 5, 5], [9, 9, 1], [0, 0, 0]), Fleet.uniform(20, 1))
    for name, starts in (("lor", [0, 8, 9]), ("lor:svf", [0, 8, 0])):
        done = run_router(problem, ROUTERS[name]).execution
        assert done.schedule(problem.requests).start.tolist() == starts


def test_a_worker_too_small_for_a_request_is_never_asked() -> None:
    fleet = Fleet((10, 50))
    for name in ROUTERS:  # bid-price, too
        assert workers_of(name, [20, 20, 20], [5, 5, 5], [0, 0, 0], fleet) == [1, 1, 1]


def test_same_seed_same_answer_and_another_seed_another() -> None:
    rng = np.random.default_rng(5)
    problem = Problem(
        Requests(rng.integers(1, 20, 200), rng.integers(1, 40, 200), rng.integers(0, 300, 200)), Fleet.uniform(80, 4)
    )
    for name in ("random", "power-of-2", "random:central"):
        first, again, other = (run_router(problem, ROUTERS[name], seed=s).execution for s in (0, 0, 1))
        assert (first.worker == again.worker).all()
        assert (first.start == again.start).all()
        assert (first.worker != other.worker).any()


def test_names() -> None:
    assert [r.name for r in resolve_routers(["lor", "lor", "power-of-3:central"])] == ["lor", "power-of-3:central"]
    assert resolve_routers(["power-of-3"])[0].choices == 3
    with pytest.raises(OptionError, match="did you mean 'round-robin'"):
        resolve_routers(["roundrobin"])
