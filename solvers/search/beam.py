"""Beam search over starts: many partial schedules grow request by request, and the most promising ones live on.

A partial schedule that has started some requests is judged by

    Σ k (started)  +  |rest| · E  +  F(rest)  +  κ · |rest| · wedge / C

E = now + residual / C is the *clock*: the step at which all memory-time committed so far would have been used if
nothing idled from now on (C: capacity of the fleet per step), so idle memory shows in it at once. F is what the rest
adds when it runs one after the other in base order as a fluid, each request taking `weight` steps. The *wedge* is
memory below a coming peak, which only short requests can use. Unlike a full decode this judges a change where it
happens, without the chaos that it sets off downstream; docs/search.md has the figures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kvbound.models.footprint import earliest_start
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.list_scheduling import insert_active

#: Equal partial schedules that differ in the order of placing them are looked for this far back among the chosen.
_LOOK_BACK = 64


class Partials(NamedTuple):
    """Partial schedules of one level: of W, the first few are alive.

    Ranks are positions in the base order; `placed` counts between `front`, before which all are placed, and `top`,
    from which on none is. `ends` and `peaks` are the active requests of each worker, sorted by completion.
    """

    placed: IntArray
    front: IntArray
    top: IntArray
    now: IntArray
    cost: IntArray
    fluid: IntArray
    residual: IntArray
    key: IntArray
    running: IntArray
    ends: IntArray
    peaks: IntArray


class Children(NamedTuple):
    """Possible next starts: parent, rank, start, worker, and what they lead to."""

    score: IntArray
    parent: IntArray
    rank: IntArray
    start: IntArray
    worker: IntArray
    residual: IntArray
    fluid: IntArray
    key: IntArray


@njit(cache=True, nogil=True)
def _partials(width, n, workers, slots):  # type: ignore[no-untyped-def]
    return Partials(
        np.zeros((width, n), np.bool_),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width),
        np.zeros(width, np.uint64),
        np.zeros((width, workers), np.int64),
        np.zeros((width, workers, slots), np.int64),
        np.zeros((width, workers, slots), np.int64),
    )


@njit(cache=True, nogil=True)
def residual(ends, peaks, count, now, slots_bind):  # type: ignore[no-untyped-def]
    """Memory-time (or batch slots × steps) that active requests use after `now`."""
    total = 0.0
    for i in range(count):
        left = float(ends[i] - now)
        if left > 0:
            total += left if slots_bind else left * peaks[i] - 0.5 * left * (left - 1.0)
    return total


@njit(cache=True, nogil=True)
def _wedge(ends, peaks, count, now, memory, horizon, room):  # type: ignore[no-untyped-def]
    """Memory-time within `horizon` below the next peak: a request that runs past the peak cannot use it."""
    base, near = 0, 0
    for i in range(count):
        base += peaks[i] - ends[i]
        near += ends[i] <= now + 2 * horizon
    for i in range(near):
        room[i] = memory - (base + (count - i) * ends[i])
        base -= peaks[i] - ends[i]
    total, least = 0.0, float(memory)
    for i in range(near - 1, -1, -1):
        least = min(least, room[i])
        last = ends[i - 1] if i > 0 else now
        steps = ends[i] - last
        if last <= now + horizon:
            total += (room[i] - least) * steps + 0.5 * (count - i) * steps * (steps - 1)
    return total


@njit(cache=True, nogil=True)
def _expand(a, left, now_on, order, inst, load, weight, capacity, slots_bind, most, marks, out, m):  # type: ignore[no-untyped-def]
    """Append to `out` from entry m on the starts of the first `most` requests in order that partial `a` can make."""
    n, workers = len(order), len(inst.memory)
    now, rank, seen, before = now_on.now[a], now_on.front[a], 0, 0.0
    at, used = now, now_on.residual[a]
    while rank < n and seen < most:
        if now_on.placed[a, rank] and rank < now_on.top[a]:
            rank += 1
            continue
        j = order[rank]
        s, o = inst.prompt[j], inst.output[j]
        earliest = max(now, inst.arrival[j])
        start, chosen = np.int64(-1), -1
        for g in range(workers):
            if s + o > inst.memory[g]:
                continue
            ends, peaks, running = now_on.ends[a, g], now_on.peaks[a, g], now_on.running[a, g]
            k = earliest_start(s, o, inst.memory[g], inst.caps[g], earliest, ends, peaks, running)
            if chosen < 0 or k < start:
                start, chosen = k, g
        if start != at:  # most candidates start at one of few steps
            at, used = start, 0.0
            for g in range(workers):
                used += residual(now_on.ends[a, g], now_on.peaks[a, g], now_on.running[a, g], start, slots_bind)
        committed = used + load[j]
        fluid = now_on.fluid[a] - weight[j] * (left - 1 - seen) - before
        out.score[m] = now_on.cost[a] + start + (left - 1) * (start + committed / capacity) + fluid
        out.parent[m], out.rank[m], out.start[m], out.worker[m] = a, rank, start, chosen
        out.residual[m], out.fluid[m] = committed, fluid
        # A sum over (request, start, worker): equal for equal partial schedules, whatever the order of placing.
        out.key[m] = now_on.key[a] + marks[j] * np.uint64(2 * (start * workers + chosen) + 1)
        m += 1
        before += weight[j]
        seen += 1
        rank += 1
    return m


@njit(cache=True, nogil=True)
def _actives(now_on, a, g, start, end, peak, ends, peaks):  # type: ignore[no-untyped-def]
    """Write to `ends`, `peaks` who of worker g is active after `start`, with a newcomer if `end` > 0."""
    c = 0
    for i in range(now_on.running[a, g]):
        if now_on.ends[a, g, i] > start:
            ends[c], peaks[c] = now_on.ends[a, g, i], now_on.peaks[a, g, i]
            c += 1
    if end > 0:
        insert_active(ends, peaks, c, end, peak)
        c += 1
    return c


@njit(cache=True, nogil=True)
def _adopt(now_on, after, b, child, x, order, inst):  # type: ignore[no-untyped-def]
    """Make child x the b-th partial schedule of the next level."""
    n, a, rank = len(order), child.parent[x], child.rank[x]
    j = order[rank]
    front, top = now_on.front[a], now_on.top[a]
    after.placed[b, front:top] = now_on.placed[a, front:top]
    for q in range(max(front, top), rank):
        after.placed[b, q] = False
    after.placed[b, rank] = True
    top = max(top, rank + 1)
    while front < top and after.placed[b, front]:
        front += 1
    after.front[b], after.top[b] = front, max(top, min(front, n))
    after.now[b], after.cost[b] = child.start[x], now_on.cost[a] + child.start[x]
    after.fluid[b], after.residual[b], after.key[b] = child.fluid[x], child.residual[x], child.key[x]
    for g in range(len(inst.memory)):
        end = child.start[x] + inst.output[j] if g == child.worker[x] else 0
        peak = inst.prompt[j] + inst.output[j]
        after.running[b, g] = _actives(now_on, a, g, child.start[x], end, peak, after.ends[b, g], after.peaks[b, g])


@njit(cache=True, nogil=True)
def beam(  # type: ignore[no-untyped-def]
    order, inst, now, count, ends, peaks, load, weight, capacity, slots_bind, width, most, kappa, horizon, marks
):
    """Start the requests of `order` after what is active at `now`.

    Parameters
    ----------
    order
        Requests to start, in base order; shape (m,).
    count, ends, peaks
        Active requests per worker at `now`, sorted by completion; `ends` and `peaks` have room for all who can
        be active at once.
    load, weight
        Of every request of the instance: capacity that it takes, and steps that it is expected to delay the others.
    capacity, slots_bind
        Capacity of the fleet per step in units of `load`, and whether that is batch slots rather than tokens.
    width, most
        Partial schedules kept, and requests tried as the next one of each.
    kappa, horizon
        Charge for a wedge, and how far ahead it looks, in steps.
    marks
        A random 64-bit number per request of the instance.

    Returns
    -------
    tuple
        Σ k, children judged, and sequence, start, worker of shape (m,) in order of start.
    """
    n, workers, slots = len(order), len(inst.memory), ends.shape[1]
    now_on, after = _partials(width, n, workers, slots), _partials(width, n, workers, slots)
    now_on.now[0] = now
    for q in range(n):
        now_on.fluid[0] += weight[order[q]] * (n - q - 1)
    for g in range(workers):
        now_on.running[0, g] = count[g]
        now_on.ends[0, g, : count[g]] = ends[g, : count[g]]
        now_on.peaks[0, g, : count[g]] = peaks[g, : count[g]]
        now_on.residual[0] += residual(ends[g], peaks[g], count[g], now, slots_bind)
    size = width * most
    child = Children(
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size, np.uint64),
    )
    trace = np.empty((n, width, 4), np.int64)  # parent, request, start, worker
    some_ends, some_peaks, room = np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots)
    alive, judged = 1, 0
    for level in range(n):
        left, m = n - level, 0
        for a in range(alive):
            m = _expand(a, left, now_on, order, inst, load, weight, capacity, slots_bind, most, marks, child, m)
        judged += m
        chosen = np.arange(m)
        if m > 3 * width:
            chosen = np.flatnonzero(child.score[:m] <= np.partition(child.score[:m], 3 * width)[3 * width])
        if kappa > 0:
            for x in chosen:
                a, j, total = child.parent[x], order[child.rank[x]], 0.0
                for g in range(workers):
                    end = child.start[x] + inst.output[j] if g == child.worker[x] else 0
                    peak = inst.prompt[j] + inst.output[j]
                    c = _actives(now_on, a, g, child.start[x], end, peak, some_ends, some_peaks)
                    total += _wedge(some_ends, some_peaks, c, child.start[x], inst.memory[g], horizon, room)
                child.score[x] += kappa * (left - 1) * total / capacity
        kept = 0
        for x in chosen[np.argsort(child.score[chosen], kind="mergesort")]:
            known = False
            for b in range(max(0, kept - _LOOK_BACK), kept):
                known = known or after.key[b] == child.key[x]
            if known:
                continue
            _adopt(now_on, after, kept, child, x, order, inst)
            trace[level, kept, 0], trace[level, kept, 1] = child.parent[x], order[child.rank[x]]
            trace[level, kept, 2], trace[level, kept, 3] = child.start[x], child.worker[x]
            kept += 1
            if kept == width:
                break
        alive = kept
        now_on, after = after, now_on
    best = int(np.argmin(now_on.cost[:alive]))
    sequence, start, worker = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    b, started = best, np.int64(0)
    for level in range(n - 1, -1, -1):
        sequence[level], start[level], worker[level] = trace[level, b, 1], trace[level, b, 2], trace[level, b, 3]
        started += start[level]
        b = trace[level, b, 0]
    return started, judged, sequence, start, worker
