"""Usage and earliest starts against plain loops over steps."""

from __future__ import annotations

import numpy as np
from brute import holds
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.models.fleet import NO_CAP
from kvbound.models.footprint import earliest_start, usage


def ints(values) -> np.ndarray:
    return np.array(values, np.int64)


@settings(max_examples=120, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 15)), max_size=8),
    steps=st.lists(st.integers(1, 40), max_size=10),
)
def test_usage_equals_the_plain_sum(rows, steps) -> None:
    s, o, k = (ints([r[i] for r in rows]) for i in range(3))
    held, active = usage(s, k, k + o, ints(steps))
    assert held.tolist() == [sum(holds(*row, step) for row in rows) for step in steps]
    assert active.tolist() == [sum(b < step <= b + q for _, q, b in rows) for step in steps]


def test_usage_is_exact_for_the_largest_numbers_accepted() -> None:
    n, late = 1000, 2 * 10**11
    s, o, k = np.full(n, 10**8), np.full(n, 10**8), np.full(n, late)
    held, active = usage(s, k, k + o, ints([late, late + 1, late + 10**8, late + 10**8 + 1]))
    assert held.tolist() == [0, n * (10**8 + 1), n * 2 * 10**8, 0]
    assert active.tolist() == [0, n, n, 0]


def fits(rows, s, o, k, memory, cap) -> bool:
    for step in range(k + 1, max(k + o, *(r[1] + r[2] for r in rows), 0) + 1 if rows else k + o + 1):
        if sum(holds(*row, step) for row in [*rows, (s, o, k)]) > memory:
            return False
        if k < step <= k + o and sum(b < step <= b + q for _, q, b in rows) + 1 > cap:
            return False
    return True


@st.composite
def situations(draw: st.DrawFn):
    """Active requests that fit together, a newcomer that fits alone."""
    memory = draw(st.integers(2, 40))
    cap = draw(st.one_of(st.just(NO_CAP), st.integers(1, 5)))
    rows: list[tuple[int, int, int]] = []
    now = draw(st.integers(0, 10))
    for _ in range(draw(st.integers(0, 6))):
        s = draw(st.integers(0, memory - 1))
        row = (s, draw(st.integers(1, memory - s)), draw(st.integers(0, now)))
        if row[1] + row[2] > now and fits(rows, *row, memory, cap):
            rows.append(row)
    s = draw(st.integers(0, memory - 1))
    return memory, cap, rows, now, s, draw(st.integers(1, memory - s))


@settings(max_examples=300, deadline=None)
@given(situations())
def test_earliest_start_equals_the_first_that_fits_step_by_step(case) -> None:
    memory, cap, rows, now, s, o = case
    rows = sorted(rows, key=lambda r: r[1] + r[2])
    ends, peaks = ints([k + q for _, q, k in rows] or [0]), ints([p + q for p, q, _ in rows] or [0])
    found = earliest_start(s, o, memory, cap, now, ends, peaks, len(rows))
    expected = now
    while not fits(rows, s, o, expected, memory, cap):
        expected += 1
    assert found == expected


def test_lockstep_and_ties() -> None:
    ends, peaks = ints([4, 4, 4]), ints([4, 4, 4])
    assert earliest_start(0, 4, 16, NO_CAP, 0, ends, peaks, 3) == 0
    assert earliest_start(0, 4, 15, NO_CAP, 0, ends, peaks, 3) == 1  # at step 4 it holds 3 beside 12
    assert earliest_start(0, 4, 16, 3, 0, ends, peaks, 3) == 4  # no slot before the three have gone
