"""Selectors of Sorted-F against brute force, against their definitions, and their parameters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.models import Fleet, Problem, Requests
from kvbound.models.requests import IntArray
from kvbound.solvers.policies import POLICIES, Declined, View, run_policy
from kvbound.solvers.policies.select_exact import Cells, ExactBudget, exact_batch
from kvbound.solvers.policies.select_quantile import quantile_batches
from kvbound.solvers.policies.select_swap import swap_batch, swap_batches
from kvbound.solvers.policies.sorted_f import exact_batches, exact_order, in_batches, one_by_one, sorted_f_order

NO_CAP = 1 << 40


@st.composite
def lengths(draw: st.DrawFn, most: int = 9) -> tuple[IntArray, IntArray, int, int]:
    """(prompt, output ascending, memory, cap); every request fits alone."""
    memory = draw(st.integers(3, 40))
    n = draw(st.integers(1, most))
    prompt = draw(st.lists(st.integers(0, memory - 1), min_size=n, max_size=n))
    output = [draw(st.integers(1, memory - s)) for s in prompt]
    order = np.lexsort((prompt, output))
    cap = draw(st.sampled_from([2, 3, NO_CAP]))
    return np.array(prompt, np.int64)[order], np.array(output, np.int64)[order], memory, cap


def feasible(prompt: list[int], output: list[int], memory: int, cap: int) -> list[tuple[int, ...]]:
    n = len(prompt)
    return [
        x
        for size in range(1, min(n, cap) + 1)
        for x in combinations(range(n), size)
        if sum(prompt[i] + output[i] for i in x) <= memory
    ]


def best_of(prompt: list[int], output: list[int], memory: int, cap: int) -> tuple[int, ...]:
    """Least F; ties: larger, smaller Σs, then the lower last position, the lower last but one, … (docs/policies.md)."""

    def rank(x: tuple[int, ...]) -> tuple[object, ...]:
        from fractions import Fraction

        return Fraction(sum(output[i] for i in x), len(x) ** 2), -len(x), sum(prompt[i] for i in x), x[::-1]

    return min(feasible(prompt, output, memory, cap), key=rank)


def value(output: IntArray, batch: IntArray) -> float:
    return float(output[batch].sum()) / len(batch) ** 2


SELECTORS = {
    "exact": exact_batch,
    "swap": swap_batch,
    "ladder": lambda s, o, memory, cap: swap_batch(s, o, memory, cap, "ladder"),
    "quantile": lambda s, o, memory, cap: quantile_batches(s, o, memory, cap)[0],
}


@settings(max_examples=200, deadline=None)
@given(lengths())
def test_no_selector_is_below_the_least_f_and_the_exact_one_reaches_it(
    case: tuple[IntArray, IntArray, int, int],
) -> None:
    s, o, memory, cap = case
    wanted = best_of(s.tolist(), o.tolist(), memory, cap)
    least = value(o, np.array(wanted))
    for name, select in SELECTORS.items():
        batch = select(s, o, memory, cap)
        assert 1 <= len(batch) <= cap
        assert len(set(batch.tolist())) == len(batch)
        assert int((s + o)[batch].sum()) <= memory
        assert value(o, batch) >= least - 1e-12
        if name == "exact":
            assert tuple(sorted(batch.tolist())) == wanted


def test_how_near_the_others_come(record_property: pytest.RecordProperty) -> None:  # type: ignore[name-defined]
    """F over least F, on 400 random sets; the mean is measured and bounded from above, so that a worse one shows."""
    rng = np.random.default_rng(0)
    ratios: dict[str, list[float]] = {name: [] for name in SELECTORS}
    for _ in range(400):
        memory, n = int(rng.integers(20, 120)), int(rng.integers(2, 11))
        s = rng.integers(0, memory // 2, n)
        o = 1 + np.floor((memory - s - 1) * rng.random(n) ** 3).astype(np.int64)
        order = np.lexsort((s, o))
        s, o = s[order], o[order]
        least = value(o, np.array(best_of(s.tolist(), o.tolist(), memory, NO_CAP)))
        for name, select in SELECTORS.items():
            ratios[name].append(value(o, select(s, o, memory, NO_CAP)) / least)
    mean = {name: float(np.mean(r)) for name, r in ratios.items()}
    for name, ratio in mean.items():
        record_property(f"mean F over least F, {name}", round(ratio, 4))
    assert mean["exact"] == 1.0
    assert mean["ladder"] <= mean["swap"] <= 1.05
    assert mean["quantile"] <= 1.25


def moves(batch: tuple[int, ...], n: int) -> list[tuple[int, ...]]:
    """Every set that one add, drop or exchange away."""
    inside = set(batch)
    outside = [j for j in range(n) if j not in inside]
    added = [(*batch, j) for j in outside]
    dropped = [tuple(inside - {i}) for i in batch if len(batch) > 1]
    exchanged = [(*(inside - {i}), j) for i in batch for j in outside]
    return added + dropped + exchanged


@settings(max_examples=200, deadline=None)
@given(lengths(most=12), st.sampled_from(["greedy", "ladder", "output", "peak", "area"]))
def test_no_add_drop_or_exchange_improves_a_swap_batch(case: tuple[IntArray, IntArray, int, int], starts: str) -> None:
    s, o, memory, cap = case
    batch = swap_batch(s, o, memory, cap, starts)  # type: ignore[arg-type]
    own, held = value(o, batch), int((s + o)[batch].sum())
    for other in moves(tuple(batch.tolist()), len(o)):
        x = np.array(other)
        if len(x) <= cap and int((s + o)[x].sum()) <= memory:
            assert value(o, x) >= own - 1e-12
            if len(x) == len(batch) and value(o, x) == own:
                assert int((s + o)[x].sum()) >= held


@settings(max_examples=100, deadline=None)
@given(lengths(most=14))
def test_all_batches_at_once_are_the_batches_one_by_one(case: tuple[IntArray, IntArray, int, int]) -> None:
    s, o, memory, cap = case
    at_once = swap_batches(s, o, memory, cap)
    single = one_by_one(swap_batch)(s, o, memory, cap)
    assert [x.tolist() for x in at_once] == [x.tolist() for x in single]


@settings(max_examples=100, deadline=None)
@given(lengths(most=12))
def test_the_exact_table_is_cut_without_losing_a_best_batch(case: tuple[IntArray, IntArray, int, int]) -> None:
    s, o, memory, cap = case
    cells = Cells.of(s, o, memory, cap, swap_batch(s, o, memory, cap))
    sets = feasible(s.tolist(), o.tolist(), memory, cap)
    least = min(value(o, np.array(x)) for x in sets)
    for x in (x for x in sets if value(o, np.array(x)) == least):
        for c, i in enumerate(x, start=1):
            assert cells.allowed[cells.keep.tolist().index(i), c]


def test_exact_ties_go_to_the_larger_batch_then_to_smaller_prompts() -> None:
    # {4}: F = 4; {4, 12}: F = 16/4 = 4. Equal F, the larger batch wins.
    assert sorted(exact_batch(np.array([1, 1]), np.array([4, 12]), 18, 99).tolist()) == [0, 1]
    assert exact_batch(np.array([2, 5, 5]), np.array([3, 3, 3]), 8, 99).tolist() == [0]
    # Three equal requests, two fit: the first two.
    assert sorted(exact_batch(np.array([1, 1, 1]), np.array([3, 3, 3]), 8, 99).tolist()) == [0, 1]


def test_exact_declines_at_once_with_its_reason() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(Requests(rng.integers(1, 99, 2000), rng.integers(1, 99, 2000)), Fleet.uniform(16492))
    run = run_policy(problem, POLICIES["sorted-f:exact"])
    assert (run.schedule, run.tel) == (None, None)
    assert run.declined is not None
    assert "use sorted-f:swap" in run.declined
    view = View.of(Problem(Requests([1, 1], [2, 3]), Fleet.uniform(10)))
    assert sorted(exact_order(view).tolist()) == [0, 1]
    with pytest.raises(Declined, match="table updates"):
        sorted_f_order(view, exact_batches(ExactBudget(updates=5)))
    with pytest.raises(Declined, match="0 MB"):
        sorted_f_order(view, exact_batches(ExactBudget(bytes=5)))


def test_exact_declines_lengths_that_its_keys_cannot_hold() -> None:
    long = np.full(40, 10**8, np.int64)
    with pytest.raises(Declined, match="too large for the exact selector"):
        exact_batch(long, long, 2 * 10**8, NO_CAP)


def test_a_prediction_beyond_the_memory_counts_as_what_fits() -> None:
    """Without that no batch could hold it and the selectors would never end."""
    view = View(np.array([6, 1]), np.array([9, 2]), np.zeros(2, np.int64), 10, None, 1, 0)
    for name in ("sorted-f:exact", "sorted-f:swap", "sorted-f:quantile"):
        assert list(POLICIES[name].order(view)) == [1, 0]


def test_batches_are_ordered_by_output_inside() -> None:
    rng = np.random.default_rng(1)
    problem = Problem(Requests(rng.integers(0, 40, 300), rng.integers(1, 60, 300)), Fleet.uniform(200))
    view = View.of(problem)
    for batches in (swap_batches, quantile_batches, exact_batches()):
        found = in_batches(view, batches)
        assert sorted(np.concatenate(found).tolist()) == list(range(300))
        for batch in found:
            assert view.peak[batch].sum() <= 200
            keys = list(zip(view.output[batch], view.prompt[batch], batch, strict=True))
            assert keys == sorted(keys)


@pytest.mark.parametrize("n", [300, 3000])
def test_quantile_splits_into_strata_and_loses_nobody(n: int) -> None:
    rng = np.random.default_rng(n)
    o = np.sort(rng.integers(1, 400, n))
    s = rng.integers(0, 1000, n)
    found = quantile_batches(s, o, 2000, NO_CAP, sample=32)
    assert sorted(np.concatenate(found).tolist()) == list(range(n))
    assert all((s + o)[x].sum() <= 2000 for x in found)


def test_quantile_with_one_score_for_all() -> None:
    o, s = np.full(2000, 5), np.full(2000, 3)
    found = quantile_batches(s, o, 80, NO_CAP)
    assert {len(x) for x in found} == {10}
    assert len(np.concatenate(found)) == 2000
