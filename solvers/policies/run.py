"""Run a policy on a problem: order, list schedule, check, exact objective."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kvbound.checkers.execution import require_valid_execution
from kvbound.checkers.schedule import require_valid
from kvbound.models.errors import InputError, ScheduleError
from kvbound.models.execution import Execution
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.solvers.engine import Rule, execute
from kvbound.solvers.policies.list_scheduling import list_schedule
from kvbound.solvers.policies.online import planner
from kvbound.solvers.policies.view import Declined, Policy, View


@dataclass(frozen=True, slots=True, eq=False)
class PolicyRun:
    """What a policy did.

    Parameters
    ----------
    name
        Name of the policy.
    schedule, tel
        A checked schedule and its TEL in steps, recomputed in integers; None when the policy declined. After
        evictions the schedule holds the attempts that served (docs/math.md §7).
    seconds
        Wall time of the order and its execution, in seconds.
    declined
        Why the policy declined, or None.
    execution
        The checked execution with its counters when output lengths were predicted; otherwise None.
    """

    name: str
    schedule: Schedule | None
    tel: int | None
    seconds: float
    declined: str | None = None
    execution: Execution | None = None


def run_policy(problem: Problem, policy: Policy, *, seed: int = 0) -> PolicyRun:
    """Run `policy` on `problem`; the schedule has passed the checker.

    Raises
    ------
    InputError
        The policy's order is not a permutation of the requests.
    ScheduleError
        Never, unless the scheduler itself has a bug: the schedule broke a rule.
    """
    begin = time.perf_counter()
    try:
        order = policy.order(View.of(problem, seed, policy.rule))
    except Declined as reason:
        return PolicyRun(policy.name, None, None, time.perf_counter() - begin, str(reason))
    done = run_order(problem, permutation(order, problem.n, policy.name), policy.rule)
    schedule = done.schedule(problem.requests)
    tel = require_valid(problem, schedule)
    if problem.requests.predicted_low is None:
        return PolicyRun(policy.name, schedule, tel, time.perf_counter() - begin)
    if require_valid_execution(problem, done) != tel:
        raise ScheduleError(f"{problem.name}: {policy.name}: an execution and its serving attempts differ in TEL")
    return PolicyRun(policy.name, schedule, tel, time.perf_counter() - begin, execution=done)


def run_order(problem: Problem, order: IntArray, rule: Rule) -> Execution:
    """Execute an order under a rule; plans are those of Sorted-F-Online."""
    return execute(problem, order, rule, planner=planner(problem, rule) if rule.queue == "plan" else None)


def schedule_in_order(problem: Problem, order: npt.ArrayLike) -> tuple[Schedule, int]:
    """List-schedule `order` and return the checked schedule with its TEL."""
    schedule = list_schedule(problem, permutation(order, problem.n, "the order"))
    return schedule, require_valid(problem, schedule)


def permutation(order: npt.ArrayLike, n: int, name: str) -> IntArray:
    """Return `order` as int64, or raise `InputError` naming what keeps it from being a permutation of 0..n-1."""
    try:
        raw = np.asarray(order)
        array = raw.astype(np.int64)
        whole = raw.dtype.kind != "b" and raw.shape == array.shape and bool(np.all(raw == array))
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name}: an order must be a sequence of request indices, got {type(order).__name__}"
        ) from None
    if raw.ndim != 1 or not whole:
        raise InputError(f"{name}: an order must be a flat sequence of whole request indices 0..{n - 1}")
    outside = array[(array < 0) | (array >= n)]
    if outside.size:
        raise InputError(
            f"{name}: the order contains {outside[0]}, but request indices run from 0 to {n - 1}; "
            "to sort by a key return numpy.argsort(key), not the key"
        )
    missing = np.flatnonzero(np.bincount(array, minlength=n) == 0)
    if missing.size:
        raise InputError(f"{name}: the order leaves out request {missing[0]} ({missing.size} of {n} are missing)")
    if len(array) != n:
        twice = int(np.flatnonzero(np.bincount(array, minlength=n) > 1)[0])
        raise InputError(f"{name}: the order names request {twice} more than once")
    return array
