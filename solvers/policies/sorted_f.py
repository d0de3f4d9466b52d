"""Sorted-F (Wang, Ye, Zhou, arXiv 2508.06133; docs/math.md §7): batches of least F(X) = Σ_X o / |X|².

Phase 1 takes such a batch X with Σ_X p ≤ M from the remaining requests again and again; inside a batch the
order is by output. Phase 2 is list scheduling of the concatenation. The selectors differ in how well they
minimise F. Where the paper is silent the choices are ours and are parameters: ties go to larger X, then smaller
Σs, then lower index; on a fleet M is the memory of the largest worker and |X| is at most the batch cap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kvbound.models.fleet import NO_CAP
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.select_exact import ExactBudget, exact_batch
from kvbound.solvers.policies.select_quantile import quantile_batch
from kvbound.solvers.policies.select_swap import swap_batch
from kvbound.solvers.policies.view import View

#: Given prompt, output, memory, cap and the number of batches so far: positions of the chosen batch.
Selector = Callable[[IntArray, IntArray, int, int, int], IntArray]


def sorted_f_order(view: View, selector: Selector) -> IntArray:
    """Phase 1 with `selector`: the concatenated batches, each by (output, prompt, index)."""
    remaining = np.lexsort((view.prompt, view.output)).astype(np.int64)
    cap = NO_CAP if view.batch is None else view.batch
    order: list[IntArray] = []
    while remaining.size:
        # `remaining` stays sorted by (output, prompt, index), so ascending positions are the batch's order.
        chosen = np.sort(selector(view.prompt[remaining], view.output[remaining], view.memory, cap, len(order)))
        order.append(remaining[chosen])
        remaining = np.delete(remaining, chosen)
    return np.concatenate(order)


def exact_order(view: View, budget: ExactBudget | None = None) -> IntArray:
    """Sorted-F with the exact dynamic program; declines when the tables would exceed `budget`."""
    limits = budget or ExactBudget()
    limits.require(view)
    return sorted_f_order(view, lambda s, o, memory, cap, _: exact_batch(s, o, memory, cap))


def swap_order(view: View) -> IntArray:
    """Sorted-F with local swap search."""
    return sorted_f_order(view, lambda s, o, memory, cap, _: swap_batch(s, o, memory, cap))


def quantile_order(view: View, sample: int = 256) -> IntArray:
    """Sorted-F with the quantile greedy; `sample` requests estimate the quantile of each batch."""
    return sorted_f_order(
        view, lambda s, o, memory, cap, index: quantile_batch(s, o, memory, cap, sample, view.seed + index)
    )
