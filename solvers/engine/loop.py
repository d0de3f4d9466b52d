"""The event loop: from look to look, never from step to step."""

from __future__ import annotations

from numba import njit

from kvbound.solvers.engine.queue import enter_window, leave_window, pop, push
from kvbound.solvers.engine.state import (
    ARRIVAL,
    ARRIVED,
    ASSUMED,
    BASE,
    BY_ARRIVAL,
    CAP,
    COUNT,
    HEAPED,
    MEMORY,
    NEVER,
    NOW,
    PLAN_AT,
    PLANNED,
    PROMPT,
    RANK,
    USED,
    WAKE,
    WINDOW,
)
from kvbound.solvers.engine.workers import earliest, evict, overflows, place, settle, victim, wake_time

#: Kinds of queue.
ORDER, BOUND, PLAN = range(3)
#: Why `advance` came back: all done, the step asked for is reached, the log is full, a plan is due.
DONE, REACHED, LOG_FULL, PLAN_DUE = range(4)


@njit(cache=True)
def enqueue(st, kind, j):  # type: ignore[no-untyped-def]
    """Let j wait."""
    if kind == PLAN:
        enter_window(st, j)
    else:
        push(st, st.job[RANK, j] if kind == ORDER else st.job[ASSUMED, j], j)


@njit(cache=True)
def _next_arrival(st):  # type: ignore[no-untyped-def]
    """Step of the next arrival, or `NEVER`."""
    seen = st.clock[ARRIVED]
    return st.job[ARRIVAL, st.job[BY_ARRIVAL, seen]] if seen < st.job.shape[1] else NEVER


@njit(cache=True)
def room_now(st, now):  # type: ignore[no-untyped-def]
    """Whether some request of the window could start at `now` as far as step now + 1 goes."""
    least = NEVER
    for i in range(st.clock[WINDOW]):
        least = min(least, st.job[PROMPT, st.window[0, i]])
    for worker in st.worker:
        held = worker[BASE] + worker[COUNT] * (now + 1)
        if worker[COUNT] < worker[CAP] and held + least + 1 <= worker[MEMORY]:
            return True
    return False


@njit(cache=True)
def look(st, kind, youngest, now):  # type: ignore[no-untyped-def]
    """Bring every worker that is due up to `now`; evicted requests wait again. Return whether one was due."""
    any_due = False
    for g in range(len(st.worker)):
        if st.worker[g, WAKE] > now:
            continue
        any_due = True
        settle(st, g, now)
        while overflows(st, g, now):
            enqueue(st, kind, evict(st, g, victim(st, g, now, youngest), now))
        st.worker[g, WAKE] = wake_time(st, g, kind == PLAN)
    if any_due:
        st.clock[PLANNED] = st.clock[PLAN_AT] = 0
    return any_due


@njit(cache=True)
def advance(st, kind, youngest, until):  # type: ignore[no-untyped-def]
    """Execute up to and including step `until`; the state can be taken up again.

    The head of the queue starts on the worker where it can start earliest (ties: lowest index) as soon as it fits
    there with its whole assumed future; nobody overtakes it.
    """
    workers = len(st.worker)
    now = st.clock[NOW]
    known = False  # whether head, best and chosen are up to date
    head, best, chosen = -1, NEVER, -1
    while True:
        while _next_arrival(st) <= now:
            enqueue(st, kind, st.job[BY_ARRIVAL, st.clock[ARRIVED]])
            st.clock[ARRIVED] += 1
            if kind == PLAN or st.heap[1, 0] != head:
                known = False
        if not known:
            best, head = NEVER, -1
            if kind == PLAN:
                if st.clock[PLAN_AT] == st.clock[PLANNED] and st.clock[WINDOW] > 0 and room_now(st, now):
                    st.clock[NOW] = now
                    return PLAN_DUE
                if st.clock[PLAN_AT] < st.clock[PLANNED]:
                    head = st.window[1, st.clock[PLAN_AT]]
            elif st.clock[HEAPED] > 0:
                head = st.heap[1, 0]
            if head >= 0:
                for g in range(workers):
                    k = earliest(st, g, head, now)
                    if k < best:
                        best, chosen = k, g
            known = True
        if best == now:
            if st.clock[USED] == st.log.shape[1]:
                st.clock[NOW] = now
                return LOG_FULL
            if kind == PLAN:
                leave_window(st, head)
                st.clock[PLAN_AT] += 1
            else:
                pop(st)
            place(st, chosen, head, now, kind == PLAN)
            known = False
            continue
        following = min(best, _next_arrival(st))
        for g in range(workers):
            following = min(following, st.worker[g, WAKE])
        if following == NEVER:
            st.clock[NOW] = now
            return DONE
        if following > until:
            st.clock[NOW] = until
            return REACHED
        now = following
        if look(st, kind, youngest, now):
            known = False
