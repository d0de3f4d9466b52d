"""Sorted-F (Wang, Ye, Zhou, arXiv 2508.06133; docs/math.md §7): batches of least F(X) = Σ_X o / |X|².

Phase 1 takes such a batch X with Σ_X p ≤ M from the remaining requests again and again; inside a batch the
order is by output. Phase 2 is list scheduling of the concatenation. The selectors differ in how well they
minimise F. Where the paper is silent the choices are ours (docs/policies.md): ties go to larger X, then smaller
Σs, then lower index; on a fleet M is the memory of the largest worker and |X| is at most the batch cap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kvbound.models.fleet import NO_CAP
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.select_exact import ExactBudget, exact_batch
from kvbound.solvers.policies.select_quantile import Score, quantile_batches
from kvbound.solvers.policies.select_swap import Starts, swap_batches
from kvbound.solvers.policies.view import View

#: Given prompt, output (ascending), memory and cap: positions of the chosen batch.
Selector = Callable[[IntArray, IntArray, int, int], IntArray]
#: The same, but the positions of all batches.
Batches = Callable[[IntArray, IntArray, int, int], list[IntArray]]


def in_batches(view: View, batches: Batches) -> list[IntArray]:
    """Phase 1: the batches, first one first, each in its order (output, prompt, index) ascending.

    `batches` gets the requests in that order, so that ascending positions are the order in a batch. A predicted output
    may be larger than what fits beside the prompt; it counts as what fits.
    """
    output = np.minimum(view.output, np.maximum(1, view.memory - view.prompt))
    order = np.lexsort((view.prompt, output)).astype(np.int64)
    cap = NO_CAP if view.batch is None else view.batch
    return [order[np.sort(x)] for x in batches(view.prompt[order], output[order], view.memory, cap)]


def one_by_one(selector: Selector) -> Batches:
    """All batches from a selector of single ones."""

    def batches(prompt: IntArray, output: IntArray, memory: int, cap: int) -> list[IntArray]:
        left = np.arange(len(prompt))
        done: list[IntArray] = []
        while left.size:
            chosen = selector(prompt[left], output[left], memory, cap)
            done.append(left[chosen])
            left = np.delete(left, chosen)
        return done

    return batches


def exact_batches(budget: ExactBudget | None = None) -> Batches:
    """Batches of least F by the dynamic program; declines when its tables would pass `budget`."""
    limits = budget or ExactBudget()

    def batches(prompt: IntArray, output: IntArray, memory: int, cap: int) -> list[IntArray]:
        limits.require(prompt, output, memory, cap)
        return one_by_one(exact_batch)(prompt, output, memory, cap)

    return batches


def sorted_f_order(view: View, batches: Batches) -> IntArray:
    """The order of Sorted-F: the concatenated batches."""
    return np.concatenate(in_batches(view, batches))


def exact_order(view: View, updates: float = 5e9, megabytes: int = 800) -> IntArray:
    """Sorted-F with the exact dynamic program; declines beyond `updates` or `megabytes` (`ExactBudget`)."""
    return sorted_f_order(view, exact_batches(ExactBudget(int(updates), megabytes * 1_000_000)))


def swap_order(view: View, starts: Starts = "greedy") -> IntArray:
    """Sorted-F with local swap search from the given greedy starts."""
    return sorted_f_order(view, lambda s, o, memory, cap: swap_batches(s, o, memory, cap, starts))


def quantile_order(view: View, sample: int = 256, reach: float = 1.0, score: Score = "volume") -> IntArray:
    """Sorted-F with the quantile greedy; parameters as in `quantile_batches`."""
    return sorted_f_order(
        view, lambda s, o, memory, cap: quantile_batches(s, o, memory, cap, sample, reach, score, view.seed)
    )
