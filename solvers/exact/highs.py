"""Time-indexed program → HiGHS in one call, and HiGHS → answer."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kvbound.models.errors import OptionError, SolverError
from kvbound.models.formulations.cuts import canonical
from kvbound.models.formulations.time_indexed import NO_LOWER, POOLED, TimeIndexed, build_time_indexed
from kvbound.models.problem import Problem
from kvbound.models.schedule import UNSERVED, Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import integer_bound
from kvbound.solvers.exact.interrupt import interruptible
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.status import HIGHS, translate
from kvbound.solvers.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    import highspy

#: Objectives are integers: two bounds less than one apart are the same.
ABS_GAP = 1.0 - 1e-5


@cache
def greet_quietly() -> None:
    """Swallow the banner that the first HiGHS object of a process writes to standard output, before any option counts.

    It comes from C++, below Python's `sys.stdout`, and would break machine-readable output.
    """
    import highspy

    sys.stdout.flush()
    try:
        kept, sink = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # no standard output to protect
        return
    try:
        os.dup2(sink, 1)
        highspy.Highs()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)


def set_option(solver: highspy.Highs, name: str, value: Any) -> None:
    """Set an option; HiGHS reports a refusal only in a return code, so look at it (`OptionError`)."""
    import highspy

    if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
        raise OptionError(f"HiGHS refused the option {name}={value!r}")


def set_threads(solver: highspy.Highs, threads: int) -> None:
    """Set the number of threads; a changed number fails unless the scheduler is restarted."""
    import highspy

    highspy.Highs.resetGlobalScheduler(True)
    set_option(solver, "threads", threads)


def highs_lp(model: TimeIndexed, *, relaxed: bool = False, unit_rows: bool = False) -> highspy.HighsLp:
    """The arrays as HiGHS's own structure.

    `relaxed` drops integrality. `unit_rows` divides every row by its right side: duals of very different size would be
    cut by HiGHS's tolerance.
    """
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.columns, model.rows
    lp.col_cost_ = model.cost.astype(np.float64)
    unit = np.maximum(1, model.row_upper).astype(np.float64) if unit_rows else np.ones(model.rows)
    lp.col_lower_, lp.col_upper_ = np.zeros(model.columns), np.ones(model.columns)
    lp.row_lower_ = np.where(model.row_lower == NO_LOWER, -highspy.kHighsInf, model.row_lower / unit)
    lp.row_upper_ = model.row_upper / unit
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = model.indptr.astype(np.int32)
    lp.a_matrix_.index_ = model.index
    lp.a_matrix_.value_ = model.value / unit[model.index]
    if not relaxed:
        lp.integrality_ = [highspy.HighsVarType.kInteger] * model.columns
    return lp


def load(model: TimeIndexed, *, relaxed: bool = False, unit_rows: bool = False) -> highspy.Highs:
    """A silent HiGHS that holds the model; switches as for `highs_lp`."""
    import highspy

    if model.nonzeros >= 1 << 31:
        raise SolverError(f"HiGHS counts matrix entries in 32 bits; the model has {model.nonzeros}")
    greet_quietly()
    solver = highspy.Highs()
    set_option(solver, "output_flag", False)
    if solver.passModel(highs_lp(model, relaxed=relaxed, unit_rows=unit_rows)) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the time-indexed model")
    return solver


def column_values(model: TimeIndexed, schedule: Schedule) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The schedule as a 0/1 vector, or None when one of its starts is not a column (a warm start must be complete)."""
    same_worker = (model.worker == POOLED) | (model.worker == schedule.worker[model.request])
    hit = same_worker & (model.start == schedule.start[model.request])
    served = int(schedule.served.sum())
    return hit.astype(np.float64) if int(hit.sum()) == served else None


def read_schedule(model: TimeIndexed, values: Any) -> Schedule:
    """The schedule of a 0/1 vector; columns at 1 within HiGHS's integrality tolerance."""
    chosen = np.flatnonzero(np.asarray(values) > 0.5)
    start, worker = np.full(model.problem.n, UNSERVED, np.int64), np.full(model.problem.n, UNSERVED, np.int64)
    start[model.request[chosen]] = model.start[chosen]
    worker[model.request[chosen]] = np.maximum(model.worker[chosen], 0)
    return Schedule(start, worker)


def solve_highs(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve formulation 1 with HiGHS's branch and cut."""
    import highspy

    begin = time.perf_counter()
    model = build_time_indexed(problem, cuts=known.cuts, horizon=known.horizon, allowed=known.allowed)
    solver = load(model)
    build_seconds = time.perf_counter() - begin
    if deadline.passed:
        return Answer(Termination.TIME_LIMIT, None, None, "not started", build_seconds, 0.0)
    set_threads(solver, config.cores)
    # Presolve reduced nothing where we looked, and it overran a limit of 4 s by 8 s: it does not look at the clock.
    set_option(solver, "presolve", "off")
    set_option(solver, "random_seed", config.seed)
    set_option(solver, "mip_rel_gap", config.gap / (1 + config.gap))
    set_option(solver, "mip_abs_gap", ABS_GAP)
    if deadline.remaining is not None:
        set_option(solver, "time_limit", deadline.remaining)
    if known.bound is not None:
        set_option(solver, "objective_target", known.bound + 0.5)
    if known.incumbent is not None:
        schedule = canonical(problem, known.incumbent) if known.cuts.symmetry else known.incumbent
        values = column_values(model, schedule)
        if values is not None:
            warm = highspy.HighsSolution()
            warm.col_value = values.tolist()
            solver.setSolution(warm)
    if progress is not None:
        report = progress  # for the closure: not None

        def on_log(event: Any) -> None:
            primal, dual = integer_bound(event.data_out.mip_primal_bound), integer_bound(event.data_out.mip_dual_bound)
            finite = primal if primal is not None and abs(primal) < 1e18 else None
            report(Progress("HiGHS", deadline.elapsed, finite, dual))

        solver.cbMipLogging += on_log
    stopping = threading.Event()

    def may_stop(event: Any) -> None:
        if stopping.is_set():
            event.interrupt()

    solver.cbMipInterrupt += may_stop
    solver.cbSimplexInterrupt += may_stop
    begin = time.perf_counter()
    interruptible(solver.run, stopping.set)
    solve_seconds = time.perf_counter() - begin
    native = solver.getModelStatus()
    info = solver.getInfo()
    has_solution = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    schedule_found = read_schedule(model, solver.getSolution().col_value) if has_solution else None
    return Answer(
        translate(HIGHS, native),
        schedule_found,
        integer_bound(info.mip_dual_bound),
        native.name,
        build_seconds,
        solve_seconds,
    )
