"""The rules of an execution (docs/math.md §7), one function each, in exact integers; knows no engine.

An attempt is a request that runs for a while: memory and batch are those of `kvbound.checkers.schedule`, over
attempts in place of requests. Counters are computed here once more, in plain Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kvbound.checkers.report import Report, Violation
from kvbound.checkers.schedule import objective
from kvbound.models.errors import ScheduleError
from kvbound.models.execution import Execution
from kvbound.models.footprint import usage
from kvbound.models.problem import Problem


def check_execution(problem: Problem, execution: Execution) -> Report:
    """Judge `execution` by every rule; without violations `objective` is its exact TEL, otherwise None."""
    found = list(names_exist(problem, execution))
    if not found:
        found += [
            *attempts_follow(problem, execution),
            *served_by_the_last(problem, execution),
            *capacity(problem, execution),
            *counters(problem, execution),
        ]
    return Report(tuple(found), None if found else objective(problem, execution.schedule(problem.requests)))


def require_valid_execution(problem: Problem, execution: Execution) -> int:
    """Return the objective of an execution that keeps every rule; raise `ScheduleError` otherwise."""
    report = check_execution(problem, execution)
    if report.objective is None:
        broken = len(report.violations)
        raise ScheduleError(f"{problem.name}: the execution breaks {broken} rule(s):\n{report.summary()}")
    return report.objective


def names_exist(problem: Problem, execution: Execution) -> Iterator[Violation]:
    """Every attempt names a request and a worker that exist, and ends after it starts."""
    n, workers = problem.n, len(problem.fleet)
    request, worker, length = execution.request, execution.worker, execution.end - execution.start
    wrong = (request < 0) | (request >= n) | (worker < 0) | (worker >= workers) | (length < 1) | (execution.start < 0)
    for a in np.flatnonzero(wrong):
        message = (
            f"attempt {a}: request {request[a]} of {n} on worker {worker[a]} of {workers}, "
            f"steps {execution.start[a] + 1} to {execution.end[a]}"
        )
        yield Violation("attempt", int(request[a]), int(execution.start[a]), 1, int(worker[a]), message)


def attempts_follow(problem: Problem, execution: Execution) -> Iterator[Violation]:
    """No attempt begins before its request arrives or before the previous attempt of that request has ended."""
    arrival = problem.requests.arrival[execution.request]
    for a in np.flatnonzero(execution.start < arrival):
        j, start, early = int(execution.request[a]), int(execution.start[a]), int(arrival[a] - execution.start[a])
        message = f"request {j} starts at step {start}, {early} steps before its arrival"
        yield Violation("arrival", j, start, early, int(execution.worker[a]), message)
    order = np.lexsort((execution.end, execution.start, execution.request))
    request, starts, ends = execution.request[order], execution.start[order], execution.end[order]
    for i in np.flatnonzero((request[1:] == request[:-1]) & (starts[1:] < ends[:-1])):
        j, begin, last = int(request[i]), int(starts[i + 1]), int(ends[i])
        message = f"request {j} starts again at step {begin} while an attempt of it runs until step {last}"
        yield Violation("attempt", j, begin, last - begin, None, message)


def served_by_the_last(problem: Problem, execution: Execution) -> Iterator[Violation]:
    """A request's last attempt makes exactly o_j tokens, every earlier one fewer: served once, with its true length."""
    made = execution.end - execution.start
    last: dict[int, tuple[int, int]] = {}
    for a, (j, end) in enumerate(zip(execution.request.tolist(), execution.end.tolist(), strict=True)):
        if j not in last or end > last[j][0]:
            last[j] = end, a
    for j in range(problem.n):
        if j not in last:
            yield Violation("served-once", j, None, 1, None, f"request {j} is not served")
    for a, (j, tokens, due) in enumerate(
        zip(execution.request.tolist(), made.tolist(), problem.requests.output[execution.request].tolist(), strict=True)
    ):
        final = last[j][1] == a
        if (final and tokens != due) or (not final and tokens >= due):
            what = "the last attempt" if final else "an attempt that was evicted"
            message = f"request {j}: {what} made {tokens} tokens, its output is {due}"
            end = int(execution.end[a])
            yield Violation("served-once", j, end, abs(tokens - due) or 1, int(execution.worker[a]), message)


def capacity(problem: Problem, execution: Execution) -> Iterator[Violation]:
    """Tokens held and attempts active on each worker stay within memory and batch size in every step.

    Both only grow with steps and starts, so the ends of attempts and the steps after their starts are looked at.
    """
    for g, (memory, cap) in enumerate(zip(problem.fleet.memory, problem.fleet.batch, strict=True)):
        mine = execution.worker == g
        request, start, end = execution.request[mine], execution.start[mine], execution.end[mine]
        steps = np.unique(np.concatenate((end, start + 1)))
        held, active = usage(problem.requests.prompt[request], start, end, steps)
        for i in np.flatnonzero(held > memory):
            message = f"worker {g} holds {held[i]} tokens in step {steps[i]}, its memory is {memory}"
            yield Violation("memory", None, int(steps[i]), int(held[i]) - memory, g, message)
        for i in np.flatnonzero(active > cap) if cap is not None else ():
            message = f"worker {g} runs {active[i]} requests in step {steps[i]}, its batch size is {cap}"
            yield Violation("batch", None, int(steps[i]), int(active[i]) - (cap or 0), g, message)


def counters(problem: Problem, execution: Execution) -> Iterator[Violation]:
    """Evictions, lost and recomputed tokens are what the attempts say."""
    prompt, output = problem.requests.prompt.tolist(), problem.requests.output.tolist()
    evictions = lost = recomputed = 0
    for j, start, end in zip(execution.request.tolist(), execution.start.tolist(), execution.end.tolist(), strict=True):
        if end - start < output[j]:
            evictions += 1
            lost += end - start
            recomputed += prompt[j] + end - start
    for name, value in (("evictions", evictions), ("lost_tokens", lost), ("recomputed_tokens", recomputed)):
        claimed = getattr(execution, name)
        if claimed != value:
            message = f"{name} is given as {claimed}, the attempts say {value}"
            yield Violation("counters", None, None, abs(claimed - value), None, message)
