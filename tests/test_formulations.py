"""The time-indexed program: its arrays against Pyomo's matrix, an independent LP, hand-made rows."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn

from kvbound.models import Fleet, OptionError, Problem, Requests, Schedule
from kvbound.models.formulations import PLAIN, Cuts, build_time_indexed, canonical, usual_cuts
from kvbound.models.formulations.cp_staircase import build_staircase
from kvbound.models.formulations.cuts import identical_pairs, worker_rank
from kvbound.models.formulations.pyomo_model import build_pyomo
from kvbound.models.formulations.time_indexed import NO_LOWER, POOLED, TimeIndexed
from kvbound.models.weights import LevelsWeight, LinearWeight

Rows = dict[tuple[str, tuple[int, ...], int, int], tuple[dict[int, int], int, int]]


class ServedCount:
    """At most one start each, two steps of horizon value lost per late start: a stand-in for a reward."""

    name = identity = "count"
    serve_all = False
    horizon = None

    def start_cost(self, requests, request, start):  # type: ignore[no-untyped-def]
        return np.asarray(start) - 20 + 0 * requests.output[request]


STAGGER = (LevelsWeight(1, 2), LevelsWeight(2, 3), LinearWeight(1, 5, 2))
PROBLEMS = {
    "one worker": Problem(Requests([2, 0, 3, 2], [4, 6, 1, 4]), Fleet((9,))),
    "arrivals and batch": Problem(Requests([1, 0, 2], [3, 5, 2], [0, 2, 4]), Fleet((8,), (2,))),
    "three workers": Problem(Requests([1, 1, 2, 0], [3, 3, 6, 2], [0, 0, 1, 0]), Fleet((8, 8, 9), (2, 2, None))),
    "at most one": Problem(Requests([2, 1, 3], [3, 6, 2]), Fleet((9,)), ServedCount()),  # type: ignore[arg-type]
}


def array_rows(model: TimeIndexed) -> Rows:
    """Rows by label: ({column: coefficient}, lower, upper), empty rows left out."""
    rows: list[dict[int, int]] = [{} for _ in range(model.rows)]
    for c in range(model.columns):
        for at in range(model.indptr[c], model.indptr[c + 1]):
            assert c not in rows[model.index[at]]
            rows[model.index[at]][c] = int(model.value[at])
    return {
        model.row_label(i): (row, int(model.row_lower[i]), int(model.row_upper[i])) for i, row in enumerate(rows) if row
    }


def pyomo_rows(model: pyo.ConcreteModel, cuts: Cuts) -> Rows:
    column = {id(v): c for c, v in enumerate(model.x.values())}
    found = {}
    for component in model.component_objects(pyo.Constraint):
        for key, row in component.items():
            repn = generate_standard_repn(row.body)
            lower = NO_LOWER if row.lower is None else round(pyo.value(row.lower) - repn.constant)
            upper = round(pyo.value(row.upper) - repn.constant)
            terms = {column[id(v)]: round(x) for v, x in zip(repn.linear_vars, repn.linear_coefs, strict=True) if x}
            if component.name == "stagger":
                weight = cuts.stagger[key[0]]
                label = (weight.kind, weight.parameters, key[1], key[2])
            elif component.name in ("assign", "order"):
                label = (component.name, (), POOLED, key)
            else:
                label = (component.name, (), *key)
            found[label] = (terms, lower, upper)
    return found


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("cuts", [PLAIN, Cuts(stagger=STAGGER, symmetry=True)], ids=["plain", "cuts"])
def test_arrays_and_pyomo_are_the_same_program(name: str, cuts: Cuts) -> None:
    problem = PROBLEMS[name]
    arrays, readable = build_time_indexed(problem, cuts=cuts), build_pyomo(problem, cuts=cuts)
    assert list(readable.x.index_set()) == list(
        zip(arrays.request.tolist(), arrays.worker.tolist(), arrays.start.tolist(), strict=True)
    )
    objective = generate_standard_repn(readable.cost.expr)
    cost = {id(v): x for v, x in zip(objective.linear_vars, objective.linear_coefs, strict=True)}
    assert [cost.get(id(v), 0) for v in readable.x.values()] == arrays.cost.tolist()
    assert pyomo_rows(readable, cuts) == array_rows(arrays)


def test_allowed_starts_and_horizon_agree_too() -> None:
    problem = PROBLEMS["arrivals and batch"]
    allowed = [np.array([0, 3, 4]), None, np.array([1, 4, 7, 90])]
    arrays = build_time_indexed(problem, horizon=12, allowed=allowed)
    readable = build_pyomo(problem, horizon=12, allowed=allowed)
    assert pyomo_rows(readable, PLAIN) == array_rows(arrays)
    assert arrays.start[arrays.request == 2].tolist() == [4, 7]


def test_rows_by_hand() -> None:
    problem = Problem(Requests([2], [3]), Fleet((9,), (4,)))
    rows = array_rows(build_time_indexed(problem, horizon=4))
    assert rows["assign", (), POOLED, 0] == ({0: 1, 1: 1}, 1, 1)
    assert rows["memory", (), 0, 1] == ({0: 3}, NO_LOWER, 9)
    assert rows["memory", (), 0, 3] == ({0: 5, 1: 4}, NO_LOWER, 9)
    assert rows["batch", (), 0, 4] == ({1: 1}, NO_LOWER, 4)


def test_rewards_cut_footprints_at_the_horizon() -> None:
    model = build_time_indexed(PROBLEMS["at most one"], horizon=5)
    assert model.start.max() == 4  # completions beyond the horizon stay candidates
    assert model.row_lower[0] == NO_LOWER


def test_pooled_rows_multiply_capacities() -> None:
    problem = Problem(Requests([1, 1], [3, 3]), Fleet.uniform(8, workers=3, batch=2))
    model = build_time_indexed(problem, pooled=True, cuts=Cuts(stagger=(LevelsWeight(1, 1),)))
    uppers = {block.name: int(model.row_upper[block.first]) for block in model.blocks}
    assert uppers == {"assign": 1, "memory": 24, "batch": 6, "levels": 3}
    two_kinds = build_time_indexed(PROBLEMS["three workers"], pooled=True)
    rows = {(b.name, b.worker): int(two_kinds.row_upper[b.first]) for b in two_kinds.blocks[1:]}
    assert rows == {("memory", 0): 16, ("batch", 0): 4, ("memory", 2): 9}
    assert set(two_kinds.worker.tolist()) == {0, 2}


def test_symmetry_helpers() -> None:
    problem = PROBLEMS["three workers"]
    assert list(identical_pairs(problem)) == [(0, 1)]
    assert worker_rank(problem).tolist() == [0, 1, 0]
    swapped = canonical(problem, Schedule([5, 0, 2, 0], [1, 0, 2, 1]))
    assert swapped == Schedule([0, 5, 2, 0], [0, 1, 2, 1])


def test_usual_cuts_have_cp_forms() -> None:
    problem = PROBLEMS["one worker"]
    build_staircase(problem, cuts=usual_cuts(problem))
    with pytest.raises(OptionError, match="not piecewise constant"):
        build_staircase(problem, cuts=Cuts(stagger=(LinearWeight(1, 4, 2),)))
    with pytest.raises(OptionError, match="TEL"):
        build_staircase(PROBLEMS["at most one"])
