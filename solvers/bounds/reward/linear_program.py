"""The time-indexed LP of REWARD by HiGHS, pooled by kind of workers or per worker, with its duals as prices.

Sign: HiGHS minimises −reward, its duals of "≤" rows are ≤ 0; a price is the negative of a dual, so prices are ≥ 0 and
"reward − price × footprint" is the margin (docs/math.md §6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models.errors import LimitError, SizeError
from kvbound.models.formulations.cuts import last_starts
from kvbound.models.formulations.time_indexed import TimeIndexed, build_time_indexed
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.solvers.bounds.reward.result import RewardPrices, reward_of
from kvbound.solvers.bounds.rows import FloatArray
from kvbound.solvers.deadline import Deadline

#: Matrix entries beyond which HiGHS needs more memory and time than prices ever do.
MOST_NONZEROS = 30_000_000


@dataclass(frozen=True, slots=True, eq=False)
class RewardLp:
    """Optimum of the LP.

    Parameters
    ----------
    value
        Largest reward, in units of 1 / denominator of the weights (float).
    prices
        Duals, per kind when pooled, otherwise per worker (then `prices.workers` lists all of them).
    request, worker, start, share
        The starts with a positive share x > 0: which request, on which kind (its first worker) or worker, when,
        and how much of the request; shape (starts,).
    iterations
        Simplex iterations.
    """

    value: float
    prices: RewardPrices
    request: IntArray
    worker: IntArray
    start: IntArray
    share: FloatArray
    iterations: int


def solve_reward_lp(
    problem: Problem,
    *,
    pooled: bool = True,
    deadline: Deadline | None = None,
    held_memory: FloatArray | None = None,
    held_batch: FloatArray | None = None,
    threads: int = 1,
) -> RewardLp:
    """Solve the LP.

    Parameters
    ----------
    pooled
        One row per kind of workers, resource and step; the optimum is the same as with one per worker, proved in
        docs/math.md §6, and the LP smaller.
    held_memory, held_batch
        What requests outside the problem (those that run already) hold of each kind or worker in step t at entry t,
        shape (kinds or workers, H + 1); default nothing. For policies that solve the LP again and again.

    Raises
    ------
    OptionError, SizeError
        The objective is not REWARD; the LP would have more than `MOST_NONZEROS` entries.
    LimitError
        HiGHS hands back no optimum (time limit, numerical trouble).
    """
    import highspy

    from kvbound.solvers.exact.highs import load, set_option, set_threads

    horizon = reward_of(problem).horizon
    kinds = problem.fleet.kinds if pooled else tuple((g,) for g in range(len(problem.fleet)))
    workers = tuple(kind[0] for kind in kinds)
    nonzeros = lp_nonzeros(problem, len(kinds))
    if nonzeros > MOST_NONZEROS:
        raise SizeError(
            f"{problem.name}: the LP would have about {nonzeros:.1e} entries (limit {MOST_NONZEROS:.0e}); "
            "use the method lagrangian"
        )
    model = build_time_indexed(problem, pooled=pooled)
    empty = np.zeros((len(kinds), horizon + 1))
    if model.columns == 0:  # nothing arrives in time
        none = np.zeros(0, np.int64)
        return RewardLp(0.0, RewardPrices(workers, empty, empty.copy()), none, none, none, np.zeros(0), 0)
    solver = load(model, relaxed=True, unit_rows=True)
    set_threads(solver, threads)
    _hold(solver, model, workers, held_memory, held_batch)
    if deadline is not None and deadline.remaining is not None:
        set_option(solver, "time_limit", max(0.1, deadline.remaining))
    solver.run()
    solution = solver.getSolution()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal or not solution.dual_valid:
        raise LimitError(f"{problem.name}: HiGHS ended the LP with {solver.getModelStatus()}; raise the time limit")
    dual = np.maximum(0.0, -np.asarray(solution.row_dual)) / np.maximum(1, model.row_upper)
    found = {"memory": empty, "batch": empty.copy()}
    for block in model.blocks:
        if block.name in found:
            found[block.name][workers.index(block.worker), block.ticks] = dual[
                block.first : block.first + len(block.ticks)
            ]
    share = np.asarray(solution.col_value)
    used = np.flatnonzero(share > 0.0)
    return RewardLp(
        -float(solver.getInfo().objective_function_value),
        RewardPrices(workers, found["memory"], found["batch"]),
        model.request[used],
        model.worker[used],
        model.start[used],
        share[used],
        int(solver.getInfo().simplex_iteration_count),
    )


def lp_nonzeros(problem: Problem, kinds: int) -> float:
    """About how many memory coefficients the LP has."""
    r = problem.requests
    starts = np.maximum(0, last_starts(problem, problem.horizon) - r.arrival + 1).astype(float)
    return kinds * float(starts @ np.minimum(r.output, problem.horizon).astype(float))


def _hold(
    solver: object,
    model: TimeIndexed,
    workers: tuple[int, ...],
    held_memory: FloatArray | None,
    held_batch: FloatArray | None,
) -> None:
    """Take what others hold off the right sides, which count in units of the whole row."""
    for block in model.blocks:
        held = {"memory": held_memory, "batch": held_batch}.get(block.name)
        if held is None:
            continue
        row = np.arange(block.first, block.first + len(block.ticks))
        left = np.maximum(0.0, 1.0 - held[workers.index(block.worker), block.ticks] / model.row_upper[row])
        lower = np.full(len(row), -np.inf)
        solver.changeRowsBounds(len(row), row.astype(np.int32), lower, left)  # type: ignore[attr-defined]
