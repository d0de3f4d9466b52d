"""The schedule checker: one schedule broken in just one rule for each rule, with exact amounts and steps."""

from __future__ import annotations

import numpy as np
import pytest
from brute import feasible, holds
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.checkers import check, require_valid
from kvbound.models import Fleet, Problem, Requests, Schedule
from kvbound.models.errors import KvboundError, ScheduleError
from kvbound.models.requests import MAX_ARRIVAL


def problem(memory=(10,), batch=(), rows=((2, 4, 0), (3, 3, 1))) -> Problem:
    return Problem(Requests(*map(list, zip(*rows, strict=True))), Fleet(memory, batch))


def only(report):
    assert len(report.violations) == 1, report.summary()
    assert report.objective is None
    assert not report.ok
    return report.violations[0]


def test_a_good_schedule_has_its_objective() -> None:
    report = check(problem(), Schedule([0, 4]))
    assert report.ok
    assert report.objective == 4 + (7 - 1)
    assert report.summary() == ""
    assert require_valid(problem(), Schedule([0, 4])) == 10


def test_served_once_unserved() -> None:
    found = only(check(problem(), Schedule([0, -1])))
    assert (found.rule, found.request, found.step, found.amount, found.worker) == ("served-once", 1, None, 1, None)


@pytest.mark.parametrize(("start", "worker"), [([0, 4], [0, 1]), ([0, 4], [0, -1]), ([0, -1], [0, 0])])
def test_served_once_worker_that_does_not_exist_or_half_served(start, worker) -> None:
    found = only(check(problem(), Schedule(start, worker)))
    assert (found.rule, found.request) == ("served-once", 1)


@pytest.mark.parametrize("start", [[0], [0, 4, 8], []])
def test_wrong_length_fails_closed(start) -> None:
    found = only(check(problem(), Schedule(start)))
    assert (found.rule, found.request, found.amount) == ("served-once", None, abs(len(start) - 2))
    assert f"{len(start)} requests" in found.message


def test_arrival() -> None:
    late = problem(rows=((2, 4, 0), (3, 3, 9)))
    found = only(check(late, Schedule([0, 6])))
    assert (found.rule, found.request, found.step, found.amount, found.worker) == ("arrival", 1, 6, 3, 0)
    assert check(late, Schedule([0, 9])).ok


def test_memory_is_held_against_the_step_of_a_completion() -> None:
    # Step 4: request 0 completes with 6, request 1 (started at 2) holds 5: one too many.
    found = only(check(problem(), Schedule([0, 2])))
    assert (found.rule, found.request, found.step, found.amount, found.worker) == ("memory", 0, 4, 1, 0)
    assert check(problem(memory=(11,)), Schedule([0, 2])).ok
    assert check(problem(), Schedule([0, 3])).ok


def test_memory_lists_every_completion_that_is_too_full() -> None:
    report = check(problem(memory=(10,), rows=((4, 4, 0), (4, 5, 0), (4, 6, 0))), Schedule([0, 0, 0]))
    assert [(v.rule, v.step, v.amount) for v in report.violations] == [("memory", 4, 14), ("memory", 5, 8)]


def test_peak_on_the_worker_that_runs_it() -> None:
    two = problem(memory=(10, 5), rows=((2, 4, 0), (3, 2, 0)))
    assert check(two, Schedule([0, 0], [0, 1])).ok
    report = check(two, Schedule([0, 5], [1, 1]))
    assert [(v.rule, v.request, v.amount, v.worker) for v in report.violations] == [
        ("peak", 0, 1, 1),
        ("memory", 0, 1, 1),
    ]


def test_batch() -> None:
    rows = ((0, 3, 0), (0, 3, 0), (0, 3, 0))
    capped = problem(memory=(10,), batch=(2,), rows=rows)
    found = only(check(capped, Schedule([0, 1, 2])))
    assert (found.rule, found.request, found.step, found.amount, found.worker) == ("batch", 2, 3, 1, 0)
    assert check(capped, Schedule([0, 0, 3])).ok
    assert check(problem(memory=(10,), rows=rows), Schedule([0, 1, 2])).ok


def test_batch_size_of_each_worker_counts_for_itself() -> None:
    fleet = problem(memory=(10, 10), batch=(1, None), rows=((0, 3, 0),) * 3)
    assert check(fleet, Schedule([0, 0, 0], [0, 1, 1])).ok
    found = only(check(fleet, Schedule([0, 0, 0], [0, 0, 1])))
    assert (found.rule, found.step, found.amount, found.worker) == ("batch", 1, 1, 0)


def test_all_violations_are_reported_together() -> None:
    rows = ((2, 4, 3), (3, 3, 0), (5, 5, 0), (1, 1, 0), (1, 1, 0))
    everything = problem(memory=(10, 6), batch=(1, 1), rows=rows)
    report = check(everything, Schedule([0, 0, 0, -1, 4], [0, 0, 1, -1, 7]))
    found = {(v.rule, v.request) for v in report.violations}
    assert {("served-once", 3), ("served-once", 4), ("arrival", 0), ("peak", 2), ("memory", 1), ("memory", 2)} <= found
    assert sum(v.rule == "batch" for v in report.violations) == 1
    assert all(v.amount > 0 for v in report.violations)
    assert "… and" in report.summary(2)
    with pytest.raises(ScheduleError, match="breaks") as error:
        require_valid(everything, Schedule([0, 0, 0, -1, 4], [0, 0, 1, -1, 7]))
    assert isinstance(error.value, KvboundError)


def test_objective_is_exact_beyond_64_bits() -> None:
    n = 50_000_000 // 1_000
    far = 2 * MAX_ARRIVAL
    output = np.full(n, 1)
    big = Problem(Requests(np.zeros(n, np.int64), output), Fleet.uniform(n))
    report = check(big, Schedule(np.full(n, far)))
    assert report.objective == n * (far + 1)
    assert type(report.objective) is int


@st.composite
def judged(draw: st.DrawFn):
    workers = draw(st.integers(1, 2))
    memory = tuple(draw(st.lists(st.integers(3, 12), min_size=workers, max_size=workers)))
    caps = tuple(draw(st.lists(st.one_of(st.none(), st.integers(1, 3)), min_size=workers, max_size=workers)))
    rows, starts, places = [], [], []
    for _ in range(draw(st.integers(1, 5))):
        o = draw(st.integers(1, max(memory)))
        rows.append((draw(st.integers(0, max(memory) - o)), o, draw(st.integers(0, 4))))
        starts.append(draw(st.integers(0, 14)))
        places.append(draw(st.integers(0, workers - 1)))
    return rows, starts, places, memory, caps


@settings(max_examples=150, deadline=None)
@given(judged())
def test_verdict_and_worst_amount_equal_the_plain_rules(case) -> None:
    rows, starts, places, memory, caps = case
    report = check(problem(memory, caps, rows), Schedule(starts, places))
    assert report.ok == feasible(rows, starts, places, memory, caps)
    if report.ok:
        assert report.objective == sum(k + o - a for (_, o, a), k in zip(rows, starts, strict=True))
    for g, (size, cap) in enumerate(zip(memory, caps, strict=True)):
        mine = [(s, o, k) for (s, o, _), k, w in zip(rows, starts, places, strict=True) if w == g]
        steps = range(1, 40)
        worst = max(sum(holds(*row, t) for row in mine) for t in steps) - size
        assert max((v.amount for v in report.violations if (v.rule, v.worker) == ("memory", g)), default=0) == max(
            0, worst
        )
        crowd = max(sum(k < t <= k + o for _, o, k in mine) for t in steps) - (cap or 99)
        assert max((v.amount for v in report.violations if (v.rule, v.worker) == ("batch", g)), default=0) == max(
            0, crowd
        )
