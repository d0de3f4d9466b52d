"""Unit outputs as bin packing in levels: bound, model, CP-SAT."""

from __future__ import annotations

import time

from kvbound.models.formulations.unit_outputs import build_unit_outputs, last_step
from kvbound.models.problem import Problem
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.cpsat import run_cp_sat
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.progress import ProgressCallback


def solve_unit_outputs(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve the counting model of `kvbound.models.formulations.unit_outputs`."""
    begin = time.perf_counter()
    horizon = problem.horizon if known.tel is None else last_step(problem, known.tel)
    unit = build_unit_outputs(problem, horizon=horizon, upper=known.tel, lower=known.bound)
    if known.incumbent is not None:
        unit.hint(known.incumbent)
    build_seconds = time.perf_counter() - begin
    return run_cp_sat(unit.model, 0, unit.schedule, config, known, deadline, progress, build_seconds)
