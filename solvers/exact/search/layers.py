"""One pass of the exact search: layer after layer of labels, under a threshold, a deadline and a memory limit."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kvbound.models.requests import IntArray
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.search import labels as kernels
from kvbound.solvers.exact.search.backward import Backward
from kvbound.solvers.exact.search.relaxation import SCALE, Relaxation

#: Parent, gap and placed request of every label of a layer.
History = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int8]]
#: Labels expanded between two looks at the clock.
CHUNK = 2000
#: Bits of the hash table of a layer.
HASH_BITS = 20


class Ending(enum.Enum):
    """Why a pass stopped."""

    #: Every schedule up to the threshold was covered.
    COMPLETE = "complete"
    DEADLINE = "deadline"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class PassResult:
    """Outcome of a pass.

    Parameters
    ----------
    ending
        Why it stopped.
    distance
        D_j of the best schedule found (search numbering), or None.
    labels, children
        Labels kept over all layers, children looked at.
    """

    ending: Ending
    distance: IntArray | None
    labels: int
    children: int


class Layer:
    """Labels with the same number of placed requests, as a struct of arrays that can grow."""

    NAMES = (
        "visited",
        "cost",
        "tail",
        "count",
        "owner",
        "elapsed",
        "blocked",
        "bound",
        "parent",
        "gap",
        "alive",
        "link",
    )

    def __init__(self, capacity: int, width: int) -> None:
        self.visited = np.zeros(capacity, np.int64)
        self.cost = np.zeros(capacity, np.int64)
        self.tail = np.zeros(capacity, np.int64)
        self.count = np.zeros(capacity, np.int8)
        self.owner = np.zeros((capacity, width), np.int8)
        self.elapsed = np.zeros((capacity, width), np.int32)
        self.blocked = np.zeros((capacity, width), np.bool_)
        self.bound = np.zeros(capacity, np.int64)
        self.parent = np.zeros(capacity, np.int32)
        self.gap = np.zeros(capacity, np.int32)
        self.alive = np.zeros(capacity, np.bool_)
        self.link = np.zeros(capacity, np.int64)

    def __len__(self) -> int:
        return len(self.visited)

    @staticmethod
    def bytes_per_label(width: int) -> int:
        """Memory of one label."""
        return 3 * 8 + 1 + 6 * width + 8 + 4 + 4 + 1 + 8

    def grow(self, capacity: int) -> None:
        """Enlarge every array to `capacity`, keeping the contents."""
        for name in self.NAMES:
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def keep(self, index: IntArray) -> None:
        """Keep only the labels at `index`."""
        for name in self.NAMES:
            setattr(self, name, getattr(self, name)[index])

    def state(self) -> tuple[object, ...]:
        """The arrays that describe a label, as the kernel takes them."""
        return self.visited, self.cost, self.tail, self.count, self.owner, self.elapsed, self.blocked


def run_pass(
    work: Backward,
    relaxation: Relaxation,
    threshold: int | None,
    deadline: Deadline,
    memory_limit_bytes: int,
    beam: int | None = None,
) -> PassResult:
    """Search all schedules with TEL + Σ a_j ≤ `threshold` (None: no threshold).

    Parameters
    ----------
    beam
        Keep only this many labels of each layer, those with the least bounds: a heuristic that proves nothing.

    Returns
    -------
    PassResult
        With ``Ending.COMPLETE`` and no beam: a schedule of least cost, or proof (by exhaustion) that there is none.
    """
    n = work.n
    total_price = int(relaxation.price.sum())
    limit = relaxation.big // 2 if threshold is None else SCALE * threshold - total_price
    lasting = bool((relaxation.reach > work.output).any())
    width = n if lasting else min(n, 2 * work.most_active + 2)
    most = max(1000, memory_limit_bytes // (3 * Layer.bytes_per_label(width)))
    arrivals, counted = bool(work.arrival.any()), work.cap < n
    head = np.full(1 << HASH_BITS, -1, np.int64)
    current = _first_layer(work, relaxation, limit, width)
    history: list[History] = []
    kept, children, spent = len(current), 0, 0
    for m in range(1, n):
        following = Layer(max(4096, 2 * len(current)), width)
        filled = np.zeros(3, np.int64)
        head.fill(-1)
        q = 0
        while q < len(current):
            if deadline.passed:
                return PassResult(Ending.DEADLINE, None, kept, children)
            upto = min(q + CHUNK, len(current))
            reason, q = kernels.expand(
                q, upto, m, limit, True, arrivals, counted, *current.state(), *following.state(), following.bound,
                following.parent, following.gap, following.alive, following.link, head, filled, relaxation.table,
                relaxation.price, work.twins, relaxation.geometry,
            )  # fmt: skip
            if reason == kernels.FULL:
                if len(following) >= most - spent:
                    return PassResult(Ending.MEMORY, None, kept, children)
                following.grow(min(2 * len(following), most - spent))
        children += int(filled[2])
        chosen = np.flatnonzero(following.alive[: filled[0]])
        if beam is not None and len(chosen) > beam:
            chosen = np.sort(chosen[np.argsort(following.bound[chosen], kind="stable")[:beam]])
        following.keep(chosen)
        history.append((following.parent, following.gap, following.owner[:, 0].copy()))
        kept += len(following)
        spent += len(following) // 5  # the history keeps a fifth of a label
        current = following
        if len(current) == 0:
            return PassResult(Ending.COMPLETE, None, kept, children)
    total = current.cost + n * current.tail  # exact; the bounds above may have been lower
    best = int(np.argmin(total)) if len(total) else 0
    if len(total) == 0 or (threshold is not None and total[best] > threshold):
        return PassResult(Ending.COMPLETE, None, kept, children)
    return PassResult(Ending.COMPLETE, _distances(n, current, history, best), kept, children)


def _first_layer(work: Backward, relaxation: Relaxation, limit: int, width: int) -> Layer:
    """The labels with one request: any that has no later twin may complete last."""
    bound = relaxation.table[1, 0, :].astype(np.int64)
    jobs = np.flatnonzero((work.twins == 0) & (bound <= limit))
    layer = Layer(len(jobs), width)
    layer.visited[:] = np.int64(1) << jobs
    layer.tail[:] = work.life[jobs]
    layer.count[:] = 1
    layer.owner[:, 0] = jobs
    layer.bound[:] = bound[jobs]
    return layer


def _distances(n: int, last: Layer, history: list[History], index: int) -> IntArray:
    """Follow the parents of label `index` of the last layer: D_j of every request."""
    if n == 1:
        return np.zeros(1, np.int64)
    jobs, gaps = [], []
    for parent, gap, job in reversed(history):
        jobs.append(int(job[index]))
        gaps.append(int(gap[index]))
        index = int(parent[index])
    placed = set(jobs)
    jobs.append(next(j for j in range(n) if j not in placed))
    gaps.append(0)
    distance = np.zeros(n, np.int64)
    distance[np.array(jobs[::-1])] = np.cumsum(np.array(gaps[::-1]))
    return distance
