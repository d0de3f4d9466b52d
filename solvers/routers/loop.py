"""The fleet loop of the baselines: from event to event, on the worker kernels of the engine.

At the end of a step: completions, outlived lengths and evictions on every worker; then evicted requests that outgrew
their worker and arrivals are dispatched; then starts, worker by worker (or from the central queue) in strict order.
"""

from __future__ import annotations

from numba import njit

from kvbound.solvers.engine.state import (
    ARRIVAL,
    ARRIVED,
    ASSUMED,
    BY_ARRIVAL,
    MEMORY,
    NEVER,
    NOW,
    PROMPT,
    USED,
    WAKE,
)
from kvbound.solvers.engine.workers import earliest, evict, overflows, place, settle, victim, wake_time
from kvbound.solvers.routers.choice import choose
from kvbound.solvers.routers.state import ROOT, put, take

#: Why `advance` came back: all done, or the log is full.
DONE, LOG_FULL = range(2)


@njit(cache=True)
def next_arrival(st):  # type: ignore[no-untyped-def]
    """Step of the next arrival, or `NEVER`."""
    seen = st.clock[ARRIVED]
    return st.job[ARRIVAL, st.job[BY_ARRIVAL, seen]] if seen < st.job.shape[1] else NEVER


@njit(cache=True)
def can_hold(st, g, j):  # type: ignore[no-untyped-def]
    """Whether the predicted peak of j is within the memory of g."""
    return st.job[PROMPT, j] + st.job[ASSUMED, j] <= st.worker[g, MEMORY]


@njit(cache=True)
def _foresee(st, qs, g, now):  # type: ignore[no-untyped-def]
    """Set when the head of queue g can start."""
    head = qs.queue[g, ROOT]
    qs.due[g] = earliest(st, g, head, now) if head >= 0 else NEVER


@njit(cache=True)
def _dispatch(st, qs, rule, svf, j, now):  # type: ignore[no-untyped-def]
    """Send j to the queue of a worker that can hold it."""
    count = 0
    for g in range(len(st.worker)):
        if can_hold(st, g, j):
            qs.chosen[count] = g
            count += 1
    g = choose(st, qs, rule, j, count, now)
    if put(st, qs, g, j, svf):
        _foresee(st, qs, g, now)


@njit(cache=True)
def _look(st, qs, central, svf, now):  # type: ignore[no-untyped-def]
    """Bring every worker that is due up to `now`; evicted requests wait again. Return whether one was due."""
    workers = len(st.worker)
    any_due = False
    for g in range(workers):
        if st.worker[g, WAKE] > now:
            continue
        any_due = True
        settle(st, g, now)
        while overflows(st, g, now):
            j = evict(st, g, victim(st, g, now, True), now)
            put(st, qs, g if not central and can_hold(st, g, j) else workers, j, svf)
        st.worker[g, WAKE] = wake_time(st, g, False)
        if not central:
            _foresee(st, qs, g, now)
    return any_due


@njit(cache=True)
def _start_central(st, qs, rule, now):  # type: ignore[no-untyped-def]
    """Start heads of the central queue as long as one fits somewhere; return whether the log had room for all."""
    workers = len(st.worker)
    while True:
        head = qs.queue[workers, ROOT]
        count = 0
        for g in range(workers):
            qs.due[g] = earliest(st, g, head, now) if head >= 0 else NEVER
            if qs.due[g] == now:
                qs.chosen[count] = g
                count += 1
        if count == 0:
            return True
        if st.clock[USED] == st.log.shape[1]:
            return False
        g = choose(st, qs, rule, head, count, now)
        place(st, g, take(st, qs, workers), now, False)


@njit(cache=True)
def _start_own(st, qs, now):  # type: ignore[no-untyped-def]
    """Start the heads that are due on each worker; return whether the log had room for all."""
    for g in range(len(st.worker)):
        while qs.due[g] <= now:
            if st.clock[USED] == st.log.shape[1]:
                return False
            place(st, g, take(st, qs, g), now, False)
            _foresee(st, qs, g, now)
    return True


@njit(cache=True)
def advance(st, qs, rule, central, svf):  # type: ignore[no-untyped-def]
    """Execute until all is done or the log is full; the state can be taken up again."""
    workers = len(st.worker)
    now = st.clock[NOW]
    known = False
    while True:
        if not central:
            while qs.queue[workers, ROOT] >= 0:
                _dispatch(st, qs, rule, svf, take(st, qs, workers), now)
        while next_arrival(st) <= now:
            j = st.job[BY_ARRIVAL, st.clock[ARRIVED]]
            st.clock[ARRIVED] += 1
            if not central:
                _dispatch(st, qs, rule, svf, j, now)
            elif put(st, qs, workers, j, svf):
                known = False
        if not central:
            room = _start_own(st, qs, now)
        else:
            room = True
            if not known or qs.due.min() <= now:
                room = _start_central(st, qs, rule, now)
                known = True
        st.clock[NOW] = now
        if not room:
            return LOG_FULL
        following = next_arrival(st)
        for g in range(workers):
            following = min(following, st.worker[g, WAKE], qs.due[g])
        if following == NEVER:
            return DONE
        now = following
        if _look(st, qs, central, svf, now):
            known = False
