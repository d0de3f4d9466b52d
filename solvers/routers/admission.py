"""Admission by bid prices: waiting requests in order, each at its best worker, while they fit.

The order is by margin, or by density: what a request loses by waiting over the price of its footprint (docs/routing.md,
"Bid prices"). The first that fit nowhere keep the workers on which they could start soonest.
"""

from __future__ import annotations

from numba import njit

from kvbound.models.footprint import fits_now, room_ahead
from kvbound.models.reward import earned
from kvbound.solvers.engine.state import (
    ARRIVAL,
    ASSUMED,
    BASE,
    CAP,
    COUNT,
    END,
    MEMORY,
    NEVER,
    OVERDUE,
    PEAK,
    PROMPT,
    RANK,
)
from kvbound.solvers.engine.workers import earliest, place
from kvbound.solvers.routers.choice import refresh
from kvbound.solvers.routers.learning import best_start, margins
from kvbound.solvers.routers.prices import ADMITTED, FILLED, OPEN, SUM_OUTPUT, SUM_VOLUME, WAITS
from kvbound.solvers.routers.state import volume_of

#: Orders of admission: by margin, by density.
MARGIN, DENSITY = range(2)
#: Least price of a footprint in a density, as a share of the normaliser: decides where nothing has a price.
_LEAST = 1e-3


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
def _first(st, pr, a, b):  # type: ignore[no-untyped-def]
    """Whether waiting place a comes before place b: larger key, then earlier arrival."""
    if pr.key[a] != pr.key[b]:
        return pr.key[a] > pr.key[b]
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
def _worker_for(st, pr, i, prompt, output, now, threshold):  # type: ignore[no-untyped-def]
    """Worker of largest margin ≥ threshold on which place i fits now; -1 without, -2 when it fits on no worker.

    Ties: the smallest share of memory held, then the first, which is the order of the list.
    """
    best, most = -2, threshold
    for at in range(pr.at[OPEN]):
        g = pr.open[at]
        margin = pr.margin[pr.kind[g], i]
        if (best >= 0 and margin <= most) or (best == -1 and margin < threshold):
            continue  # would change nothing
        if not _fits(st, pr, g, prompt, output, now):
            continue
        if margin < threshold:
            best = -1
        else:
            best, most = g, margin
    return best


@njit(cache=True)
def _emptier(st, a, b, now):  # type: ignore[no-untyped-def]
    """Whether worker a holds a smaller share of its memory than b; ties: the first."""
    x = (st.worker[a, BASE] + st.worker[a, COUNT] * now) * st.worker[b, MEMORY]
    y = (st.worker[b, BASE] + st.worker[b, COUNT] * now) * st.worker[a, MEMORY]
    return x < y or (x == y and a < b)


@njit(cache=True)
def _sink(st, pr, g, now):  # type: ignore[no-untyped-def]
    """Restore the order of the list after g has taken a request."""
    at = 0
    while pr.open[at] != g:
        at += 1
    while at + 1 < pr.at[OPEN] and _emptier(st, pr.open[at + 1], g, now):
        pr.open[at] = pr.open[at + 1]
        at += 1
    pr.open[at] = g


@njit(cache=True)
def _open_workers(st, pr, now):  # type: ignore[no-untyped-def]
    """List the workers that could start the smallest prompt that waits, as far as step now + 1 goes; emptiest first."""
    smallest = 1 << 60
    for i in range(pr.at[WAITS]):
        smallest = min(smallest, st.job[PROMPT, pr.waiting[i]])
    found = 0
    for g in range(len(st.worker)):
        worker = st.worker[g]
        held = worker[BASE] + worker[COUNT] * (now + 1)
        if worker[COUNT] < worker[CAP] and held + smallest + 1 <= worker[MEMORY]:
            at = found
            while at > 0 and _emptier(st, g, pr.open[at - 1], now):
                pr.open[at] = pr.open[at - 1]
                at -= 1
            pr.open[at] = g
            found += 1
            _prepare(st, pr, g, now)
    pr.at[OPEN] = found


@njit(cache=True)
def _price_waiting(st, pr, limit, start, origin, scaled):  # type: ignore[no-untyped-def]
    """Margins of all that wait on all kinds, and the best of each in the last row."""
    kinds, waits = len(pr.table), pr.at[WAITS]
    for i in range(waits):
        j = pr.waiting[i]
        pr.lengths[0, i], pr.lengths[1, i] = st.job[PROMPT, j], st.job[ASSUMED, j]
        pr.lengths[2, i] = st.job[ARRIVAL, j] - origin
        pr.margin[kinds, i] = -1e300
        pr.order[i] = i
    prompt, output, arrival = pr.lengths[0, :waits], pr.lengths[1, :waits], pr.lengths[2, :waits]
    for y in range(kinds):
        margins(pr, y, prompt, output, arrival, start, scaled, pr.margin[y, :waits])
        for i in range(waits):
            if prompt[i] + output[i] <= limit[y]:
                pr.margin[kinds, i] = max(pr.margin[kinds, i], pr.margin[y, i])


@njit(cache=True)
def _rank_waiting(pr, order, start, scaled, unit):  # type: ignore[no-untyped-def]
    """Keys of all that wait: the best margin, or the density.

    Density: (what is lost by waiting Δ steps + Δ/W of the whole reward) / price of the footprint, with Δ the mean
    output of the window: the index of Smith's rule with the price of the footprint for the processing time.
    """
    waits, best = pr.at[WAITS], pr.margin[len(pr.table)]
    prompt, output, arrival = pr.lengths[0], pr.lengths[1], pr.lengths[2]
    if order == MARGIN or start >= scaled[0]:
        pr.key[:waits] = best[:waits]
        return
    delay = max(1, pr.at[SUM_OUTPUT] // max(1, pr.at[FILLED]))
    tokens = pr.at[SUM_VOLUME] / max(1, pr.at[SUM_OUTPUT])
    share = delay / scaled[0]
    for i in range(waits):
        now = float(earned(start, output[i], arrival[i], scaled))
        then = float(earned(start + delay, output[i], arrival[i], scaled)) if start + delay < scaled[0] else 0.0
        price = now - best[i] + _LEAST * unit * volume_of(prompt[i], output[i]) / tokens
        pr.key[i] = (now - then + share * now) / price


@njit(cache=True)
def _keep_worker(st, pr, j, now):  # type: ignore[no-untyped-def]
    """Close the worker on which j, which fits nowhere now, could start soonest: nobody behind it starts there now."""
    soonest, chosen = NEVER, -1
    for g in range(len(st.worker)):
        k = earliest(st, g, j, now)
        if k < soonest:
            soonest, chosen = k, g
    kept = 0
    for at in range(pr.at[OPEN]):
        if pr.open[at] != chosen:
            pr.open[kept] = pr.open[at]
            kept += 1
    pr.at[OPEN] = kept


@njit(cache=True)
def _hopeless(pr, known, prompt, output):  # type: ignore[no-untyped-def]
    """Whether a request no larger and no longer is known to fit nowhere: within a period room only shrinks."""
    for i in range(known):  # noqa: SIM110 - compiled
        if pr.refused[0, i] <= prompt and pr.refused[1, i] <= output:
            return True
    return False


@njit(cache=True)
def admit(st, pr, limit, now, origin, threshold, hold, order, reserve, unit, scaled):  # type: ignore[no-untyped-def]
    """Start what may start now; return whether something that waits would fit but was not admitted.

    `origin` is the step that prices count from, `threshold` the least margin, `order` the order, `reserve` how many of
    those that fit nowhere keep a worker, `unit` the normaliser. The log has room for all that wait.
    """
    waits, start = pr.at[WAITS], now - origin
    pr.at[ADMITTED] = 0
    for g in range(len(st.worker)):
        refresh(st, g, now)
    _open_workers(st, pr, now)
    if pr.at[OPEN] == 0:
        return False
    _price_waiting(st, pr, limit, start, origin, scaled)
    _rank_waiting(pr, order, start, scaled, unit)
    best = pr.margin[len(pr.table)]
    for i in range(waits // 2 - 1, -1, -1):
        _sift(st, pr, i, waits)
    left, size, known = False, waits, 0
    while size > 0:
        i = pr.order[0]
        size -= 1
        pr.order[0] = pr.order[size]
        if size > 0:
            _sift(st, pr, 0, size)
        prompt, output = pr.lengths[0, i], pr.lengths[1, i]
        priced_out = best[i] < threshold
        if left and priced_out:
            if order == MARGIN:
                break  # smaller margins from here on, and it is known that something fits
            continue
        if _hopeless(pr, known, prompt, output):
            continue
        g = _worker_for(st, pr, i, prompt, output, now, threshold)
        if g == -2 and reserve > 0 and not priced_out:
            reserve -= 1
            _keep_worker(st, pr, pr.waiting[i], now)
            if pr.at[OPEN] == 0:
                break
        elif g == -2 and known < pr.refused.shape[1]:
            pr.refused[0, known], pr.refused[1, known] = prompt, output
            known += 1
        if g < 0:
            left = left or g == -1
            continue
        if hold:
            later, where, _ = best_start(pr, limit, prompt, output, pr.lengths[2, i], start + 1, scaled)
            if where >= 0 and later > best[i]:
                continue
        place(st, g, pr.waiting[i], now, True)
        _prepare(st, pr, g, now)
        _sink(st, pr, g, now)
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
