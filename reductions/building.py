"""What the edges into scheduling share: building the problem, reading and writing rounds of triples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.fleet import Fleet
from kvbound.models.objective import TEL, Objective
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests
from kvbound.models.schedule import Schedule
from kvbound.reductions.problems import Triples


def scheduling_problem(
    name: str,
    prompt: Sequence[int],
    output: Sequence[int],
    memory: int,
    workers: int = 1,
    objective: Objective = TEL,
) -> Problem:
    """A backlog on identical workers; `InputError` with the way out when the numbers leave the range of tokens."""
    origin = f"reduction {name}"
    try:
        requests = Requests(np.array(prompt, object), np.array(output, object))
        return Problem(requests, Fleet.uniform(memory, workers), objective, name, origin)
    except InputError as error:
        raise InputError(
            f"{name}: {error}. The reduction multiplies the numbers; take smaller ones or shorter outputs"
        ) from None


def by_start(schedule: Schedule) -> list[int]:
    """Requests in order of start, then index."""
    order: IntArray = np.lexsort((np.arange(len(schedule)), schedule.start))
    return [int(j) for j in order]


def consecutive_triples(schedule: Schedule) -> Triples:
    """The requests in order of start, cut into threes."""
    order = by_start(schedule)
    return tuple(tuple(sorted(order[i : i + 3])) for i in range(0, len(order), 3))


def in_rounds(groups: Sequence[Sequence[int]], output: Sequence[int]) -> Schedule:
    """Groups run one after another, each all at once; a round takes as long as its longest output."""
    start = np.zeros(len(output), np.int64)
    clock = 0
    for group in groups:
        start[list(group)] = clock
        clock += max(output[j] for j in group)
    return Schedule(start)
