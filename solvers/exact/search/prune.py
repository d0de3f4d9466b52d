"""Dropping states of the positional relaxation that no good schedule visits (docs/exact.md)."""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.solvers.exact.search.table import fitting, look, rank


@njit(cache=True)
def push(table, m, states, here, there, floor, price, limit, geo):  # type: ignore[no-untyped-def]
    """Drop the states of layer m that no path of adjusted cost ≤ `limit` visits; push the others' costs forward.

    `here` and `there` hold the least adjusted cost of reaching a state of layer m and m + 1, shape (sets, n).
    Returns the number of states kept; they are moved to the front of `states`.
    """
    n = len(geo.peak)
    variant = np.zeros(4, np.int64)
    kept = 0
    for s in range(len(states)):
        index, j = states[s] // n, states[s] % n
        reached = here[index, j]
        if reached >= geo.big or table[m, index, j] >= geo.big or reached + table[m, index, j] + price[j] > limit:
            table[m, index, j] = geo.big
            continue
        states[kept] = states[s]
        kept += 1
        if m == n:
            continue
        budget = limit - reached
        gap = 0
        while True:
            wait = geo.scale * m * gap
            if wait + floor > budget:
                break
            variants, used, active, alive = look(j, index, gap, geo, variant)
            if used <= geo.memory and active < geo.cap:
                for i in range(fitting(geo.peak, geo.memory - used)):
                    value = table[m + 1, variant[0], i]
                    for k in range(1, variants):
                        value = max(value, table[m + 1, variant[k], i])
                    if value + wait > budget:
                        continue
                    cost = reached + wait - price[i]
                    for k in range(variants):
                        if cost < there[variant[k], i]:
                            there[variant[k], i] = cost
            if not alive or (geo.level == 1 and gap >= geo.output[j]):
                break
            gap += 1
    return kept


@njit(cache=True)
def inherit(states, n, sets, weaker, big):  # type: ignore[no-untyped-def]
    """Keep the packed states of one layer that a weaker table of the same layer, shape (its sets, n), has not dropped.

    A weaker relaxation knows fewer items: a state is out when any of its parts is. Returns the states kept.
    """
    kept = 0
    ids = 0
    while ids + 1 < len(sets) and sets[ids + 1, 1] == 0:
        ids += 1
    pairs = 1 + ids  # sets of the weaker table when it remembers single items
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
