"""CP-SAT for both of its formulations: limits, warm start, bound, status."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ortools.sat.python import cp_model

from kvbound.models.formulations.cp_common import CpModel
from kvbound.models.formulations.cp_end_event import build_end_event
from kvbound.models.formulations.cp_staircase import build_staircase
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import integer_bound
from kvbound.solvers.exact.interrupt import interruptible
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.status import CP_SAT, translate
from kvbound.solvers.progress import Progress, ProgressCallback


class _Watch(cp_model.CpSolverSolutionCallback):
    """Remembers what CP-SAT told while it ran; the bound of an UNKNOWN answer is real only if it was told here."""

    def __init__(self, constant: int, known: Known, deadline: Deadline, progress: ProgressCallback | None) -> None:
        super().__init__()
        self.constant, self.deadline, self.progress = constant, deadline, progress
        self.incumbent, self.bound = known.tel, known.bound
        self.told: int | None = None

    def on_solution_callback(self) -> None:
        self.incumbent = round(self.objective_value) + self.constant
        self._tell()

    def on_bound(self, value: float) -> None:
        bound = integer_bound(value)
        if bound is not None:
            self.told = larger(bound + self.constant, self.told)
            self.bound = larger(self.told, self.bound)
            self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(Progress("CP-SAT", self.deadline.elapsed, self.incumbent, self.bound))


def larger(bound: int, other: int | None) -> int:
    """The better of two lower bounds."""
    return bound if other is None else max(bound, other)


def solve_staircase(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve formulation 2."""
    return _solve(build_staircase, problem, config, known, deadline, progress)


def solve_end_event(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve formulation 3."""
    return _solve(build_end_event, problem, config, known, deadline, progress)


def _solve(
    build: Callable[..., CpModel],
    problem: Problem,
    config: SolveConfig,
    known: Known,
    deadline: Deadline,
    progress: ProgressCallback | None,
) -> Answer:
    begin = time.perf_counter()
    cp = build(problem, cuts=known.cuts, horizon=known.horizon, allowed=known.allowed)
    cp.bound(known.bound, known.tel if known.cutoff is None else known.cutoff - 1)
    if known.incumbent is not None:
        cp.hint(known.incumbent)
    build_seconds = time.perf_counter() - begin
    return run_cp_sat(cp.model, cp.constant, cp.schedule, config, known, deadline, progress, build_seconds)


def run_cp_sat(
    model: cp_model.CpModel,
    constant: int,
    read: Callable[[Callable[[Any], int]], Schedule],
    config: SolveConfig,
    known: Known,
    deadline: Deadline,
    progress: ProgressCallback | None,
    build_seconds: float,
) -> Answer:
    """Run CP-SAT on a model whose cost is objective + `constant`; `read` turns a value function into a schedule."""
    if deadline.passed:
        return Answer(Termination.TIME_LIMIT, None, None, "not started", build_seconds, 0.0)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = config.portfolio
    solver.parameters.random_seed = config.seed
    solver.parameters.relative_gap_limit = config.gap / (1 + config.gap)
    if deadline.remaining is not None:
        solver.parameters.max_time_in_seconds = deadline.remaining
    if config.memory_limit is not None:
        solver.parameters.max_memory_in_mb = max(1, config.memory_limit >> 20)
    watch = _Watch(constant, known, deadline, progress)
    solver.best_bound_callback = watch.on_bound
    begin = time.perf_counter()
    solver.parameters.catch_sigint_signal = False  # `interruptible` listens instead
    native, interrupted = interruptible(lambda: solver.solve(model, watch), solver.stop_search)
    solve_seconds = time.perf_counter() - begin
    has_solution = native in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    schedule = read(solver.value) if has_solution else None
    bound = watch.told
    if has_solution:
        claimed = integer_bound(solver.best_objective_bound)
        bound = bound if claimed is None else larger(claimed + constant, bound)
    name = solver.status_name(native)
    termination = translate(CP_SAT, name)
    if termination is Termination.UNKNOWN:
        if interrupted:
            termination = Termination.INTERRUPTED
        elif deadline.remaining is not None and deadline.remaining < 0.05 + 0.02 * (deadline.seconds or 0.0):
            termination = Termination.TIME_LIMIT
        elif has_solution and config.gap > 0:
            termination = Termination.GAP_REACHED
        else:
            termination = Termination.MEMORY_LIMIT if config.memory_limit is not None else Termination.UNKNOWN
    return Answer(termination, schedule, bound, name, build_seconds, solve_seconds)
