"""Multipliers for the sequence relaxation (docs/bounds.md §1), started from what memory prices make a request worth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kvbound.checkers.certificate import Certificate, certified
from kvbound.models.problem import Problem
from kvbound.models.sequence import Relaxation, evaluate
from kvbound.solvers.bounds.lagrangian import memory_prices
from kvbound.solvers.bounds.polyak import Peak, climb
from kvbound.solvers.bounds.reduced import reduced_costs
from kvbound.solvers.bounds.rounding import certify_prices
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline

#: Denominator of the multipliers.
SCALE = 16
#: Most table entries per position and level: beyond it one evaluation takes minutes.
_MOST_ENTRIES = 3_000_000
#: Memory that the tables of all positions may take, in bytes.
_MOST_BYTES = 1_500_000_000


def declines(problem: Problem, level: int = 2) -> str | None:
    """Why the relaxation does not fit `problem`, or None when it does."""
    requests = problem.requests
    if len(problem.fleet) != 1:
        return "the sequence relaxation is for one worker"
    if Relaxation.entries(requests, level) > 1_000_000_000:
        return f"too many shapes for level {level} of the sequence relaxation"
    entries = int(Relaxation.of(requests, problem.fleet.largest, level).offset[-1])
    if entries > _MOST_ENTRIES or 4 * (problem.n + 2) * entries > _MOST_BYTES:
        return f"{entries} table entries per position at level {level} of the sequence relaxation"
    if SCALE * problem.n * (problem.n + 1) * (int(requests.output.max()) + 1) >= 1 << 27:
        return "lengths beyond the 32-bit tables of the sequence relaxation"
    return None


def sequence_prices(
    problem: Problem, deadline: Deadline, report: Callable[[float], None] | None, upper: int | None
) -> tuple[Certificate, float, int]:
    """Return the best sequence certificate, its value before rounding and the number of evaluations.

    The caller has asked `declines` first. `upper` (TEL of a schedule) sets the length of the steps.
    """
    level = 3 if declines(problem, 3) is None else 2
    space = Relaxation.of(problem.requests, problem.fleet.largest, level)
    arrivals = sum(problem.requests.arrival.tolist())
    target = None if upper is None else float(upper + arrivals)
    peak = _climb(space, _first_multipliers(problem, space, deadline.share(0.1)), deadline, report, arrivals, target)
    return _certificate(problem, level, peak.point), peak.value - arrivals, peak.evaluations


def _first_multipliers(problem: Problem, space: Relaxation, deadline: Deadline) -> FloatArray:
    """Price of a request's cheapest start under memory prices, scaled by the factor that proves most."""
    certificate = certify_prices(problem, "lagrangian", memory_prices(problem, deadline, None).terms())
    if not certificate.terms:  # everything fits at once: no price is needed
        return space.output.astype(float)
    costs = reduced_costs(problem, certificate)
    worth = np.zeros(len(space.peak))
    worth[space.type_of(problem.requests)] = costs.least / costs.denominator

    def proved(factor: float) -> int:
        return evaluate(space, SCALE, np.rint(factor * worth * SCALE).astype(np.int64))[0]

    return max((1.0, 1.25, 1.5, 1.75, 2.0), key=proved) * worth


def _certificate(problem: Problem, level: int, point: FloatArray) -> Certificate:
    numerators = np.rint(point * SCALE).astype(np.int64)
    fingerprint, method = problem.fingerprint(), f"sequence-{level}"
    return certified(problem, Certificate("sequence", method, fingerprint, SCALE, (), None, level, numerators))


def _climb(
    space: Relaxation,
    start: FloatArray,
    deadline: Deadline,
    report: Callable[[float], None] | None,
    arrivals: int,
    target: float | None,
) -> Peak:
    def oracle(point: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        numerators = np.rint(point * SCALE).astype(np.int64)
        scaled, visits = evaluate(space, SCALE, numerators, visits=True)
        assert visits is not None
        return numerators / SCALE, scaled / SCALE, (space.number - visits).astype(float)

    slowest, before = 0.0, deadline.elapsed

    def stop(value: float) -> bool:
        nonlocal slowest, before
        if report is not None:
            report(value - arrivals)
        now = deadline.elapsed
        slowest, before = max(slowest, now - before), now
        # One more evaluation and the exact verification have to fit as well.
        return deadline.remaining is not None and deadline.remaining < 2.5 * slowest

    return climb(oracle, start, target=target, stop=stop)
