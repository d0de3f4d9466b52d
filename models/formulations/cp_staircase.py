"""Formulation 2: the age staircase as unit steps of a cumulative (docs/math.md §2.2), for CP-SAT."""

from __future__ import annotations

from typing import Any

from kvbound.models.formulations.cp_common import (
    CpModel,
    add_windows,
    begin,
    fixed_interval,
    separation,
    together,
)
from kvbound.models.formulations.cuts import PLAIN, AllowedStarts, Cuts
from kvbound.models.problem import Problem
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight


def build_staircase(
    problem: Problem, *, cuts: Cuts = PLAIN, horizon: int | None = None, allowed: AllowedStarts | None = None
) -> CpModel:
    """Build the model: Σ o_j intervals per worker, two sums of starts, optional SEP disjunctions and windows.

    Parameters
    ----------
    cuts
        SEP for each pair with p_i + p_j > M, `stagger` weights as NoOverlap or cumulative, symmetry rules.
    horizon, allowed
        As for `build_time_indexed`.
    """
    cp = begin(problem, cuts, horizon, allowed)
    for g in range(len(problem.fleet)):
        _cumulative(cp, MemoryWeight(), g)
        if problem.fleet.batch[g] is not None:
            _cumulative(cp, BatchWeight(), g)
    if cuts.separation:
        _disjunctions(cp)
    add_windows(cp)
    return cp


def _cumulative(cp: CpModel, weight: Weight, g: int) -> None:
    """One interval per rise of the weight: from the step of the rise to the completion.

    Where a horizon cuts footprints nothing is cut; instead there is room for everything from the horizon on, which a
    filler takes away before it.
    """
    requests, fleet = cp.problem.requests, cp.problem.fleet
    segments = weight.segments(requests.prompt, requests.output, fleet.memory[g])
    intervals: list[Any] = []
    demands: list[int] = []
    for j in range(cp.problem.n):
        if (j, g) not in cp.presence:
            continue
        (piece,) = range(int(segments.ptr[j]), int(segments.ptr[j + 1]))
        lo, a, b = int(segments.lo[piece]), int(segments.a[piece]), int(segments.b[piece])
        end = cp.start[j] + int(requests.output[j])
        for d in range(lo, 1 if b else lo + 1):  # step C + d is the half-open unit [C + d − 1, C + d)
            intervals.append(fixed_interval(cp, end + (d - 1), 1 - d, cp.presence[j, g]))
            demands.append(a + b * d if d == lo else b)
    capacity = weight.capacity(fleet.memory[g], fleet.batch[g])
    if cp.problem.objective.horizon is not None:
        room = sum(demands)
        intervals.append(cp.model.new_fixed_size_interval_var(0, cp.problem.horizon, "filler"))
        demands.append(room)
        capacity += room
    if intervals:
        cp.model.add_cumulative(intervals, demands, capacity)


def _disjunctions(cp: CpModel) -> None:
    problem, model = cp.problem, cp.model
    end = [s + int(o) for s, o in zip(cp.start, problem.requests.output, strict=True)]
    for i in range(problem.n):
        for j in range(i + 1, problem.n):
            workers = [(g, literals) for g, literals in together(cp, i, j) if separation(problem, i, j, g) > 0]
            if not workers:
                continue
            before = model.new_bool_var("")  # i completes no later than j
            for g, literals in workers:
                model.add(end[j] - end[i] >= separation(problem, i, j, g)).only_enforce_if(before, *literals)
                model.add(end[i] - end[j] >= separation(problem, j, i, g)).only_enforce_if(~before, *literals)
