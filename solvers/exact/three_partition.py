"""3-Partition by CP-SAT: how often each triple of values is used. For m beyond exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ortools.sat.python import cp_model

from kvbound.models.errors import SizeError, SolverError
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.interrupt import interruptible
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.status import CP_SAT, translate

#: Most triples of values with the right sum that a model takes.
MOST_VARIABLES = 500_000


def solve_three_partition(
    numbers: Sequence[int], target: int, *, deadline: Deadline, threads: int = 1, seed: int = 0
) -> tuple[Termination, list[tuple[int, int, int]] | None]:
    """Cut `numbers` into triples of sum `target`: OPTIMAL with triples of indices, INFEASIBLE, or the limit reached.

    Equal numbers are interchangeable: y_{uvw} counts the triples with the values u ≥ v ≥ w, u + v + w = B, and each
    value is used as often as it occurs. "No" is the solver's claim; a "yes" can be checked by anybody.

    Raises
    ------
    SizeError
        Too many triples of values sum to the target.
    """
    count = Counter(numbers)
    values = sorted(count, reverse=True)
    triples = []
    for u in values:
        for v in values:
            w = target - u - v
            if u >= v >= w and count.get(w, 0) and not Counter((u, v, w)) - count:
                triples.append((u, v, w))
        if len(triples) > MOST_VARIABLES:
            raise SizeError(f"more than {MOST_VARIABLES} triples of values sum to {target}; CP-SAT would not fit")
    model = cp_model.CpModel()
    used = [model.new_int_var(0, len(numbers) // 3, "") for _ in triples]
    terms: dict[int, list[cp_model.LinearExpr]] = {v: [] for v in values}
    for y, triple in zip(used, triples, strict=True):
        for value, times in Counter(triple).items():
            terms[value].append(times * y)
    for value in values:
        model.add(sum(terms[value]) == count[value])
    if deadline.passed:
        return Termination.TIME_LIMIT, None
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = seed
    solver.parameters.catch_sigint_signal = False  # `interruptible` listens instead
    if deadline.remaining is not None:
        solver.parameters.max_time_in_seconds = deadline.remaining
    native, interrupted = interruptible(lambda: solver.solve(model), solver.stop_search)
    if native == cp_model.INFEASIBLE:
        return Termination.INFEASIBLE, None
    if translate(CP_SAT, solver.status_name(native)) is Termination.ERROR:
        raise SolverError("CP-SAT refused the model of 3-Partition")
    if native not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return (Termination.INTERRUPTED if interrupted else Termination.TIME_LIMIT), None
    places: dict[int, list[int]] = {}
    for i, a in enumerate(numbers):
        places.setdefault(a, []).append(i)
    found = []
    for y, triple in zip(used, triples, strict=True):
        found += [tuple(sorted(places[value].pop() for value in triple)) for _ in range(solver.value(y))]
    return Termination.OPTIMAL, sorted((a, b, c) for a, b, c in found)
