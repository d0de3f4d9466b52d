"""The readable path: the Pyomo model, solved by HiGHS through `pyomo.contrib.solver`.

It takes no warm start (Pyomo's interface has none); the incumbent is compared with what comes back.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kvbound.models.formulations.pyomo_model import build_pyomo
from kvbound.models.problem import Problem
from kvbound.models.schedule import UNSERVED, Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import integer_bound
from kvbound.solvers.exact.highs import ABS_GAP, greet_quietly
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.status import PYOMO, translate
from kvbound.solvers.progress import ProgressCallback


def solve_pyomo(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve formulation 1 through Pyomo."""
    import highspy
    from pyomo.contrib.solver.common.results import SolutionStatus as PyomoStatus
    from pyomo.contrib.solver.solvers.highs import Highs

    begin = time.perf_counter()
    model = build_pyomo(problem, cuts=known.cuts, horizon=known.horizon, allowed=known.allowed)
    build_seconds = time.perf_counter() - begin
    if deadline.passed:
        return Answer(Termination.TIME_LIMIT, None, None, "not started", build_seconds, 0.0)
    greet_quietly()
    highspy.Highs.resetGlobalScheduler(True)  # HiGHS fails when the number of threads differs from the last run's
    solver = Highs()
    solver.config.time_limit = deadline.remaining
    solver.config.threads = config.cores
    solver.config.rel_gap = config.gap / (1 + config.gap)
    solver.config.abs_gap = ABS_GAP
    solver.config.solver_options = {"random_seed": config.seed}
    # Pyomo raises unless both are off; values are loaded on purpose below.
    solver.config.load_solutions = False
    solver.config.raise_exception_on_nonoptimal_result = False
    begin = time.perf_counter()
    try:
        results: Any = solver.solve(model)
    except KeyboardInterrupt:  # Pyomo keeps what HiGHS had to itself; the incumbent handed over stands
        return Answer(Termination.INTERRUPTED, None, None, "interrupted", build_seconds, time.perf_counter() - begin)
    solve_seconds = time.perf_counter() - begin
    native = results.termination_condition
    termination = translate(PYOMO, native)
    if termination is Termination.UNKNOWN and deadline.remaining == 0.0:
        termination = Termination.TIME_LIMIT
    schedule = None
    if results.solution_status in (PyomoStatus.optimal, PyomoStatus.feasible):
        results.solution_loader.load_vars()
        schedule = _read(problem, model)
    bound = None if results.objective_bound is None else integer_bound(results.objective_bound)
    return Answer(termination, schedule, bound, native.name, build_seconds, solve_seconds)


def _read(problem: Problem, model: Any) -> Schedule:
    start, worker = np.full(problem.n, UNSERVED, np.int64), np.full(problem.n, UNSERVED, np.int64)
    for (j, g, k), variable in model.x.items():
        if variable.value > 0.5:
            start[j], worker[j] = k, g
    return Schedule(start, worker)
