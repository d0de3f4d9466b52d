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
from kvbound.models.schedule import UNSERVED, Schedule
from kvbound.models.weights import Segments, Weight


@dataclass(frozen=True, slots=True, eq=False)
class CpModel:
    """A CP-SAT model of TEL or REWARD; experts may add constraints to `model`.

    Parameters
    ----------
    model
        The native model.
    start
        Start variable of each request; the completion is `start[j] + o_j`. An unserved one starts at the horizon.
    presence
        (request, worker) → literal "runs there", or True when there is no choice; missing: cannot run there.
    cost, constant
        What is minimised, an expression, and what is to be added for the objective.
    cuts
        The switches it was built with.
    """

    problem: Problem
    model: Any
    start: list[Any]
    presence: dict[tuple[int, int], Any]
    cost: Any
    constant: int
    cuts: Cuts

    def schedule(self, value: Callable[[Any], int]) -> Schedule:
        """Read a schedule through `value` (a solver's or a callback's value function)."""
        worker = np.full(self.problem.n, UNSERVED, np.int64)
        for (j, g), literal in self.presence.items():
            if literal is True or value(literal):
                worker[j] = g
        start = np.array([value(s) for s in self.start], np.int64)
        return Schedule(np.where(worker == UNSERVED, UNSERVED, start), worker)

    def hint(self, schedule: Schedule) -> None:
        """Hand over a complete, checked schedule as a warm start (in canonical form when symmetry is broken)."""
        self.model.clear_hints()
        chosen = canonical(self.problem, schedule) if self.cuts.symmetry else schedule
        for j, start in enumerate(self.start):
            unserved = max(self.problem.horizon, int(self.problem.requests.arrival[j]))  # where it stands in the model
            self.model.add_hint(start, int(chosen.start[j]) if chosen.served[j] else unserved)
        for (j, g), literal in self.presence.items():
            if literal is not True:
                self.model.add_hint(literal, int(chosen.worker[j] == g))

    def bound(self, lower: int | None, upper: int | None) -> None:
        """Hand over lower ≤ objective ≤ upper."""
        total = self.cost + self.constant
        if lower is not None:
            self.model.add(total >= lower)
        if upper is not None:
            self.model.add(total <= upper)


def begin(problem: Problem, cuts: Cuts, horizon: int | None, allowed: AllowedStarts | None) -> CpModel:
    """Start a model: variables, workers, symmetry, objective."""
    model = cp_model.CpModel()
    served = problem.objective.serve_all
    if problem.objective is not TEL and (served or problem.objective.horizon is None):
        raise OptionError(f"the CP-SAT formulations take TEL or rewards within a horizon, not {problem.objective.name}")
    if not served and (cuts.separation or cuts.stagger):
        raise OptionError(
            "separation and windows look at completions; they do not hold where a horizon cuts footprints"
        )
    steps = problem.horizon if horizon is None or not served else horizon
    start = []
    for j, candidates in enumerate(starts_within(problem, steps, allowed)):
        if not served:
            candidates = np.append(candidates, max(steps, int(problem.requests.arrival[j])))  # not served
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
        if served and len(mine) == 1:
            presence[j, mine[0]] = True
        else:
            literals = [model.new_bool_var(f"on{j}_{g}") for g in mine]
            presence.update({(j, g): literal for g, literal in zip(mine, literals, strict=True)})
            if served:
                model.add_exactly_one(literals)
            else:
                _may_stay(model, start[j], literals, steps)
    if cuts.symmetry:
        for i, j in identical_pairs(problem):
            model.add(start[i] <= start[j])
    cost = sum(start) if served else sum(_earned(model, problem, j, start[j], steps) for j in range(problem.n))
    model.minimize(cost)
    constant = int(problem.requests.output.sum()) - int(problem.requests.arrival.sum()) if served else 0
    return CpModel(problem, model, start, presence, cost, constant, cuts)


def _may_stay(model: Any, start: Any, literals: list[Any], horizon: int) -> None:
    """At most one worker; a request runs on one exactly if it starts before the horizon."""
    model.add_at_most_one(literals)
    for literal in literals:
        model.add(start < horizon).only_enforce_if(literal)
    model.add(start >= horizon).only_enforce_if([~literal for literal in literals])


def _earned(model: Any, problem: Problem, j: int, start: Any, horizon: int) -> Any:
    """A variable for the cost of the start of request j, 0 from the horizon on."""
    first = int(problem.requests.arrival[j])
    if first >= horizon:
        return 0
    costs = problem.objective.start_cost(problem.requests, j, np.arange(first, horizon + 1)).tolist()
    cost = model.new_int_var(min(costs), max(costs), f"cost{j}")
    model.add_element(start - first, costs, cost)
    return cost


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
