"""One worker's part of the engine: completions, requests that outlive their length, overflow, fit, start.

All kernels take the `State`, a worker g and a step. At the end of a step the order is: completions, outlived
lengths, evictions; then arrivals and starts (docs/policies.md, "Execution and uncertainty").
"""

from __future__ import annotations

from numba import njit

from kvbound.models.fleet import NO_CAP
from kvbound.models.footprint import earliest_start
from kvbound.solvers.engine.state import (
    ASSUMED,
    BASE,
    CAP,
    COUNT,
    END,
    LINE,
    MEMORY,
    NEVER,
    OUTPUT,
    OVERDUE,
    PEAK,
    PROMPT,
    RANK,
    REQUEST,
    START,
    STOP,
    USED,
    WAKE,
    WORKER,
)


@njit(cache=True)
def _move(slot, i, to):  # type: ignore[no-untyped-def]
    slot[END, to] = slot[END, i]
    slot[PEAK, to] = slot[PEAK, i]
    slot[LINE, to] = slot[LINE, i]


@njit(cache=True)
def settle(st, g, now):  # type: ignore[no-untyped-def]
    """Drop what has completed by `now`; what has outlived its assumed length by then becomes overdue."""
    worker, slot = st.worker[g], st.slot[g]
    kept, overdue, base = 0, 0, 0
    for i in range(worker[COUNT]):
        if st.log[STOP, slot[LINE, i]] <= now:
            continue
        if i < worker[OVERDUE] or slot[END, i] <= now:
            overdue += 1  # the slots are sorted by assumed completion, so these come first
        if kept != i:
            _move(slot, i, kept)
        base += slot[PEAK, kept] - slot[END, kept]  # = s − start
        kept += 1
    worker[COUNT], worker[OVERDUE], worker[BASE] = kept, overdue, base


@njit(cache=True)
def overflows(st, g, now):  # type: ignore[no-untyped-def]
    """Whether the active requests would hold more than the memory in step now + 1."""
    return st.worker[g, BASE] + st.worker[g, COUNT] * (now + 1) > st.worker[g, MEMORY]


@njit(cache=True)
def victim(st, g, now, youngest):  # type: ignore[no-untyped-def]
    """Slot of the request to evict: one that has outgrown the worker, or else the first by the rule."""
    worker, slot = st.worker[g], st.slot[g]
    best, best_first, best_begin, best_rank = -1, 0, 0, 0
    for i in range(worker[COUNT]):
        line = slot[LINE, i]
        begin, rank = st.log[START, line], st.job[RANK, st.log[REQUEST, line]]
        if slot[PEAK, i] - slot[END, i] + now + 1 > worker[MEMORY]:
            return i
        first = 0
        if not youngest:
            first = (now + 1 if i < worker[OVERDUE] else slot[END, i]) - begin
        better = best < 0 or first < best_first
        if not better and first == best_first:
            better = begin > best_begin or (begin == best_begin and rank > best_rank)
        if better:
            best, best_first, best_begin, best_rank = i, first, begin, rank
    return best


@njit(cache=True)
def evict(st, g, i, now):  # type: ignore[no-untyped-def]
    """Evict slot i at the end of step `now` and return the request; its tokens are lost.

    It has made now − start tokens, so its length is at least that; one more where the worker itself is too small
    for the next token, so that the request goes elsewhere.
    """
    worker, slot = st.worker[g], st.slot[g]
    line = slot[LINE, i]
    j, base = st.log[REQUEST, line], slot[PEAK, i] - slot[END, i]
    made = now - st.log[START, line]
    if base + now + 1 > worker[MEMORY]:
        made += 1
    st.job[ASSUMED, j] = max(st.job[ASSUMED, j], made)
    st.log[STOP, line] = now
    worker[BASE] -= base
    if i < worker[OVERDUE]:
        worker[OVERDUE] -= 1
    for k in range(i + 1, worker[COUNT]):
        _move(slot, k, k - 1)
    worker[COUNT] -= 1
    return j


@njit(cache=True)
def wake_time(st, g, watch):  # type: ignore[no-untyped-def]
    """Next step that needs a look.

    While every assumption holds nothing needs one: the start of the next request has been computed from them. A
    look is due when a request completes early or outlives its assumed length; while some request is overdue (or
    when `watch` is set, for plans made at completions) at each completion; and at an overflow, which only an
    overdue request can cause, since every start was admitted with its whole assumed future.
    """
    worker, slot = st.worker[g], st.slot[g]
    overdue, count = worker[OVERDUE], worker[COUNT]
    wake = NEVER
    for i in range(count):
        end, truth = slot[END, i], st.log[STOP, slot[LINE, i]]
        if i < overdue:
            wake = min(wake, truth)
        elif truth > end:
            wake = min(wake, end)
        elif truth < end or watch or overdue > 0:
            wake = min(wake, truth)
    if overdue > 0:
        wake = min(wake, (worker[MEMORY] - worker[BASE]) // count)
    return wake


@njit(cache=True)
def earliest(st, g, j, now):  # type: ignore[no-untyped-def]
    """Earliest step ≥ now at which j fits on g with its whole assumed future; `NEVER`: not before the next look.

    An overdue request is assumed to complete in the next step. It counts in step k + 1 of a start at k and in no
    later one, and while no request completes step k + 1 only gets fuller with k: so if the first k that suits the
    others is too full there, every later one is.
    """
    worker, slot = st.worker[g], st.slot[g]
    prompt, assumed, memory = st.job[PROMPT, j], st.job[ASSUMED, j], worker[MEMORY]
    if prompt + assumed > memory:
        return NEVER
    overdue = worker[OVERDUE]
    if worker[COUNT] > overdue and slot[END, overdue] <= now:
        settle(st, g, now)  # completed as assumed: nobody had to wake for it
    count = worker[COUNT]
    if overdue == 0:
        return earliest_start(prompt, assumed, memory, worker[CAP], now, slot[END], slot[PEAK], count)
    if count >= worker[CAP]:
        return NEVER
    ends, peaks = slot[END, overdue:], slot[PEAK, overdue:]
    k = earliest_start(prompt, assumed, memory, NO_CAP, now, ends, peaks, count - overdue)
    return k if worker[BASE] + count * (k + 1) + prompt + 1 <= memory else NEVER


@njit(cache=True)
def place(st, g, j, now, watch):  # type: ignore[no-untyped-def]
    """Start j on g at the end of step `now`, enter it in the log (which has room) and set when to look again."""
    worker, slot = st.worker[g], st.slot[g]
    if worker[COUNT] > worker[OVERDUE] and slot[END, worker[OVERDUE]] <= now:
        settle(st, g, now)
    prompt, assumed = st.job[PROMPT, j], st.job[ASSUMED, j]
    end, truth = now + assumed, now + st.job[OUTPUT, j]
    i = worker[COUNT]
    while i > worker[OVERDUE] and slot[END, i - 1] > end:
        _move(slot, i - 1, i)
        i -= 1
    line = st.clock[USED]
    st.clock[USED] = line + 1
    st.log[REQUEST, line], st.log[WORKER, line], st.log[START, line], st.log[STOP, line] = j, g, now, truth
    slot[END, i], slot[PEAK, i], slot[LINE, i] = end, prompt + assumed, line
    worker[COUNT] += 1
    worker[BASE] += prompt - now
    if watch or worker[OVERDUE] > 0:
        worker[WAKE] = wake_time(st, g, watch)
    elif truth != end:
        worker[WAKE] = min(worker[WAKE], truth, end)
