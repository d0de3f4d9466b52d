"""What a router keeps beside the engine's state: a queue per worker, one central queue, random numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, volume
from kvbound.solvers.engine.state import ASSUMED, NEVER, PROMPT, RANK, Table

#: Columns of `Queues.queue`: root of its heap, number of waiting requests, Σ predicted peaks of them in tokens.
ROOT, WAITING, TOKENS = range(3)

volume_of = njit(cache=True)(volume)


class Queues(NamedTuple):
    """Waiting requests: queue g < G belongs to worker g, queue G is the central one.

    Each queue is a skew heap by (key, rank) whose links lie in `link`: n requests need 2n links however many queues.
    """

    link: Table  # (2, n): left and right child of a request, -1 without
    key: IntArray  # (n,): 0 for FCFS, the predicted volume for SVF; ties go by arrival
    queue: Table  # (G + 1, 3)
    due: IntArray  # (G,): earliest start of the head on worker g, as far as it is foreseen
    draw: npt.NDArray[np.float64]  # (d, n): uniform random numbers of each request
    chosen: IntArray  # (G,): scratch, workers to choose from
    cursor: IntArray  # (1,): next worker of Round-Robin


def new_queues(problem: Problem, choices: int, seed: int) -> Queues:
    """Empty queues, and `choices` random numbers per request from `seed`."""
    n, workers = problem.n, len(problem.fleet)
    queue = np.zeros((workers + 1, 3), np.int64)
    queue[:, ROOT] = -1
    return Queues(
        np.full((2, n), -1, np.int64),
        np.zeros(n, np.int64),
        queue,
        np.full(workers, NEVER, np.int64),
        np.random.default_rng([seed, 3]).random((max(choices, 1), n)),
        np.zeros(workers, np.int64),
        np.zeros(1, np.int64),
    )


@njit(cache=True)
def _before(st, qs, a, b):  # type: ignore[no-untyped-def]
    return qs.key[a] < qs.key[b] or (qs.key[a] == qs.key[b] and st.job[RANK, a] < st.job[RANK, b])


@njit(cache=True)
def _merge(st, qs, a, b):  # type: ignore[no-untyped-def]
    """Merge two skew heaps and return the root."""
    if a < 0:
        return b
    if b < 0:
        return a
    left, right = qs.link[0], qs.link[1]
    if _before(st, qs, b, a):
        a, b = b, a
    root = last = a
    rest = right[a]
    right[a] = left[a]
    while rest >= 0 and b >= 0:
        if _before(st, qs, b, rest):
            rest, b = b, rest
        left[last] = rest
        last = rest
        following = right[rest]
        right[rest] = left[rest]
        rest = following
    left[last] = rest if b < 0 else b
    return root


@njit(cache=True)
def put(st, qs, q, j, svf):  # type: ignore[no-untyped-def]
    """Let j wait in queue q; return whether it is the head now."""
    prompt, assumed = st.job[PROMPT, j], st.job[ASSUMED, j]
    qs.key[j] = volume_of(prompt, assumed) if svf else 0
    qs.link[0, j] = qs.link[1, j] = -1
    qs.queue[q, ROOT] = _merge(st, qs, qs.queue[q, ROOT], j)
    qs.queue[q, WAITING] += 1
    qs.queue[q, TOKENS] += prompt + assumed
    return qs.queue[q, ROOT] == j


@njit(cache=True)
def take(st, qs, q):  # type: ignore[no-untyped-def]
    """Remove and return the head of queue q."""
    j = qs.queue[q, ROOT]
    qs.queue[q, ROOT] = _merge(st, qs, qs.link[0, j], qs.link[1, j])
    qs.queue[q, WAITING] -= 1
    qs.queue[q, TOKENS] -= st.job[PROMPT, j] + st.job[ASSUMED, j]
    return j
