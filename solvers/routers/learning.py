"""Learning prices online: projected mini-batch subgradient steps on the sample-average dual (docs/math.md §7).

    min over p ≥ 0:   Σ remaining(t)·p_t + Σ over expected requests of max(0, max_k r_k − price × footprint)

The expected requests of the next W steps are those that wait and λ̂·W arrivals like the columns of the window, at
uniform steps. A mini-batch draws from them; starts are looked for on a geometric grid after the arrival.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.models.footprint import add_footprint
from kvbound.models.pricing import start_price
from kvbound.models.reward import earned
from kvbound.solvers.engine.state import ARRIVAL, ASSUMED, COUNT, END, OVERDUE, PEAK, PROMPT
from kvbound.solvers.routers.prices import (
    COL_ARRIVAL,
    COL_OUTPUT,
    COL_PROMPT,
    FILLED,
    LAST,
    MEM,
    PLACE,
    SLOT,
    SUM_OUTPUT,
    SUM_VOLUME,
    WAITS,
)
from kvbound.solvers.routers.state import volume_of

#: Prices below this share of the normaliser are 0.
_TINY = 1e-9


@njit(cache=True)
def draw(pr):  # type: ignore[no-untyped-def]
    """A uniform random number in [0, 1): xorshift64*, so that plain Python can repeat it."""
    x = pr.random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    pr.random[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True)
def observe(pr, prompt, output, arrival):  # type: ignore[no-untyped-def]
    """Remember an arrived column, the oldest one is forgotten."""
    i = pr.at[PLACE]
    if pr.at[FILLED] == pr.window.shape[1]:
        pr.at[SUM_OUTPUT] -= pr.window[COL_OUTPUT, i]
        pr.at[SUM_VOLUME] -= volume_of(pr.window[COL_PROMPT, i], pr.window[COL_OUTPUT, i])
    else:
        pr.at[FILLED] += 1
    pr.window[COL_PROMPT, i], pr.window[COL_OUTPUT, i], pr.window[COL_ARRIVAL, i] = prompt, output, arrival
    pr.at[SUM_OUTPUT] += output
    pr.at[SUM_VOLUME] += volume_of(prompt, output)
    pr.at[PLACE] = (i + 1) % pr.window.shape[1]


@njit(cache=True)
def arrival_rate(pr, now):  # type: ignore[no-untyped-def]
    """Requests per step over the span of the window, up to now."""
    filled = pr.at[FILLED]
    oldest = pr.window[COL_ARRIVAL, pr.at[PLACE] if filled == pr.window.shape[1] else 0]
    return filled / (now - oldest + 1)


@njit(cache=True)
def normaliser_of(pr, scaled):  # type: ignore[no-untyped-def]
    """Mean reward of a request served at once, per step of its mean output: the scale of a slot's price."""
    mean = max(1, pr.at[SUM_OUTPUT] // max(1, pr.at[FILLED]))
    return max(1.0, float(earned(0, mean, 0, scaled))) / mean


@njit(cache=True)
def shift(pr, steps):  # type: ignore[no-untyped-def]
    """Move on by `steps`: prices of the past fall out, the last price stands for what comes into sight."""
    last = pr.table.shape[2] - 1
    for y in range(len(pr.table)):
        for r in range(2):
            row = pr.table[y, r]
            for h in range(1, last + 1):
                row[h] = row[min(h + steps, last)]


@njit(cache=True)
def add_up(pr):  # type: ignore[no-untyped-def]
    """Prefix sums of the prices, as `start_price` wants them."""
    last = pr.table.shape[2] - 1
    for y in range(len(pr.table)):
        for r in range(2):
            row, at = pr.table[y, r], r * (last + 2)
            a = b = 0.0
            for h in range(1, last + 1):
                a += row[h]
                b += row[h] * h
                pr.lam[y, at + h + 1] = a
                pr.the[y, at + h + 1] = b


@njit(cache=True)
def _integrate(scratch, out, total, sign):  # type: ignore[no-untyped-def]
    """out = total + sign·usage from difference arrays (rows: requests, Σ (s − k)), which are cleared."""
    count = base = 0.0
    for h in range(1, out.shape[1]):
        count += scratch[SLOT, h]
        base += scratch[MEM, h]
        out[MEM, h] = total[MEM] + sign * (base + count * h)
        out[SLOT, h] = total[SLOT] + sign * count
    scratch[:] = 0.0


@njit(cache=True)
def look_ahead(st, pr, now):  # type: ignore[no-untyped-def]
    """Capacity that what really runs leaves free in the coming steps, lengths being what is assumed by now."""
    last = pr.table.shape[2] - 1
    for g in range(len(st.worker)):
        scratch = pr.scratch[pr.kind[g]]
        for i in range(st.worker[g, COUNT]):
            end = now + 1 if i < st.worker[g, OVERDUE] else st.slot[g, END, i]
            prompt = st.slot[g, PEAK, i] - st.slot[g, END, i] + now  # tokens held at the end of step now
            add_footprint(scratch[SLOT], scratch[MEM], prompt, 0, min(end - now, last), 1.0)
    for y in range(len(pr.table)):
        _integrate(pr.scratch[y], pr.remaining[y], pr.capacity[y], -1.0)


@njit(cache=True)
def best_start(pr, limit, prompt, output, arrival, first, scaled):  # type: ignore[no-untyped-def]
    """(margin, kind, start) of the best start at first, first + 1, +2, +4, … over all kinds that can hold it."""
    best, where, when = 0.0, -1, -1
    c = pr.column
    c[0, 0] = c[0, 1] = 1 - output
    c[2, 0] = prompt + output
    lo, hi, a, b, scale, base, ticks = c[0], c[1], c[2], c[3], c[4], c[5], c[6]  # once: a slice costs as a price does
    for y in range(len(pr.table)):
        if prompt + output > limit[y]:
            continue
        lam, the = pr.lam[y], pr.the[y]
        gap = 0
        while first + gap < scaled[0]:
            k = first + gap
            value = float(earned(k, output, arrival, scaled))
            if value <= best:
                break  # prices are ≥ 0 and rewards never rise
            margin = value - start_price(0, 2, k + output, lo, hi, a, b, scale, base, ticks, lam, the)
            if margin > best:
                best, where, when = margin, y, k
            gap = 1 if gap == 0 else 2 * gap
    return best, where, when


@njit(cache=True)
def margins(pr, y, prompt, output, arrival, start, scaled, out):  # type: ignore[no-untyped-def]
    """Margins of starting each of some requests at `start` on kind y; 0 for a start beyond the horizon."""
    c, lam, the = pr.column, pr.lam[y], pr.the[y]
    lo, hi, a, b, scale, base, ticks = c[0], c[1], c[2], c[3], c[4], c[5], c[6]
    for i in range(len(out)):
        if start >= scaled[0]:
            out[i] = 0.0
            continue
        o = output[i]
        c[0, 0] = c[0, 1] = 1 - o
        c[2, 0] = prompt[i] + o
        price = start_price(0, 2, start + o, lo, hi, a, b, scale, base, ticks, lam, the)
        out[i] = float(earned(start, o, arrival[i], scaled)) - price


@njit(cache=True)
def learn(st, pr, limit, now, steps, rate, sample, gain, unit, scaled):  # type: ignore[no-untyped-def]
    """`steps` projected subgradient steps from the prices in force; `unit` is the normaliser.

    Each row's step is relative: η·unit for a row whose expected demand exceeds its remaining capacity by the whole
    capacity, per slot, and per mean tokens held in a step by a request.
    """
    last = pr.table.shape[2] - 1
    waits, filled = pr.at[WAITS], pr.at[FILLED]
    arrivals = arrival_rate(pr, now) * last
    backlog = gain * waits
    expected = backlog + arrivals
    if filled == 0 or expected <= 0:
        return
    tokens = pr.at[SUM_VOLUME] / max(1, pr.at[SUM_OUTPUT])  # mean tokens held in an active step
    share = expected / sample
    demand = np.empty((2, last + 1))
    for _ in range(steps):
        add_up(pr)
        for _ in range(sample):
            if draw(pr) * expected < backlog:
                j = pr.waiting[int(draw(pr) * waits)]
                prompt, output, arrival, first = st.job[PROMPT, j], st.job[ASSUMED, j], st.job[ARRIVAL, j] - now, 0
            else:
                i = int(draw(pr) * filled)
                prompt, output = pr.window[COL_PROMPT, i], pr.window[COL_OUTPUT, i]
                arrival = first = int(draw(pr) * last)
            _, y, k = best_start(pr, limit, prompt, output, arrival, first, scaled)
            if y >= 0:
                scratch = pr.scratch[y]
                add_footprint(scratch[SLOT], scratch[MEM], prompt, k, min(k + output, last), share)
        for y in range(len(pr.table)):
            _integrate(pr.scratch[y], demand, np.zeros(2), 1.0)
            for r in range(2):
                if pr.capacity[y, r] == np.inf:
                    continue
                step = rate * unit / pr.capacity[y, r] / (tokens if r == MEM else 1.0)
                least = _TINY * unit / (tokens if r == MEM else 1.0)
                row = pr.table[y, r]
                for h in range(1, last + 1):
                    price = row[h] - step * (pr.remaining[y, r, h] - demand[r, h])
                    row[h] = price if price > least else 0.0
    pr.at[LAST] = now
