"""What the engine knows at one moment: a few integer tables, so that kernels can stop and go on at any step.

Few, because compiled functions hand on every array of a state by value. Rows are named by the constants below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray

#: Later than any step.
NEVER = 1 << 62

#: Rows of `State.job`. OUTPUT is the truth: it says when an attempt completes, and nothing else looks at it.
#: ASSUMED is what is taken for it, a lower bound once the request was evicted; RANK the place in the policy's order.
PROMPT, OUTPUT, ARRIVAL, BY_ARRIVAL, ASSUMED, RANK = range(6)
#: Columns of `State.worker`. BASE = Σ (s − start) of the active requests, which hold BASE + COUNT·t in step t; WAKE
#: is the next step at which something happens that the assumptions do not foresee.
MEMORY, CAP, COUNT, OVERDUE, BASE, WAKE = range(6)
#: Rows of a worker's slots: assumed completion, s + assumed output, line in the log.
END, PEAK, LINE = range(3)
#: Rows of the log of attempts: request, worker, start, end (true completion, or the step of the eviction).
REQUEST, WORKER, START, STOP = range(4)
#: Entries of `State.clock`: the step reached, arrivals seen, size of the heap, attempts made, size of the window,
#: length of the plan, place in the plan, plans made.
NOW, ARRIVED, HEAPED, USED, WINDOW, PLANNED, PLAN_AT, PLANS = range(8)

Table = npt.NDArray[np.int64]


class State(NamedTuple):
    """Requests, workers, queue and log.

    The requests active on worker g are the slots 0 .. COUNT−1: first the OVERDUE ones, which have outlived their
    assumed length and are assumed to complete in the next step, then the others by assumed completion.
    """

    job: Table  # (6, n)
    worker: Table  # (G, 6)
    slot: Table  # (G, 3, width)
    log: Table  # (4, attempts that it has room for)
    heap: Table  # (2, n): keys and requests of the waiting, least first
    window: Table  # (2, window): requests that the next plan may use, in any order; the plan
    score: npt.NDArray[np.float64]  # (n,): who enters the window first; empty when no plans are made
    clock: IntArray  # (8,)


def new_state(problem: Problem, assumed: IntArray, rank: IntArray, window: int = 0) -> State:
    """The state before the first step; `window` > 0 when plans are made."""
    requests, fleet, n = problem.requests, problem.fleet, problem.n
    by_arrival = np.argsort(requests.arrival, kind="stable")
    job = np.array((requests.prompt, requests.output, requests.arrival, by_arrival, assumed, rank), np.int64)
    worker = np.zeros((len(fleet), 6), np.int64)
    worker[:, MEMORY], worker[:, CAP], worker[:, WAKE] = fleet.memory, fleet.caps, NEVER
    # Active requests hold at least s + 1 tokens each.
    width = int(min(n, fleet.largest // (int(requests.prompt.min()) + 1), max(fleet.caps)))
    return State(
        job,
        worker,
        slot=np.empty((len(fleet), 3, width), np.int64),
        log=np.empty((4, n), np.int64),
        heap=np.empty((2, n), np.int64),
        window=np.empty((2, window), np.int64),
        score=np.zeros(n if window else 0),
        clock=np.zeros(8, np.int64),
    )


def with_longer_log(state: State) -> State:
    """The same state with room for twice as many attempts."""
    return state._replace(log=np.concatenate((state.log, np.empty_like(state.log)), axis=1))
