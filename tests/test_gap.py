"""Gap statements."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kvbound.checkers import gap
from kvbound.models.errors import SolverError


def test_ratio_and_relative_gap() -> None:
    found = gap(15, 10, verified=True, proved_by="volume")
    assert (found.exact_ratio, found.ratio, found.relative) == (Fraction(3, 2), 1.5, 0.5)
    assert (found.tel, found.bound, found.verified, found.proved_by) == (15, 10, True, "volume")


def test_equal_means_optimal() -> None:
    found = gap(10, 10, verified=True, proved_by="search")
    assert found.ratio == 1.0
    assert found.relative == 0.0


@pytest.mark.parametrize("bound", [None, 0])
def test_no_bound_no_ratio(bound) -> None:
    found = gap(15, bound, verified=False, proved_by="nobody")
    assert found.ratio is None
    assert found.relative is None
    assert found.exact_ratio is None


def test_the_ratio_is_exact_for_huge_numbers() -> None:
    assert gap(10**18 + 1, 10**18, verified=True, proved_by="x").exact_ratio == Fraction(10**18 + 1, 10**18)


def test_a_bound_above_a_schedule_is_a_contradiction() -> None:
    with pytest.raises(SolverError, match="the bound 16 \\(me\\) lies above a checked schedule of 15"):
        gap(15, 16, verified=False, proved_by="me")
