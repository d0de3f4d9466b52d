"""The certified bound that `auto` starts from."""

from __future__ import annotations

from kvbound.models.problem import Problem
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.known import Known
from kvbound.solvers.progress import ProgressCallback

#: Memory prices with stagger weights: the strongest method that scales.
METHOD = "stagger"


def certified_bound(
    problem: Problem, known: Known, deadline: Deadline, seed: int, progress: ProgressCallback | None
) -> Known:
    """Take the bound of `METHOD` with its verified certificate."""
    from kvbound.solvers.bounds import bound

    result = bound(problem, METHOD, deadline=deadline, seed=seed, upper=known.tel, progress=progress)
    certificate = result.certificate if result.verified else None
    return known.with_bound(result.value, f"{METHOD} prices", certificate)
