"""Properties that hold between bounds and schedules of any instance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import brute_force

from kvbound.checkers import verify
from kvbound.models import Fleet, Problem, Requests
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import POLICIES, run_policy

LADDER = ("volume", "lagrangian", "lp")
CERTIFIED = ("volume", "lagrangian", "stagger", "sequence")


@st.composite
def backlogs(draw: st.DrawFn, most: int = 7, longest: int = 9) -> Problem:
    """One worker, all requests at step 0."""
    memory = draw(st.integers(4, 24))
    n = draw(st.integers(1, most))
    prompt = draw(st.lists(st.integers(0, memory - 1), min_size=n, max_size=n))
    output = [draw(st.integers(1, min(longest, memory - s))) for s in prompt]
    return Problem(Requests(np.array(prompt), np.array(output)), Fleet.uniform(memory))


def value(problem: Problem, method: str) -> int:
    """The verified bound, in steps."""
    result = bound(problem, method, deadline=Deadline())
    assert result.value is not None
    return result.value


def optimum(problem: Problem) -> int:
    return brute_force(problem.requests.prompt.tolist(), problem.requests.output.tolist(), problem.fleet.memory)


@settings(max_examples=25, deadline=None)
@given(backlogs())
def test_volume_lagrangian_lp_best_schedule_stand_in_this_order(problem: Problem) -> None:
    volume, lagrangian, lp = (value(problem, method) for method in LADDER)
    best = min(run.tel for run in (run_policy(problem, p) for p in POLICIES.values()) if run.tel is not None)
    assert volume <= lagrangian <= lp + 1  # both are rounded up; the LP's own rounding may lose a step
    assert lp <= best


@settings(max_examples=15, deadline=None)
@given(backlogs(most=5, longest=6), st.integers(1, 12))
def test_more_memory_never_spoils_a_bound(problem: Problem, more: int) -> None:
    """A bound for more memory holds for less, and prices found for less prove something true for more."""
    wider = replace(problem, fleet=Fleet.uniform(problem.fleet.largest + more))
    narrow_best, wide_best = optimum(problem), optimum(wider)
    assert wide_best <= narrow_best
    for method in CERTIFIED:
        assert value(wider, method) <= wide_best <= narrow_best
        certificate = bound(problem, method, deadline=Deadline()).certificate
        assert certificate is not None
        assert verify(wider, replace(certificate, fingerprint=wider.fingerprint(), value=None)) <= wide_best


@settings(max_examples=8, deadline=None)
@given(backlogs(), st.randoms(use_true_random=False))
def test_relabelling_changes_no_bound(problem: Problem, random: object) -> None:
    index = list(range(problem.n))
    random.shuffle(index)  # type: ignore[attr-defined]
    relabelled = replace(problem, requests=problem.requests.take(index))
    for method in (*CERTIFIED, "lp"):
        # Sums in floating point may be taken in another order: a step of rounding, no more.
        assert abs(value(problem, method) - value(relabelled, method)) <= 1
