"""The dual methods: memory (and batch) prices, then stagger prices where a fractional schedule violates their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.weights import BatchWeight, LevelsWeight, LinearWeight, MemoryWeight, Weight
from kvbound.solvers.bounds.ascent import PAIRS, Incumbent, climb
from kvbound.solvers.bounds.dual import Dual
from kvbound.solvers.bounds.families import candidates, choose, neighbours
from kvbound.solvers.bounds.fluid import fluid_prices
from kvbound.solvers.bounds.rows import FloatArray, PricedRows, unit
from kvbound.solvers.deadline import Deadline

#: First smoothing relative to the mean cost of a request: at most, and times n. The more requests, the nearer are
#: fluid prices to the best ones, and a large smoothing would only lead away from them.
_FIRST_SMOOTHING, _FIRST_SMOOTHING_TIMES_N = 0.012, 0.6
#: Last smoothing, at which gains are invisible.
_LAST_SMOOTHING = 2e-5
#: Smoothing, and prices per weight, while stagger weights are being chosen.
_ROUND_SMOOTHING = 2.5e-3
#: Smoothing from which stagger prices are raised to their end, halved every so many steps: prices of many rows that
#: replace each other settle several times faster from far away (benchmarks/bounds_dual.py --part lp).
_STAGGER_SMOOTHING, _STAGGER_SMOOTHING_TIMES_N, _STAGGER_STEPS = 2e-2, 2.4, 200
#: Steps remembered then: more cost time, there being many prices, and gain nothing.
_STAGGER_PAIRS = 8
#: Gain of a stage below which that ends: while weights may still be added, and at the very end.
_STAGGER_GAIN, _STAGGER_LAST_GAIN = 2e-4, 5e-5
_ROUND_BLOCKS = 1024
#: Stagger weights added per round.
_PER_ROUND = 8

#: Violations are estimated on a sample of about that many requests.
_SAMPLE = 500

Report = Callable[[float], None]
#: Weight, ticks, prices per unit of raw weight.
Terms = list[tuple[Weight, np.ndarray, FloatArray]]


class PriceSearch:
    """State of a dual search: rows, prices, smoothing; grows rows and refines blocks as it goes."""

    def __init__(
        self, problem: Problem, deadline: Deadline, report: Report | None = None, target: float = np.inf
    ) -> None:
        self.problem, self.deadline, self.report, self.target = problem, deadline, report, target
        self.last = first_horizon(problem)
        weights: list[Weight] = [MemoryWeight()]
        if problem.fleet.pooled_batch is not None:
            weights.append(BatchWeight())
        # Fluid prices on the finest grid prove the volume bound at least; for many requests they are nearly optimal.
        self.rows = [PricedRows.of(w, self.last) for w in weights]
        self.dual = Dual(problem, self.rows, self.last)
        self.prices = np.zeros(self.dual.size)
        fluid = fluid_prices(problem, self.last) * unit(weights[0], problem.fleet)
        self.prices[: len(fluid)] = fluid
        self.best = Incumbent(self.dual.evaluate(self.prices, 0.0, gradient=False).hard, self.prices.copy())
        self.evaluations = 0
        self.mu = min(_FIRST_SMOOTHING, _FIRST_SMOOTHING_TIMES_N / problem.n) * self.mean_cost

    @property
    def over(self) -> bool:
        """Whether to stop: time is up, or the bound has reached what is needed."""
        return self.deadline.passed or self.best.value >= self.target

    @property
    def mean_cost(self) -> float:
        """Bound per request, the scale of the smoothing."""
        return max(1.0, self.best.value / self.problem.n)

    def climb(self, steps: int, tolerance: float) -> None:
        """One stage at the present smoothing and grid."""
        before = self.dual.evaluations
        staggered = any(isinstance(r.weight, LevelsWeight | LinearWeight) for r in self.rows)
        self.prices = climb(self.dual, self.prices, self.mu, self.best, steps=steps, tolerance=tolerance,
                            pairs=_STAGGER_PAIRS if staggered else PAIRS, deadline=self.deadline,
                            target=self.target, report=self.report)  # fmt: skip
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

    def refine(self) -> bool:
        """Halve the blocks, a power of two each, so that no price changes; False when all have length 1 already."""
        if all(r.block == 1 for r in self.rows):
            return False
        self.rebuild([r.with_block(max(1, r.block // 2)) for r in self.rows])
        return True

    def extend(self, weights: Sequence[Weight]) -> None:
        """Add rows of more weights, priced 0, on a grid that `refine` makes finer later."""
        block = _power_of_two(self.last // _ROUND_BLOCKS)
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
            probe = Dual(self.problem, [*before, *some], self.last, _SAMPLE)
            prices = np.concatenate((self.prices, np.zeros(sum(r.blocks for r in some))))
            gradient = probe.split(probe.evaluate(prices, self.mu).gradient)[len(before) :]
            out[begin : begin + 8] = [float(np.maximum(g, 0.0).sum()) / r.per_step for g, r in
                                      zip(gradient, some, strict=True)]  # fmt: skip
        return out

    def terms(self) -> Terms:
        """Best prices per weight, tick and unit of raw weight."""
        parts = zip(self.rows, self.dual.split(self.best.prices), strict=True)
        return [(r.weight, r.ticks, r.spread(p) / unit(r.weight, self.problem.fleet)) for r, p in parts]


def _power_of_two(least: int) -> int:
    """Smallest power of two above `least`."""
    return 1 << least.bit_length()


def first_horizon(problem: Problem) -> int:
    """Steps that get prices: somewhat beyond the time the volume needs, never beyond the problem's horizon."""
    r = problem.requests
    fluid = int(r.volume.sum()) / problem.fleet.pooled_memory
    return min(problem.horizon, int(r.arrival.max() + 1.3 * fluid + 2 * r.output.max()))


def finish(search: PriceSearch, tolerance: float, steps: int = 400, within: float = 5e-6) -> None:
    """Halve the smoothing and refine the grid until neither pays: a stage gains less than `tolerance`.

    A stage has `steps` at the most, and ends when ten of them gain less than `within`.
    """
    while not search.over:
        before = search.best.value
        search.climb(steps, within)
        refined = search.refine()
        if search.mu <= _LAST_SMOOTHING * search.mean_cost:
            if not refined:
                return
        elif search.best.value - before > tolerance * abs(before) or refined or search.mu > 5e-4 * search.mean_cost:
            search.mu *= 0.5
        else:
            return


def raise_stagger_prices(search: PriceSearch) -> None:
    """From the best prices so far, and from a large smoothing, to where nothing pays any more."""
    first = min(_STAGGER_SMOOTHING, _STAGGER_SMOOTHING_TIMES_N / search.problem.n)
    search.prices, search.mu = search.best.prices.copy(), first * search.mean_cost
    finish(search, _STAGGER_GAIN, _STAGGER_STEPS, 1e-6)


def memory_prices(
    problem: Problem, deadline: Deadline, report: Report | None = None, target: float = np.inf
) -> PriceSearch:
    """The Lagrangian bound with memory and batch prices (docs/math.md §5.3); stops early at `target`."""
    search = PriceSearch(problem, deadline, report, target)
    finish(search, 5e-6)
    return search


def stagger_prices(
    problem: Problem, deadline: Deadline, report: Report | None = None, target: float = np.inf
) -> PriceSearch:
    """The Lagrangian bound with the stagger weights of docs/math.md §4 as well, chosen by violation."""
    search = memory_prices(problem, deadline.share(0.4), report, target)
    search.deadline = deadline
    rounds = min(_ROUND_SMOOTHING, _FIRST_SMOOTHING_TIMES_N / problem.n) * search.mean_cost
    search.prices, search.mu = search.best.prices.copy(), rounds
    _add_rounds(search, candidates(problem))
    raise_stagger_prices(search)
    while len(search.rows) > 1 and not search.over:
        value = search.best.value
        search.drop_unused()
        search.prices, search.mu = search.best.prices.copy(), 0.25 * rounds
        _add_rounds(search, neighbours([r.weight for r in search.rows]), most=1)
        raise_stagger_prices(search)
        if search.best.value - value < 5e-4 * value:
            break
    if len(search.rows) > 1:
        finish(search, _STAGGER_LAST_GAIN, _STAGGER_STEPS, 1e-6)
    return search


def _add_rounds(search: PriceSearch, pool: list[Weight], most: int = 100) -> None:
    """Add violated weights in rounds, worst of each family first, while the bound gains noticeably."""
    for _ in range(most):
        if not pool or search.over:
            return
        chosen = choose(pool, search.violation(pool), _PER_ROUND)
        if not chosen:
            return
        began, value = time.monotonic(), search.best.value
        search.extend(chosen)
        search.climb(80, 2e-4)
        search.drop_unused()
        pool = [w for w in pool if w not in chosen]
        left = search.deadline.remaining
        short = left is not None and left < 3.0 * (time.monotonic() - began)
        if short or search.best.value - value < 5e-4 * value:
            return
