"""One door to all lower bounds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kvbound.checkers.certificate import Certificate, verify
from kvbound.models.errors import OptionError, SolverError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.solvers.bounds.lagrangian import Report, memory_prices, stagger_prices
from kvbound.solvers.bounds.linear_program import lp_prices
from kvbound.solvers.bounds.positional import positional_prices
from kvbound.solvers.bounds.result import BoundResult
from kvbound.solvers.bounds.rounding import certify_prices, volume_certificate
from kvbound.solvers.bounds.sequence import declines, evaluation_seconds, sequence_prices
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.progress import Progress, ProgressCallback

#: Names of the methods, weakest first.
METHODS = ("volume", "lp", "lagrangian", "positional", "stagger", "sequence", "best")

#: With time for fewer evaluations of the sequence relaxation prices prove more (docs/bounds.md §3).
_FEW_EVALUATIONS = 15

_Answer = tuple[Certificate, float | None, int]


def bound(
    problem: Problem,
    method: str,
    *,
    deadline: Deadline,
    seed: int = 0,
    upper: int | None = None,
    progress: ProgressCallback | None = None,
    start: Certificate | None = None,
) -> BoundResult:
    """Return a lower bound on TEL whose certificate has been verified in exact integer arithmetic.

    Parameters
    ----------
    problem
        Objective TEL; any arrivals, batch caps and workers (pooled, docs/math.md §6).
    method
        ``volume`` (O(n log n)), ``lp`` (HiGHS; small instances), ``lagrangian`` (memory and batch prices),
        ``positional`` (docs/math.md §5.6, by HiGHS; some hundred requests), ``stagger`` (docs/math.md §4 as well),
        ``sequence`` (docs/bounds.md §1; one worker, lengths of at most a few
        hundred), ``best`` (the strongest that fits the instance and the deadline).
    deadline
        Dual methods stop there with the best prices so far, or earlier when they no longer gain. Kernels that are
        compiled on the way take their time from it: `prepare` first.
    seed
        Accepted for uniformity: no method draws random numbers.
    upper
        TEL of a known schedule: dual methods stop when they prove it optimal, progress reports show it, and a bound
        above it raises `SolverError`.
    progress
        Called with the best bound so far.
    start
        A certificate of this problem, found earlier: ``sequence`` and ``best`` go on from its multipliers, and its own
        bound stays if nothing better is found. Prices are always searched anew.

    Raises
    ------
    OptionError
        Unknown method, an objective other than TEL, or ``sequence`` on an instance that it does not fit.
    CertificateError
        `start` belongs to another problem.
    SizeError, LimitError
        ``lp`` and ``positional``: the LP is too large, or HiGHS found no dual solution in time.
    SolverError
        A verified bound contradicts `upper`.
    """
    del seed
    if method not in METHODS:
        raise OptionError(f"unknown bound method {method!r}; known: {', '.join(METHODS)}")
    if problem.objective.name != "tel":
        raise OptionError(f"lower bounds are for TEL, not {problem.objective.name}")
    began = deadline.elapsed
    report = _reporter(progress, method, deadline, upper)
    best: _Answer | None = None
    begun = start is not None and start.rule == "sequence" and method in ("sequence", "best")
    if start is not None:
        best = replace(start, value=verify(problem, start)), None, 0
    for name, share in (("sequence", 1.0),) if begun else _steps(problem, method, deadline):
        if name == "stagger" and best is not None and best[0].rule == "sequence":
            continue  # the relaxation is ahead of all prices, and has had the time
        floor = -math.inf if best is None or best[0].value is None else best[0].value
        answer = _run(problem, name, deadline.share(share), report, upper, floor, start if begun else None)
        if best is None or (answer[0].value or 0) > (best[0].value or 0):
            best = answer
        if upper is not None and best[0].value == upper:
            break
    assert best is not None
    certificate, raw, iterations = best
    if upper is not None and certificate.value is not None and certificate.value > upper:
        raise SolverError(f"the verified bound {certificate.value} lies above a schedule of {upper}: one is wrong")
    seconds = deadline.elapsed - began
    return BoundResult(method, certificate.value, raw, certificate, True, seconds, iterations)


@functools.cache
def prepare(method: str = "best") -> None:
    """Load the kernels of a method, or compile them once after installation, so that no deadline pays for it."""
    problem = Problem(Requests(np.array([1, 2, 3]), np.array([2, 1, 2])), Fleet((8,)))
    for name in METHODS[:-1] if method == "best" else (method,):
        bound(problem, name, deadline=Deadline(None))


def _steps(problem: Problem, method: str, deadline: Deadline) -> Sequence[tuple[str, float]]:
    """Methods to run, each with its share of the time that is left then."""
    if method != "best":
        return ((method, 1.0),)
    if problem.requests.arrival.any() or declines(problem) is not None:
        return ("volume", 1.0), ("stagger", 1.0)
    if declines(problem, 3) is not None:
        return ("volume", 1.0), ("stagger", 0.5), ("sequence", 1.0)
    left = deadline.remaining
    if left is not None and left < _FEW_EVALUATIONS * evaluation_seconds(problem, 3):
        return ("volume", 1.0), ("stagger", 0.75), ("sequence", 1.0)
    # Where two shapes can be remembered the sequence relaxation is often far ahead of any prices; where the few
    # remembered ones fill little of the memory it gives up soon, and the time is for prices.
    return ("volume", 1.0), ("lagrangian", 0.05), ("sequence", 1.0), ("stagger", 1.0)


def _run(
    problem: Problem,
    method: str,
    deadline: Deadline,
    report: Report | None,
    upper: int | None,
    floor: float,
    start: Certificate | None,
) -> _Answer:
    if method == "volume":
        return volume_certificate(problem), None, 0
    if method == "lp":
        terms, raw, iterations = lp_prices(problem, deadline)
        return certify_prices(problem, "lp", terms), raw, iterations
    if method == "positional":
        return positional_prices(problem, deadline, report)
    if method == "sequence":
        reason = declines(problem)
        if reason is not None:
            raise OptionError(f"{problem.name}: {reason}; use stagger or best")
        return sequence_prices(problem, deadline, report, upper, floor, start)
    # The last tenth is for rounding and exact verification.
    inner = deadline.share(0.9)
    # Rounding up closes the rest: beyond upper − 1 the schedule is proved optimal.
    target = math.inf if upper is None else upper - 1 + 1e-3
    search = (memory_prices if method == "lagrangian" else stagger_prices)(problem, inner, report, target)
    return certify_prices(problem, method, search.terms()), search.best.value, search.evaluations


def _reporter(progress: ProgressCallback | None, method: str, deadline: Deadline, upper: int | None) -> Report | None:
    if progress is None:
        return None

    def report(value: float) -> None:
        if math.isfinite(value):
            progress(Progress(f"bound: {method}", deadline.elapsed, upper, math.floor(value)))

    return report
