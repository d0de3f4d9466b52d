"""From an instance to a record: both schedules checked, the better one searched for or proved optimal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import kvbound
from kvbound.attack_sides import Target, simple_orders, tel_of
from kvbound.checkers import require_valid
from kvbound.instances.adversarial.record import (
    Finding,
    Record,
    Reference,
    ReferenceKind,
    Starts,
    certificate_text,
    make_record,
)
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.progress import ProgressCallback
from kvbound.solvers.search import improve
from kvbound.solvers.search.quick import quick

#: Policies whose schedules a better one is searched from.
_GOOD = ("svf", "mc-sf", "total-size", "sorted-f:swap", "longest-first", "fcfs")
#: Moves of the search for a better schedule when nothing may depend on the clock.
MOVES = 10_000
#: Descents of the quick reference before that, and moves of each.
_DESCENTS, _DESCENT_MOVES = 4, 5000


@dataclass(frozen=True, slots=True)
class Effort:
    """What a certification may cost: seconds in all (None: no limit), moves of the search, seed, threads."""

    seconds: float | None = None
    moves: int | None = MOVES
    seed: int = 0
    threads: int = 1


def certify(
    problem: Problem,
    target: Target,
    against: ReferenceKind,
    found: Finding,
    effort: Effort,
    progress: ProgressCallback | None = None,
) -> Record:
    """The record of `problem`: what the target does, and the reference of the kind asked for.

    An optimum that could not be proved within the effort becomes `best-known`; the record says which it is.
    """
    schedule = target.run(problem)
    tel = require_valid(problem, schedule)
    deadline = Deadline(effort.seconds)
    if against == "bound":
        reference = _bound(problem, tel, deadline, progress)
    else:
        first = replace(effort, moves=0) if against == "optimum" else effort  # exact methods search by themselves
        better, value = better_schedule(problem, schedule, deadline.share(0.9), first, progress)
        reference = Reference("best-known", value, Starts.of(better))
        if against == "optimum":
            reference = _optimum(problem, better, value, deadline, effort, progress)
    return make_record(problem, target.attacked, schedule, tel, reference, found)


def better_schedule(
    problem: Problem, schedule: Schedule, deadline: Deadline, effort: Effort, progress: ProgressCallback | None
) -> tuple[Schedule, int]:
    """The best of `schedule`, the policies' and a search from there, with its TEL; checked."""
    best, value = schedule, tel_of(problem, schedule)
    candidates = [run_policy(problem, POLICIES[name]).schedule for name in _GOOD]
    for i in range(_DESCENTS):
        done = quick(problem, simple_orders(problem), moves=_DESCENT_MOVES, seed=effort.seed + i)
        candidates.append(done.schedule)
    for other in candidates:
        if other is not None and (tel := require_valid(problem, other)) < value:
            best, value = other, tel
    if effort.moves == 0 or deadline.passed:
        return best, value
    found = improve(problem, best, deadline=deadline, seed=effort.seed, moves=effort.moves, progress=progress)
    return found.schedule, found.tel


def _optimum(
    problem: Problem,
    better: Schedule,
    value: int,
    deadline: Deadline,
    effort: Effort,
    progress: ProgressCallback | None,
) -> Reference:
    from kvbound.solvers.exact import SolutionStatus, SolveConfig, solve

    config = SolveConfig(time_limit=deadline.remaining, threads=effort.threads, seed=effort.seed)
    result = solve(problem, config=config, incumbent=better, progress=progress)
    if result.schedule is None or result.tel is None:
        return Reference("best-known", value, Starts.of(better))
    starts = Starts.of(result.schedule)
    if result.status is not SolutionStatus.OPTIMAL:
        return Reference("best-known", result.tel, starts)
    if result.certificate is not None and result.certificate.value == result.tel:
        text = certificate_text(result.certificate)
        return Reference("optimum", result.tel, starts, text, f"{result.proved_by}, by a verified certificate")
    return Reference("optimum", result.tel, starts, None, f"{result.proved_by} (its claim, no certificate)")


def _bound(problem: Problem, tel: int, deadline: Deadline, progress: ProgressCallback | None) -> Reference:
    from kvbound.solvers.bounds import bound

    result = bound(problem, "stagger", deadline=deadline, upper=tel, progress=progress)
    assert result.certificate is not None
    text = certificate_text(result.certificate)
    return Reference("bound", result.value or 1, None, text, f"{result.method}, certificate verified")


def finding(how: str, seed: int, evaluations: int, seconds: float) -> Finding:
    """Where a record comes from, as of today."""
    today = datetime.now(UTC).date().isoformat()
    return Finding(f"kvbound {kvbound.__version__}", how, seed, evaluations, round(seconds, 1), today)
