"""Formulation 1 as a public Pyomo model: the readable twin of `time_indexed`, for reading, teaching and other solvers.

Solve it with whatever Pyomo knows (Gurobi, SCIP, Xpress, HiGHS) or write it: ``build_pyomo(problem).write("m.lp")``.
A test holds its matrix equal to the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo

from kvbound.models.formulations.cuts import (
    PLAIN,
    AllowedStarts,
    Cuts,
    identical_pairs,
    possible_workers,
    starts_within,
)
from kvbound.models.formulations.time_indexed import default_ticks
from kvbound.models.problem import Problem
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight


def build_pyomo(
    problem: Problem,
    *,
    cuts: Cuts = PLAIN,
    horizon: int | None = None,
    allowed: AllowedStarts | None = None,
    watch: Callable[[], None] = lambda: None,
) -> pyo.ConcreteModel:
    """Build the time-indexed program (docs/math.md §2.1).

    Components: `x[j, g, k]` binary, `cost`, `assign[j]`, `memory[g, q]`, `batch[g, q]`, `stagger[f, g, q]`
    (f numbers `cuts.stagger`, q is a tick) and `order[j]`. Arguments as for `build_time_indexed`; besides, `watch`
    is called before every column and row that is written: it may raise to end a build that takes too long.
    """
    requests, fleet = problem.requests, problem.fleet
    steps = problem.horizon if horizon is None else horizon
    starts = starts_within(problem, steps, allowed)
    possible = possible_workers(problem, cuts.symmetry)
    columns = [(j, g, int(k)) for j in range(problem.n) for g in range(len(fleet)) if possible[j, g] for k in starts[j]]

    m = pyo.ConcreteModel(name=problem.name)
    m.x = pyo.Var(columns, domain=pyo.Binary)
    request, _, start = (np.array(part) for part in zip(*columns, strict=True))
    cost = problem.objective.start_cost(requests, request, start).tolist()
    m.cost = pyo.Objective(expr=pyo.quicksum(c * m.x[col] for c, col in zip(cost, columns, strict=True)))

    by_request: list[list[Any]] = [[] for _ in range(problem.n)]
    for j, g, k in columns:
        by_request[j].append((j, g, k))

    def assign_rule(m: Any, j: int) -> Any:
        if not by_request[j] and not problem.objective.serve_all:
            return pyo.Constraint.Skip  # it arrives too late to be served
        number = pyo.quicksum(m.x[col] for col in by_request[j])
        return number == 1 if problem.objective.serve_all else number <= 1

    watch()
    m.assign = pyo.Constraint(range(problem.n), rule=assign_rule)

    def weight_rows(weight: Weight, g: int) -> dict[int, Any]:
        memory, batch = fleet.memory[g], fleet.batch[g]
        segments = weight.segments(requests.prompt, requests.output, memory)
        terms: dict[int, list[Any]] = {int(q): [] for q in default_ticks(weight, steps)}
        for j, on, k in columns:
            if on != g:
                continue
            watch()
            centre = weight.scale * (k + int(requests.output[j]))
            for piece in range(int(segments.ptr[j]), int(segments.ptr[j + 1])):
                for d in range(int(segments.lo[piece]), int(segments.hi[piece]) + 1):
                    value = int(segments.a[piece]) + int(segments.b[piece]) * d
                    if value != 0 and centre + d in terms:
                        terms[centre + d].append(value * m.x[j, g, k])
        capacity = weight.capacity(memory, batch)
        rows = {}
        for q, row in terms.items():
            watch()
            if row:
                rows[q] = pyo.quicksum(row) <= capacity
        return rows

    workers = range(len(fleet))
    memory_rows = {(g, q): row for g in workers for q, row in weight_rows(MemoryWeight(), g).items()}
    batch_rows = {
        (g, q): row for g in workers if fleet.batch[g] is not None for q, row in weight_rows(BatchWeight(), g).items()
    }
    stagger_rows = {
        (f, g, q): row
        for f, weight in enumerate(cuts.stagger)
        for g in workers
        for q, row in weight_rows(weight, g).items()
    }
    for name, rows in (("memory", memory_rows), ("batch", batch_rows), ("stagger", stagger_rows)):
        watch()
        setattr(m, name, pyo.Constraint(list(rows), rule=lambda m, *key, rows=rows: rows[key]))

    pairs = {j: i for i, j in identical_pairs(problem)} if cuts.symmetry and problem.objective.serve_all else {}
    m.order = pyo.Constraint(
        list(pairs),
        rule=lambda m, j: (
            pyo.quicksum(
                sign * k * m.x[who, g, k] for sign, row in ((1, pairs[j]), (-1, j)) for who, g, k in by_request[row]
            )
            <= 0
        ),
    )
    return m
