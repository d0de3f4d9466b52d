"""Adapter of the dedicated search (`kvbound.solvers.exact.search`) to the common interface."""

from __future__ import annotations

import time

from kvbound.models.objective import TEL
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.progress import ProgressCallback

#: Most requests whose subset the search keeps in one machine word.
MOST_REQUESTS = 62

_ENDINGS = {
    "optimal": Termination.OPTIMAL,
    "deadline": Termination.TIME_LIMIT,
    "memory": Termination.MEMORY_LIMIT,
    "interrupted": Termination.INTERRUPTED,
}


def search_fits(problem: Problem) -> bool:
    """Whether the dedicated search takes this problem: TEL on one worker, at most `MOST_REQUESTS` requests."""
    return problem.objective is TEL and len(problem.fleet) == 1 and problem.n <= MOST_REQUESTS


def solve_search(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Prove the optimum by relaxation and labels; restrictions of starts are not needed there and are ignored."""
    from kvbound.solvers.exact.search.solve import solve_tel

    begin = time.perf_counter()
    memory = {} if config.memory_limit is None else {"memory_limit_bytes": config.memory_limit}
    out = solve_tel(
        problem,
        deadline=deadline,
        seed=config.seed,
        incumbent=known.incumbent,
        lower_bound=known.bound,
        progress=progress,
        **memory,
    )
    seconds = time.perf_counter() - begin
    schedule = None if out.start is None else Schedule(out.start)
    return Answer(_ENDINGS[out.ending], schedule, out.lower_bound, out.ending, 0.0, seconds)
