"""Formulation 1 as sparse arrays: one column per (request, worker, start), built without a Python loop per column.

    min Σ cost_c x_c,   one start per request,   Σ_c φ(q − scale·C_c) x_c ≤ capacity for each row (weight, worker, tick)

Memory and batch are weights like any other, so one expansion of `Weight.segments` writes every coefficient
(docs/math.md §2.1, §4). `kvbound.models.formulations.pyomo_model` is the same program in readable form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kvbound.models.formulations.cuts import (
    PLAIN,
    AllowedStarts,
    Cuts,
    identical_pairs,
    possible_workers,
    starts_within,
)
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.weights import BatchWeight, MemoryWeight, Segments, Weight

#: Worker of a row that is on no worker.
POOLED = -1
#: Stands for "no lower bound" in `row_lower`.
NO_LOWER = -(1 << 62)


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows `first` .. `first + len(ticks) − 1`: one weight on one worker, a row per tick.

    `name` is `assign`, `order` (identical requests) or the weight's kind; the first two have requests for ticks.
    """

    name: str
    weight: Weight | None
    worker: int
    first: int
    ticks: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndexed:
    """The integer program in compressed columns; every variable is binary and the sense is minimise.

    Parameters
    ----------
    request, worker, start, cost
        What column c stands for and what it costs, shape (columns,).
    indptr, index, value
        Column c has the rows `index[indptr[c]:indptr[c+1]]` with integer coefficients `value`, rows ascending.
    row_lower, row_upper
        Bounds of the rows; `NO_LOWER` stands for none.
    blocks
        What the rows are.
    """

    problem: Problem
    horizon: int
    request: IntArray
    worker: IntArray
    start: IntArray
    cost: IntArray
    indptr: IntArray
    index: npt.NDArray[np.int32]
    value: IntArray
    row_lower: IntArray
    row_upper: IntArray
    blocks: tuple[RowBlock, ...]

    @property
    def columns(self) -> int:
        """Number of binary variables."""
        return len(self.cost)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.row_upper)

    @property
    def nonzeros(self) -> int:
        """Number of matrix entries."""
        return len(self.index)

    def row_label(self, row: int) -> tuple[str, tuple[int, ...], int, int]:
        """(name, parameters of the weight, worker, tick or request) of a row."""
        block = max((b for b in self.blocks if b.first <= row), key=lambda b: b.first)
        parameters = () if block.weight is None else block.weight.parameters
        return block.name, parameters, block.worker, int(block.ticks[row - block.first])


def default_ticks(weight: Weight, horizon: int) -> IntArray:
    """Ticks at which a weight gets rows: every step for memory and batch, midpoints of half steps for stagger."""
    if weight.scale == 1:
        return np.arange(1, horizon + 1, dtype=np.int64)
    return np.arange(1, weight.scale * horizon, 2, dtype=np.int64)


def build_time_indexed(
    problem: Problem,
    *,
    cuts: Cuts = PLAIN,
    horizon: int | None = None,
    allowed: AllowedStarts | None = None,
    pooled: bool = False,
    ticks: Sequence[IntArray] | None = None,
) -> TimeIndexed:
    """Build the program (docs/math.md §2.1).

    Parameters
    ----------
    cuts
        `stagger` weights get rows, `symmetry` drops columns and orders identical requests; SEP has no rows here.
    horizon
        Steps; default `Problem.horizon`, which some optimum never exceeds.
    allowed
        Starts that remain per request (reduced-cost fixing); default all.
    pooled
        One row for all workers of equal size together; the first of them stands for the kind in `worker`. Exact when
        no two workers are equal, otherwise a relaxation with the same linear optimum (docs/math.md §6).
    ticks
        Ticks of each stagger weight; default `default_ticks`.
    """
    kinds = problem.fleet.kinds if pooled else tuple((g,) for g in range(len(problem.fleet)))
    steps = problem.horizon if horizon is None else horizon
    starts = starts_within(problem, steps, allowed)
    request, worker, start = _columns(problem, starts, [kind[0] for kind in kinds], cuts.symmetry and not pooled)
    cost = np.asarray(problem.objective.start_cost(problem.requests, request, start), np.int64)
    completion = start + problem.requests.output[request]

    writer = _Writer(len(request))
    writer.single(
        "assign",
        request,
        np.arange(problem.n, dtype=np.int64),
        np.ones_like(request),
        1 if problem.objective.serve_all else NO_LOWER,
        1,
    )
    stagger_ticks = [default_ticks(w, steps) for w in cuts.stagger] if ticks is None else list(ticks)
    for g, *others in kinds:
        memory, batch, times = problem.fleet.memory[g], problem.fleet.batch[g], 1 + len(others)
        weights: list[tuple[Weight, IntArray]] = [(MemoryWeight(), default_ticks(MemoryWeight(), steps))]
        if batch is not None:
            weights.append((BatchWeight(), default_ticks(BatchWeight(), steps)))
        weights += zip(cuts.stagger, stagger_ticks, strict=True)
        mine = np.flatnonzero(worker == g)
        for weight, at in weights:
            segments = weight.segments(problem.requests.prompt, problem.requests.output, memory)
            column, tick, value = _expand(segments, weight.scale, request[mine], completion[mine], at)
            writer.many(weight, g, at, mine[column], tick, value, times * weight.capacity(memory, batch))
    if cuts.symmetry and problem.objective.serve_all:
        _order_identical(writer, problem, request, start)
    return writer.finish(problem, steps, request, worker, start, cost)


def _columns(
    problem: Problem, starts: list[IntArray], workers: list[int], symmetry: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """(request, worker, start) of all columns on `workers`: by request, then worker, then start."""
    pair_request, at = np.nonzero(possible_workers(problem, symmetry)[:, workers])
    size = np.array([len(s) for s in starts], np.int64)[pair_request]
    request = np.repeat(pair_request, size).astype(np.int64)
    worker = np.repeat(np.array(workers, np.int64)[at], size)
    return request, worker, np.concatenate([starts[j] for j in pair_request])


def _expand(
    segments: Segments, scale: int, request: IntArray, completion: IntArray, ticks: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """All (column, position in `ticks`, value) with a non-zero value, for one weight on one worker."""
    pieces = segments.ptr[request + 1] - segments.ptr[request]
    column = np.repeat(np.arange(len(request)), pieces)
    piece = _ranges(segments.ptr[request], pieces)
    centre = scale * completion[column]
    first = np.searchsorted(ticks, centre + segments.lo[piece], side="left")
    count = np.maximum(0, np.searchsorted(ticks, centre + segments.hi[piece], side="right") - first)
    where = _ranges(first, count)
    constant = segments.a[piece] - segments.b[piece] * centre
    value = np.repeat(constant, count) + np.repeat(segments.b[piece], count) * ticks[where]
    keep = value != 0
    if keep.all():
        return np.repeat(column, count), where, value
    return np.repeat(column, count)[keep], where[keep], value[keep]


def _ranges(first: IntArray, count: IntArray) -> IntArray:
    """Concatenate first[i] .. first[i] + count[i] − 1 over i."""
    total = int(count.sum())
    begin = np.cumsum(count) - count
    return np.arange(total, dtype=np.int64) + np.repeat(first - begin, count)


class _Writer:
    """Collects row blocks in ascending row order and merges them into compressed columns."""

    def __init__(self, columns: int) -> None:
        self.columns, self.rows = columns, 0
        self.blocks: list[RowBlock] = []
        self.lower: list[IntArray] = []
        self.upper: list[IntArray] = []
        self.parts: list[tuple[IntArray, IntArray, IntArray]] = []

    def _block(self, name: str, weight: Weight | None, worker: int, ticks: IntArray, lower: int, upper: int) -> None:
        self.blocks.append(RowBlock(name, weight, worker, self.rows, ticks))
        self.lower.append(np.full(len(ticks), lower, np.int64))
        self.upper.append(np.full(len(ticks), upper, np.int64))
        self.rows += len(ticks)

    def single(self, name: str, row: IntArray, ticks: IntArray, value: IntArray, lower: int, upper: int) -> None:
        self.parts.append((np.arange(self.columns, dtype=np.int64), row + self.rows, value))
        self._block(name, None, POOLED, ticks, lower, upper)

    def many(
        self,
        weight: Weight,
        worker: int,
        ticks: IntArray,
        column: IntArray,
        tick: IntArray,
        value: IntArray,
        capacity: int,
    ) -> None:
        self.parts.append((column, tick + self.rows, value))
        self._block(weight.kind, weight, worker, ticks, NO_LOWER, capacity)

    def order(self, pairs: list[tuple[int, int]], parts: list[tuple[IntArray, IntArray, IntArray]]) -> None:
        column, row, value = (np.concatenate(x) for x in zip(*parts, strict=True))
        by_column = np.argsort(column, kind="stable")
        self.parts.append((column[by_column], row[by_column] + self.rows, value[by_column]))
        self._block("order", None, POOLED, np.array([j for _, j in pairs], np.int64), NO_LOWER, 0)

    def finish(
        self, problem: Problem, horizon: int, request: IntArray, worker: IntArray, start: IntArray, cost: IntArray
    ) -> TimeIndexed:
        """Merge: each part is sorted by column, and parts come in ascending rows, so positions are sums."""
        counts = [np.bincount(column, minlength=self.columns) for column, _, _ in self.parts]
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.sum(counts, axis=0))))
        index, value = np.empty(int(indptr[-1]), np.int32), np.empty(int(indptr[-1]), np.int64)
        filled = indptr[:-1].copy()
        for count, (_, row, coefficient) in zip(counts, self.parts, strict=True):
            at = _ranges(filled, count)
            index[at], value[at] = row, coefficient
            filled += count
        return TimeIndexed(
            problem,
            horizon,
            request,
            worker,
            start,
            cost,
            indptr,
            index,
            value,
            np.concatenate(self.lower),
            np.concatenate(self.upper),
            tuple(self.blocks),
        )


def _order_identical(writer: _Writer, problem: Problem, request: IntArray, start: IntArray) -> None:
    """Rows Σ k x_ik − Σ k x_jk ≤ 0 for consecutive identical requests i < j."""
    pairs = list(identical_pairs(problem))
    parts = []
    for r, (i, j) in enumerate(pairs):
        for who, sign in ((i, 1), (j, -1)):
            column = np.flatnonzero((request == who) & (start != 0))
            parts.append((column, np.full(len(column), r, np.int64), sign * start[column]))
    if parts:
        writer.order(pairs, parts)
