"""Quantile selector of Sorted-F: nearly linear in the number of requests.

A batch of small F has short outputs and small peaks: a small score. A sample of the scores tells where their
quantiles lie; requests above the quantile whose peaks fill the memory are outliers and are set aside, in strata of
ascending score. What is left is filled in by output and cut where F is least. A stratum is sampled again when its turn
comes, so each request is looked at a few times before its batch and not at all in the batches before.

The paper names score, quantile, sample and outliers without more detail: all of it is ours.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.models.requests import IntArray, volume
from kvbound.solvers.policies.batch_value import no_worse

Score = Literal["volume", "area", "peak", "output"]

#: Strata per sample.
_STRATA = 16
#: Candidates wait until their peaks fill the memory so many times; below that the next stratum joins them.
_WAITING = 2.0


def scores(prompt: IntArray, output: IntArray, score: Score) -> npt.NDArray[np.float64]:
    """The score that is to be small: volume v, area o·p, peak p or output o; shape (n,)."""
    peak = prompt + output
    keys = {"volume": volume(prompt, output), "area": output * peak, "peak": peak, "output": output}
    return keys[score].astype(np.float64)


@njit(cache=True)
def _fill(order, output, peak, goal, memory, cap, inside):  # type: ignore[no-untyped-def]
    """Mark a batch of the candidates (sorted by output).

    Those first in `order` (by score) whose peaks sum up to `goal` are filled in by output, and the prefix of least F
    is kept.
    """
    held, inner = 0, 0
    for j in order:
        held += peak[j]
        if held > goal and inner > 0:
            break
        inside[j] = True
        inner += 1
    taken = np.empty(inner, np.int64)
    count, total, held, best, best_total = 0, 0, 0, 0, 0
    for j in range(len(output)):
        if not inside[j]:
            continue
        inside[j] = False
        if count >= cap or held + peak[j] > memory:
            continue
        taken[count] = j
        count += 1
        total += output[j]
        held += peak[j]
        if best == 0 or no_worse(total, count, best_total, best):
            best, best_total = count, total
    for i in range(best):
        inside[taken[i]] = True


def quantile_batches(
    prompt: IntArray,
    output: IntArray,
    memory: int,
    cap: int,
    sample: int = 256,
    reach: float = 1.0,
    score: Score = "volume",
    seed: int = 0,
) -> list[IntArray]:
    """Return the positions of all batches, first one first.

    Parameters
    ----------
    prompt, output
        Lengths, `output` ascending, every peak at most `memory`; shape (n,).
    memory, cap
        Most tokens Σ_X p and most requests |X|.
    sample
        Requests that estimate the quantiles of a stratum.
    reach
        Quantile: the candidates of a batch are those of least score whose peaks sum up to `reach`·M.
    score
        See `scores`.
    seed
        Of the samples.
    """
    peak, key = prompt + output, scores(prompt, output, score)
    rng = np.random.default_rng(seed)
    strata = [np.arange(len(peak))]
    pool = np.zeros(0, np.int64)
    goal = reach * memory
    done: list[IntArray] = []
    while pool.size or strata:
        while strata and peak[pool].sum() < _WAITING * goal:
            lowest = _lowest(strata, key, peak, _WAITING * goal, sample, rng)
            pool = np.sort(np.concatenate((pool, lowest)))
        inside = np.zeros(len(pool), np.bool_)
        _fill(np.argsort(key[pool], kind="stable"), output[pool], peak[pool], goal, memory, cap, inside)
        done.append(pool[inside])
        pool = pool[~inside]
    return done


def _lowest(
    strata: list[IntArray],
    key: npt.NDArray[np.float64],
    peak: IntArray,
    goal: float,
    sample: int,
    rng: np.random.Generator,
) -> IntArray:
    """Take the stratum of least score off the stack; as long as it is large, split it and put the rest back."""
    stratum = strata.pop()
    while len(stratum) > sample and float(peak[stratum].sum()) > 2.0 * goal:
        drawn = np.sort(key[stratum[rng.integers(0, len(stratum), sample)]])
        edges = np.unique(drawn[sample // _STRATA - 1 :: max(1, sample // _STRATA)])
        lane = np.searchsorted(edges, key[stratum], side="left")
        grouped = stratum[np.argsort(lane, kind="stable")]
        parts = [part for part in np.split(grouped, np.cumsum(np.bincount(lane))[:-1]) if len(part)]
        if len(parts) == 1:
            break  # one score
        strata.extend(reversed(parts[1:]))
        stratum = parts[0]
    return stratum
