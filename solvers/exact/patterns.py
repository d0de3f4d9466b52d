"""Unit outputs by patterns: column generation over (set of requests, step), with an exact integer bound.

A step of a worker takes a *pattern*, a set of requests that fits. Relaxing only "each request once" with prices π
leaves independent steps, k = 1, 2, … on each of G identical workers:

    TEL* ≥ Σ_j π_j + G Σ_k min(0, min_{patterns P} Σ_{j in P} (k − π_j))

for any π ≥ 0. All minima come from one table, the dearest pattern of each cardinality, a knapsack; in integers the
bound is exact. HiGHS finds good prices (the duals of its pattern LP) and, over the patterns seen, a schedule.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from numba import njit

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.highs import greet_quietly, set_option, set_threads

#: Prices are multiples of 1/SCALE.
SCALE = 1 << 20
#: Most entries of the knapsack table (requests × cardinality × memory), in bytes.
MOST_ENTRIES = 400_000_000
#: Pricing rounds after each fixing of a dive.
PRICINGS = 8
#: Disturbances of each width, and most columns, when patterns are gathered for a schedule.
ROUNDS, MOST_COLUMNS = 15, 6000


@njit(cache=True)
def dearest_patterns(size, price, memory, most):  # type: ignore[no-untyped-def]
    """Largest total price of exactly c requests that fit, c = 0..most, and such a set; −1 where none fits."""
    n = len(size)
    value = np.full((most + 1, memory + 1), -1, np.int64)
    value[0, :] = 0
    take = np.zeros((n, most + 1, memory + 1), np.bool_)
    for i in range(n):
        for c in range(min(most, i + 1), 0, -1):
            for w in range(memory, size[i] - 1, -1):
                before = value[c - 1, w - size[i]]
                if before >= 0 and before + price[i] > value[c, w]:
                    value[c, w] = before + price[i]
                    take[i, c, w] = True
    best = value[:, memory].copy()
    chosen = np.zeros((most + 1, n), np.bool_)
    for cardinality in range(1, most + 1):
        c, w = cardinality, memory
        if best[cardinality] < 0:
            continue
        for i in range(n - 1, -1, -1):
            if c > 0 and take[i, c, w]:
                chosen[cardinality, i] = True
                w -= size[i]
                c -= 1
    return best, chosen


def most_together(problem: Problem) -> int:
    """Largest cardinality of a pattern: the smallest prompts first, at most the batch cap."""
    total = np.cumsum(np.sort(problem.requests.peak))
    number = int(np.searchsorted(total, problem.fleet.memory[0], side="right"))
    cap = problem.fleet.batch[0]
    return number if cap is None else min(number, cap)


def patterns_fit(problem: Problem) -> bool:
    """Whether pattern generation applies: no arrivals, identical workers, a table of reasonable size."""
    entries = problem.n * (most_together(problem) + 1) * (problem.fleet.memory[0] + 1)
    return problem.fleet.identical and not problem.requests.arrival.any() and entries <= MOST_ENTRIES


def priced_bound(problem: Problem, price: IntArray, best: IntArray) -> int:
    """The bound above for prices π = `price` / SCALE, given the dearest pattern of each cardinality; exact."""
    total = sum(price.tolist())
    for step in range(1, problem.n + 1):
        gain = max((int(b) - SCALE * step * c for c, b in enumerate(best.tolist()) if b >= 0), default=0)
        if gain <= 0:
            break
        total -= len(problem.fleet) * gain
    return -(-total // SCALE)


class PatternLp:
    """The restricted master program: columns are patterns at steps, rows cover requests and fill steps."""

    __slots__ = ("columns", "problem", "seen", "solver", "steps")

    def __init__(self, problem: Problem, steps: int, solver: Any) -> None:
        self.problem, self.steps, self.solver = problem, steps, solver
        self.columns: list[tuple[int, IntArray]] = []
        self.seen: set[tuple[int, bytes]] = set()

    @classmethod
    def of(cls, problem: Problem, steps: int, deadline: Deadline) -> PatternLp:
        """An empty program: rows 0..n−1 cover the requests, row n+k−1 holds at most G patterns of step k."""
        import highspy

        greet_quietly()
        solver = highspy.Highs()
        set_option(solver, "output_flag", False)
        set_threads(solver, 1)
        if deadline.remaining is not None:
            set_option(solver, "time_limit", max(0.1, deadline.remaining))
        for _ in range(problem.n):
            solver.addRow(1.0, highspy.kHighsInf, 0, np.zeros(0, np.int32), np.zeros(0))
        for _ in range(steps):
            solver.addRow(-highspy.kHighsInf, float(len(problem.fleet)), 0, np.zeros(0, np.int32), np.zeros(0))
        return cls(problem, steps, solver)

    def add(self, step: int, members: IntArray) -> bool:
        """Add the pattern at `step` (from 1); False when it is there already."""
        key = (step, members.tobytes())
        if step > self.steps or key in self.seen:
            return False
        self.seen.add(key)
        self.columns.append((step, members))
        rows = np.append(members, self.problem.n + step - 1).astype(np.int32)
        self.solver.addCol(
            float(step * len(members)), 0.0, float(len(self.problem.fleet)), len(rows), rows, np.ones(len(rows))
        )
        return True

    def add_schedule(self, schedule: Schedule) -> None:
        """Add the patterns of a schedule, so that the program always has a solution."""
        for step in np.unique(schedule.start).tolist():
            for worker in range(len(self.problem.fleet)):
                members = np.flatnonzero((schedule.start == step) & (schedule.worker == worker))
                if members.size:
                    self.add(step + 1, members)

    def values(self, schedule: Schedule) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The schedule as a solution vector; its patterns must have been added."""
        index = {(step, members.tobytes()): c for c, (step, members) in enumerate(self.columns)}
        out = np.zeros(len(self.columns))
        for step in np.unique(schedule.start).tolist():
            for worker in range(len(self.problem.fleet)):
                members = np.flatnonzero((schedule.start == step) & (schedule.worker == worker))
                if members.size:
                    out[index[step + 1, members.tobytes()]] += 1
        return out

    def read(self, values: Any) -> Schedule:
        """A schedule from an integral solution; a request covered twice keeps its earliest step."""
        n, workers = self.problem.n, len(self.problem.fleet)
        start, worker, used = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(self.steps + 1, np.int64)
        times = np.rint(np.asarray(values)).astype(np.int64)
        chosen = np.repeat(np.arange(len(times)), times).tolist()
        for c in sorted(chosen, key=lambda c: self.columns[c][0]):
            step, members = self.columns[c]
            new = members[start[members] < 0]
            start[new], worker[new] = step - 1, used[step] % workers
            used[step] += 1
        return Schedule(start, worker)


def generate(program: PatternLp, deadline: Deadline, rounds: int | None = None) -> int | None:
    """Price patterns until the LP is solved, `rounds` are over or the time is up; return the best bound proved.

    The bound holds whatever columns are fixed: it comes from the prices alone.
    """
    import highspy

    problem, best_bound = program.problem, None
    most, size = most_together(problem), problem.requests.peak
    for _ in range(rounds) if rounds is not None else count():
        if deadline.passed:
            break
        program.solver.run()
        if program.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        value = program.solver.getInfo().objective_function_value
        dual = np.asarray(program.solver.getSolution().row_dual)[: problem.n]
        price = np.rint(np.maximum(dual, 0.0) * SCALE).astype(np.int64)
        best, chosen = dearest_patterns(size, price, problem.fleet.memory[0], most)
        bound = priced_bound(problem, price, best)
        best_bound = bound if best_bound is None else max(best_bound, bound)
        if best_bound >= value - 1e-6:
            break
        added = False
        for step in range(1, program.steps + 1):
            gain = np.where(best >= 0, best - SCALE * step * np.arange(most + 1), -1)
            c = int(gain.argmax())
            if gain[c] > 0:
                added |= program.add(step, np.flatnonzero(chosen[c]))
        if not added:
            break
    return best_bound


def dive(program: PatternLp, rng: np.random.Generator, width: int, deadline: Deadline) -> Schedule | None:
    """Round the pattern LP down a path: fix one of the `width` patterns nearest to 1, price anew, until all is covered.

    Patterns priced on the way stay in the program, where `best_of_patterns` may use them; None when time ran out.
    """
    import highspy

    solver = program.solver
    fixed: set[int] = set()
    found = None
    while not deadline.passed:
        generate(program, deadline, rounds=PRICINGS)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        values = np.asarray(solver.getSolution().col_value)
        if np.abs(values - np.rint(values)).max() < 1e-6:
            found = program.read(values)
            break
        part = np.where(np.isin(np.arange(len(values)), list(fixed)), -1.0, values)
        near = set(np.flatnonzero(part > 1 - 1e-6).tolist()) | {int(rng.choice(np.argsort(-part)[:width]))}
        for c in near:
            solver.changeColBounds(c, 1.0, float(len(program.problem.fleet)))
        fixed |= near
    for c in fixed:
        solver.changeColBounds(c, 0.0, float(len(program.problem.fleet)))
    return found


def enrich(program: PatternLp, gap: int, seed: int, deadline: Deadline) -> None:
    """Add patterns that an improving schedule may use: dearest ones under disturbed prices.

    A pattern whose reduced cost exceeds the gap is in no better schedule, so it is left out.
    """
    import highspy

    program.solver.run()
    if program.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return
    problem, rng = program.problem, np.random.default_rng(seed)
    most, size = most_together(problem), problem.requests.peak
    dual = np.maximum(np.asarray(program.solver.getSolution().row_dual)[: problem.n], 0.0)
    true = np.rint(dual * SCALE).astype(np.int64)
    best, _ = dearest_patterns(size, true, problem.fleet.memory[0], most)
    steps = np.arange(1, program.steps + 1)
    gain = np.max(np.where(best >= 0, best - SCALE * np.outer(steps, np.arange(most + 1)), 0), axis=1)
    for width in np.repeat((0.02, 0.05, 0.1), ROUNDS):
        if deadline.passed or len(program.columns) > MOST_COLUMNS:
            break
        price = np.maximum(0, true + rng.normal(0.0, width, problem.n) * true.mean()).astype(np.int64)
        reach, chosen = dearest_patterns(size, price, problem.fleet.memory[0], most)
        for c in np.flatnonzero(reach[1:] >= 0) + 1:
            members = np.flatnonzero(chosen[c])
            reduced = SCALE * steps * c - int(true[members].sum()) + gain
            for step in steps[reduced <= gap * SCALE].tolist():
                program.add(step, members)


def best_of_patterns(program: PatternLp, incumbent: Schedule, deadline: Deadline) -> Schedule | None:
    """Let HiGHS pick among the patterns seen, starting from `incumbent`; None when it has nothing."""
    import highspy

    program.add_schedule(incumbent)
    solver, number = program.solver, len(program.columns)
    every = np.arange(number, dtype=np.int32)
    solver.changeColsIntegrality(number, every, np.full(number, highspy.HighsVarType.kInteger.value, np.uint8))
    set_option(solver, "mip_abs_gap", 0.999)
    set_option(solver, "mip_rel_gap", 0.0)
    if deadline.remaining is not None:
        set_option(solver, "time_limit", deadline.remaining)
    warm = highspy.HighsSolution()
    warm.col_value = program.values(incumbent).tolist()
    solver.setSolution(warm)
    solver.run()
    info = solver.getInfo()
    found = None
    if info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible):
        found = program.read(solver.getSolution().col_value)
    solver.changeColsIntegrality(number, every, np.full(number, highspy.HighsVarType.kContinuous.value, np.uint8))
    return found
