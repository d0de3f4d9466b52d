"""Which worker: Round-Robin, Random, LOR, Power-of-d, least-KV over a list of eligible workers (docs/routing.md)."""

from __future__ import annotations

from numba import njit

from kvbound.solvers.engine.state import BASE, COUNT, END, MEMORY, OVERDUE
from kvbound.solvers.engine.workers import settle
from kvbound.solvers.routers.state import TOKENS, WAITING

#: Rules.
ROUND_ROBIN, RANDOM, LOR, POWER, LEAST_KV = range(5)


@njit(cache=True)
def refresh(st, g, now):  # type: ignore[no-untyped-def]
    """Drop what has completed on g as assumed: nobody had to wake for it."""
    worker = st.worker[g]
    if worker[COUNT] > worker[OVERDUE] and st.slot[g, END, worker[OVERDUE]] <= now:
        settle(st, g, now)


@njit(cache=True)
def _outstanding(st, qs, g, now):  # type: ignore[no-untyped-def]
    """Requests that run on g or wait in its queue."""
    refresh(st, g, now)
    return st.worker[g, COUNT] + qs.queue[g, WAITING]


@njit(cache=True)
def _tokens(st, qs, g, now):  # type: ignore[no-untyped-def]
    """Tokens that g holds at the end of step `now`, and the predicted peaks of what waits in its queue."""
    refresh(st, g, now)
    return st.worker[g, BASE] + st.worker[g, COUNT] * now + qs.queue[g, TOKENS]


@njit(cache=True)
def choose(st, qs, rule, j, count, now):  # type: ignore[no-untyped-def]
    """The worker for j among `qs.chosen[:count]`, ascending; count ≥ 1. Ties: lowest index."""
    chosen = qs.chosen
    if rule == ROUND_ROBIN:
        best = chosen[0]
        for i in range(count):
            if chosen[i] >= qs.cursor[0]:
                best = chosen[i]
                break
        qs.cursor[0] = (best + 1) % len(st.worker)
        return best
    if rule == RANDOM:
        return chosen[int(qs.draw[0, j] * count)]
    if rule == POWER:  # the first d of a random permutation
        few = min(len(qs.draw), count)
        for i in range(few):
            k = i + int(qs.draw[i, j] * (count - i))
            chosen[i], chosen[k] = chosen[k], chosen[i]
        count = few
    best, least = -1, 0
    for i in range(count):
        g = chosen[i]
        if rule == LEAST_KV:
            load = _tokens(st, qs, g, now)
            # Shares of the memory, compared without division.
            a, b = (load * st.worker[best, MEMORY], least * st.worker[g, MEMORY]) if best >= 0 else (0, 1)
        else:
            load = _outstanding(st, qs, g, now)
            a, b = load, least
        if best < 0 or a < b or (a == b and g < best):
            best, least = g, load
    return best
