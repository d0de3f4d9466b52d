"""The rules of a schedule (docs/math.md §1), one function each, in exact integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kvbound.checkers.report import Report, Violation
from kvbound.models.errors import ScheduleError
from kvbound.models.footprint import usage
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule


def check(problem: Problem, schedule: Schedule) -> Report:
    """Judge `schedule` by every rule and recompute its objective.

    The rules never trust one another: a request that breaks an early rule is still held against the later
    ones where that has a meaning. Without violations `objective` is the exact value; otherwise None.
    """
    if len(schedule) != problem.n:
        message = f"the schedule has {len(schedule)} requests, the problem has {problem.n}"
        amount = abs(len(schedule) - problem.n)
        return Report((Violation("served-once", None, None, amount, None, message),), None)
    found = [
        *served_once(problem, schedule),
        *starts_after_arrival(problem, schedule),
        *starts_within_horizon(problem, schedule),
        *peak_fits(problem, schedule),
        *memory_per_step(problem, schedule),
        *batch_per_step(problem, schedule),
    ]
    return Report(tuple(found), None if found else objective(problem, schedule))


def require_valid(problem: Problem, schedule: Schedule) -> int:
    """Return the objective of a schedule that keeps every rule; raise `ScheduleError` otherwise."""
    report = check(problem, schedule)
    if report.objective is None:
        broken = len(report.violations)
        raise ScheduleError(f"{problem.name}: the schedule breaks {broken} rule(s):\n{report.summary()}")
    return report.objective


def objective(problem: Problem, schedule: Schedule) -> int:
    """Objective over the served requests, as a Python integer (no overflow)."""
    served = np.flatnonzero(schedule.served)
    costs = problem.objective.start_cost(problem.requests, served, schedule.start[served])
    return sum(costs.tolist())


def served_once(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """Every request has a start (when the objective demands it) and a worker that exists."""
    for j in np.flatnonzero(~schedule.served | (schedule.worker < 0) | (schedule.worker >= len(problem.fleet))):
        start, worker = int(schedule.start[j]), int(schedule.worker[j])
        if start < 0 and worker < 0:
            if problem.objective.serve_all:
                yield Violation("served-once", int(j), None, 1, None, f"request {j} is not served")
        else:
            message = f"request {j} has start {start} on worker {worker}; there are {len(problem.fleet)} workers"
            yield Violation("served-once", int(j), None, 1, worker, message)


def starts_after_arrival(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """No request starts before it arrives."""
    arrival = problem.requests.arrival
    for j in np.flatnonzero(schedule.served & (schedule.start < arrival)):
        start = int(schedule.start[j])
        message = f"request {j} starts at step {start}, before its arrival at step {arrival[j]}"
        yield Violation("arrival", int(j), start, int(arrival[j]) - start, int(schedule.worker[j]), message)


def starts_within_horizon(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """No request starts at or after the horizon of the objective, if it has one (REWARD)."""
    horizon = problem.objective.horizon
    if horizon is None:
        return
    for j in np.flatnonzero(schedule.served & (schedule.start >= horizon)):
        start = int(schedule.start[j])
        message = f"request {j} starts at step {start}, the horizon ends with step {horizon}"
        yield Violation("horizon", int(j), start, start - horizon + 1, int(schedule.worker[j]), message)


def held_until(problem: Problem, schedule: Schedule) -> IntArray:
    """Last step in which each request holds memory: its completion, or the horizon where footprints are cut."""
    completion = schedule.completion(problem.requests)
    horizon = problem.objective.horizon
    return completion if horizon is None else np.minimum(completion, horizon)


def peak_fits(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """The peak s_j + o_j fits the worker that runs the request."""
    peak = problem.requests.peak
    for g, memory in enumerate(problem.fleet.memory):
        for j in np.flatnonzero(schedule.served & (schedule.worker == g) & (peak > memory)):
            message = f"request {j} peaks at {peak[j]} tokens, worker {g} has {memory}"
            yield Violation("peak", int(j), None, int(peak[j]) - memory, g, message)


def memory_per_step(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """Tokens held on each worker stay within its memory in every step.

    Usage only grows between completions, so the completions are the steps to look at; each violation
    names the step of one completion and a request that completes there.
    """
    completion = held_until(problem, schedule)
    for g, memory in enumerate(problem.fleet.memory):
        mine = np.flatnonzero(schedule.served & (schedule.worker == g))
        steps, first = np.unique(completion[mine], return_index=True)
        held, _ = usage(problem.requests.prompt[mine], schedule.start[mine], completion[mine], steps)
        for i in np.flatnonzero(held > memory):
            message = f"worker {g} holds {held[i]} tokens in step {steps[i]}, its memory is {memory}"
            yield Violation("memory", int(mine[first[i]]), int(steps[i]), int(held[i]) - memory, g, message)


def batch_per_step(problem: Problem, schedule: Schedule) -> Iterator[Violation]:
    """Requests active on each worker stay within its batch size in every step.

    The number of active requests only grows at starts, so the step after each start is the one to look at.
    """
    completion = held_until(problem, schedule)
    for g, cap in enumerate(problem.fleet.batch):
        if cap is None:
            continue
        mine = np.flatnonzero(schedule.served & (schedule.worker == g))
        steps, first = np.unique(schedule.start[mine] + 1, return_index=True)
        _, active = usage(problem.requests.prompt[mine], schedule.start[mine], completion[mine], steps)
        for i in np.flatnonzero(active > cap):
            message = f"worker {g} runs {active[i]} requests in step {steps[i]}, its batch size is {cap}"
            yield Violation("batch", int(mine[first[i]]), int(steps[i]), int(active[i]) - cap, g, message)
