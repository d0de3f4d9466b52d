"""Admission by bid prices: waiting requests in order of margin, each at its best worker, while they fit."""

from __future__ import annotations

from numba import njit

from kvbound.models.footprint import fits_now, room_ahead
from kvbound.models.reward import earned
from kvbound.solvers.engine.state import ARRIVAL, ASSUMED, BASE, CAP, COUNT, END, MEMORY, OVERDUE, PEAK, PROMPT, RANK
from kvbound.solvers.engine.workers import place
from kvbound.solvers.routers.learning import best_start, price_of
from kvbound.solvers.routers.prices import ADMITTED, WAITS


@njit(cache=True)
def _prepare(st, pr, g, now):  # type: ignore[no-untyped-def]
    """Make `_fits` quick for worker g."""
    overdue = st.worker[g, OVERDUE]
    ends, peaks = st.slot[g, END, overdue:], st.slot[g, PEAK, overdue:]
    room_ahead(st.worker[g, MEMORY], now, ends, peaks, st.worker[g, COUNT] - overdue, pr.room[g], pr.base[g])


@njit(cache=True)
def _fits(st, pr, g, prompt, output, now):  # type: ignore[no-untyped-def]
    """Whether `engine.workers.earliest` would say `now`: the whole predicted footprint fits."""
    worker = st.worker[g]
    count, overdue = worker[COUNT], worker[OVERDUE]
    if count >= worker[CAP] or worker[BASE] + count * (now + 1) + prompt + 1 > worker[MEMORY]:
        return False
    ends = st.slot[g, END, overdue:]
    return fits_now(prompt, output, worker[MEMORY], now, ends, count - overdue, pr.room[g], pr.base[g])


@njit(cache=True)
def _margin_on(pr, y, prompt, output, arrival, start, scaled):  # type: ignore[no-untyped-def]
    """Reward minus price; a start beyond the horizon earns nothing and pays nothing."""
    if start >= scaled[0]:
        return 0.0
    return float(earned(start, output, arrival, scaled)) - price_of(pr, y, prompt, output, start)


@njit(cache=True)
def _best_margin(pr, limit, prompt, output, arrival, start, scaled):  # type: ignore[no-untyped-def]
    """Margin of starting now on the best kind."""
    best = -1e300
    for y in range(len(pr.table)):
        if prompt + output <= limit[y]:
            best = max(best, _margin_on(pr, y, prompt, output, arrival, start, scaled))
    return best


@njit(cache=True)
def _first(st, pr, a, b):  # type: ignore[no-untyped-def]
    """Whether waiting place a comes before place b: larger margin, then earlier arrival."""
    if pr.margin[a] != pr.margin[b]:
        return pr.margin[a] > pr.margin[b]
    return st.job[RANK, pr.waiting[a]] < st.job[RANK, pr.waiting[b]]


@njit(cache=True)
def _sift(st, pr, i, size):  # type: ignore[no-untyped-def]
    order = pr.order
    item = order[i]
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and _first(st, pr, order[down + 1], order[down]):
            down += 1
        if not _first(st, pr, order[down], item):
            break
        order[i] = order[down]
        i = down
    order[i] = item


@njit(cache=True)
def _worker_for(st, pr, prompt, output, arrival, start, now, threshold, scaled):  # type: ignore[no-untyped-def]
    """Worker of largest margin on which it fits now; ties: the smallest share of memory held, then the first."""
    best, most, held_best = -1, 0.0, 0
    for g in range(len(st.worker)):
        if not _fits(st, pr, g, prompt, output, now):
            continue
        margin = _margin_on(pr, pr.kind[g], prompt, output, arrival, start, scaled)
        if margin < threshold:
            continue
        held = st.worker[g, BASE] + st.worker[g, COUNT] * now
        if best >= 0 and margin == most:
            better = held * st.worker[best, MEMORY] < held_best * st.worker[g, MEMORY]
        else:
            better = best < 0 or margin > most
        if better:
            best, most, held_best = g, margin, held
    return best


@njit(cache=True)
def admit(st, pr, limit, now, origin, threshold, hold, scaled):  # type: ignore[no-untyped-def]
    """Start what may start now; return whether something that waits would fit but was not admitted.

    `origin` is the step that prices count from; `threshold` the least margin. The log has room for all that wait.
    """
    workers, waits, start = len(st.worker), pr.at[WAITS], now - origin
    pr.at[ADMITTED] = 0
    smallest = 1 << 60
    for i in range(waits):
        smallest = min(smallest, st.job[PROMPT, pr.waiting[i]])
    open_workers = 0
    for g in range(workers):
        worker = st.worker[g]
        held = worker[BASE] + worker[COUNT] * (now + 1)
        if worker[COUNT] < worker[CAP] and held + smallest + 1 <= worker[MEMORY]:
            open_workers += 1
        _prepare(st, pr, g, now)
    if open_workers == 0:
        return False
    for i in range(waits):
        j = pr.waiting[i]
        arrival = st.job[ARRIVAL, j] - origin
        pr.margin[i] = _best_margin(pr, limit, st.job[PROMPT, j], st.job[ASSUMED, j], arrival, start, scaled)
        pr.order[i] = i
    for i in range(waits // 2 - 1, -1, -1):
        _sift(st, pr, i, waits)
    left, size = False, waits
    while size > 0:
        i = pr.order[0]
        size -= 1
        pr.order[0] = pr.order[size]
        if size > 0:
            _sift(st, pr, 0, size)
        j = pr.waiting[i]
        prompt, output, arrival = st.job[PROMPT, j], st.job[ASSUMED, j], st.job[ARRIVAL, j] - origin
        enough = pr.margin[i] >= threshold
        if not enough and left:
            break  # smaller margins from here on, and it is known that something fits
        least = threshold if enough else -1e300
        g = _worker_for(st, pr, prompt, output, arrival, start, now, least, scaled)
        if g < 0:
            continue
        if not enough:
            left = True
            continue
        if hold:
            later, _, _ = best_start(pr, limit, prompt, output, arrival, start + 1, scaled)
            if later > pr.margin[i]:
                continue
        place(st, g, j, now, True)
        _prepare(st, pr, g, now)
        pr.waiting[i] = -1
        pr.at[ADMITTED] += 1
    _close_ranks(pr, waits)
    return left


@njit(cache=True)
def _close_ranks(pr, waits):  # type: ignore[no-untyped-def]
    """Remove the places of those that started."""
    kept = 0
    for i in range(waits):
        if pr.waiting[i] >= 0:
            pr.waiting[kept] = pr.waiting[i]
            kept += 1
    pr.at[WAITS] = kept


@njit(cache=True)
def force(st, pr, now):  # type: ignore[no-untyped-def]
    """Nothing runs and nothing was admitted: start the one that has waited longest on the first worker that fits."""
    first = 0
    for i in range(1, pr.at[WAITS]):
        if st.job[RANK, pr.waiting[i]] < st.job[RANK, pr.waiting[first]]:
            first = i
    j = pr.waiting[first]
    for g in range(len(st.worker)):
        if st.job[PROMPT, j] + st.job[ASSUMED, j] <= st.worker[g, MEMORY]:
            place(st, g, j, now, True)
            break
    pr.waiting[first] = -1
    pr.at[ADMITTED] += 1
    _close_ranks(pr, pr.at[WAITS])
