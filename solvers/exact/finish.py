"""The last step of every solve: check, recompute, compare bound and schedule, and only then answer."""

from __future__ import annotations

import math

from kvbound.checkers import gap as state_gap
from kvbound.checkers import require_valid
from kvbound.models.errors import SolverError
from kvbound.models.problem import Problem
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Result, SolutionStatus, Termination

#: Relative tolerance of a bound that comes as a float.
BOUND_TOLERANCE = 1e-6


def integer_bound(value: float) -> int | None:
    """Round a solver's float bound up to an integer, but never by trusting its last digits; None if not finite."""
    if not math.isfinite(value):
        return None
    return math.ceil(value - BOUND_TOLERANCE * max(1.0, abs(value)))


def merge(problem: Problem, method: str, known: Known, answer: Answer) -> Known:
    """Known afterwards: the better schedule (checked), the better bound.

    In a restricted model (`known.cutoff`) the claim is min(bound, cutoff), and "infeasible" proves the cutoff.
    """
    bound = answer.bound
    if answer.termination is Termination.INFEASIBLE:
        if known.cutoff is None and known.incumbent is not None:
            raise SolverError(
                f"{method} claims that there is no schedule, but a checked one has the objective {known.tel}"
            )
        bound = known.cutoff
    elif bound is not None and known.cutoff is not None:
        bound = min(bound, known.cutoff)
    after = known
    if answer.schedule is not None:
        after = after.with_schedule(problem, answer.schedule)
    if after.tel is not None and bound is not None:
        state_gap(after.tel, bound, verified=False, proved_by=method)  # raises on a contradiction
    return after.with_bound(bound, method)


def finish(
    problem: Problem, method: str, config: SolveConfig, deadline: Deadline, known: Known, answer: Answer
) -> Result:
    """Turn what is known into a `Result`; raises `SolverError` when bound and schedule contradict each other."""
    tel = None if known.incumbent is None else require_valid(problem, known.incumbent)
    relative = None
    if tel is not None and known.bound is not None:
        verified = known.certificate is not None
        relative = state_gap(tel, known.bound, verified=verified, proved_by=known.proved_by).relative
    if tel is not None and tel == known.bound:
        termination, status = Termination.OPTIMAL, SolutionStatus.OPTIMAL
    else:
        status = SolutionStatus.NONE if tel is None else SolutionStatus.FEASIBLE
        termination = answer.termination
        if termination is not Termination.INTERRUPTED and relative is not None and relative <= config.gap:
            termination = Termination.GAP_REACHED
        elif termination in (Termination.OPTIMAL, Termination.GAP_REACHED):
            termination = Termination.UNKNOWN  # the solver's tolerance called it solved; our integers do not
        elif termination is Termination.INFEASIBLE and tel is not None:
            termination = Termination.UNKNOWN
    seconds = (deadline.elapsed, answer.build_seconds, answer.solve_seconds)
    return Result(
        termination,
        status,
        known.incumbent,
        tel,
        known.bound,
        relative,
        method,
        known.proved_by,
        known.certificate,
        answer.native,
        *seconds,
        config,
        problem.objective,
    )
