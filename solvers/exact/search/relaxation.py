"""The positional relaxation: exact packing of the last few completions, a price per request (docs/exact.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kvbound.models.requests import IntArray
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.search import prune as pruning
from kvbound.solvers.exact.search import table as kernels
from kvbound.solvers.exact.search.backward import Backward

#: Prices are multiples of 1/SCALE.
SCALE = 128


def number_of_sets(ids: int, level: int) -> int:
    """Number of item sets of at most level − 1 members."""
    return sum(math.comb(ids, k) for k in range(level))


def entry_type(work: Backward) -> np.dtype[np.signedinteger]:
    """Type of a table entry: 32 bits where costs and prices leave room for sums."""
    worst = int(work.arrival.max() + work.output.sum()) * work.n * SCALE
    return np.dtype(np.int32 if worst < 1 << 24 else np.int64)


@dataclass(frozen=True, slots=True)
class Shape:
    """How much a relaxation remembers: `level` requests, each until `reach` steps after its placement."""

    level: int
    reach: IntArray

    def table_bytes(self, n: int, width: int) -> int:
        """Size of the table of values plus two layers of the forward pass, the sets and the state lists."""
        sets = number_of_sets(int(self.reach.sum()), self.level)
        return sets * n * ((n + 2 + 2) * width + 8) + sets * 12


class Relaxation:
    """Table of completion bounds under prices, with the states that still matter.

    For any prices, every schedule of TEL + Σ a_j ≤ the lowest threshold ever pruned for costs at least what `evaluate`
    returns: a state is dropped for good only when no such schedule passes through it.
    """

    def __init__(self, work: Backward, shape: Shape) -> None:
        self.work, self.level, self.reach = work, shape.level, shape.reach
        self.n = n = work.n
        self.ids = int(shape.reach.sum())
        self.base = np.concatenate(([1], 1 + np.cumsum(shape.reach)[:-1])).astype(np.int64)
        self.owner = np.concatenate(([0], np.repeat(np.arange(n), shape.reach))).astype(np.int64)
        self.elapsed = np.zeros(self.ids + 1, np.int64)
        self.elapsed[1:] = np.arange(1, self.ids + 1) - self.base[self.owner[1:]]
        dtype = entry_type(work)
        self.big = 1 << (8 * dtype.itemsize - (2 if dtype.itemsize == 4 else 4))
        self.sets = kernels.item_sets(self.ids, self.level)
        self.table: npt.NDArray[np.signedinteger] = np.full((n + 1, len(self.sets), n), self.big, dtype)
        states = kernels.possible_states(
            self.sets, self.owner, self.elapsed, work.peak, work.output, work.memory, work.cap
        )
        alone = states[states < n]
        self.states = [alone, alone, *(states.copy() for _ in range(n - 1))]
        self.geometry = kernels.Geometry(
            self.sets, self.owner, self.elapsed, work.peak, work.output, work.life, shape.reach, self.base, self.level,
            self.ids, work.memory, work.cap, self.big, SCALE,
        )  # fmt: skip
        self.price: IntArray = np.zeros(n, np.int64)
        self.complete = False  # whether the table holds the values at `price`
        self.floors = np.full(n + 2, self.big, np.int64)

    def inherit(self, weaker: Relaxation) -> None:
        """Leave out the states that a weaker relaxation, pruned for the same or a higher threshold, has dropped."""
        if weaker.level > 1 and not np.array_equal(weaker.reach, self.reach):
            return  # its ids mean something else
        for m in range(1, self.n + 1):
            self.states[m] = pruning.inherit(self.states[m], self.n, self.sets, weaker.table[m], self.big)

    @property
    def num_states(self) -> int:
        """States that are still in play, over all layers."""
        return sum(len(s) for s in self.states[1:])

    def evaluate(self, price: IntArray, deadline: Deadline) -> int | None:
        """Set the prices (units of 1/SCALE), refill the table and return the bound in the same units.

        Returns None when the deadline passed on the way (the table is then unusable until the next full evaluation),
        and `big` when no schedule up to the threshold is left.
        """
        self.price, self.complete = price, False
        rows = np.full(len(self.sets), self.big, np.int64)
        new_rows = np.empty_like(rows)
        for m in range(self.n, 0, -1):
            if deadline.passed:
                return None
            self.floors[m] = kernels.fill(
                self.table, m, self.states[m], self.floors[m + 1], rows, new_rows, price, self.geometry
            )
            rows, new_rows = new_rows, rows
        self.complete = True
        least = int(self.floors[1])
        return self.big if least >= self.big // 2 else least + int(price.sum())

    def visits(self) -> IntArray:
        """Visits of each request on a cheapest path at the present prices."""
        return kernels.count_visits(self.table, self.floors, self.geometry)

    def prune(self, threshold: int) -> int:
        """Drop the states through which no schedule with TEL + Σ a_j ≤ `threshold` passes; return how many are left."""
        limit = SCALE * threshold - int(self.price.sum())
        here = np.full(self.table.shape[1:], self.big, self.table.dtype)
        here[0, :] = -self.price
        there = np.full_like(here, self.big)
        for m in range(1, self.n + 1):
            floor = self.floors[m + 1] if m < self.n else self.big
            kept = pruning.push(self.table, m, self.states[m], here, there, floor, self.price, limit, self.geometry)
            self.states[m] = self.states[m][:kept].copy()
            here, there = there, here
            there.fill(self.big)
        return self.num_states
