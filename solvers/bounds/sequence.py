"""Multipliers for the sequence relaxation (docs/bounds.md §1), started from what memory prices make a request worth."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from kvbound.checkers.certificate import Certificate, certified
from kvbound.checkers.sequence_rule import MOST_SETS
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.sequence import LEVELS, AbandonedError, Relaxation, evaluate
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
#: Seconds per table entry and position of an evaluation, per level: one core, four of Jaillet's instances.
_SECONDS_PER_ENTRY = {2: 7e-8, 3: 6e-8, 4: 1e-7}
#: Share of the time that is left for levels 2 and 3 when another follows, and the promised gain at which they end:
#: an evaluation there costs a tenth of one at the next level or less, and its best multipliers are a good start.
_SHARE, _TOLERANCE, _LAST_TOLERANCE = {2: 0.1, 3: 0.3}, {2: 5e-3, 3: 1e-3}, 1e-4
#: Relative gain (1 = 100 %) to be hoped for at each level, which sets the length of the first steps.
_HOPE = {2: 0.1, 3: 0.03, 4: 0.01}
#: A level is worth trying if so many of its evaluations fit into the time that is left: one, its verification, spare.
_FEW = 2.5
#: Time of a later position of an evaluation as a share of the earlier ones', about.
_LATER_POSITIONS = 0.6
#: After that many evaluations a bound that lies this far below the floor is given up.
_PATIENCE, _HOPELESS = 5, 0.95


def declines(problem: Problem, level: int = 2) -> str | None:
    """Why the relaxation does not fit `problem`, or None when it does."""
    requests = problem.requests
    if len(problem.fleet) != 1:
        return "the sequence relaxation is for one worker"
    if Relaxation.most_sets(requests, level) > MOST_SETS:
        return f"too many shapes for level {level} of the sequence relaxation"
    entries = Relaxation.size(requests, problem.fleet.largest, level)
    if entries > _MOST_ENTRIES or 4 * (problem.n + 2) * entries > _MOST_BYTES:
        return f"{entries} table entries per position at level {level} of the sequence relaxation"
    if SCALE * problem.n * (problem.n + 1) * (int(requests.output.max()) + 1) >= 1 << 27:
        return "lengths beyond the 32-bit tables of the sequence relaxation"
    return None


def evaluation_seconds(problem: Problem, level: int) -> float:
    """About how long one evaluation takes on one core; the caller has asked `declines` first."""
    entries = Relaxation.size(problem.requests, problem.fleet.largest, level)
    return _SECONDS_PER_ENTRY[level] * problem.n * entries


def sequence_prices(
    problem: Problem,
    deadline: Deadline,
    report: Callable[[float], None] | None,
    upper: int | None,
    floor: float = -np.inf,
    start: Certificate | None = None,
) -> tuple[Certificate, float, int]:
    """Return the best sequence certificate, its value before rounding and the number of evaluations.

    The caller has asked `declines` first. `upper` (TEL of a schedule) sets the length of the steps; the search gives
    up when it does not come near `floor`, a bound that is known already. With `start`, a sequence certificate of this
    problem, it goes on from there, at the next level where that fits.
    """
    memory, arrivals = problem.fleet.largest, sum(problem.requests.arrival.tolist())
    target = None if upper is None else float(upper + arrivals)
    if start is None or start.multipliers is None or start.level is None:
        level = LEVELS[0]
        point = _first_multipliers(problem, Relaxation.of(problem.requests, memory, level), deadline.share(0.03))
    else:
        level = start.level + _worth(problem, start.level + 1, deadline)
        point, floor = start.multipliers / start.denominator, -np.inf
    evaluations, pace = 0, 1.0
    peak: Peak | None = None
    reached, highest = level, LEVELS[-1]
    while True:
        _compiled(level)
        space = Relaxation.of(problem.requests, memory, level)
        more = level < highest and _worth(problem, level + 1, deadline, pace, _SHARE.get(level, 0.0))
        clock = deadline.share(_SHARE[level]) if more else deadline
        search = _Search(space, clock, report, arrivals, target, floor, must=peak is None)
        found = search.climb(point, _TOLERANCE[level] if more else _LAST_TOLERANCE)
        if peak is not None and found.evaluations == 0:
            if level == reached:
                break
            level = highest = reached  # too slow up there: what is left of the time is for the level before
            continue
        reached, peak, point, evaluations = level, found, found.point, evaluations + found.evaluations
        pace = search.mean_evaluation / evaluation_seconds(problem, level)
        if search.hopeless or (target is not None and peak.value >= target):
            break
        if level < highest and _worth(problem, level + 1, deadline, pace):
            level += 1
        elif not more:
            break  # else it is slower here than thought, and what is left of the time is for this level
    return _certificate(problem, reached, point), peak.value - arrivals, evaluations


def _worth(problem: Problem, level: int, deadline: Deadline, pace: float = 1.0, before: float = 0.0) -> bool:
    """Whether that level fits, and a few evaluations of it into what is left of the time behind the share `before`.

    `pace` is how much slower evaluations have been than thought.
    """
    if level not in LEVELS or declines(problem, level) is not None:
        return False
    left = deadline.remaining
    return left is None or (1.0 - before) * left > _FEW * pace * evaluation_seconds(problem, level)


@functools.cache
def _compiled(level: int) -> None:
    """Load the kernels of that level, so that compiling them, once, is not taken for a slow evaluation."""
    space = Relaxation.of(Requests(np.array([1, 2]), np.array([2, 2])), 9, level)
    evaluate(space, 1, np.zeros(2, np.int64), visits=True)


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
    """The ascent at one level; with `must` its first evaluation is finished whatever the clock says."""

    def __init__(
        self,
        space: Relaxation,
        deadline: Deadline,
        report: Callable[[float], None] | None,
        arrivals: int,
        target: float | None,
        floor: float,
        *,
        must: bool,
    ) -> None:
        self.space, self.deadline, self.report, self.target, self.must = space, deadline, report, target, must
        self.arrivals, self.floor = arrivals, floor
        self.began = self.before = deadline.elapsed
        self.evaluating, self.evaluations, self.hopeless = 0.0, 0, False

    @property
    def mean(self) -> float:
        """Mean seconds of an evaluation and the bundle's step around it."""
        return (self.before - self.began) / max(1, self.evaluations)

    @property
    def mean_evaluation(self) -> float:
        """Mean seconds of an evaluation alone: at level 2 the bundle's step takes longer than it does."""
        return self.evaluating / max(1, self.evaluations)

    def climb(self, start: FloatArray, tolerance: float) -> Peak:
        hope = _HOPE[self.space.level]
        return climb(self._evaluate, start, target=self.target, stop=self._stop, tolerance=tolerance, hope=hope)

    def _evaluate(self, point: FloatArray) -> tuple[FloatArray, float, FloatArray] | None:
        numerators = np.rint(point * SCALE).astype(np.int64)
        began = self.deadline.elapsed

        def too_long(done: float) -> bool:
            """Whether the rest of this evaluation, and the exact verification after it, will not fit."""
            left, spent = self.deadline.remaining, self.deadline.elapsed - began
            rest = _LATER_POSITIONS * spent * (1.0 - done) / done
            return left is not None and rest + (spent + rest) > left

        try:
            scaled, visits = evaluate(
                self.space,
                SCALE,
                numerators,
                visits=True,
                abandon=None if self.must and self.evaluations == 0 else too_long,
            )
        except AbandonedError:
            return None
        assert visits is not None
        self.evaluating, self.evaluations = self.evaluating + self.deadline.elapsed - began, self.evaluations + 1
        return numerators / SCALE, scaled / SCALE, (self.space.number - visits).astype(float)

    def _stop(self, value: float) -> bool:
        proved = value - self.arrivals
        if self.report is not None:
            self.report(proved)
        self.before = self.deadline.elapsed
        if self.space.level > 2 and self.evaluations >= _PATIENCE and proved < _HOPELESS * self.floor:
            self.hopeless = True
            return True
        # One more evaluation and the exact verification have to fit as well.
        return self.deadline.remaining is not None and self.deadline.remaining < 2.2 * self.mean
