"""Completion table of the positional relaxation: hot loops (docs/exact.md).

Time runs backwards here. Requests are placed in descending order of completion; D_j = T − C_j is the distance of a completion
from the makespan. A *state* (m, j, items) says that m requests are placed, the last one is j, and that at most ``level − 1`` earlier
ones, each with its elapsed time D_now − D_i, are still remembered. ``table[m, index, j]`` holds a lower bound, in units of
1/scale, on the price-adjusted cost of the rest, minus the price of j itself; ``big`` marks states on no path below the threshold.

An item (i, e) has the id ``base[i] + e`` ≥ 1 while e < reach_i. A set of ids x1 > x2 > x3 has the index ``rank(…)`` of the combinatorial
number system: 0 for the empty set, then all single ids, all pairs, all triples.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Most items that a state remembers besides the last placed request.
MOST_ITEMS = 3


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
def look(j, index, gap, sets, owner, elapsed, peak, output, reach, base, level, ids, variant):  # type: ignore[no-untyped-def]
    """Wait `gap` in state (j, index): fill `variant` with the indices of the maximal remembered sets.

    Returns (number of variants, tokens held, requests active, whether any item survives).
    """
    x1 = x2 = x3 = x4 = 0
    count = 0
    used = 0
    active = 0
    if gap < output[j]:
        used += peak[j] - gap
        active += 1
    if gap < reach[j]:
        x1 = base[j] + gap
        count = 1
    for i in range(MOST_ITEMS):
        x = sets[index, i]
        if x == 0:
            break
        r = owner[x]
        e = elapsed[x] + gap
        if e < output[r]:
            used += peak[r] - e
            active += 1
        if e < reach[r]:
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
    if count < level:
        variant[0] = rank(count, x1, x2, x3, ids)
        return 1, used, active, count > 0
    if level == 1:
        variant[0] = 0
        return 1, used, active, True
    if level == 2:
        variant[0] = x1
        variant[1] = x2
        return 2, used, active, True
    if level == 3:
        variant[0] = rank(2, x1, x2, 0, ids)
        variant[1] = rank(2, x1, x3, 0, ids)
        variant[2] = rank(2, x2, x3, 0, ids)
        return 3, used, active, True
    variant[0] = rank(3, x1, x2, x3, ids)
    variant[1] = rank(3, x1, x2, x4, ids)
    variant[2] = rank(3, x1, x3, x4, ids)
    variant[3] = rank(3, x2, x3, x4, ids)
    return 4, used, active, True


@njit(cache=True)
def cheapest(table, m, j, index, floor, rows, scale, sets, owner, elapsed, peak, output, reach, base, level, ids, memory,
             cap, big, variant):  # type: ignore[no-untyped-def]  # fmt: skip
    """Least cost of (gap, next request) from a state with m placed: (cost, next request, index kept).

    `floor` bounds every entry of the next layer from below, `rows[index]` those of one index.
    """
    best = big
    next_job = -1
    next_index = -1
    gap = 0
    while True:
        wait = scale * m * gap
        if wait + floor >= best:
            break
        variants, used, active, alive = look(
            j, index, gap, sets, owner, elapsed, peak, output, reach, base, level, ids, variant
        )
        low = rows[variant[0]]
        for k in range(1, variants):
            low = max(low, rows[variant[k]])
        if used <= memory and active < cap and low + wait < best:
            last = fitting(peak, memory - used)
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
        if not alive or (level == 1 and gap >= output[j]):
            break
        gap += 1
    return best, next_job, next_index


@njit(cache=True)
def fill(table, m, states, floor, rows, new_rows, price, life, scale, sets, owner, elapsed, peak, output, reach, base, level, ids,
         memory, cap, big):  # type: ignore[no-untyped-def]  # fmt: skip
    """Recompute layer m for the packed `states`; return the least entry of the layer and put that of each index in `new_rows`."""
    n = len(peak)
    new_rows[:] = big
    variant = np.zeros(4, np.int64)
    least = big
    for s in range(len(states)):
        index, j = states[s] // n, states[s] % n
        if m == n:
            tail = life[j]
            for i in range(MOST_ITEMS):
                x = sets[index, i]
                if x == 0:
                    break
                tail = max(tail, life[owner[x]] - elapsed[x])
            value = scale * n * tail
        else:
            value, _, _ = cheapest(table, m, j, index, floor, rows, scale, sets, owner, elapsed, peak, output, reach,
                                   base, level, ids, memory, cap, big, variant)  # fmt: skip
        if value < big:
            value -= price[j]
            least = min(least, value)
            new_rows[index] = min(new_rows[index], value)
        table[m, index, j] = value
    return least


@njit(cache=True)
def count_visits(table, floors, scale, sets, owner, elapsed, peak, output, reach, base, level, ids, memory, cap,
                 big):  # type: ignore[no-untyped-def]  # fmt: skip
    """How often a cheapest path places each request; its deviation from one drives the prices."""
    n = len(peak)
    rows = np.full(table.shape[1], -big, np.int64)
    variant = np.zeros(4, np.int64)
    visits = np.zeros(n, np.int64)
    j = 0
    for i in range(n):
        if table[1, 0, i] < table[1, 0, j]:
            j = i
    visits[j] += 1
    index = 0
    for m in range(1, n):
        _, j, index = cheapest(table, m, j, index, floors[m + 1], rows, scale, sets, owner, elapsed, peak, output,
                               reach, base, level, ids, memory, cap, big, variant)  # fmt: skip
        if j < 0:
            break
        visits[j] += 1
    return visits


@njit(cache=True)
def push(table, m, states, here, there, floor, price, limit, scale, sets, owner, elapsed, peak, output, reach, base, level,
         ids, memory, cap, big):  # type: ignore[no-untyped-def]  # fmt: skip
    """Drop the states of layer m that no path of adjusted cost ≤ `limit` visits; push the others' costs forward.

    `here` and `there` hold the least adjusted cost of reaching a state of layer m and m + 1, shape (sets, n).
    Returns the number of states kept; they are moved to the front of `states`.
    """
    n = len(peak)
    variant = np.zeros(4, np.int64)
    kept = 0
    for s in range(len(states)):
        index, j = states[s] // n, states[s] % n
        reached = here[index, j]
        if reached >= big or table[m, index, j] >= big or reached + table[m, index, j] + price[j] > limit:
            table[m, index, j] = big
            continue
        states[kept] = states[s]
        kept += 1
        if m == n:
            continue
        budget = limit - reached
        gap = 0
        while True:
            wait = scale * m * gap
            if wait + floor > budget:
                break
            variants, used, active, alive = look(
                j, index, gap, sets, owner, elapsed, peak, output, reach, base, level, ids, variant
            )
            if used <= memory and active < cap:
                for i in range(fitting(peak, memory - used)):
                    value = table[m + 1, variant[0], i]
                    for k in range(1, variants):
                        value = max(value, table[m + 1, variant[k], i])
                    if value + wait > budget:
                        continue
                    cost = reached + wait - price[i]
                    for k in range(variants):
                        if cost < there[variant[k], i]:
                            there[variant[k], i] = cost
            if not alive or (level == 1 and gap >= output[j]):
                break
            gap += 1
    return kept


@njit(cache=True)
def inherit(states, n, sets, weaker):  # type: ignore[no-untyped-def]
    """Keep the packed states of one layer that a weaker table of the same layer, shape (its sets, n), has not dropped.

    A weaker relaxation knows fewer items: a state is out when any of its parts is. Returns the states kept.
    """
    big = 1 << 29
    kept = 0
    pairs = 0  # index of the first pair in the weaker table
    ids = 0
    while ids + 1 < len(sets) and sets[ids + 1, 1] == 0:
        ids += 1
    pairs = 1 + ids
    out = np.empty_like(states)
    for s in range(len(states)):
        index, j = states[s] // n, states[s] % n
        x, y, z = sets[index, 0], sets[index, 1], sets[index, 2]
        gone = False
        if len(weaker) == 1:
            gone = weaker[0, j] >= big
        elif len(weaker) <= pairs:
            gone = weaker[x, j] >= big or (y > 0 and weaker[y, j] >= big) or (z > 0 and weaker[z, j] >= big)
        elif z > 0:
            for a, b in ((x, y), (x, z), (y, z)):
                gone = gone or weaker[rank(2, a, b, 0, ids), j] >= big
        else:
            gone = weaker[index, j] >= big
        if not gone:
            out[kept] = states[s]
            kept += 1
    return out[:kept].copy()
