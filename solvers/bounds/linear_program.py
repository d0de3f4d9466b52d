"""The LP bound by HiGHS: optimal duals of the memory and batch rows, rounded and certified."""

from __future__ import annotations

import numpy as np

from kvbound.models.errors import SizeError, SolverError
from kvbound.models.formulations.cuts import Cuts
from kvbound.models.formulations.time_indexed import build_time_indexed
from kvbound.models.problem import Problem
from kvbound.models.weights import Weight
from kvbound.solvers.bounds.lagrangian import first_horizon
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline

#: Nonzeros beyond which HiGHS needs more memory and time than the dual methods ever do.
MOST_NONZEROS = 30_000_000

Terms = list[tuple[Weight, np.ndarray, FloatArray]]


def lp_prices(problem: Problem, deadline: Deadline, weights: tuple[Weight, ...] = ()) -> tuple[Terms, float, int]:
    """Solve the pooled time-indexed LP; return the prices per weight, its value and the simplex iterations.

    Raises
    ------
    SizeError
        The LP would have more than `MOST_NONZEROS` memory coefficients, or workers differ in size.
    SolverError
        HiGHS hands back no dual solution (time limit, numerical trouble).
    """
    import highspy

    from kvbound.solvers.exact.highs import greet_quietly

    if not problem.fleet.identical:
        raise SizeError("the pooled LP needs identical workers; --method lagrangian takes any fleet")
    steps = first_horizon(problem)
    r = problem.requests
    size = int(np.maximum(0, steps - r.output + 1 - r.arrival).astype(float) @ r.output.astype(float))
    if size > MOST_NONZEROS:
        raise SizeError(
            f"the LP would have about {size:.1e} nonzeros (limit {MOST_NONZEROS:.0e}): use --method lagrangian"
        )
    model = build_time_indexed(problem, cuts=Cuts(stagger=weights), horizon=steps, pooled=True)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.columns, model.rows
    lp.col_cost_ = model.cost.astype(np.float64)
    lp.col_lower_, lp.col_upper_ = np.zeros(model.columns), np.full(model.columns, highspy.kHighsInf)
    # Scaled so that every row has capacity 1: duals of very different size would be cut by HiGHS's tolerance.
    unit = np.maximum(1, model.row_upper).astype(np.float64)
    lp.row_lower_ = np.where(model.row_lower == model.row_upper, model.row_lower / unit, -highspy.kHighsInf)
    lp.row_upper_ = model.row_upper / unit
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = model.indptr.astype(np.int32)
    lp.a_matrix_.index_ = model.index
    lp.a_matrix_.value_ = model.value / unit[model.index]
    greet_quietly()
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    left = deadline.remaining
    if left is not None:
        solver.setOptionValue("time_limit", max(0.1, left))
    solver.passModel(lp)
    solver.run()
    info = solver.getInfo()
    solution = solver.getSolution()
    if not solution.dual_valid:
        raise SolverError(f"HiGHS ended with {solver.getModelStatus()} and no dual solution; raise the time limit")
    # HiGHS: duals of "≤" rows are ≤ 0 when minimising; a price is their negative, never below 0.
    price = np.maximum(0.0, -np.asarray(solution.row_dual)) / unit
    terms: Terms = []
    for block in model.blocks:
        if block.weight is not None:
            terms.append((block.weight, block.ticks, price[block.first : block.first + len(block.ticks)]))
    return terms, float(info.objective_function_value), int(info.simplex_iteration_count)
