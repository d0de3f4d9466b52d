"""Floating-point prices -> integer certificate of a bound on REWARD, and the exact value that it proves."""

from __future__ import annotations

import math

import numpy as np

from kvbound.checkers.certificate import Certificate, PriceTerm, certified
from kvbound.models.problem import Problem
from kvbound.solvers.bounds.reward.result import RewardPrices, reward_of

#: Finest denominator tried; floats carry no more.
_MOST_BITS = 44
#: Leaves room below the checker's 2^62 for the rounding of prices.
_SAFE = float(1 << 61)


def certify_reward(problem: Problem, method: str, prices: RewardPrices) -> Certificate:
    """Round prices to integers over the finest power of two with which int64 suffices, and verify exactly.

    The certificate claims what exact arithmetic proves, never what floats believed.
    """
    reward = reward_of(problem)
    bits = _bits(problem, prices)
    terms = []
    for name in ("memory", "batch"):
        for worker, row in zip(prices.workers, getattr(prices, name), strict=True):
            numerator = np.rint(np.ldexp(row, bits)).astype(np.int64)
            ticks = np.flatnonzero(numerator > 0)
            if ticks.size:
                terms.append(PriceTerm(name, (worker,), ticks, numerator[ticks]))
    bare = Certificate("reward", method, problem.fingerprint(), 1 << bits, tuple(terms), None,
                       objective=reward.identity)  # fmt: skip
    return certified(problem, bare)


def _bits(problem: Problem, prices: RewardPrices) -> int:
    """Largest b such that rewards and prices over 2^b stay inside the checker's int64 arithmetic."""
    reward, r = reward_of(problem), problem.requests
    most = float(sum(reward.weights) * reward.denominator) * (reward.horizon + 1)
    total = float(max(prices.memory.sum(axis=1).max(), prices.batch.sum(axis=1).max())) + 1.0
    largest = 4.0 * (float(r.peak.max()) + float(r.output.max()) + 2.0 * reward.horizon) * total
    return int(np.clip(math.floor(math.log2(_SAFE / (most + largest))), 0, _MOST_BITS))
