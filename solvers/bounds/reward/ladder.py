"""Dual ascent on a ladder: few requests and a coarse grid first, then more of both, while the smoothing shrinks.

What a rung finds is where the next one starts. Only the last rung, with all requests, gives values that count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from kvbound.solvers.bounds.ascent import Incumbent, climb
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline

if TYPE_CHECKING:
    from kvbound.solvers.bounds.dual import Dual
    from kvbound.solvers.bounds.reward.dual import RewardDual

#: Prices per run on the first grid, and requests in the smallest sample: at least that many.
_FIRST_BLOCKS, _LEAST_SAMPLE = 256, 1000
#: Ascent steps per stage, and the relative gain of ten steps below which a stage ends.
_STEPS, _TOLERANCE = 60, 1e-5
#: Constant prices that are tried, each half of the one before.
_HALVINGS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """A dual at one grid and sample.

    Parameters
    ----------
    dual
        To be maximised.
    runs
        Number of blocks of each run of prices (one resource on one kind of workers).
    requests
        How many requests its sample stands for.
    """

    dual: Dual | RewardDual
    runs: tuple[int, ...]
    requests: int


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """What the ladder ends with: the dual, its best prices and their value, evaluations on all rungs."""

    dual: Dual | RewardDual
    prices: FloatArray
    value: float
    evaluations: int


def climb_ladder(
    make: Callable[[int, int], Rung],
    steps: int,
    requests: int,
    smoothing: tuple[float, float],
    deadline: Deadline,
    report: Callable[[float], None] | None = None,
) -> Top:
    """Climb to the top or until the deadline; then the prices in hand are valued on all requests.

    Parameters
    ----------
    make
        (steps per price, every which request) -> rung.
    steps, requests
        Length of a run on the finest grid; number of requests.
    smoothing
        First and last smoothing, relative to the mean value per request.
    report
        Called with the value after each stage; it is an estimate until the last rung.
    """
    block = 1 << max(0, (steps // _FIRST_BLOCKS).bit_length() - 1)
    every = 1 << max(0, (requests // _LEAST_SAMPLE).bit_length() - 1)
    rung = make(block, every)
    best = _constant(rung, deadline)
    prices, relative, evaluations = best.prices.copy(), smoothing[0], rung.dual.evaluations
    while not deadline.passed:
        before = rung.dual.evaluations
        mu = relative * max(1e-9, abs(best.value) / max(1, rung.requests))
        prices = climb(cast("Dual", rung.dual), prices, mu, best, steps=_STEPS, tolerance=_TOLERANCE,
                       deadline=deadline)  # fmt: skip
        evaluations += rung.dual.evaluations - before
        if report is not None:
            report(best.value)
        if relative <= smoothing[1] and (block, every) == (1, 1):
            break
        relative = max(smoothing[1], 0.5 * relative)
        if (block, every) != (1, 1):
            factor, block, every = min(block, 2), max(1, block // 2), max(1, every // 2)
            new = make(block, every)
            prices, best = _finer(prices, rung, new, factor), _moved(best, rung, new, factor)
            rung = new
    if every > 1:
        new = make(block, 1)
        best, rung = _moved(best, rung, new, 1), new
    return Top(rung.dual, best.prices, best.value, evaluations)


def _constant(rung: Rung, deadline: Deadline) -> Incumbent:
    """The best constant price: from one at which all capacity costs as much as everything is worth, by halving."""
    dual = rung.dual
    nothing = np.zeros(dual.size)
    best = Incumbent(dual.evaluate(nothing, 0.0, gradient=False).hard, nothing)
    price = abs(best.value) / max(1, dual.size)
    for _ in range(_HALVINGS):
        if deadline.passed:
            break
        best.offer(dual.evaluate(nothing + price, 0.0, gradient=False).hard, nothing + price)
        price *= 0.5
    return best


def _finer(prices: FloatArray, old: Rung, new: Rung, factor: int) -> FloatArray:
    """The same prices step by step, on blocks `factor` times shorter."""
    parts = np.split(prices, np.cumsum(old.runs)[:-1])
    return np.concatenate([np.repeat(part, factor)[:blocks] for part, blocks in zip(parts, new.runs, strict=True)])


def _moved(best: Incumbent, old: Rung, new: Rung, factor: int) -> Incumbent:
    kept = _finer(best.prices, old, new, factor)
    return Incumbent(new.dual.evaluate(kept, 0.0, gradient=False).hard, kept)
