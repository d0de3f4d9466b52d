"""What the two CP-SAT formulations share: variables, presence on workers, SEP, windows, symmetry, objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from kvbound.models.errors import OptionError
from kvbound.models.formulations.cuts import (
    AllowedStarts,
    Cuts,
    canonical,
    identical_pairs,
    possible_workers,
    starts_within,
)
from kvbound.models.objective import TEL
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.models.weights import Segments, Weight


@dataclass(frozen=True, slots=True, eq=False)
class CpModel:
    """A CP-SAT model of TEL; experts may add constraints to `model`.

    Parameters
    ----------
    model
        The native model.
    start
        Start variable of each request; the completion is `start[j] + o_j`.
    presence
        (request, worker) → literal "runs there", or True when there is no choice; missing: cannot run there.
    constant
        TEL = Σ start + constant.
    cuts
        The switches it was built with.
    """

    problem: Problem
    model: Any
    start: list[Any]
    presence: dict[tuple[int, int], Any]
    constant: int
    cuts: Cuts

    def schedule(self, value: Callable[[Any], int]) -> Schedule:
        """Read a schedule through `value` (a solver's or a callback's value function)."""
        worker = np.zeros(self.problem.n, np.int64)
        for (j, g), literal in self.presence.items():
            if literal is True or value(literal):
                worker[j] = g
        return Schedule(np.array([value(s) for s in self.start], np.int64), worker)

    def hint(self, schedule: Schedule) -> None:
        """Hand over a complete, checked schedule as a warm start (in canonical form when symmetry is broken)."""
        self.model.clear_hints()
        chosen = canonical(self.problem, schedule) if self.cuts.symmetry else schedule
        for j, start in enumerate(self.start):
            self.model.add_hint(start, int(chosen.start[j]))
        for (j, g), literal in self.presence.items():
            if literal is not True:
                self.model.add_hint(literal, int(chosen.worker[j] == g))

    def bound(self, lower: int | None, upper: int | None) -> None:
        """Hand over lower ≤ TEL ≤ upper."""
        total = sum(self.start) + self.constant
        if lower is not None:
            self.model.add(total >= lower)
        if upper is not None:
            self.model.add(total <= upper)


def begin(problem: Problem, cuts: Cuts, horizon: int | None, allowed: AllowedStarts | None) -> CpModel:
    """Start a model: variables, one worker per request, symmetry, objective."""
    if problem.objective is not TEL:
        raise OptionError(f"the CP-SAT formulations minimise TEL; {problem.objective.name} needs the time-indexed one")
    model = cp_model.CpModel()
    steps = problem.horizon if horizon is None else horizon
    start = []
    for j, candidates in enumerate(starts_within(problem, steps, allowed)):
        if len(candidates) == 0:  # no start is left: an infeasible model, said in the model's own terms
            model.add_bool_or([])
            candidates = np.array([int(problem.requests.arrival[j])])
        if int(candidates[-1] - candidates[0]) + 1 == len(candidates):
            start.append(model.new_int_var(int(candidates[0]), int(candidates[-1]), f"start{j}"))
        else:
            domain = cp_model.Domain.from_values(candidates.tolist())
            start.append(model.new_int_var_from_domain(domain, f"start{j}"))
    presence: dict[tuple[int, int], Any] = {}
    possible = possible_workers(problem, cuts.symmetry)
    for j in range(problem.n):
        mine = np.flatnonzero(possible[j]).tolist()
        if len(mine) == 1:
            presence[j, mine[0]] = True
        else:
            literals = [model.new_bool_var(f"on{j}_{g}") for g in mine]
            presence.update({(j, g): literal for g, literal in zip(mine, literals, strict=True)})
            model.add_exactly_one(literals)
    if cuts.symmetry:
        for i, j in identical_pairs(problem):
            model.add(start[i] <= start[j])
    model.minimize(sum(start))
    constant = int(problem.requests.output.sum()) - int(problem.requests.arrival.sum())
    return CpModel(problem, model, start, presence, constant, cuts)


def together(cp: CpModel, i: int, j: int) -> Iterable[tuple[int, list[Any]]]:
    """(worker, literals that say "i and j both run there") for every worker that both can use."""
    for g in range(len(cp.problem.fleet)):
        if (i, g) in cp.presence and (j, g) in cp.presence:
            yield g, [x for x in (cp.presence[i, g], cp.presence[j, g]) if x is not True]


def separation(problem: Problem, first: int, second: int, worker: int) -> int:
    """SEP: least C_second − C_first when `first` completes no later on the same worker; ≤ 0 says nothing."""
    peak = problem.requests.peak
    excess = int(peak[first]) + int(peak[second]) - problem.fleet.memory[worker]
    return min(int(problem.requests.output[second]), excess)


def add_windows(cp: CpModel) -> None:
    """Each stagger weight with constant pieces as a global constraint: NoOverlap for m = 1, cumulative for m > 1.

    A window covers the ticks scale·C + lo .. scale·C + hi (docs/math.md §4), so times are scaled.
    """
    requests = cp.problem.requests
    for weight in cp.cuts.stagger:
        for g, memory in enumerate(cp.problem.fleet.memory):
            segments = weight.segments(requests.prompt, requests.output, memory)
            if np.any(segments.b != 0):
                raise OptionError(f"{weight.kind}{weight.parameters} is not piecewise constant: no CP-SAT form")
            intervals, demands = _window_intervals(cp, weight, segments, g)
            capacity = weight.capacity(memory, cp.problem.fleet.batch[g])
            if capacity == 1:
                cp.model.add_no_overlap(intervals)
            elif intervals:
                cp.model.add_cumulative(intervals, demands, capacity)


def _window_intervals(cp: CpModel, weight: Weight, segments: Segments, g: int) -> tuple[list[Any], list[int]]:
    intervals, demands = [], []
    for j in range(cp.problem.n):
        if (j, g) not in cp.presence:
            continue
        end = cp.start[j] + int(cp.problem.requests.output[j])
        for piece in range(int(segments.ptr[j]), int(segments.ptr[j + 1])):
            lo, hi = int(segments.lo[piece]), int(segments.hi[piece])
            intervals.append(fixed_interval(cp, weight.scale * end + lo, hi - lo + 1, cp.presence[j, g]))
            demands.append(int(segments.a[piece]))
    return intervals, demands


def fixed_interval(cp: CpModel, begin: Any, size: int, literal: Any) -> Any:
    """An interval of fixed size, optional when `literal` is a literal."""
    if literal is True:
        return cp.model.new_fixed_size_interval_var(begin, size, "")
    return cp.model.new_optional_fixed_size_interval_var(begin, size, literal, "")
