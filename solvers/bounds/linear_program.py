"""The LP bound by HiGHS: optimal duals of memory, batch and stagger rows, rounded and certified.

The rows of a weight have one coefficient per active step and start; written by differences they have a few: with V_i
the value of row i and S_i its slope, a start adds its jump to V where a segment begins or ends, and its slope to S.
The rows are then bounds of V, and their prices are reduced costs. HiGHS solves this form several times faster,
and it fits where the staircases do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kvbound.models.errors import LimitError, SizeError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight
from kvbound.solvers.bounds.lagrangian import Terms, first_horizon
from kvbound.solvers.bounds.rows import FloatArray, PricedRows, Windows, right_side, unit
from kvbound.solvers.deadline import Deadline

#: Starts beyond which HiGHS needs more memory and time than the dual methods ever do.
MOST_STARTS = 3_000_000


class DifferenceLP:
    """The pooled time-indexed LP in differences, as arrays for HiGHS: starts first, then V (and S) of each weight.

    It has the optimum of the Lagrangian dual with the same rows: every start up to the last priced step is a column.
    """

    def __init__(self, problem: Problem, weights: tuple[Weight, ...], last: int) -> None:
        r = problem.requests
        groups, count = np.unique(np.stack((r.prompt, r.output, r.arrival)), axis=1, return_counts=True)
        prompt, output, arrival = groups
        number = np.maximum(last, arrival) - arrival + 1
        self.starts = int(number.sum())
        if self.starts > MOST_STARTS:
            raise SizeError(
                f"the LP would have {self.starts:,} starts (limit {MOST_STARTS:,}): use --method lagrangian"
            )
        self.problem, self.rows = problem, [PricedRows.of(w, last) for w in weights]
        self.group = np.repeat(np.arange(len(count)), number)
        offset = np.arange(self.starts) - np.repeat(np.cumsum(number) - number, number)
        completion = arrival[self.group] + offset + output[self.group]
        self.cost = (offset + output[self.group]).astype(np.float64)
        self.right = [count.astype(np.float64)]
        self.lower, self.upper = [np.zeros(self.starts)], [np.full(self.starts, np.inf)]
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._enter(self.group, np.arange(self.starts), np.ones(self.starts))
        self.columns, self.height = self.starts, len(count)
        self.value_at = [self._weight(prompt, output, rows, completion) for rows in self.rows]

    def _enter(self, row: IntArray, column: IntArray, value: FloatArray) -> None:
        self._entries.append((row, column, value))

    def _weight(self, prompt: IntArray, output: IntArray, rows: PricedRows, completion: IntArray) -> int:
        """Add V (and S) of one weight; return the column of V_0."""
        fleet, points = self.problem.fleet, rows.points
        w = Windows.build(prompt, output, fleet, [rows])
        value, level = self.columns, self.height
        self._chain(value, level, points, 0.0, right_side(rows.weight, fleet))
        slope, tilt = self.columns, self.height
        sloped = bool((w.b != 0.0).any())
        if sloped:
            self._chain(slope, tilt, points, -np.inf, np.inf)
            self._enter(level + np.arange(points), slope + np.arange(points), np.full(points, -1.0))
        per_group = np.diff(w.ptr)
        column = np.repeat(np.arange(self.starts), per_group[self.group])
        begun = np.cumsum(per_group[self.group]) - per_group[self.group]
        e = np.arange(len(column)) + np.repeat(w.ptr[self.group] - begun, per_group[self.group])
        centre = rows.per_step * completion[column]
        for at, jump, bend in (
            (w.first, w.a + w.b * w.first, None),
            (w.stop, -(w.a + w.b * (w.stop - 1)), -w.b),
            (w.first + 1, None, w.b),
        ):
            point = centre + at[e]
            inside = (point >= 0) & (point < points)
            for base, amount in ((level, jump), (tilt, bend if sloped else None)):
                if amount is not None:
                    self._enter(base + point[inside], column[inside], -amount[e][inside])
        return value

    def _chain(self, column: int, row: int, points: int, lower: float, upper: float) -> None:
        """Columns X_i with rows X_i − X_{i−1} = what enters at i."""
        i = np.arange(points)
        self._enter(row + i, column + i, np.ones(points))
        self._enter(row + i[1:], column + i[:-1], np.full(points - 1, -1.0))
        self.lower.append(np.full(points, lower))
        self.upper.append(np.full(points, upper))
        self.right.append(np.zeros(points))
        self.columns, self.height = self.columns + points, self.height + points

    def highs(self) -> Any:
        """The arrays as HiGHS's own structure."""
        import highspy

        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        order = np.argsort(column * np.int64(self.height) + row, kind="stable")
        row, column, value = row[order], column[order], value[order]
        fresh = np.flatnonzero(np.concatenate(([True], (row[1:] != row[:-1]) | (column[1:] != column[:-1]))))
        value = np.add.reduceat(value, fresh)  # segments that touch meet in one entry
        row, column = row[fresh], column[fresh]
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.columns, self.height
        lp.col_cost_ = np.concatenate((self.cost, np.zeros(self.columns - self.starts)))
        lp.col_lower_, lp.col_upper_ = np.concatenate(self.lower), np.concatenate(self.upper)
        lp.row_lower_ = lp.row_upper_ = np.concatenate(self.right)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        ends = np.cumsum(np.bincount(column, minlength=self.columns))
        lp.a_matrix_.start_ = np.concatenate(([0], ends)).astype(np.int32)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = row.astype(np.int32), value
        return lp

    def terms(self, reduced: FloatArray) -> Terms:
        """Prices per weight, tick and unit of raw weight from HiGHS's reduced costs (≤ 0 at an upper bound)."""
        out: Terms = []
        for rows, at in zip(self.rows, self.value_at, strict=True):
            price = np.maximum(0.0, -reduced[at : at + rows.points])
            out.append((rows.weight, rows.ticks, price / unit(rows.weight, self.problem.fleet)))
        return out


def lp_prices(problem: Problem, deadline: Deadline, weights: tuple[Weight, ...] = ()) -> tuple[Terms, float, int]:
    """Solve the pooled time-indexed LP; return the prices per weight, its value and the iterations.

    Parameters
    ----------
    weights
        Stagger weights beside memory and batch.

    Raises
    ------
    SizeError
        More than `MOST_STARTS` starts.
    LimitError
        HiGHS hands back no dual solution (time limit, numerical trouble).
    """
    import highspy

    from kvbound.solvers.exact.highs import greet_quietly, set_option, set_threads

    batch: tuple[Weight, ...] = () if problem.fleet.pooled_batch is None else (BatchWeight(),)
    model = DifferenceLP(problem, (MemoryWeight(), *batch, *weights), first_horizon(problem))
    greet_quietly()
    solver = highspy.Highs()
    set_option(solver, "output_flag", False)
    set_threads(solver, 1)
    # The interior point alone: its duals prove the bound whether or not a vertex is found.
    set_option(solver, "solver", "ipm")
    set_option(solver, "run_crossover", "off")
    left = deadline.remaining
    if left is not None:
        set_option(solver, "time_limit", max(0.1, left))
    solver.passModel(model.highs())
    solver.run()
    info, solution = solver.getInfo(), solver.getSolution()
    if not solution.dual_valid:
        raise LimitError(
            f"HiGHS ended with {solver.getModelStatus()} and no dual solution; raise the time limit, "
            "or use --method lagrangian"
        )
    iterations = int(info.ipm_iteration_count) + int(info.simplex_iteration_count)
    terms = model.terms(np.asarray(solution.col_dual))
    return terms, float(info.objective_function_value), iterations
