"""Sorted-LP and LP-Swap: mean starts against the LP's own value, prices, and their limits."""

from __future__ import annotations

import numpy as np
import pytest

from kvbound import bound, load
from kvbound.models import Fleet, Problem, Requests
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import View, resolve, run_policy
from kvbound.solvers.policies.sorted_lp import lp_starts, lp_swap_order, price_starts, sorted_lp_order


@pytest.mark.parametrize("source", ["tiny:n=8,seed=0", "tiny:n=10,seed=1", "tiny:n=8,seed=0,arrivals=poisson,rate=0.1"])
def test_mean_starts_add_up_to_the_value_of_the_lp(source: str) -> None:
    problem = load(source).problem
    r = problem.requests
    starts = lp_starts(problem)
    assert np.all(starts >= r.arrival - 1e-9)
    value = bound(problem, "lp", deadline=Deadline(60.0)).raw
    assert value is not None
    assert starts.sum() + r.output.sum() - r.arrival.sum() == pytest.approx(value, rel=1e-6)


def test_the_lp_order_is_ascending_in_the_mean_start() -> None:
    view = View.of(load("tiny:n=10,seed=2").problem)
    starts = lp_starts(load("tiny:n=10,seed=2").problem)
    order = sorted_lp_order(view, method="lp")
    assert np.all(np.diff(starts[order]) >= 0)


def test_a_batch_cap_that_needs_more_steps_than_memory() -> None:
    """The short horizon of the prices holds no solution then; the LP falls back on the full one."""
    problem = Problem(Requests([0] * 5, [1] * 5), Fleet.uniform(40, 1, 1))
    assert lp_starts(problem).sum() == pytest.approx(0 + 1 + 2 + 3 + 4)


def test_prices_start_everybody_at_once_when_there_is_room() -> None:
    problem = Problem(Requests([3, 4, 5], [5, 1, 2]), Fleet.uniform(100))
    assert price_starts(problem).tolist() == [0.0, 0.0, 0.0]
    assert list(sorted_lp_order(View.of(problem), method="prices")) == [1, 2, 0]  # ties by volume


def test_prices_repeat_and_treat_equal_requests_equally() -> None:
    problem = load("mix:n=150,seed=1").problem
    doubled = Problem(problem.requests.take(np.tile(np.arange(150), 2)), problem.fleet)
    first, second = price_starts(doubled), price_starts(doubled)
    assert np.array_equal(first, second)
    assert np.array_equal(first[:150], first[150:])
    assert first.max() > 0


def test_on_the_mixture_prices_beat_the_order_by_output() -> None:
    problem = load("mix:n=300,seed=0").problem
    prices, output = (run_policy(problem, p).tel for p in resolve(["sorted-lp", "mc-sf"]))
    assert prices is not None
    assert output is not None
    assert prices < output


def test_lp_swap_is_sorted_f_with_that_start() -> None:
    view = View.of(load("mix:n=100,seed=0").problem)
    order = lp_swap_order(view)
    assert sorted(order.tolist()) == list(range(100))
    assert list(order) == list(lp_swap_order(view))


def test_they_decline_with_the_way_out() -> None:
    problem = load("mix:n=60,seed=0").problem
    lp, prices, swap = (
        run_policy(problem, policy)
        for policy in resolve(["sorted-lp,method=lp", "sorted-lp,method=prices,most=10", "lp-swap,most=10"])
    )
    for run, words in ((lp, "use method=prices"), (prices, "use svf"), (swap, "limit 1e+01")):
        assert run.schedule is None
        assert words in (run.declined or "")


def test_predictions_are_what_the_relaxation_sees() -> None:
    """A prediction beyond the memory is cut; the true length is not looked at."""
    requests = Requests([6, 1], [2, 9], None, [9, 1], [9, 3])
    seen = View.of(Problem(requests, Fleet.uniform(10)))
    assert list(sorted_lp_order(seen)) == [1, 0]
