"""A certified lower bound on the mean EEL of a fleet that serves every request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from kvbound.checkers.certificate import Certificate
from kvbound.models.objective import TEL
from kvbound.models.problem import Problem
from kvbound.solvers.bounds.ladder import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import ProgressCallback


@dataclass(frozen=True, slots=True, eq=False)
class MeanEelBound:
    """No schedule that serves every request has a smaller mean EEL.

    Parameters
    ----------
    tel
        Lower bound on Σ EEL, in steps.
    mean
        tel / n, steps.
    certificate
        The proof for the TEL problem of the same requests and fleet (docs/math.md §5.5), claiming exactly `tel`.
    seconds
        Wall-clock time.
    """

    tel: int
    mean: Fraction
    certificate: Certificate
    seconds: float


def mean_eel_bound(
    problem: Problem,
    *,
    deadline: Deadline,
    method: str = "lagrangian",
    progress: ProgressCallback | None = None,
) -> MeanEelBound:
    """Bound the mean EEL by pooled prices (docs/math.md §5.3, §6): any arrivals, batch sizes and mix of workers.

    Parameters
    ----------
    problem
        Its objective does not matter: EEL is bounded for schedules that serve every request, with no horizon.
    method
        A method of `kvbound.solvers.bounds.bound`; ``volume`` takes no time and knows no arrivals.
    """
    served = replace(problem, objective=TEL)
    found = bound(served, method, deadline=deadline, progress=progress)
    assert found.value is not None
    assert found.certificate is not None
    return MeanEelBound(found.value, Fraction(found.value, served.n), found.certificate, found.seconds)
