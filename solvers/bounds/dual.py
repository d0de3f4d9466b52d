"""The Lagrangian dual of TEL as a function of prices per block, with its smoothed gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, volume
from kvbound.models.threads import in_chunks
from kvbound.solvers.bounds.kernel import CHUNKS, evaluate, read_activity, write_prices
from kvbound.solvers.bounds.rows import Bends, FloatArray, PricedRows, Windows, right_side

#: Pairs (second difference, start) below which one thread is faster than waking another.
_ALONE_BELOW = 200_000


@dataclass(frozen=True, slots=True)
class Point:
    """The dual at some prices: smoothed value, exact (floating-point) value, gradient of the smoothed value."""

    soft: float
    hard: float
    gradient: FloatArray


class Dual:
    """L(prices) for fixed rows (docs/math.md §5.3): identical requests grouped, workers pooled.

    Parameters
    ----------
    problem
        What is bounded.
    rows
        The rows that may have prices; scaled so that each has capacity 1 per worker.
    last
        Last step with a price; later starts cost more and pay nothing (docs/math.md §5.4).
    sample
        Evaluate about that many requests only, each standing for those of similar volume. The values are then
        estimates and no bounds: good for finding prices quickly, and for nothing else.
    """

    def __init__(self, problem: Problem, rows: Sequence[PricedRows], last: int, sample: int | None = None) -> None:
        r = problem.requests
        groups, count = np.unique(np.stack((r.prompt, r.output, r.arrival)), axis=1, return_counts=True)
        self.sampled = sample is not None and len(count) > sample
        if sample is not None and self.sampled:
            groups, count = _strata(groups, count, sample)
        self.problem, self.rows, self.last = problem, list(rows), last
        self.prompt, self.output, self.arrival = (np.ascontiguousarray(g) for g in groups)
        self.count = count.astype(np.int64)
        bends = Bends.of(Windows.build(self.prompt, self.output, problem.fleet, self.rows))
        per_step = np.array([x.per_step for x in self.rows], np.int64)
        top = max(last, int(self.arrival.max()))
        pad = int((np.abs(bends.point) // per_step[bends.row]).max(initial=0)) + 2
        length = top + int(self.output.max()) + 2 * pad + 2
        line = np.concatenate((np.zeros(1, np.int64), np.cumsum(per_step)))
        self._begin = np.concatenate((np.zeros(1, np.int64), np.cumsum([x.blocks for x in self.rows])))
        #: Per row set: where its prices begin, points per price, points, where its lines begin; and their padding.
        self._layout = (self._begin, np.array([x.block for x in self.rows]), np.array([x.points for x in self.rows]),
                        line, pad)  # fmt: skip
        self._psi = np.zeros((int(line[-1]), length))
        self._grad = np.zeros((CHUNKS, *self._psi.shape))
        per = per_step[bends.row]
        at = (line[bends.row] + bends.point % per) * length + pad + bends.point // per
        self._bends = bends.ptr, at, bends.bend
        self._alone = len(at) * (top + 1) < _ALONE_BELOW
        self._rhs = np.concatenate([np.full(x.blocks, right_side(x.weight, problem.fleet)) for x in self.rows])
        self._rhs *= np.concatenate([x.gather(np.ones(x.points)) for x in self.rows])
        self.best_start: IntArray = np.zeros(len(self.prompt), np.int64)
        self.best_cost = np.zeros(len(self.prompt))
        self.evaluations = 0

    @property
    def size(self) -> int:
        """Number of prices."""
        return len(self._rhs)

    def split(self, prices: FloatArray) -> list[FloatArray]:
        """Prices per block, one array per row set."""
        return np.split(prices, self._begin[1:-1])

    def evaluate(self, prices: FloatArray, mu: float, gradient: bool = True) -> Point:
        """Evaluate at `prices` ≥ 0 (per block, shape (size,)); μ = 0 is the dual itself with a subgradient."""
        self.evaluations += 1
        write_prices(prices, *self._layout, self._psi)
        sums = in_chunks(evaluate, CHUNKS, self.output, self.arrival, self.count, self.last, self._psi.ravel(),
                         *self._bends, float(mu), gradient, self.best_start, self.best_cost,
                         self._grad.reshape(CHUNKS, -1), alone=self._alone)  # fmt: skip
        soft, hard = (float(sum(part)) for part in zip(*sums, strict=True))
        rent = float((self._rhs * prices).sum())
        if not gradient:
            return Point(soft - rent, hard - rent, np.zeros(0))
        activity = np.zeros(self.size)
        read_activity(self._grad, *self._layout, activity)
        return Point(soft - rent, hard - rent, activity - self._rhs)


def _strata(groups: IntArray, count: IntArray, sample: int) -> tuple[IntArray, IntArray]:
    """Middle members of `sample` strata of ascending volume, each with the count of its stratum."""
    prompt, output, _ = groups
    order = np.argsort(volume(prompt, output), kind="stable")
    edges = np.linspace(0, len(order), sample + 1).astype(np.int64)
    total = np.add.reduceat(count[order], edges[:-1])
    return groups[:, order[(edges[:-1] + edges[1:]) // 2]], total
