"""Arrival times for generated requests, in steps."""

from __future__ import annotations

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.requests import MAX_ARRIVAL, IntArray


def poisson(n: int, rate: float, rng: np.random.Generator) -> IntArray:
    """Return n arrivals of a Poisson process with `rate` requests per step, ascending, shape (n,).

    Times are rounded down to steps, so several requests may arrive in one step.
    """
    if not rate > 0:
        raise OptionError(f"rate is {rate}; it must be above 0 requests per step")
    if n / rate > MAX_ARRIVAL / 10:
        raise OptionError(f"rate is {rate}: {n} requests would take about {n / rate:.3g} steps; raise the rate")
    return np.floor(np.cumsum(rng.exponential(1 / rate, n))).astype(np.int64)


def bursts(n: int, size: int, every: int) -> IntArray:
    """Return n arrivals in bursts of `size`, one burst each `every` steps from step 0, shape (n,)."""
    if size < 1 or every < 1:
        raise OptionError(f"size={size}, every={every}: both have to be at least 1")
    return (np.arange(n, dtype=np.int64) // size) * every
