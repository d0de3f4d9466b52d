"""Subgradient ascent of a concave function of few variables: heavy ball, Polyak steps towards a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kvbound.solvers.bounds.rows import FloatArray

#: From a point to (the point after rounding, the function's value there, a supergradient there).
Oracle = Callable[[FloatArray], tuple[FloatArray, float, FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    """Best point found, its value and the number of evaluations."""

    point: FloatArray
    value: float
    evaluations: int


def climb(
    oracle: Oracle,
    start: FloatArray,
    *,
    target: float | None,
    stop: Callable[[float], bool],
    momentum: float = 0.8,
    patience: int = 6,
    gain: float = 1e-4,
    shrink: float = 0.6,
    least_step: float = 2e-3,
) -> Peak:
    """Climb from `start`.

    Parameters
    ----------
    target
        A value above the maximum (the objective of a schedule); None: 5 % above the best value so far.
    stop
        Asked with the best value before each evaluation but the first.
    momentum, patience, gain, shrink, least_step
        After `patience` evaluations without a relative gain of `gain` the step factor shrinks and the climb resumes
        from the best point; below `least_step` it ends. Tuned on jaillet 0 and 1.
    """
    point, step, stalled, evaluations = start, 1.0, 0, 0
    best, best_point = -np.inf, start
    velocity = np.zeros_like(start)
    while step > least_step and not (evaluations and stop(best)):
        point, value, slope = oracle(point)
        evaluations += 1
        stalled = 0 if value > best + gain * abs(best) or evaluations == 1 else stalled + 1
        if value > best:
            best, best_point = value, point
        if not slope.any() or (target is not None and best >= target):
            break
        if stalled >= patience:
            step, stalled, point = step * shrink, 0, best_point
            velocity = np.zeros_like(start)
        velocity = momentum * velocity + slope
        goal = target if target is not None else best + 0.05 * abs(best)
        point = point + step * max(goal - value, 0.0) / max(float(velocity @ velocity), 1.0) * velocity
    return Peak(best_point, float(best), evaluations)
