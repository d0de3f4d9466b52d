"""Relations that are theorems, against exact optima by exhaustion (tests/brute.py) and by the exact search."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from brute import optimum
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvbound import SolveConfig, load, solve
from kvbound.models import Fleet, Problem, Requests
from kvbound.solvers.policies import POLICIES, resolve, run_policy, schedule_in_order

#: Without those that solve an LP each time; the exact search below takes all.
QUICK = [name for name in POLICIES if name not in ("sorted-lp", "lp-swap")]


@st.composite
def backlogs(draw: st.DrawFn, most: int = 6) -> Problem:
    """One worker, all requests at step 0, no batch cap: the setting of the theorems."""
    memory = draw(st.integers(4, 16))
    n = draw(st.integers(1, most))
    # Few kinds: that is where the bad families of docs/math.md §9 live.
    prompt = draw(st.lists(st.sampled_from([0, 1, memory // 2, memory - 2, memory - 1]), min_size=n, max_size=n))
    output = [draw(st.sampled_from(sorted({1, 2, (memory - s) // 2 or 1, memory - s}))) for s in prompt]
    output = [min(o, memory - s) for s, o in zip(prompt, output, strict=True)]
    return Problem(Requests(prompt, output), Fleet.uniform(memory))


def least_tel(problem: Problem) -> int:
    r = problem.requests
    triples = list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True))
    return optimum(triples, problem.fleet.memory, problem.fleet.batch)


def tel(problem: Problem, name: str) -> int:
    (policy,) = resolve([name])
    found = run_policy(problem, policy).tel
    assert found is not None
    return found


def limits(problem: Problem) -> dict[str, Fraction]:
    """Proven ratio per policy; smallest volume first has none when a peak fills the memory."""
    ratios = {"sorted-f:exact": Fraction(48)}
    alpha = Fraction(int(problem.requests.peak.max()), problem.fleet.largest)
    if alpha < 1:
        ratios["svf"] = 1 + 2 / (1 - alpha)
        ratios["volume-classes"] = 1 + 4 / (1 - alpha)
        ratios["volume-classes,base=3"] = 1 + 6 / (1 - alpha)
    return ratios


#: docs/math.md §9 in small: two large peaks before many short ones, and prompts that fill the memory.
TRAP = Problem(Requests([1, 1, 1, 1, 1, 1], [11, 11, 1, 1, 1, 1]), Fleet.uniform(12))
WALL = Problem(Requests([11, 11, 1, 1, 1, 1], [1, 1, 2, 2, 2, 2]), Fleet.uniform(13))


@settings(max_examples=80, deadline=None)
@example(TRAP)
@example(WALL)
@given(backlogs())
def test_proven_ratios_hold_against_the_optimum(problem: Problem) -> None:
    best = least_tel(problem)
    for name in QUICK:
        assert tel(problem, name) >= best
    for name, ratio in limits(problem).items():
        assert tel(problem, name) <= ratio * best


@pytest.mark.parametrize("source", ["tiny:n=8,seed=0", "tiny:n=10,seed=3"])
def test_proven_ratios_hold_against_the_exact_search(source: str) -> None:
    problem = load(source).problem
    result = solve(problem, config=SolveConfig(time_limit=None, threads=1))
    assert result.status.value == "optimal"
    assert result.tel is not None
    for name in POLICIES:
        assert tel(problem, name) >= result.tel
    for name, ratio in limits(problem).items():
        assert tel(problem, name) <= ratio * result.tel


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_identical_requests_give_equal_tel_in_every_order(data: st.DataObject) -> None:
    memory = data.draw(st.integers(2, 60))
    prompt = data.draw(st.integers(0, memory - 1))
    output = data.draw(st.integers(1, memory - prompt))
    n = data.draw(st.integers(1, 25))
    fleet = Fleet.uniform(memory, data.draw(st.integers(1, 3)), data.draw(st.sampled_from([None, 2])))
    problem = Problem(Requests([prompt] * n, [output] * n), fleet)
    orders = [data.draw(st.permutations(range(n))) for _ in range(3)]
    found = {schedule_in_order(problem, order)[1] for order in orders}
    found |= {tel(problem, name) for name in QUICK}
    assert len(found) == 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_order_starts_j_before_twice_what_precedes_it(data: st.DataObject) -> None:
    """The lemma behind the ratio of docs/math.md §7: k_j ≤ 2/((1 − α)M)·Σ_{i before j} v_i, in any order."""
    memory = data.draw(st.integers(6, 80))
    peak = st.integers(2, memory * 3 // 4)
    n = data.draw(st.integers(1, 30))
    peaks = [data.draw(peak) for _ in range(n)]
    output = [data.draw(st.integers(1, p)) for p in peaks]
    requests = Requests([p - o for p, o in zip(peaks, output, strict=True)], output)
    problem = Problem(requests, Fleet.uniform(memory))
    order = np.array(data.draw(st.permutations(range(n))))
    schedule, _ = schedule_in_order(problem, order)
    before = np.cumsum(requests.volume[order]) - requests.volume[order]
    room = memory - int(requests.peak.max())  # (1 − α)M
    assert np.all(schedule.start[order] * room <= 2 * before)
