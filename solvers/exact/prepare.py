"""Load the compiled kernels before a clock starts: compiling them, once after installation, must not eat a limit."""

from __future__ import annotations

import functools

import numpy as np

from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.front import solve


@functools.cache
def prepare(method: str = "auto") -> None:
    """Run `method` on problems of a few requests that reach every kernel of it; other methods compile nothing.

    Takes a fraction of a second when the kernels are on disk and up to a minute when they are not.
    """
    if method not in ("auto", "search"):
        return
    config = SolveConfig(time_limit=None, threads=1)
    for problem in _problems(method):
        solve(problem, method=method, config=config)


def _problems(method: str) -> list[Problem]:
    """Crowded (three items per state), with arrivals, with wide tables; for `auto` unit outputs and small peaks too."""
    prompt, output = np.array([3, 3, 4, 5, 1, 1, 5, 5]), np.array([10, 12, 32, 15, 11, 33, 9, 15])
    crowded = Problem(Requests(prompt, output), Fleet((40,)))
    late = Problem(Requests(np.array([2, 3, 4]), np.array([5, 6, 7]), np.array([0, 1, 2])), Fleet((14,)))
    if method == "search":
        wide = Problem(Requests(np.full(3, 2), np.array([150, 160, 170])), Fleet((300,)))
        return [crowded, late, wide]
    unit = Problem(Requests(np.array([7, 5, 4, 4, 3, 2]), np.ones(6, np.int64)), Fleet((11,)))
    roomy = Problem(Requests(np.array([1, 2, 1, 2, 3, 1]), np.array([3, 2, 4, 3, 2, 4])), Fleet((20,)))
    return [crowded, late, unit, roomy]
