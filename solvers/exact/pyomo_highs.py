"""The readable path: the Pyomo model, solved by HiGHS through `pyomo.contrib.solver`.

It takes no warm start (Pyomo's interface has none); the incumbent is compared with what comes back. Building and
handing over take far longer than with arrays, so both look at the clock.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyomo.environ as pyo

from kvbound.models.formulations.pyomo_model import build_pyomo
from kvbound.models.problem import Problem
from kvbound.models.schedule import UNSERVED, Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import integer_bound
from kvbound.solvers.exact.highs import ABS_GAP, greet_quietly
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.size import estimate
from kvbound.solvers.exact.status import PYOMO, translate
from kvbound.solvers.progress import ProgressCallback

#: Rows that go to HiGHS between two looks at the clock.
_ROWS_AT_ONCE = 50
#: Seconds that HiGHS's feasibility jump may need per matrix entry. It finds first schedules, but never looks at the
#: clock, so it runs only where it ends in time (measured: 7e-6 s of CPU per entry; the rest is for busy machines).
_JUMP_SECONDS = 3e-5


class _OutOfTime(Exception):
    """The deadline passed before HiGHS had the model."""


def solve_pyomo(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve formulation 1 through Pyomo."""
    from pyomo.contrib.solver.common.results import SolutionStatus as PyomoStatus

    def watch() -> None:
        if deadline.passed:
            raise _OutOfTime

    begin = handed = time.perf_counter()
    try:
        model = build_pyomo(problem, cuts=known.cuts, horizon=known.horizon, allowed=known.allowed, watch=watch)
        solver = _solver(config)
        _hand_over(solver, model, watch)
        handed = time.perf_counter()
        left = deadline.remaining
        solver.config.time_limit = left  # HiGHS starts to count when it runs
        entries = estimate(problem, "pyomo", known).nonzeros
        if left is not None and left < _JUMP_SECONDS * entries:
            solver.config.solver_options["mip_heuristic_run_feasibility_jump"] = False
        results: Any = solver.solve(model)
    except _OutOfTime:
        return Answer(Termination.TIME_LIMIT, None, None, "not started", time.perf_counter() - begin, 0.0)
    except KeyboardInterrupt:  # Pyomo keeps what HiGHS had to itself; the incumbent handed over stands
        return Answer(Termination.INTERRUPTED, None, None, "interrupted", handed - begin, time.perf_counter() - handed)
    solve_seconds = time.perf_counter() - handed
    native = results.termination_condition
    termination = translate(PYOMO, native)
    if termination is Termination.UNKNOWN and deadline.remaining == 0.0:
        termination = Termination.TIME_LIMIT
    schedule = None
    if results.solution_status in (PyomoStatus.optimal, PyomoStatus.feasible):
        results.solution_loader.load_vars()
        schedule = _read(problem, model)
    bound = None if results.objective_bound is None else integer_bound(results.objective_bound)
    return Answer(termination, schedule, bound, native.name, handed - begin, solve_seconds)


def _solver(config: SolveConfig) -> Any:
    """Pyomo's HiGHS with our options."""
    import highspy
    from pyomo.contrib.solver.solvers.highs import Highs

    greet_quietly()
    highspy.Highs.resetGlobalScheduler(True)  # HiGHS fails when the number of threads differs from the last run's
    solver = Highs()
    solver.config.threads = config.cores
    solver.config.rel_gap = config.gap / (1 + config.gap)
    solver.config.abs_gap = ABS_GAP
    # Presolve does not look at the clock: it overran a limit of 10 s by 21 s where it reduced nothing.
    solver.config.solver_options = {"random_seed": config.seed, "presolve": "off"}
    # Pyomo raises unless both are off; values are loaded on purpose afterwards.
    solver.config.load_solutions = False
    solver.config.raise_exception_on_nonoptimal_result = False
    # Nobody changes the model between hand-over and solve; looking for changes would cost another pass over it.
    for name in solver.config.auto_updates:
        setattr(solver.config.auto_updates, name, False)
    return solver


def _hand_over(solver: Any, model: pyo.ConcreteModel, watch: Any) -> None:
    """Give the model to HiGHS in slices: columns and objective first, then the rows, the clock in between."""
    families = list(model.component_objects(pyo.Constraint, active=True))
    rows = [row for family in families for row in family.values()]
    watch()
    for family in families:
        family.deactivate()
    solver.set_instance(model)
    for family in families:
        family.activate()
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        watch()
        solver.add_constraints(rows[first : first + _ROWS_AT_ONCE])
    watch()


def _read(problem: Problem, model: Any) -> Schedule:
    start, worker = np.full(problem.n, UNSERVED, np.int64), np.full(problem.n, UNSERVED, np.int64)
    for (j, g, k), variable in model.x.items():
        if variable.value > 0.5:
            start[j], worker[j] = k, g
    return Schedule(start, worker)
