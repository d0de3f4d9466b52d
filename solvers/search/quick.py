"""A good schedule at once: the best of some orders, then a short annealing, all in one compiled call.

`improve` is for one problem and seconds; this is for thousands of small problems, each for a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.solvers.search.anneal import anneal_moves
from kvbound.solvers.search.sequence import Checkpoints, Instance, decode, most_active, save_checkpoints

_NO_LIMIT = np.int64(1) << 61
#: Temperatures of a descent, the last two of them 0.
_STEPS = 12
#: Handed over where no random number is drawn.
_IDLE = np.random.default_rng(0)


@dataclass(frozen=True, slots=True, eq=False)
class Quick:
    """Outcome of `quick`: TEL in steps, starts and workers of shape (n,); not yet checked."""

    tel: int
    start: IntArray
    worker: IntArray

    @property
    def schedule(self) -> Schedule:
        """The schedule, for `kvbound.checkers.require_valid`."""
        return Schedule(self.start, self.worker)


@njit(cache=True)
def _descend(orders, moves, rng, inst, points, rest, start, worker):  # type: ignore[no-untyped-def]
    n, spare = orders.shape[1], len(points.now) - 1
    delay = np.zeros(n, np.int64)
    which, tel = 0, _NO_LIMIT
    for i in range(len(orders)):
        value = decode(orders[i], delay, 0, inst, points, spare, tel - 1, rest, start, worker)
        if value >= 0:
            which, tel = i, value
    sequence = orders[which].copy()
    top_sequence, top_delay, top = sequence.copy(), delay.copy(), tel
    decode(sequence, delay, 0, inst, points, spare, _NO_LIMIT, rest, start, worker)
    if moves > 0 and n > 1:
        save_checkpoints(sequence, 0, inst, points, start, worker)
        hot = 0.5 * tel / n
        for step in range(_STEPS):
            temperature = hot * 0.7**step if step < _STEPS - 2 else 0.0
            tel, top = anneal_moves(
                moves // _STEPS + 1, max(1.0, n / (3 + step)), temperature, rng, sequence, delay, tel, inst, points,
                rest, start, worker, top_sequence, top_delay, top,
            )  # fmt: skip
        decode(top_sequence, top_delay, 0, inst, points, spare, _NO_LIMIT, rest, start, worker)
    return top


@njit(cache=True)
def _plain(  # type: ignore[no-untyped-def]
    orders, moves, rng, prompt, output, arrival, memory, caps, stride, now, tel, running, ends, peaks, start, worker
):
    """`_descend` on plain arrays: handing over named tuples from Python costs more than the work itself."""
    inst = Instance(prompt, output, arrival, memory, caps)
    points = Checkpoints(stride, now, tel, running, ends, peaks)
    rest = output.sum() - arrival.sum()
    return _descend(orders, moves, rng, inst, points, rest, start, worker)


def quick(problem: Problem, orders: IntArray, *, moves: int = 0, seed: int = 0) -> Quick:
    """The best of `orders` after `moves` annealing moves; the answer depends on the arguments only.

    With moves = 0, one order and all arrivals 0 this is list scheduling.

    Parameters
    ----------
    orders
        Sequences of the requests, shape (k, n), k ≥ 1; each request starts as early as it fits after its predecessor.
    moves
        Moves of one descent; 0 only decodes the orders.

    Returns
    -------
    Quick
        O(k·n + moves·√n) decoding steps; no checker has looked at it.
    """
    inst = Instance.of(problem)
    points = Checkpoints.empty(problem.n, len(problem.fleet), most_active(problem))
    start, worker = np.zeros(problem.n, np.int64), np.zeros(problem.n, np.int64)
    rng = _IDLE if moves == 0 else np.random.default_rng(seed)
    tel = _plain(orders, moves, rng, *inst, *points, start, worker)
    return Quick(int(tel), start, worker)
