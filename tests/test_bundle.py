"""The bundle ascent: finds the top of concave functions, and ends where rounding hides it."""

from __future__ import annotations

import numpy as np

from kvbound.solvers.bounds.bundle import climb
from kvbound.solvers.bounds.rows import FloatArray


def test_the_top_of_a_pyramid() -> None:
    top = np.array([3.0, -2.0, 5.0])

    def oracle(x: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        return x, 10.0 - float(np.abs(x - top).sum()), -np.sign(x - top)

    peak = climb(oracle, np.zeros(3), target=None, stop=lambda value: False, tolerance=1e-6)
    assert abs(peak.value - 10.0) < 1e-3
    assert peak.evaluations < 100


def test_it_ends_where_rounding_hides_the_top() -> None:
    """The top lies between grid points, so the promise never shrinks; without a limit this went on for ever."""

    def oracle(x: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        point = np.rint(x)
        return point, -float(np.abs(point - 0.5).sum()), -np.sign(point - 0.5)

    calls = 0

    def stop(value: float) -> bool:
        nonlocal calls
        calls += 1
        return calls > 5000

    peak = climb(oracle, np.array([4.0, -3.0]), target=None, stop=stop, tolerance=1e-9)
    assert peak.value == -1.0
    assert calls < 500


def test_an_abandoned_evaluation_ends_the_climb_with_the_best_so_far() -> None:
    answers = 0

    def oracle(x: FloatArray) -> tuple[FloatArray, float, FloatArray] | None:
        nonlocal answers
        answers += 1
        return None if answers > after else (x, -float(np.abs(x - 9.0).sum()), -np.sign(x - 9.0))

    after = 3
    peak = climb(oracle, np.zeros(2), target=None, stop=lambda value: False)
    assert (peak.evaluations, answers) == (3, 4)
    assert peak.value > -18.0
    answers, after = 0, 0
    peak = climb(oracle, np.ones(2), target=None, stop=lambda value: False)
    assert (peak.point.tolist(), peak.value, peak.evaluations) == ([1.0, 1.0], -np.inf, 0)
