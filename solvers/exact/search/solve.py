"""Optimal TEL on one worker: bounds by the positional relaxation, proof by search over labels (docs/exact.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models import Problem, Schedule
from kvbound.models.requests import IntArray
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.search.backward import Backward
from kvbound.solvers.exact.search.layers import Ending, run_pass
from kvbound.solvers.exact.search.prices import Ascent
from kvbound.solvers.exact.search.relaxation import Relaxation
from kvbound.solvers.exact.search.shapes import affordable_shapes
from kvbound.solvers.progress import Progress, ProgressCallback
from kvbound.solvers.search import improve

#: Labels per layer of the heuristic passes.
BEAM = 300
#: A relaxation with a stronger memory starts from the prices of the weaker one; number of evaluations of each.
EVALUATIONS = {1: 60, 2: 60, 3: 60, 4: 40}
#: Evaluations between two heuristic passes, by level.
ROUND = {1: 60, 2: 60, 3: 8, 4: 6}
#: Annealing moves when the caller brings no schedule.
MOVES = 40_000
#: A try at the proof takes at most this share of the time of its round.
TRIAL = 0.5


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What the search hands back.

    Parameters
    ----------
    start
        Start of every request in the best schedule known, shape (n,), or None.
    lower_bound
        Proven by exhaustion and by the relaxation: a solver's own claim, there is no certificate.
    proved
        Whether the schedule is optimal.
    interrupted
        Whether a KeyboardInterrupt ended the search.
    ending
        "optimal", "deadline", "memory" or "interrupted".
    root_bound
        Bound of the relaxation alone.
    level
        How many requests the last relaxation remembered.
    states, labels, children
        States of the relaxation left; labels kept and children looked at in all passes.
    """

    start: IntArray | None
    lower_bound: int
    proved: bool
    ending: str
    root_bound: int
    level: int
    states: int
    labels: int
    children: int

    @property
    def interrupted(self) -> bool:
        """Whether a KeyboardInterrupt ended the search."""
        return self.ending == "interrupted"


class _State:
    """Mutable record of a run; costs are TEL + Σ a_j."""

    def __init__(
        self, problem: Problem, work: Backward, deadline: Deadline, progress: ProgressCallback | None, lower: int
    ) -> None:
        self.problem, self.work, self.deadline, self.progress = problem, work, deadline, progress
        self.lower, self.root = lower, 0
        self.start: IntArray | None = None
        self.upper: int | None = None
        self.level = self.states = self.labels = self.children = 0
        self.relaxation: Relaxation | None = None

    def offer(self, start: IntArray | None) -> None:
        """Take a schedule when it is better."""
        if start is None:
            return
        cost = int((start + self.problem.requests.output).sum())
        if self.upper is None or cost < self.upper:
            self.upper, self.start = cost, start

    def raise_lower(self, bound: int) -> None:
        """Take a proven bound; beyond the incumbent it only says that the incumbent is optimal."""
        self.lower = max(self.lower, bound if self.upper is None else min(bound, self.upper))

    @property
    def closed(self) -> bool:
        return self.upper is not None and self.lower >= self.upper

    def report(self, stage: str) -> None:
        if self.progress is not None:
            shift = int(self.problem.requests.arrival.sum())
            upper = None if self.upper is None else self.upper - shift
            self.progress(Progress(stage, self.deadline.elapsed, upper, self.lower - shift))


def solve_tel(
    problem: Problem,
    *,
    deadline: Deadline,
    seed: int,
    incumbent: Schedule | None = None,
    lower_bound: int | None = None,
    memory_limit_bytes: int = 2 << 30,
    progress: ProgressCallback | None = None,
) -> SearchOutcome:
    """Minimise TEL on one worker; anytime: the limit or Ctrl-C returns the incumbent and a valid bound.

    Parameters
    ----------
    problem
        One worker, at most 62 requests; arrivals and a batch cap are allowed.
    deadline
        Time that may still be used.
    seed
        Of the annealing that finds a first schedule when none is given; the rest is deterministic.
    incumbent
        A feasible schedule, already checked by the caller.
    lower_bound
        A bound on TEL that is already proven.
    memory_limit_bytes
        For tables and labels together.
    progress
        Called at every stage.

    Raises
    ------
    OptionError, SizeError
        See `Backward.of`.
    """
    work = Backward.of(problem)
    shift = int(problem.requests.arrival.sum())
    trivial = int(work.life.sum())
    run = _State(problem, work, deadline, progress, trivial)
    if incumbent is None:
        first = Schedule(_one_by_one(work))
        incumbent = improve(problem, first, deadline=deadline.share(0.2), seed=seed, moves=MOVES).schedule
    run.offer(np.asarray(incumbent.start, np.int64))
    if lower_bound is not None:
        run.raise_lower(lower_bound + shift)
    try:
        ending = _search(run, memory_limit_bytes)
    except KeyboardInterrupt:
        ending = "interrupted"
    if run.closed:
        ending = "optimal"
    return SearchOutcome(run.start, run.lower - shift, run.closed, ending, run.root - shift, run.level, run.states,
                         run.labels, run.children)  # fmt: skip


def _search(run: _State, memory: int) -> str:
    """Tighten relaxations from weak to strong, then prove by passes with growing thresholds."""
    price: IntArray | None = None
    for shape in affordable_shapes(run.work, memory // 2):
        if run.closed or run.deadline.passed:
            break
        relaxation = Relaxation(run.work, shape)
        if run.relaxation is not None:
            relaxation.inherit(run.relaxation)
        ascent = Ascent(relaxation, price, EVALUATIONS[shape.level])
        while not (run.closed or ascent.finished or run.deadline.passed):
            _round(run, ascent, memory // 2)
        if ascent.price is None:
            break
        price, run.relaxation = ascent.price, relaxation
        run.report(f"relaxation of level {shape.level}")
    if run.closed:
        return "optimal"
    if run.relaxation is None or run.deadline.passed:
        return "deadline"
    return _prove(run, run.relaxation, memory // 2)


def _round(run: _State, ascent: Ascent, memory: int) -> None:
    """Some evaluations, a heuristic pass, and a try at the proof that may take a part of the time spent so far."""
    before = run.deadline.elapsed
    ascent.advance(ROUND[ascent.relaxation.level], run.upper, run.deadline)
    if ascent.price is None:
        return
    run.root = max(run.root, ascent.bound)
    run.raise_lower(ascent.bound)
    run.level, run.states = ascent.relaxation.level, ascent.relaxation.num_states
    if run.closed or not ascent.settle(run.upper, run.deadline):
        return
    spent = run.deadline.elapsed - before
    assert run.upper is not None
    found = run_pass(run.work, ascent.relaxation, run.upper - 1, run.deadline, memory, beam=BEAM)
    if found.distance is not None:
        run.offer(run.work.start_times(found.distance))
        run.raise_lower(run.lower)
    run.report("beam")
    if not run.closed and ascent.relaxation.level >= 2:
        trial = run.deadline.share(1.0, most=TRIAL * spent)
        _exhaust(run, ascent.relaxation, run.upper - 1, trial, memory)


def _exhaust(run: _State, relaxation: Relaxation, threshold: int, deadline: Deadline, memory: int) -> Ending:
    """One exact pass: then the incumbent is optimal, or the bound exceeds the threshold, or the pass was cut short."""
    found = run_pass(run.work, relaxation, threshold, deadline, memory)
    run.labels += found.labels
    run.children += found.children
    if found.ending is Ending.COMPLETE:
        if found.distance is not None:
            run.offer(run.work.start_times(found.distance))
            assert run.upper is not None
            run.raise_lower(run.upper)
        else:
            run.raise_lower(threshold + 1)
        run.report(f"search up to {threshold}")
    return found.ending


def _prove(run: _State, relaxation: Relaxation, memory: int) -> str:
    """Exhaust thresholds between the bound and the incumbent; labels grow fast with the threshold, so begin low."""
    assert run.upper is not None
    step = 1 + (run.upper - run.lower) // 8
    threshold = run.lower + step
    while not run.closed:
        threshold = min(threshold, run.upper - 1)
        ending = _exhaust(run, relaxation, threshold, run.deadline, memory)
        if ending is not Ending.COMPLETE:
            return ending.value
        step *= 2
        threshold += step
    return "optimal"


def _one_by_one(work: Backward) -> IntArray:
    """The schedule that always exists: one request after the other, in order of arrival."""
    start = np.empty(work.n, np.int64)
    clock = 0
    for j in np.argsort(work.arrival, kind="stable"):
        clock = max(clock, int(work.arrival[j]))
        start[work.order[j]] = clock
        clock += int(work.output[j])
    return start
