"""The Lagrangian dual of REWARD as a function of prices per block of steps, with its smoothed gradient."""

from __future__ import annotations

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.threads import in_chunks
from kvbound.solvers.bounds.dual import Point
from kvbound.solvers.bounds.kernel import CHUNKS
from kvbound.solvers.bounds.reward.kernel import evaluate
from kvbound.solvers.bounds.reward.result import RewardPrices, reward_of
from kvbound.solvers.bounds.rows import FloatArray

#: Pairs (request, start) below which one thread is faster than waking another.
_ALONE_BELOW = 200_000


class RewardDual:
    """Minus the bound of docs/math.md §6, to be maximised: identical requests grouped, workers pooled by kind.

    Prices are constant on blocks of `block` steps and count per whole capacity of one worker, so that those of memory
    and batch are of one size. A vector holds the blocks of memory, then of batch, of each kind in turn.

    Parameters
    ----------
    problem
        What is bounded.
    block
        Steps per price.
    every
        Evaluate only every that many-th request in order of arrival, each standing for that many. The values are then
        estimates and no bounds: good for finding prices quickly, and for nothing else.
    """

    def __init__(self, problem: Problem, block: int, every: int = 1) -> None:
        self.reward = reward_of(problem)
        self.problem, self.block, self.every = problem, block, every
        r, fleet = problem.requests, problem.fleet
        rows = np.stack((r.arrival, r.prompt, r.output))
        rows = rows[:, r.arrival < self.reward.horizon]
        groups, count = np.unique(rows, axis=1, return_counts=True)
        if every > 1:
            groups, count = groups[:, every // 2 :: every], count[every // 2 :: every] * every
        self.arrival, self.prompt, self.output = (np.ascontiguousarray(row) for row in groups)
        self.count: IntArray = count.astype(np.int64)
        self.workers = tuple(kind[0] for kind in fleet.kinds)
        self.number = np.array([len(kind) for kind in fleet.kinds], float)
        self.memory = np.array([fleet.memory[g] for g in self.workers])
        self.fits = (self.prompt + self.output)[:, None] <= self.memory[None, :]
        self.steps = self.reward.horizon
        self.blocks = -(-self.steps // block)
        #: (kind, "memory" or "batch", capacity of one worker) of each run of `blocks` prices.
        self.rows: list[tuple[int, str, int]] = []
        for g, first in enumerate(self.workers):
            cap = fleet.batch[first]
            self.rows.append((g, "memory", fleet.memory[first]))
            self.rows += [(g, "batch", cap)] if cap is not None else []
        kinds, length = len(self.workers), self.steps + int(self.output.max(initial=0)) + 2
        self._sums = {name: np.zeros((kinds, length)) for name in ("memory", "slope", "batch")}
        self._grad = [np.zeros((CHUNKS, kinds, length)) for _ in range(2)]
        self.best_kind, self.best_start = (np.zeros(len(self.count), np.int64) for _ in range(2))
        self._rent = np.concatenate([self.number[g] * self.gather(np.ones(self.steps)) for g, _, _ in self.rows])
        self._alone = len(self.count) * self.steps * kinds < _ALONE_BELOW
        self.evaluations = 0

    @property
    def size(self) -> int:
        """Number of prices."""
        return len(self._rent)

    def gather(self, values: FloatArray) -> FloatArray:
        """Sums per block of values per step 1..H."""
        return np.add.reduceat(values, np.arange(0, self.steps, self.block))

    def per_step(self, prices: FloatArray) -> RewardPrices:
        """Prices per block and capacity -> prices per step and token or slot."""
        found = {name: np.zeros((len(self.workers), self.steps + 1)) for name in ("memory", "batch")}
        for (g, name, capacity), part in zip(self.rows, np.split(prices, len(self.rows)), strict=True):
            found[name][g, 1:] = np.repeat(part, self.block)[: self.steps] / capacity
        return RewardPrices(self.workers, found["memory"], found["batch"])

    def evaluate(self, prices: FloatArray, mu: float, gradient: bool = True) -> Point:
        """Evaluate at `prices` ≥ 0, shape (size,), with the smoothing μ (> 0 when a gradient is wanted)."""
        self.evaluations += 1
        step = self.per_step(prices)
        for name, values in (
            ("memory", step.memory),
            ("slope", step.memory * np.arange(self.steps + 1)),
            ("batch", step.batch),
        ):
            total = self._sums[name]
            np.cumsum(values, axis=1, out=total[:, : self.steps + 1])
            total[:, self.steps + 1 :] = total[:, self.steps : self.steps + 1]
        sums = in_chunks(evaluate, CHUNKS, self.prompt, self.output, self.arrival, self.count, self.fits,
                         self.reward.scaled, self._sums["memory"], self._sums["slope"], self._sums["batch"], float(mu),
                         gradient, self.best_kind, self.best_start, *self._grad, alone=self._alone)  # fmt: skip
        soft, hard = (float(sum(part)) for part in zip(*sums, strict=True))
        rent = float((self._rent * prices).sum())
        return Point(soft - rent, hard - rent, self._gradient() if gradient else np.zeros(0))

    def _gradient(self) -> FloatArray:
        active = np.cumsum(self._grad[1].sum(axis=0), axis=1)[:, : self.steps]
        held = np.cumsum(self._grad[0].sum(axis=0), axis=1)[:, : self.steps] + active * np.arange(1, self.steps + 1)
        used = {"memory": held, "batch": active}
        parts = [self.gather(used[name][g] / capacity) for g, name, capacity in self.rows]
        return np.concatenate(parts) - self._rent
