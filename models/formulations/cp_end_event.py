"""Formulation 3: who completes first, and who is still active then (docs/math.md §2.3), for CP-SAT.

Between completions usage only grows, so memory is stated once per completion:

    p_i + Σ_{j active in step C_i, completing later} (p_j − (C_j − C_i)) ≤ M_g

The number of active requests is also largest at some completion: take the first to complete among those active
together. O(n²) booleans whatever the horizon.
"""

from __future__ import annotations

from typing import Any

from kvbound.models.errors import OptionError
from kvbound.models.formulations.cp_common import CpModel, add_windows, begin, separation, together
from kvbound.models.formulations.cuts import PLAIN, AllowedStarts, Cuts
from kvbound.models.objective import TEL
from kvbound.models.problem import Problem


def build_end_event(
    problem: Problem, *, cuts: Cuts = PLAIN, horizon: int | None = None, allowed: AllowedStarts | None = None
) -> CpModel:
    """Build the model; arguments as for `build_staircase`.

    Ties of completions are broken by index, so "completes first" is a total order and the first of a tie
    accounts for all of it.
    """
    if problem.objective is not TEL:
        raise OptionError(f"the end-event formulation minimises TEL, not {problem.objective.name}; use cp-sat or highs")
    cp = begin(problem, cuts, horizon, allowed)
    n, model = problem.n, cp.model
    first: dict[tuple[int, int], Any] = {}
    end = [s + int(o) for s, o in zip(cp.start, problem.requests.output, strict=True)]
    for i in range(n):
        for j in range(i + 1, n):
            before = model.new_bool_var("")
            model.add(end[i] <= end[j]).only_enforce_if(before)
            model.add(end[j] + 1 <= end[i]).only_enforce_if(~before)
            first[i, j], first[j, i] = before, ~before
    if cuts.separation:
        for (i, j), before in first.items():
            for g, literals in together(cp, i, j):
                least = separation(problem, i, j, g)
                if least > 0:
                    model.add(end[j] - end[i] >= least).only_enforce_if(before, *literals)
    for i in range(n):
        _memory_at_completion(cp, first, end, i)
    add_windows(cp)
    return cp


def _memory_at_completion(cp: CpModel, first: dict[tuple[int, int], Any], end: list[Any], i: int) -> None:
    problem, model = cp.problem, cp.model
    held: list[Any] = []
    active: list[Any] = []
    for j in range(problem.n):
        shared = [] if i == j else list(together(cp, i, j))
        if not shared:
            continue
        peak = int(problem.requests.peak[j])
        is_active, holds = model.new_bool_var(""), model.new_int_var(0, peak, "")
        for _, literals in shared:  # later, on the same worker and not active at C_i: it starts at C_i or after
            model.add(cp.start[j] >= end[i]).only_enforce_if(first[i, j], ~is_active, *literals)
        model.add(holds >= peak - end[j] + end[i]).only_enforce_if(is_active)
        held.append(holds)
        active.append(is_active)
    own = [(g, cp.presence[i, g]) for g in range(len(problem.fleet)) if (i, g) in cp.presence]
    for g, literal in own:
        rows = [sum(held) + int(problem.requests.peak[i]) <= problem.fleet.memory[g]]
        cap = problem.fleet.batch[g]
        if cap is not None:
            rows.append(sum(active) + 1 <= cap)
        for row in rows:
            if isinstance(row, bool):
                continue  # nobody else can be active: the peak alone fits
            constraint = model.add(row)
            if literal is not True:
                constraint.only_enforce_if(literal)
