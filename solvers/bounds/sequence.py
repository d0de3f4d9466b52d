"""Multipliers for the sequence relaxation (docs/bounds.md §1), started from what memory prices make a request worth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kvbound.checkers.certificate import Certificate, certified
from kvbound.models.problem import Problem
from kvbound.models.sequence import Relaxation, evaluate
from kvbound.solvers.bounds.bundle import Peak, climb
from kvbound.solvers.bounds.lagrangian import memory_prices
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
#: Measured on three of Jaillet's instances: 42 to 73 ns on one core, half of that on two.
_SECONDS_PER_ENTRY = 8e-8
#: Share of the time for level 2 when level 3 follows, and the promised gain at which it ends: an evaluation there
#: costs a few per cent of one at level 3, and its best multipliers are a good start.
_LEVEL_2_SHARE, _LEVEL_2_TOLERANCE = 0.12, 5e-3
#: After that many evaluations a bound that lies this far below the floor is given up.
_PATIENCE, _HOPELESS = 5, 0.95


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


def evaluation_seconds(problem: Problem, level: int) -> float:
    """About how long one evaluation takes on one core; the caller has asked `declines` first."""
    entries = int(Relaxation.of(problem.requests, problem.fleet.largest, level).offset[-1])
    return _SECONDS_PER_ENTRY * problem.n * entries


def sequence_prices(
    problem: Problem,
    deadline: Deadline,
    report: Callable[[float], None] | None,
    upper: int | None,
    floor: float = -np.inf,
) -> tuple[Certificate, float, int]:
    """Return the best sequence certificate, its value before rounding and the number of evaluations.

    The caller has asked `declines` first. `upper` (TEL of a schedule) sets the length of the steps; the search gives
    up when it does not come near `floor`, a bound that is known already.
    """
    memory, arrivals = problem.fleet.largest, sum(problem.requests.arrival.tolist())
    target = None if upper is None else float(upper + arrivals)
    space = Relaxation.of(problem.requests, memory, 2)
    start = _first_multipliers(problem, space, deadline.share(0.03))
    deep = declines(problem, 3) is None
    search = _Search(space, deadline.share(_LEVEL_2_SHARE) if deep else deadline, report, arrivals, target, floor)
    peak = search.climb(start, _LEVEL_2_TOLERANCE if deep else 1e-4)
    evaluations, level = peak.evaluations, 2
    if deep and (target is None or peak.value < target):
        space, level = Relaxation.of(problem.requests, memory, 3), 3
        peak = _Search(space, deadline, report, arrivals, target, floor).climb(peak.point, 1e-4)
        evaluations += peak.evaluations
    return _certificate(problem, level, peak.point), peak.value - arrivals, evaluations


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


class _Search:
    """The ascent at one level."""

    def __init__(
        self,
        space: Relaxation,
        deadline: Deadline,
        report: Callable[[float], None] | None,
        arrivals: int,
        target: float | None,
        floor: float,
    ) -> None:
        self.space, self.deadline, self.report, self.target = space, deadline, report, target
        self.arrivals, self.floor = arrivals, floor
        self.slowest, self.before, self.evaluations = 0.0, deadline.elapsed, 0

    def climb(self, start: FloatArray, tolerance: float) -> Peak:
        return climb(self._evaluate, start, target=self.target, stop=self._stop, tolerance=tolerance)

    def _evaluate(self, point: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        numerators = np.rint(point * SCALE).astype(np.int64)
        scaled, visits = evaluate(self.space, SCALE, numerators, visits=True)
        assert visits is not None
        self.evaluations += 1
        return numerators / SCALE, scaled / SCALE, (self.space.number - visits).astype(float)

    def _stop(self, value: float) -> bool:
        proved = value - self.arrivals
        if self.report is not None:
            self.report(proved)
        now = self.deadline.elapsed
        self.slowest, self.before = max(self.slowest, now - self.before), now
        if self.space.level == 3 and self.evaluations >= _PATIENCE and proved < _HOPELESS * self.floor:
            return True
        # One more evaluation and the exact verification have to fit as well.
        return self.deadline.remaining is not None and self.deadline.remaining < 2.5 * self.slowest
