"""The positional LP (docs/math.md §5.6) by HiGHS, rows added as they are violated; its dual as a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvbound.checkers.certificate import Certificate, PriceTerm, certified
from kvbound.checkers.positional_rule import Kinds, kinds
from kvbound.models.errors import LimitError, SizeError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.solvers.bounds.lagrangian import Report
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.highs import greet_quietly, set_option, set_threads

#: Most (kind, position) pairs: beyond it the LP takes minutes and proves less than prices do.
MOST_PAIRS = 100_000
#: Denominator of the prices.
SCALE = 1 << 32
#: Violations below this (tokens) are noise of the LP.
_NOISE = 1e-6


class _Model:
    """The LP: z[t, k] (kind t at position k), P_k = peak at k, O_k and V_k = outputs and volumes up to k, e_k and
    S_k = e_1 + … + e_k; positions count from 0. All rows are divided by ΣM."""

    def __init__(self, kind: Kinds, memory: int, *, volumes: bool) -> None:
        self.kind, self.memory, self.n = kind, float(memory), int(kind.number.sum())
        types, n = len(kind.peak), self.n
        self.at = {name: types * n + i * n for i, name in enumerate("POVeS")}
        self.rows = 0
        self.keys: list[tuple[str, int, int]] = []
        self._index: list[IntArray] = []
        self._value: list[FloatArray] = []
        self._lower: list[float] = []
        self._upper: list[float] = []
        position = np.arange(types) * n
        for t in range(types):
            self._add("kind", t, 0, (t * n + np.arange(n), np.ones(n)), both=float(kind.number[t]))
        for k in range(n):
            here, previous = position + k, [1.0] if k else []
            self._add("one", k, 0, (here, np.ones(types)), both=1.0)
            self._sum(here, kind.peak, [self.at["P"] + k], [])
            self._sum(here, kind.output, self._pair("O", k), previous)
            self._sum(here, kind.volume / memory, self._pair("V", k), previous)
            self._add(
                "sum", k, 0, ([*self._pair("S", k), self.at["e"] + k], [1.0, *(-x for x in previous), -1.0]), both=0.0
            )
            self._add("completion", k, 0, ([self.at["e"] + k, *here], [1.0, *-(kind.output + kind.arrival)]))
            if k:
                self._add("order", k, 0, ([self.at["e"] + k, self.at["e"] + k - 1], [1.0, -1.0]))
            if volumes:
                self._add("volume", k, 0, ([self.at["e"] + k, self.at["V"] + k], [1.0, -1.0]))

    def _pair(self, name: str, k: int) -> list[int]:
        return [self.at[name] + k] + ([self.at[name] + k - 1] if k else [])

    def _sum(self, here: IntArray, value: Any, columns: list[int], previous: list[float]) -> None:
        """Row: columns[0] − columns[1] = Σ value·z."""
        self._add(
            "sum", 0, 0, ([*columns, *here], [1.0, *(-x for x in previous), *-np.asarray(value, float)]), both=0.0
        )

    def _add(
        self, name: str, k: int, m: int, row: tuple[Any, Any], both: float | None = None, least: float = 0.0
    ) -> None:
        self._index.append(np.asarray(row[0], np.int64))
        self._value.append(np.asarray(row[1], np.float64))
        self._lower.append(least if both is None else both)
        self._upper.append(np.inf if both is None else both)
        self.keys.append((name, k, m))

    def add_position(self, k: int, m: int) -> None:
        """Σ_{q ≤ m} (e_{k+q} − e_k) ≥ P_k + O_{k+m} − O_k − ΣM, written in sums."""
        at, m_ = self.at, float(m)
        index = [at["S"] + k + m, at["S"] + k, at["e"] + k, at["P"] + k, at["O"] + k + m, at["O"] + k]
        value = np.array([1.0, -1.0, -m_, -1.0, -1.0, 1.0]) / self.memory
        self._add("position", k, m, (index, value), least=-1.0)

    def hand_over(self, solver: Any) -> None:
        """Give HiGHS the rows that it does not have yet."""
        lengths = [len(x) for x in self._index]
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int32)
        solver.addRows(len(lengths), np.array(self._lower), np.array(self._upper), int(sum(lengths)), starts,
                       np.concatenate(self._index).astype(np.int32), np.concatenate(self._value))  # fmt: skip
        self._index, self._value, self._lower, self._upper = [], [], [], []

    def violated(self, x: FloatArray) -> list[tuple[int, int]]:
        """The most violated row (k, m) of each k."""
        peak, output, ends, total = (x[self.at[name] : self.at[name] + self.n] for name in "POeS")
        found = []
        for k in range(self.n - 1):
            m = np.arange(1, self.n - k)
            short = peak[k] + output[k + 1 :] - output[k] - self.memory - (total[k + 1 :] - total[k] - m * ends[k])
            worst = int(short.argmax())
            if short[worst] > _NOISE * self.memory:
                found.append((k, worst + 1))
        return found


def positional_prices(
    problem: Problem, deadline: Deadline, report: Report | None = None, *, volumes: bool = True
) -> tuple[Certificate, float, int]:
    """Solve the positional LP; return the certificate of its dual, the LP's value and the simplex iterations.

    Parameters
    ----------
    problem
        Arrivals count, batch caps are relaxed, workers are pooled (docs/math.md §5.6).
    deadline
        Rows stop being added there. A relaxation with fewer rows still proves a bound.
    volumes
        Also demand ΣM·e_k ≥ Σ_{i ≤ k} v_(i).

    Raises
    ------
    SizeError
        More than `MOST_PAIRS` pairs of kind and position.
    LimitError
        HiGHS found no optimal dual in time.
    """
    import highspy

    kind = kinds(problem.requests)
    if len(kind.peak) * problem.n > MOST_PAIRS:
        raise SizeError(
            f"the positional LP would have {len(kind.peak) * problem.n:,} columns (limit {MOST_PAIRS:,}): "
            f"use --method lagrangian"
        )
    model = _Model(kind, problem.fleet.pooled_memory, volumes=volumes)
    columns = model.at["S"] + problem.n
    greet_quietly()
    solver = highspy.Highs()
    set_option(solver, "output_flag", False)
    set_threads(solver, 1)
    solver.addVars(columns, np.zeros(columns), np.full(columns, highspy.kHighsInf))
    solver.changeColCost(columns - 1, 1.0)
    arrivals, best, iterations = int(problem.requests.arrival.sum()), None, 0
    while True:
        model.hand_over(solver)
        left = deadline.remaining
        if left is not None:
            set_option(solver, "time_limit", max(0.1, solver.getRunTime() + left))
        solver.run()
        iterations += int(solver.getInfo().simplex_iteration_count)
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        solution = solver.getSolution()
        value = float(solver.getInfo().objective_function_value)
        best = np.asarray(solution.row_dual), value
        if report is not None:
            report(value - arrivals)
        missing = model.violated(np.asarray(solution.col_value))
        if not missing:
            break
        for k, m in missing:
            model.add_position(k, m)
    if best is None:
        raise LimitError(f"HiGHS ended with {solver.getModelStatus()} and no dual solution; raise the time limit")
    dual, value = best
    return _certificate(problem, model, dual), value - arrivals, iterations


def _certificate(problem: Problem, model: _Model, dual: FloatArray) -> Certificate:
    """Round the duals; an order row needs no price, since gaps are not negative."""
    positions: dict[int, dict[int, int]] = {}
    other: dict[str, dict[int, int]] = {"completion": {}, "volume": {}}
    worth = np.zeros(len(model.kind.peak), np.int64)
    for (name, k, m), price in zip(model.keys, dual.tolist(), strict=False):
        if name == "kind":
            worth[k] = round(price * SCALE)
        elif name == "position" and price > 0.0:
            positions.setdefault(k + 1, {})[m] = round(price / model.memory * SCALE)
        elif name in other and price > 0.0:
            other[name][k + 1] = round(price / (model.memory if name == "volume" else 1.0) * SCALE)
    terms = [_term("position", (k,), rows) for k, rows in sorted(positions.items())]
    terms += [_term(name, (), rows) for name, rows in other.items() if rows]
    fingerprint = problem.fingerprint()
    return certified(
        problem,
        Certificate("positional", "positional", fingerprint, SCALE, tuple(terms), None, multipliers=worth),
    )


def _term(kind: str, parameters: tuple[int, ...], rows: dict[int, int]) -> PriceTerm:
    ticks = sorted(rows)
    return PriceTerm(kind, parameters, np.array(ticks, np.int64), np.array([rows[q] for q in ticks], np.int64))
