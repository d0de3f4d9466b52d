"""Quantile selector of Sorted-F: one pass per batch, no sorting of all requests.

A batch of small F has short outputs and small peaks. A random sample of the score o·p tells up to which quantile
the peaks fill the memory; requests above it are outliers and are set aside, the others are filled in as long as
F does not rise. The paper names score, quantile, sample and outliers without more detail: o·p, the filling rule
and the sample size are ours.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.models.requests import IntArray
from kvbound.solvers.policies.batch_value import keeps_f


@njit(cache=True)
def _fill(output, peak, threshold, memory, cap):  # type: ignore[no-untyped-def]
    n = len(output)
    inside = np.zeros(n, np.bool_)
    count, total, held, least = 0, 0, 0, 0
    for sweep in range(2):
        limit = threshold if sweep == 0 else 2.0 * threshold
        for j in range(n):
            if held + peak[j] > memory or count >= cap:
                continue
            score = float(output[j]) * float(peak[j])
            if inside[j] or score > limit:
                continue
            if keeps_f(total, count, output[j]):
                inside[j] = True
                count += 1
                total += output[j]
                held += peak[j]
    if count == 0:  # the sample missed every request that fits: take the least score
        for j in range(n):
            if float(output[j]) * float(peak[j]) < float(output[least]) * float(peak[least]):
                least = j
        inside[least] = True
    return inside


def quantile_batch(prompt: IntArray, output: IntArray, memory: int, cap: int, sample: int, seed: int) -> IntArray:
    """Return the positions of a batch found in O(n + sample·log sample)."""
    peak = prompt + output
    n = len(peak)
    pick = np.arange(n) if n <= sample else np.random.default_rng(seed).integers(0, n, sample)
    score = output[pick].astype(float) * peak[pick]
    order = np.argsort(score, kind="stable")
    # The sample stands for n requests: up to which score do the peaks fill the memory?
    filled = np.cumsum(peak[pick][order]) * (n / len(pick))
    reached = min(int(np.searchsorted(filled, memory)), len(pick) - 1)
    return np.flatnonzero(_fill(output, peak, float(score[order][reached]), memory, cap))
