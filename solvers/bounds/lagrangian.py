"""The dual methods: memory (and batch) prices, then stagger prices where a fractional schedule violates their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight
from kvbound.solvers.bounds.ascent import Incumbent, climb
from kvbound.solvers.bounds.dual import Dual
from kvbound.solvers.bounds.families import candidates
from kvbound.solvers.bounds.fluid import fluid_prices
from kvbound.solvers.bounds.rows import FloatArray, PricedRows, unit
from kvbound.solvers.deadline import Deadline

#: Smoothing relative to the mean cost of a request: first, and last at which gains are invisible.
_FIRST_SMOOTHING = 0.012
_LAST_SMOOTHING = 2e-5
#: Prices per row set on the coarsest grid.
_COARSE = 256
#: Stagger rows added per round when all at once would be slow, and the work (window-starts) that counts as slow.
_PER_ROUND = 4
_ALL_AT_ONCE = 30_000_000
#: Largest number of window-starts that one evaluation may cost.
_MOST_WORK = 1_500_000_000

Report = Callable[[float], None]


class PriceSearch:
    """State of a dual search: rows, prices, smoothing; grows rows and refines blocks as it goes."""

    def __init__(self, problem: Problem, deadline: Deadline, report: Report | None = None) -> None:
        self.problem, self.deadline, self.report = problem, deadline, report
        self.last = first_horizon(problem)
        weights: list[Weight] = [MemoryWeight()]
        if problem.fleet.pooled_batch is not None:
            weights.append(BatchWeight())
        block = max(1, -(-(self.last + 1) // _COARSE))
        self.rows = [PricedRows.of(w, self.last, block) for w in weights]
        self.dual = Dual(problem, self.rows, self.last)
        self.prices = np.zeros(self.dual.size)
        fluid = fluid_prices(problem, self.last) * unit(weights[0], problem.fleet)
        self.prices[: self.rows[0].blocks] = self.rows[0].gather(fluid) / self.rows[0].gather(np.ones(self.last + 1))
        self.best = Incumbent(self.dual.evaluate(self.prices, 0.0, gradient=False).hard, self.prices.copy())
        self.evaluations = 0
        self.mu = _FIRST_SMOOTHING * self.mean_cost

    @property
    def mean_cost(self) -> float:
        """Bound per request, the scale of the smoothing."""
        return max(1.0, self.best.value / self.problem.n)

    def climb(self, steps: int, tolerance: float) -> None:
        """One stage at the present smoothing and grid."""
        before = self.dual.evaluations
        self.prices = climb(self.dual, self.prices, self.mu, self.best, steps=steps, tolerance=tolerance,
                            deadline=self.deadline, report=self.report)  # fmt: skip
        self.evaluations += self.dual.evaluations - before

    def rebuild(self, rows: Sequence[PricedRows]) -> None:
        """Move to other rows or blocks; prices of weights that stay are carried over, new ones start at 0."""
        old = dict(zip((r.weight for r in self.rows), self.rows, strict=True))
        now, kept = ({r.weight: p for r, p in zip(self.rows, self.dual.split(v), strict=True)}
                     for v in (self.prices, self.best.prices))  # fmt: skip

        def carried(source: dict[Weight, FloatArray]) -> FloatArray:
            parts = []
            for r in rows:
                if r.weight not in source:
                    parts.append(np.zeros(r.blocks))
                    continue
                fine = old[r.weight].spread(source[r.weight])[: r.points]
                fine = np.concatenate((fine, np.zeros(r.points - len(fine))))
                parts.append(r.gather(fine) / r.gather(np.ones(r.points)))
            return np.concatenate(parts)

        self.prices, best = carried(now), carried(kept)
        self.rows = list(rows)
        self.dual = Dual(self.problem, self.rows, self.last)
        self.best = Incumbent(self.dual.evaluate(best, 0.0, gradient=False).hard, best)

    def refine(self, factor: int = 2) -> bool:
        """Shorten the blocks; False when all have length 1 already."""
        if all(r.block == 1 for r in self.rows):
            return False
        self.rebuild([r.with_block(max(1, -(-r.block // factor))) for r in self.rows])
        return True

    def extend(self, weights: Sequence[Weight]) -> None:
        """Add rows of more weights, priced 0, on the memory rows' grid."""
        block = self.rows[0].block
        self.rebuild([*self.rows, *(PricedRows.of(w, self.last, block) for w in weights)])

    def drop_unused(self) -> None:
        """Forget weights whose prices do not matter."""
        sums = [float(p.sum()) for p in self.dual.split(self.best.prices)]
        keep = [r for r, s in zip(self.rows, sums, strict=True) if s > 1e-4 * sum(sums) or r is self.rows[0]]
        if len(keep) < len(self.rows):
            self.rebuild(keep)

    def violation(self, weights: Sequence[Weight]) -> FloatArray:
        """How much the smoothed schedule at the present prices breaks the rows of each weight, shape (m,)."""
        out = np.zeros(len(weights))
        before = [*self.rows]
        for begin in range(0, len(weights), 8):
            some = [PricedRows.of(w, self.last, self.rows[0].block) for w in weights[begin : begin + 8]]
            probe = Dual(self.problem, [*before, *some], self.last)
            prices = np.concatenate((self.prices, np.zeros(sum(r.blocks for r in some))))
            gradient = probe.split(probe.evaluate(prices, self.mu).gradient)[len(before) :]
            out[begin : begin + 8] = [float(np.maximum(g, 0.0).sum()) / r.per_step for g, r in
                                      zip(gradient, some, strict=True)]  # fmt: skip
        return out

    def terms(self) -> list[tuple[Weight, np.ndarray, FloatArray]]:
        """Best prices per weight, tick and unit of raw weight."""
        parts = zip(self.rows, self.dual.split(self.best.prices), strict=True)
        return [(r.weight, r.ticks, r.spread(p) / unit(r.weight, self.problem.fleet)) for r, p in parts]


def first_horizon(problem: Problem) -> int:
    """Steps that get prices: somewhat beyond the time the volume needs, never beyond the problem's horizon."""
    r = problem.requests
    fluid = int(r.volume.sum()) / problem.fleet.pooled_memory
    return min(problem.horizon, int(r.arrival.max() + 1.3 * fluid + 2 * r.output.max()))


def finish(search: PriceSearch, tolerance: float) -> None:
    """Halve the smoothing and refine the grid until neither pays."""
    while not search.deadline.passed:
        before = search.best.value
        search.climb(300, 2e-5)
        refined = search.refine()
        if search.mu <= _LAST_SMOOTHING * search.mean_cost:
            if not refined:
                return
        elif search.best.value - before > tolerance * abs(before) or refined or search.mu > 5e-4 * search.mean_cost:
            search.mu *= 0.5
        else:
            return


def memory_prices(problem: Problem, deadline: Deadline, report: Report | None = None) -> PriceSearch:
    """The Lagrangian bound with memory and batch prices (docs/math.md §5.3)."""
    search = PriceSearch(problem, deadline, report)
    finish(search, 2e-5)
    return search


def stagger_prices(problem: Problem, deadline: Deadline, report: Report | None = None) -> PriceSearch:
    """The Lagrangian bound with the stagger weights of docs/math.md §4, chosen by violation."""
    search = PriceSearch(problem, deadline, report)
    for _ in range(3):
        search.climb(150, 2e-4)
        search.refine()
        search.mu *= 0.6
    pool = candidates(problem)
    while pool and not deadline.passed:
        broken = search.violation(pool)
        order = np.argsort(-broken, kind="stable")
        mine = [pool[i] for i in order if broken[i] > 1e-3 * search.last]
        if not mine:
            break
        starts = len(search.dual.prompt) * search.last
        count = len(mine) if starts * 3 * len(mine) < _ALL_AT_ONCE else _PER_ROUND
        chosen = mine[:count]
        began, value = time.monotonic(), search.best.value
        search.extend(chosen)
        search.climb(150, 2e-4)
        search.drop_unused()
        pool = [w for w in pool if w not in chosen]
        if search.best.value - value < 1e-3 * value:
            break
        left = deadline.remaining
        if left is not None and left < 2.5 * (time.monotonic() - began):
            break
    finish(search, 2e-5)
    return search
