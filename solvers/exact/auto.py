"""`auto`: screens, heuristics, certified bound, fixing of starts, then the method for the size; anytime.

Each stage adds to what is `Known` and the first one that makes bound and incumbent meet ends the work. Ctrl-C at any
moment returns what is known. The order of methods and the shares of time below are choices, not tuned;
benchmarks/exact.py shows how they do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvbound.models.errors import SizeError
from kvbound.models.formulations.cuts import default_cuts
from kvbound.models.problem import Problem
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.bounding import certified_bound
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import finish, merge
from kvbound.solvers.exact.fixing import fix_starts
from kvbound.solvers.exact.interrupt import noticing_interrupts
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Result, Termination
from kvbound.solvers.exact.presolve import Screen, heuristics, screen
from kvbound.solvers.exact.search_method import search_fits
from kvbound.solvers.exact.size import require_size
from kvbound.solvers.progress import Progress, ProgressCallback

Backend = Callable[[Problem, SolveConfig, Known, Deadline, ProgressCallback | None], Answer]

#: Share of the time for the first heuristics, and its most in seconds; the rest proves.
HEURISTIC_SHARE, HEURISTIC_SECONDS = 0.1, 3.0
#: The same for the certified bound.
BOUND_SHARE, BOUND_SECONDS = 0.25, 10.0
#: Up to so many requests CP-SAT closes the problem before prices are worth their time.
FEW = 10
#: Peaks below this share of the memory pack almost perfectly, and the time-indexed program closes them.
SMALL_PEAKS = 0.25


def solve_auto(
    problem: Problem,
    config: SolveConfig,
    deadline: Deadline,
    progress: ProgressCallback | None,
    backends: dict[str, Backend],
    known: Known,
) -> Result:
    """Run the stages; `backends` are the methods by name."""
    answer = Answer(Termination.UNKNOWN, None, None, "", 0.0, 0.0)
    method = "presolve"

    def tell(stage: str) -> None:
        if progress is not None:
            progress(Progress(stage, deadline.elapsed, known.tel, known.bound))

    with noticing_interrupts() as interrupted:
        try:
            known, seen = screen(problem, known)
            tell("; ".join(seen.notes) or "presolve")
            if not known.reached(config.gap):
                method = "heuristics"
                share = deadline.share(HEURISTIC_SHARE, HEURISTIC_SECONDS)
                known = heuristics(problem, known, share, config.seed, progress)
                tell("heuristics")
            for stage in _order(problem, seen):
                if known.reached(config.gap) or deadline.passed or interrupted.is_set():
                    break
                method = stage
                if stage == "bound":
                    share = deadline.share(BOUND_SHARE, BOUND_SECONDS)
                    known = certified_bound(problem, known, share, config.seed, progress)
                    tell("bound")
                    continue
                start = replace(known, cuts=default_cuts(problem, stage))
                if stage in ("highs", "cp-sat"):
                    start = fix_starts(problem, start)
                    if start.closed:
                        known = known.with_bound(start.bound, start.proved_by)
                        break
                try:
                    require_size(problem, stage, start, config.memory_limit)
                except SizeError as refused:
                    tell(str(refused))
                    answer = Answer(Termination.MEMORY_LIMIT, None, None, "not built", 0.0, 0.0)
                    continue
                answer = backends[stage](problem, config, start, deadline, progress)
                after = merge(problem, stage, start, answer)
                known = replace(after, cuts=known.cuts, horizon=None, allowed=None, cutoff=None)
                tell(stage)
        except KeyboardInterrupt:
            interrupted.set()
    if interrupted.is_set():
        answer = replace(answer, termination=Termination.INTERRUPTED)
    elif deadline.passed:
        answer = replace(answer, termination=Termination.TIME_LIMIT)
    return finish(problem, method, config, deadline, known, answer)


def _order(problem: Problem, seen: Screen) -> tuple[str, ...]:
    """Stages after the heuristics, best first; a later one runs when an earlier one gave up with time left."""
    if seen.unit:
        return ("unit-outputs", "bound")
    small = int(problem.requests.peak.max()) <= SMALL_PEAKS * max(problem.fleet.memory)
    if small:
        return ("bound", "highs", "cp-sat")
    if search_fits(problem):
        return ("search", "bound", "cp-sat")
    if problem.n <= FEW:
        return ("cp-sat", "bound")
    return ("bound", "cp-sat")
