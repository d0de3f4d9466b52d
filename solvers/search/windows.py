"""Large-neighbourhood search: CP-SAT re-optimises the starts of a window, the rest of the schedule follows.

Within a window of consecutive starts on one worker everything is free. What started before stays where it is; what
starts after moves as one block by δ ≤ 0 steps, which keeps its inner capacity and gains δ for each of its requests.
The model is one of the project's own formulations (docs/math.md §2) of the requests that meet the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests
from kvbound.solvers.search.incumbent import Budget, Incumbent

STAGE = "windows"
#: Unit intervals of the staircase, and requests of the end-event model, that a window may have.
_MOST_UNITS, _MOST_REQUESTS = 1500, 26
#: Deterministic seconds of CP-SAT per window, and moves that one of them counts.
_EFFORT, _MOVES_PER_EFFORT = 0.2, 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Requests of one worker around a window, by index into the problem.

    Parameters
    ----------
    free
        They may start anywhere from `low` to `high`.
    before, after
        Active at or after `low`, started earlier; and those of the moving block that can meet the others.
    block
        All that start after the window on that worker.
    most
        Steps that the block may move to the left.
    """

    worker: int
    free: IntArray
    before: IntArray
    after: IntArray
    block: IntArray
    low: int
    high: int
    most: int

    @property
    def requests(self) -> IntArray:
        """All of the model: free, before, after."""
        return np.concatenate((self.free, self.before, self.after))


class Windows:
    """Windows at random places of the best schedule. A working state: it owns the random numbers."""

    __slots__ = ("_problem", "_rng", "size")

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._problem, self._rng, self.size = problem, rng, 5

    def run(self, best: Incumbent, budget: Budget) -> None:
        """Re-optimise windows until the budget is spent; windows that CP-SAT closes grow, others shrink."""
        refused = 0
        while not budget.over and refused < 50:
            window = self._choose(best)
            if window is None or not _fits(self._problem, window):
                refused += 1
                self.size = max(3, self.size - (refused % 5 == 0))
                continue
            closed = self.reoptimise(best, budget, window)
            self.size = min(16, self.size + 1) if closed and self._rng.random() < 0.3 else self.size
            if not closed:
                self.size = max(3, self.size - 1)

    def _choose(self, best: Incumbent) -> Window | None:
        """A window of consecutive starts on a random worker."""
        sequence, r = best.order(), self._problem.requests
        start, worker = best.schedule.start, best.schedule.worker
        g = int(worker[self._rng.integers(self._problem.n)])
        mine = sequence[worker[sequence] == g]
        first = int(self._rng.integers(0, max(1, len(mine) - self.size // 2)))
        free, block = mine[first : first + self.size], mine[first + self.size :]
        if len(free) < 2:
            return None
        low = int(start[free[0]])
        high = int(start[block[0]]) if len(block) else int(start[free[-1]]) + int(r.output[free].mean())
        before = mine[:first][(start + r.output)[mine[:first]] > low]
        slack = int((start[block] - r.arrival[block]).min()) if len(block) else 0
        most = min(slack, max(1, high - low))
        longest = max(high + int(r.output[free].max()), int((start + r.output)[before].max(initial=0)))
        after = block[start[block] - most < longest]
        return Window(g, free, before, after, block, low, high, most)

    def reoptimise(self, best: Incumbent, budget: Budget, window: Window) -> bool:
        """Solve one window, offer what it gives; whether CP-SAT proved the window optimal.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C, after the best schedule of the window was offered.
        """
        from ortools.sat.python import cp_model

        from kvbound.solvers.exact.interrupt import interruptible

        start = best.schedule.start.copy()
        model, variables, delta, base = _model(self._problem, window, start)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers, solver.parameters.random_seed = 1, int(self._rng.integers(1 << 30))
        solver.parameters.max_deterministic_time = _EFFORT
        solver.parameters.catch_sigint_signal = False
        left = budget.clock.remaining
        if left is not None:
            solver.parameters.max_time_in_seconds = max(0.01, left)
        status, interrupted = interruptible(lambda: solver.solve(model), solver.stop_search)
        budget.count(100 + int(_MOVES_PER_EFFORT * solver.response_proto.deterministic_time))
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            start[window.free] = [base + solver.value(v) for v in variables]
            start[window.block] += solver.value(delta) if delta is not None else 0
            best.offer(start, best.schedule.worker, STAGE)
        if interrupted:
            raise KeyboardInterrupt
        return bool(status in (cp_model.OPTIMAL, cp_model.INFEASIBLE))


def _fits(problem: Problem, window: Window) -> bool:
    """Whether one of the formulations stays small."""
    chosen = window.requests
    return int(problem.requests.output[chosen].sum()) <= _MOST_UNITS or len(chosen) <= _MOST_REQUESTS


def _model(problem: Problem, window: Window, start: IntArray) -> tuple[Any, list[Any], Any, int]:
    """The CP-SAT model of a window: (model, start variables of the free requests, δ or None, step of its time 0)."""
    from kvbound.models.formulations.cp_end_event import build_end_event
    from kvbound.models.formulations.cp_staircase import build_staircase
    from kvbound.models.formulations.cuts import Cuts

    r, fleet, chosen = problem.requests, problem.fleet, window.requests
    base = int(start[chosen].min())
    part = Problem(
        Requests(r.prompt[chosen], r.output[chosen], np.maximum(r.arrival[chosen] - base, 0)),
        Fleet.uniform(fleet.memory[window.worker], 1, fleet.batch[window.worker]),
    )
    known = start[chosen] - base
    free, before = len(window.free), len(window.free) + len(window.before)
    allowed: list[IntArray | None] = []
    for i in range(len(chosen)):
        first, last = int(known[i]), int(known[i])
        if i < free:
            first, last = window.low - base, window.high - base
        elif i >= before:
            first -= window.most
        allowed.append(np.arange(first, last + 1, dtype=np.int64))
    horizon = int(max(a[-1] for a in allowed if a is not None) + part.requests.output.max())
    build = build_staircase if int(part.requests.output.sum()) <= _MOST_UNITS else build_end_event
    cp = build(part, cuts=Cuts(separation=True), horizon=horizon, allowed=allowed)
    delta, cost = None, sum(cp.start[:free])
    if len(window.block):
        delta = cp.model.new_int_var(-window.most, 0, "delta")
        for variable, at in zip(cp.start[before:], known[before:].tolist(), strict=True):
            cp.model.add(variable == at + delta)
        cost += len(window.block) * delta
    cp.model.minimize(cost)
    cp.model.add(cost <= int(known[:free].sum()) - 1)
    return cp.model, cp.start[:free], delta, base
