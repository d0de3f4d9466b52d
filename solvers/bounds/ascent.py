"""Smoothed dual ascent: projected L-BFGS on the smoothed dual while the smoothing shrinks.

The dual is concave and piecewise linear; smoothed (`kernel`), it has a gradient that quasi-Newton steps can
use, and its error is proportional to μ. Every point visited is also a point of the dual itself, so the best
exact value seen is kept: the smoothing costs time, never validity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.solvers.bounds.dual import Dual, Point
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline

#: Steps remembered unless told otherwise.
PAIRS = 12
_BACKTRACKS = 15


class Incumbent:
    """Best prices seen on the current grid and their exact value."""

    __slots__ = ("prices", "value")

    def __init__(self, value: float, prices: FloatArray) -> None:
        self.value, self.prices = value, prices

    def offer(self, value: float, prices: FloatArray) -> None:
        """Keep the better one."""
        if value > self.value:
            self.value, self.prices = value, prices.copy()


class _Memory:
    """The last pairs (step, change of gradient) in a ring."""

    def __init__(self, pairs: int, size: int) -> None:
        self.steps, self.changes = np.zeros((pairs, size)), np.zeros((pairs, size))
        self.first = self.count = 0

    def clear(self) -> None:
        """Forget all pairs."""
        self.first = self.count = 0

    def append(self, step: FloatArray, change: FloatArray) -> None:
        """Add a pair, over the oldest one when the ring is full."""
        pairs = len(self.steps)
        at = (self.first + self.count) % pairs
        self.steps[at], self.changes[at] = step, change
        if self.count < pairs:
            self.count += 1
        else:
            self.first = (self.first + 1) % pairs


def climb(
    dual: Dual,
    start: FloatArray,
    mu: float,
    best: Incumbent,
    *,
    steps: int,
    tolerance: float,
    deadline: Deadline,
    pairs: int = PAIRS,
    target: float = np.inf,
    report: Callable[[float], None] | None = None,
) -> FloatArray:
    """Raise the smoothed dual from `start`, remembering `pairs` steps.

    Stops after `steps`, at the deadline, at an exact value of `target`, or when ten steps gain less than `tolerance`
    (relative). Returns the last point; `best` collects the best exact value.
    """
    z = start
    at = dual.evaluate(z, mu)
    best.offer(at.hard, z)
    memory = _Memory(pairs, len(z))
    history = [at.soft]
    for _ in range(steps):
        if deadline.passed or best.value >= target:
            break
        free = (z > 0.0) | (at.gradient > 0.0)
        direction = _direction(at.gradient, free, memory, z)
        if _dot(direction, at.gradient) <= 0.0:
            memory.clear()
            direction = _direction(at.gradient, free, memory, z)
        found = _line_search(dual, z, at, direction, mu, best, deadline)
        if found is None:
            if not memory.count:
                break
            memory.clear()
            continue
        new, there = found
        step, change = new - z, at.gradient - there.gradient
        if _dot(step, change) > 1e-12 * np.sqrt(_dot(step, step) * _dot(change, change)):
            memory.append(step, change)
        z, at = new, there
        history.append(at.soft)
        if report is not None:
            report(best.value)
        if len(history) > 10 and history[-1] - history[-11] < tolerance * max(1.0, abs(history[-1])):
            break
    return z


def _direction(gradient: FloatArray, free: npt.NDArray[np.bool_], memory: _Memory, z: FloatArray) -> FloatArray:
    """Two-loop recursion on the free prices; without memory a step that moves prices by a few per cent."""
    return _two_loops(gradient, free, memory.steps, memory.changes, memory.first, memory.count, z)


@njit(cache=True)
def _two_loops(gradient, free, steps, changes, first, count, z):  # type: ignore[no-untyped-def]
    q = np.where(free, gradient, 0.0)
    alpha = np.zeros(count)
    product = np.zeros(count)
    scale = -1.0
    for e in range(count - 1, -1, -1):
        s, y = steps[(first + e) % len(steps)], changes[(first + e) % len(steps)]
        sy, ss, yy, sq = _products(s, y, q, free)
        if sy <= 1e-14 * np.sqrt(ss * yy):
            continue
        product[e] = sy
        alpha[e] = sq / sy
        _add(q, -alpha[e], y, free)
        if scale < 0.0:
            scale = sy / yy
    if scale < 0.0:
        scale = 0.02 * max(1e-3, np.abs(z).max()) / max(1e-12, np.abs(q).max())
    q *= scale
    for e in range(count):
        if product[e] == 0.0:
            continue
        s, y = steps[(first + e) % len(steps)], changes[(first + e) % len(steps)]
        _add(q, alpha[e] - _dot(y, q) / product[e], s, free)  # q is 0 where prices are not free
    return q


@njit(cache=True)
def _add(q, factor, a, free):  # type: ignore[no-untyped-def]
    for i in range(len(q)):
        q[i] += factor * a[i] if free[i] else 0.0


# The order of a sum is left to the compiler here, so that it can add up several entries at a time.
@njit(cache=True, fastmath={"reassoc"})
def _products(s, y, q, free):  # type: ignore[no-untyped-def]
    """Return s·y, s·s, y·y and s·q over the free prices."""
    sy = ss = yy = sq = 0.0
    for i in range(len(q)):
        a = s[i] if free[i] else 0.0
        b = y[i] if free[i] else 0.0
        sy += a * b
        ss += a * a
        yy += b * b
        sq += a * q[i]
    return sy, ss, yy, sq


@njit(cache=True, fastmath={"reassoc"})
def _dot(a, b):  # type: ignore[no-untyped-def]
    """Inner product on one thread: the BLAS one wakes all cores from ten thousand entries on."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def _line_search(
    dual: Dual, z: FloatArray, at: Point, direction: FloatArray, mu: float, best: Incumbent, deadline: Deadline
) -> tuple[FloatArray, Point] | None:
    """Backtrack along the projected direction until the smoothed dual rises enough (Armijo)."""
    step = 1.0
    for _ in range(_BACKTRACKS):
        new = np.maximum(z + step * direction, 0.0)
        there = dual.evaluate(new, mu)
        best.offer(there.hard, new)
        if there.soft >= at.soft + 1e-4 * _dot(at.gradient, new - z):
            return new, there
        if deadline.passed:
            break
        step *= 0.35
    return None
