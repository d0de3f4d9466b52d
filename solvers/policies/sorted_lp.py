"""Sorted-LP and LP-Swap (docs/math.md §7): orders that a relaxation suggests.

Sorted-LP serves by the mean start Σ k·x_jk of the time-indexed LP. Where the LP is too large its prices do the work:
under memory and batch prices each request has a cheapest start, and the mean of that over the last steps of the dual
ascent stands for the mean start. The paper names both policies without key and settings: those are ours.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np
import numpy.typing as npt

from kvbound.models.fleet import Fleet
from kvbound.models.formulations.time_indexed import build_time_indexed
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies.orders import by
from kvbound.solvers.policies.select_swap import swap_batches
from kvbound.solvers.policies.sorted_f import sorted_f_order
from kvbound.solvers.policies.view import Declined, View

FloatArray = npt.NDArray[np.float64]
Method = Literal["auto", "lp", "prices"]

#: Memory coefficients up to which `auto` solves the LP (half a second), and beyond which `lp` declines.
_LP_QUICK, _LP_MOST = 50_000, 3_000_000
#: Relative gain in ten steps below which the ascent stops.
_TOLERANCE = 1e-4


def relaxed(view: View) -> Problem:
    """The problem as the policy sees it: visible lengths, all workers like the largest."""
    output = np.minimum(view.output, np.maximum(1, view.memory - view.prompt))
    fleet = Fleet.uniform(view.memory, view.workers, view.batch)
    return Problem(Requests(view.prompt, output, view.arrival), fleet)


def horizon(problem: Problem) -> int:
    """Steps that get prices; imported late, as bounds build on the exact solver, and that on policies."""
    from kvbound.solvers.bounds.lagrangian import first_horizon

    return first_horizon(problem)


def lp_size(problem: Problem, steps: int) -> int:
    """Memory coefficients of the time-indexed LP over so many steps."""
    r = problem.requests
    return int(np.maximum(0, steps - r.output + 1 - r.arrival).astype(float) @ r.output.astype(float))


def lp_starts(problem: Problem) -> FloatArray:
    """Mean start Σ k·x_jk of each request in an optimal solution of the pooled LP by HiGHS, shape (n,).

    Raises
    ------
    Declined
        The LP has more than three million memory coefficients, or HiGHS finds no optimum.
    """
    import highspy

    from kvbound.solvers.exact.highs import load, set_threads

    for steps in sorted({horizon(problem), problem.horizon}):  # a batch cap may need more steps than memory does
        if lp_size(problem, steps) > _LP_MOST:
            raise Declined(
                f"the LP would have {lp_size(problem, steps):.1e} memory coefficients (limit {_LP_MOST:.0e}); "
                "use method=prices"
            )
        model = build_time_indexed(problem, horizon=steps, pooled=True)
        solver = load(model, relaxed=True)
        set_threads(solver, 1)
        solver.run()
        if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            x = np.maximum(0.0, np.asarray(solver.getSolution().col_value))
            total = np.bincount(model.request, weights=x, minlength=problem.n)
            return np.bincount(model.request, weights=x * model.start, minlength=problem.n) / total
    raise Declined(f"HiGHS ended with {solver.getModelStatus()} on the LP; use method=prices")


def price_starts(problem: Problem, steps: int = 60, window: int = 20) -> FloatArray:
    """Cheapest start of each request under prices, averaged over the last `window` of `steps` ascent steps; shape (n,).

    The ascent starts at fluid prices (docs/math.md §5.1); counted steps and no clock, so the answer repeats.
    """
    from kvbound.solvers.bounds.lagrangian import PriceSearch

    r = problem.requests
    _, group = np.unique(np.stack((r.prompt, r.output, r.arrival)), axis=1, return_inverse=True)
    seen: deque[IntArray] = deque(maxlen=window)
    search = PriceSearch(problem, Deadline(None), lambda _: seen.append(search.dual.best_start.copy()))
    seen.append(search.dual.best_start.copy())
    search.climb(steps, _TOLERANCE)
    return np.mean(np.stack(tuple(seen)), axis=0)[group.ravel()]


def mean_starts(view: View, method: Method, steps: int, window: int, most: float) -> FloatArray:
    """Mean starts by the LP, by prices, or (`auto`) by the LP where it is small; shape (n,).

    Raises
    ------
    Declined
        The LP is too large, or the prices would take more than `most` evaluations of a start's cost.
    """
    problem = relaxed(view)
    if method == "lp" or (method == "auto" and lp_size(problem, horizon(problem)) <= _LP_QUICK):
        return lp_starts(problem)
    work = float(steps) * problem.n * (horizon(problem) + 1)
    if work > most:
        raise Declined(
            f"prices need up to {work:.1e} evaluations of a start's cost (limit {most:.0e}); "
            "use svf, or raise the limit with sorted-lp,most=…"
        )
    return price_starts(problem, steps, window)


def sorted_lp_order(
    view: View, method: Method = "auto", steps: int = 60, window: int = 20, most: float = 1e10
) -> IntArray:
    """Ascending mean start; ties by volume, then by index. Parameters as for `mean_starts` and `price_starts`."""
    return by(mean_starts(view, method, steps, window, most), view.volume)


def lp_swap_order(
    view: View, method: Method = "auto", steps: int = 60, window: int = 20, most: float = 1e10
) -> IntArray:
    """Sorted-F whose swap search starts from the order of Sorted-LP instead of from greedy keys."""
    rank = np.empty(len(view), np.int64)
    rank[sorted_lp_order(view, method, steps, window, most)] = np.arange(len(view))
    index = np.lexsort((view.prompt, relaxed(view).requests.output))
    start = np.argsort(rank[index])[None, :]
    return sorted_f_order(view, lambda s, o, memory, cap: swap_batches(s, o, memory, cap, orders=start))
