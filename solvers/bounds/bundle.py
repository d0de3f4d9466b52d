"""Proximal bundle ascent of a concave function of few variables whose every evaluation is dear.

All supergradients seen are kept as planes above the function. The next point maximises the lowest plane minus
‖x − centre‖²/(2t); its dual is a small quadratic program over convex combinations of the planes. The centre moves
when the point gains a tenth of what the planes promised (Kiwiel, Math. Programming 46, 1990; t is adapted as there).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from kvbound.solvers.bounds.rows import FloatArray

#: From a point to (the point after rounding, the function's value there, a supergradient there); None ends the climb.
Oracle = Callable[[FloatArray], tuple[FloatArray, float, FloatArray] | None]
#: Planes kept at most; beyond it the half of least weight goes.
_PLANES = 100
#: Steps in a row that may fail to move the centre. Points are rounded: near the top nothing new may come any more.
_FAILURES = 100
#: Share of the promised gain at which the centre moves, and at which the promise was modest.
_MOVE, _BOLD = 0.1, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Peak:
    """Best point found, its value and the number of evaluations; with 0 of them the start and −∞."""

    point: FloatArray
    value: float
    evaluations: int


class _Planes:
    """Planes f(x) ≤ value + slope·(x − point), and the weights of the last combination."""

    def __init__(self, point: FloatArray, value: float, slope: FloatArray) -> None:
        self.points, self.values, self.slopes = point[None, :], np.array([value]), slope[None, :]
        self.weights = np.ones(1)

    def append(self, point: FloatArray, value: float, slope: FloatArray) -> None:
        if len(self.values) >= _PLANES:
            keep = np.sort(np.argsort(-self.weights, kind="stable")[: _PLANES // 2])
            self.points, self.values, self.slopes = self.points[keep], self.values[keep], self.slopes[keep]
            self.weights = self.weights[keep]
        self.points, self.slopes = np.vstack((self.points, point)), np.vstack((self.slopes, slope))
        self.values, self.weights = np.append(self.values, value), np.append(self.weights, 0.0)

    def combine(self, centre: FloatArray, value: float, t: float) -> tuple[FloatArray, float]:
        """Step from the centre and the gain that the planes promise there."""
        above = np.maximum(self.values + ((centre - self.points) * self.slopes).sum(axis=1) - value, 0.0)
        inner = t * (self.slopes @ self.slopes.T)
        self.weights /= self.weights.sum()
        _least_combination(inner, above, self.weights, inner @ self.weights + above)
        slope = self.weights @ self.slopes
        return t * slope, float(t * (slope @ slope) + self.weights @ above)


@njit(cache=True)
def _least_combination(inner, above, weights, slope):  # type: ignore[no-untyped-def]
    """min ½ w·inner·w + above·w over the simplex, by moving weight between the worst and the best plane; in place."""
    for _ in range(20_000):
        best = slope.argmin()
        worst = -1
        for i in range(len(weights)):
            if weights[i] > 0.0 and (worst < 0 or slope[i] > slope[worst]):
                worst = i
        gap = slope[worst] - slope[best]
        if gap <= 1e-9 * (1.0 + abs(slope[best])):
            return
        curvature = inner[best, best] + inner[worst, worst] - 2.0 * inner[best, worst]
        move = weights[worst] if curvature <= 1e-14 else min(weights[worst], gap / curvature)
        weights[best] += move
        weights[worst] -= move
        for i in range(len(weights)):
            slope[i] += move * (inner[i, best] - inner[i, worst])


def climb(
    oracle: Oracle,
    start: FloatArray,
    *,
    target: float | None,
    stop: Callable[[float], bool],
    tolerance: float = 1e-4,
    hope: float = 0.1,
) -> Peak:
    """Climb from `start`.

    Parameters
    ----------
    target
        A value above the maximum (the objective of a schedule); the climb ends there. None: unknown.
    stop
        Asked with the best value before each evaluation but the first.
    tolerance
        End when the planes promise a smaller relative gain.
    hope
        Relative gain to be expected from `start` at most: sets the length of the first step.
    """
    first = oracle(start)
    if first is None:
        return Peak(start, -np.inf, 0)
    centre, value, slope = first
    planes, evaluations = _Planes(centre, value, slope), 1
    goal = value + hope * abs(value)
    goal = goal if target is None else min(goal, target)
    t = max(goal - value, 1.0) / max(float(slope @ slope), 1.0)
    failures = 0
    while slope.any() and failures < _FAILURES and not stop(value) and (target is None or value < target):
        step, promised = planes.combine(centre, value, t)
        if promised <= tolerance * abs(value):
            break
        answer = oracle(centre + step)
        if answer is None:
            break
        point, there, slope = answer
        evaluations += 1
        planes.append(point, there, slope)
        ratio = (there - value) / promised
        wanted = t / (2.0 * (1.0 - ratio)) if ratio < 1.0 else 3.0 * t
        if ratio >= _MOVE:
            t = float(np.clip(wanted, t, 3.0 * t)) if ratio >= _BOLD else t
            centre, value, failures = point, there, 0
            continue
        failures += 1
        if there + float(slope @ (centre - point)) - value > 0.5 * promised:
            # The new plane says little about the centre: the step was too long.
            t = max(wanted, t / 3.0)
    return Peak(centre, value, evaluations)
