"""A certified lower bound on the mean EEL of a fleet that serves every request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from kvbound.checkers.certificate import Certificate
from kvbound.models.objective import TEL
from kvbound.models.problem import Problem
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight
from kvbound.solvers.bounds.dual import Dual
from kvbound.solvers.bounds.ladder import bound
from kvbound.solvers.bounds.lagrangian import first_horizon
from kvbound.solvers.bounds.reward.ladder import Rung, climb_ladder
from kvbound.solvers.bounds.rounding import certify_prices, volume_certificate
from kvbound.solvers.bounds.rows import PricedRows, unit
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import Progress, ProgressCallback

#: First and last smoothing, relative to the mean EEL.
_SMOOTHING = (2e-2, 1e-4)


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
        ``lagrangian``, made for many requests over a long time; or another method of `kvbound.solvers.bounds.bound`:
        ``volume`` takes no time and knows no arrivals, ``stagger`` is stronger on few workers with large requests.
    """
    began = deadline.elapsed
    served = replace(problem, objective=TEL)
    if method == "lagrangian":
        certificate = _prices(served, deadline, progress)
    else:
        found = bound(served, method, deadline=deadline, progress=progress)
        assert found.certificate is not None
        certificate = found.certificate
    assert certificate.value is not None
    mean = Fraction(certificate.value, served.n)
    return MeanEelBound(certificate.value, mean, certificate, deadline.elapsed - began)


def _prices(problem: Problem, deadline: Deadline, progress: ProgressCallback | None) -> Certificate:
    """Memory and batch prices of all workers together, climbed on samples and coarse grids first."""
    last = first_horizon(problem)
    weights: list[Weight] = [MemoryWeight()]
    if problem.fleet.pooled_batch is not None:
        weights.append(BatchWeight())

    def make(block: int, every: int) -> Rung:
        rows = [PricedRows.of(weight, last, block) for weight in weights]
        dual = Dual(problem, rows, last, None if every == 1 else max(1, problem.n // every))
        return Rung(dual, tuple(r.blocks for r in rows), int(dual.count.sum()))

    def report(value: float) -> None:
        if progress is not None:
            progress(Progress("mean EEL: prices", deadline.elapsed, None, None))

    top = climb_ladder(make, last + 1, problem.n, _SMOOTHING, deadline.share(0.9), report)
    assert isinstance(top.dual, Dual)
    parts = zip(top.dual.rows, top.dual.split(top.prices), strict=True)
    terms = [(r.weight, r.ticks, r.spread(p) / unit(r.weight, problem.fleet)) for r, p in parts]
    proved, volume = certify_prices(problem, "lagrangian", terms), volume_certificate(problem)
    return max(proved, volume, key=lambda c: c.value or 0)
