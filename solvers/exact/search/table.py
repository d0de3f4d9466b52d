"""Completion table of the positional relaxation: hot loops (docs/exact.md).

Time runs backwards here. Requests are placed in descending order of completion; D_j = T − C_j is the distance of a
completion from the makespan. A *state* (m, j, items) says that m requests are placed, the last one is j, and that at
most ``level − 1`` earlier ones, each with its elapsed time D_now − D_i, are still remembered. ``table[m, index, j]``
holds a lower bound, in units of 1/scale, on the price-adjusted cost of the rest, minus the price of j itself; ``big``
marks states on no path below the threshold.

An item (i, e) has the id ``base[i] + e`` ≥ 1 while e < reach_i. A set of ids x1 > x2 > x3 has the index ``rank(…)`` of
the combinatorial number system: 0 for the empty set, then all single ids, all pairs, all triples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.models.requests import IntArray

#: Most items that a state remembers besides the last placed request.
MOST_ITEMS = 3


class Geometry(NamedTuple):
    """What the kernels know about requests, items and sets.

    Parameters
    ----------
    sets
        Item sets by index, ids in descending order, 0 where there is none; shape (sets, 3).
    owner, elapsed
        Request and elapsed time of each id; shape (ids + 1,).
    peak, output, life
        p_j (ascending), o_j and o_j + a_j; shape (n,).
    reach
        How long after its placement a request is remembered; shape (n,).
    base
        First id of each request; shape (n,).
    level, ids
        Requests remembered, the last one included; number of ids.
    memory, cap
        M and B.
    big, scale
        Value that means "impossible"; units per step of cost.
    """

    sets: npt.NDArray[np.int32]
    owner: IntArray
    elapsed: IntArray
    peak: IntArray
    output: IntArray
    life: IntArray
    reach: IntArray
    base: IntArray
    level: int
    ids: int
    memory: int
    cap: int
    big: int
    scale: int


@njit(cache=True, inline="always")
def rank(size, x1, x2, x3, ids):  # type: ignore[no-untyped-def]
    """Index of the set {x1 > x2 > x3} cut to its first `size` members; `ids` is the number of ids."""
    if size == 0:
        return 0
    if size == 1:
        return x1
    a = x1 - 1
    if size == 2:
        return 1 + ids + a * (a - 1) // 2 + x2 - 1
    b = x2 - 1
    return 1 + ids + ids * (ids - 1) // 2 + a * (a - 1) * (a - 2) // 6 + b * (b - 1) // 2 + x3 - 1


@njit(cache=True)
def item_sets(ids, level):  # type: ignore[no-untyped-def]
    """All item sets by index: ids in descending order, 0 where there is none; shape (sets, 3)."""
    total = 1
    if level >= 2:
        total += ids
    if level >= 3:
        total += ids * (ids - 1) // 2
    if level >= 4:
        total += ids * (ids - 1) * (ids - 2) // 6
    out = np.zeros((total, MOST_ITEMS), np.int32)
    at = 1
    if level >= 2:
        for a in range(1, ids + 1):
            out[at, 0] = a
            at += 1
    if level >= 3:
        for a in range(2, ids + 1):
            for b in range(1, a):
                out[at, 0], out[at, 1] = a, b
                at += 1
    if level >= 4:
        for a in range(3, ids + 1):
            for b in range(2, a):
                for c in range(1, b):
                    out[at, 0], out[at, 1], out[at, 2] = a, b, c
                    at += 1
    return out


@njit(cache=True)
def possible_states(sets, owner, elapsed, peak, output, memory, cap):  # type: ignore[no-untyped-def]
    """Pack every (index, j) whose requests are distinct and fit whenever one of them is placed: index·n + j."""
    n = len(peak)
    count = 0
    out = np.empty(1024, np.int64)
    for index in range(len(sets)):
        used = 0
        active = 0
        fine = True
        for i in range(MOST_ITEMS):
            x = sets[index, i]
            if x == 0:
                break
            if elapsed[x] < output[owner[x]]:
                used += peak[owner[x]] - elapsed[x]
                active += 1
            held = peak[owner[x]]
            number = 1
            for k in range(MOST_ITEMS):
                y = sets[index, k]
                if y == 0 or k == i:
                    continue
                if owner[y] == owner[x]:
                    fine = False
                age = elapsed[y] - elapsed[x]
                if 0 <= age < output[owner[y]]:
                    held += peak[owner[y]] - age
                    number += 1
            if held > memory or number > cap:
                fine = False
        if not fine or active >= cap:
            continue
        for j in range(n):
            if used + peak[j] > memory:
                break  # requests are sorted by peak
            if sets[index, 0] and owner[sets[index, 0]] == j:
                continue
            if sets[index, 1] and owner[sets[index, 1]] == j:
                continue
            if sets[index, 2] and owner[sets[index, 2]] == j:
                continue
            if count == len(out):
                grown = np.empty(2 * len(out), np.int64)
                grown[:count] = out
                out = grown
            out[count] = index * n + j
            count += 1
    return out[:count]


@njit(cache=True, inline="always")
def fitting(peak, room):  # type: ignore[no-untyped-def]
    """How many requests have a peak of at most `room`; they are the first ones."""
    low, high = 0, len(peak)
    while low < high:
        middle = (low + high) // 2
        if peak[middle] <= room:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def look(j, index, gap, geo, variant):  # type: ignore[no-untyped-def]
    """Wait `gap` in state (j, index): fill `variant` with the indices of the maximal remembered sets.

    Returns (number of variants, tokens held, requests active, whether any item survives).
    """
    x1 = x2 = x3 = x4 = 0
    count = 0
    used = 0
    active = 0
    if gap < geo.output[j]:
        used += geo.peak[j] - gap
        active += 1
    if gap < geo.reach[j]:
        x1 = geo.base[j] + gap
        count = 1
    for i in range(MOST_ITEMS):
        x = geo.sets[index, i]
        if x == 0:
            break
        r = geo.owner[x]
        e = geo.elapsed[x] + gap
        if e < geo.output[r]:
            used += geo.peak[r] - e
            active += 1
        if e < geo.reach[r]:
            y = x + gap
            count += 1
            if y > x1:  # keep x1 > x2 > x3 > x4
                x1, x2, x3, x4 = y, x1, x2, x3
            elif y > x2:
                x2, x3, x4 = y, x2, x3
            elif y > x3:
                x3, x4 = y, x3
            else:
                x4 = y
    if count < geo.level:
        variant[0] = rank(count, x1, x2, x3, geo.ids)
        return 1, used, active, count > 0
    if geo.level == 1:
        variant[0] = 0
        return 1, used, active, True
    if geo.level == 2:
        variant[0] = x1
        variant[1] = x2
        return 2, used, active, True
    if geo.level == 3:
        variant[0] = rank(2, x1, x2, 0, geo.ids)
        variant[1] = rank(2, x1, x3, 0, geo.ids)
        variant[2] = rank(2, x2, x3, 0, geo.ids)
        return 3, used, active, True
    variant[0] = rank(3, x1, x2, x3, geo.ids)
    variant[1] = rank(3, x1, x2, x4, geo.ids)
    variant[2] = rank(3, x1, x3, x4, geo.ids)
    variant[3] = rank(3, x2, x3, x4, geo.ids)
    return 4, used, active, True


@njit(cache=True)
def cheapest(table, m, j, index, floor, rows, geo, variant):  # type: ignore[no-untyped-def]
    """Least cost of (gap, next request) from a state with m placed: (cost, next request, index kept).

    `floor` bounds every entry of the next layer from below, `rows[index]` those of one index.
    """
    best = geo.big
    next_job = -1
    next_index = -1
    gap = 0
    while True:
        wait = geo.scale * m * gap
        if wait + floor >= best:
            break
        variants, used, active, alive = look(j, index, gap, geo, variant)
        low = rows[variant[0]]
        for k in range(1, variants):
            low = max(low, rows[variant[k]])
        if used <= geo.memory and active < geo.cap and low + wait < best:
            last = fitting(geo.peak, geo.memory - used)
            if variants == 1:
                for i in range(last):
                    value = table[m + 1, variant[0], i] + wait
                    if value < best:
                        best, next_job, next_index = value, i, variant[0]
            else:
                for i in range(last):
                    value = table[m + 1, variant[0], i]
                    kept = variant[0]
                    for k in range(1, variants):
                        other = table[m + 1, variant[k], i]
                        if other > value:
                            value, kept = other, variant[k]
                    if value + wait < best:
                        best, next_job, next_index = value + wait, i, kept
        if not alive or (geo.level == 1 and gap >= geo.output[j]):
            break
        gap += 1
    return best, next_job, next_index


@njit(cache=True)
def fill(table, m, states, floor, rows, new_rows, price, geo):  # type: ignore[no-untyped-def]
    """Recompute layer m for the packed `states`; return its least entry, and that of each index in `new_rows`."""
    n = len(geo.peak)
    new_rows[:] = geo.big
    variant = np.zeros(4, np.int64)
    least = geo.big
    for s in range(len(states)):
        index, j = states[s] // n, states[s] % n
        if m == n:
            tail = geo.life[j]
            for i in range(MOST_ITEMS):
                x = geo.sets[index, i]
                if x == 0:
                    break
                tail = max(tail, geo.life[geo.owner[x]] - geo.elapsed[x])
            value = geo.scale * n * tail
        else:
            value, _, _ = cheapest(table, m, j, index, floor, rows, geo, variant)
        if value < geo.big:
            value -= price[j]
            least = min(least, value)
            new_rows[index] = min(new_rows[index], value)
        table[m, index, j] = value
    return least


@njit(cache=True)
def count_visits(table, floors, geo):  # type: ignore[no-untyped-def]
    """How often a cheapest path places each request; its deviation from one drives the prices."""
    n = len(geo.peak)
    rows = np.full(table.shape[1], -geo.big, np.int64)
    variant = np.zeros(4, np.int64)
    visits = np.zeros(n, np.int64)
    j = 0
    for i in range(n):
        if table[1, 0, i] < table[1, 0, j]:
            j = i
    visits[j] += 1
    index = 0
    for m in range(1, n):
        _, j, index = cheapest(table, m, j, index, floors[m + 1], rows, geo, variant)
        if j < 0:
            break
        visits[j] += 1
    return visits
