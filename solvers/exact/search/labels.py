"""Expansion of labels: hot loops of the exact search (docs/exact.md).

A label is a partial schedule seen from the makespan backwards: the set of placed requests, the cost Σ m·gap so far, and
every request that still holds memory at the last placement, with its elapsed time and whether something has *blocked*
it from completing one step earlier. Items that hold nothing any more are kept while the relaxation remembers them (its
states are dropped under the assumption that a label shows all of them), while they may still be blocked at their own
start, or while they fix the makespan.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kvbound.solvers.exact.search.table import rank

# Reasons to return from `expand`.
DONE, FULL = 0, 1


@njit(cache=True)
def held(owner, elapsed, count, peak, output, wait):  # type: ignore[no-untyped-def]
    """Tokens held and requests active `wait` steps after the last placement."""
    tokens = 0
    active = 0
    for i in range(count):
        e = elapsed[i] + wait
        if e < output[owner[i]]:
            tokens += peak[owner[i]] - e
            active += 1
    return tokens, active


@njit(cache=True)
def not_above(owner_a, elapsed_a, count_a, owner_b, elapsed_b, count_b, shift, wait, peak, output, counted):  # type: ignore[no-untyped-def]
    """Whether label a, `shift` steps on, holds no more than label b at this wait (nor runs more, when `counted`)."""
    tokens_b, active_b = held(owner_b, elapsed_b, count_b, peak, output, wait)
    tokens_a, active_a = held(owner_a, elapsed_a, count_a, peak, output, wait + shift)
    return tokens_a <= tokens_b and (not counted or active_a <= active_b)


@njit(cache=True)
def covers(owner_a, elapsed_a, count_a, tail_a, owner_b, elapsed_b, count_b, tail_b, shift, peak, output, counted):  # type: ignore[no-untyped-def]
    """Whether label a, after waiting `shift` steps, leaves at least as much room as label b at every later step.

    The difference of two usages is linear between completions and starts, so these steps suffice: now, each step at
    which a request of b has just dropped out, and each last step of a request of a.
    """
    if tail_a - shift > tail_b:
        return False
    if not not_above(owner_a, elapsed_a, count_a, owner_b, elapsed_b, count_b, shift, 0, peak, output, counted):
        return False
    for i in range(count_b):
        wait = output[owner_b[i]] - elapsed_b[i]
        if wait > 0 and not not_above(
            owner_a, elapsed_a, count_a, owner_b, elapsed_b, count_b, shift, wait, peak, output, counted
        ):
            return False
    for i in range(count_a):
        wait = output[owner_a[i]] - elapsed_a[i] - shift - 1
        if wait > 0 and not not_above(
            owner_a, elapsed_a, count_a, owner_b, elapsed_b, count_b, shift, wait, peak, output, counted
        ):
            return False
    return True


@njit(cache=True)
def remembered(owner, elapsed, blocked_count, gap, reach, base, level, ids, out, xs):  # type: ignore[no-untyped-def]
    """Indices of all maximal remembered sets of a label `gap` steps on; returns how many."""
    count = 0
    for i in range(blocked_count):
        e = elapsed[i] + gap
        if e < reach[owner[i]]:
            x = base[owner[i]] + e
            k = count
            while k > 0 and xs[k - 1] < x:
                xs[k] = xs[k - 1]
                k -= 1
            xs[k] = x
            count += 1
    if count < level:
        out[0] = rank(count, xs[0], xs[1], xs[2], ids)
        return 1
    if level == 1:
        out[0] = 0
        return 1
    number = 0
    for a in range(count):
        if level == 2:
            out[number] = xs[a]
            number += 1
            continue
        for b in range(a + 1, count):
            if level == 3:
                out[number] = rank(2, xs[a], xs[b], 0, ids)
                number += 1
                continue
            for c in range(b + 1, count):
                out[number] = rank(3, xs[a], xs[b], xs[c], ids)
                number += 1
    return number


@njit(cache=True)
def expand(  # type: ignore[no-untyped-def]
    first, last, m, limit, strict, arrivals, counted,
    visited, cost, tail, count, owner, elapsed, blocked,
    visited2, cost2, tail2, count2, owner2, elapsed2, blocked2, bound2, parent2, gap2, alive2, link, head,
    filled, table, price, twins, geo,
):  # fmt: skip
    """Place one more request in every label first..last-1 of layer m.

    Children whose bound exceeds `limit` (price-adjusted, units of 1/scale) or that a kept label covers are dropped.
    `filled` = [labels written, of them dead, children looked at].

    Returns
    -------
    tuple[int, int]
        Reason and the next label to expand. After `FULL` the caller enlarges layer m + 1 and repeats that label: the
        children already written cover their copies.
    """
    peak, output, life, reach = geo.peak, geo.output, geo.life, geo.reach
    memory, cap, scale = geo.memory, geo.cap, geo.scale
    n = len(peak)
    room_for = len(visited2)
    mask = len(head) - 1
    width = owner.shape[1]
    job = np.zeros(width, np.int8)
    age = np.zeros(width, np.int32)
    held_back = np.zeros(width, np.bool_)
    xs = np.zeros(width + 3, np.int64)
    out = np.zeros(1 + width + width * width + width * width * width // 6, np.int64)
    lives = np.int64(0)
    price_total = np.int64(0)
    for i in range(n):
        lives += life[i]
        price_total += price[i]
    for q in range(first, last):
        set_q = visited[q]
        k = count[q]
        paid = np.int64(0)
        open_lives = lives
        for i in range(n):
            if (set_q >> i) & 1:
                paid += price[i]
                open_lives -= life[i]
        support = 0
        for i in range(k):
            support = max(support, output[owner[q, i]] - elapsed[q, i])
        gap = -1
        while True:
            gap += 1
            if gap > support and not arrivals:
                break
            if arrivals and gap > support and gap > tail[q]:
                break
            # Everything that dropped out without having been blocked could complete one step earlier.
            if strict:
                loose = False
                for i in range(k):
                    e = elapsed[q, i] + gap
                    r = owner[q, i]
                    if e > output[r] and not blocked[q, i] and life[r] - e < tail[q] - gap:
                        loose = True
                if loose:
                    break
            used, active = held(owner[q], elapsed[q], k, peak, output, gap)
            if active >= cap or used > memory:
                continue
            variants = -1
            for j in range(n):
                if peak[j] > memory - used:
                    break
                if (set_q >> j) & 1 or twins[j] & ~set_q:
                    continue
                if gap > support and gap > tail[q] - life[j]:
                    continue
                if variants < 0:
                    variants = remembered(owner[q], elapsed[q], k, gap, reach, geo.base, geo.level, geo.ids, out, xs)
                filled[2] += 1
                rest = np.int64(table[m + 1, out[0], j])
                for v in range(1, variants):
                    rest = max(rest, np.int64(table[m + 1, out[v], j]))
                bound = scale * (cost[q] + m * gap) - paid + rest
                if bound > limit:
                    continue
                new_cost = cost[q] + m * gap
                new_tail = max(tail[q] - gap, life[j])
                if arrivals:
                    direct = scale * (new_cost + (m + 1) * new_tail + open_lives - life[j])
                    bound = max(bound, direct - price_total)
                    if bound > limit:
                        continue
                slack = memory - used - peak[j]
                job[0], age[0], held_back[0] = j, 0, False
                size = 1
                fixed = new_tail == life[j]
                for i in range(k):
                    r = owner[q, i]
                    e = elapsed[q, i] + gap
                    b = blocked[q, i]
                    if e < output[r]:
                        if slack == 0 and e > 0:
                            b = True
                    elif e == output[r] and not b:
                        b = slack < peak[r] - output[r] + 1 or active + 1 == cap
                    keep = e < output[r] or e < reach[r] or (e == output[r] and not b)
                    if life[r] - e == new_tail:
                        keep = keep or not fixed
                        fixed = True
                    if keep:
                        job[size], age[size], held_back[size] = r, e, b
                        size += 1
                set_new = set_q | (np.int64(1) << j)
                slot = ((set_new * np.int64(-7046029254386353131)) >> 24) & mask
                x = head[slot]
                before = -1
                covered = False
                while x >= 0:
                    after = link[x]
                    if visited2[x] == set_new:
                        if cost2[x] <= new_cost and covers(
                            owner2[x], elapsed2[x], count2[x], tail2[x], job, age, size, new_tail,
                            (new_cost - cost2[x]) // (m + 1), peak, output, counted,
                        ):  # fmt: skip
                            covered = True
                            break
                        if cost2[x] >= new_cost and covers(
                            job, age, size, new_tail, owner2[x], elapsed2[x], count2[x], tail2[x],
                            (cost2[x] - new_cost) // (m + 1), peak, output, counted,
                        ):  # fmt: skip
                            alive2[x] = False
                            filled[1] += 1
                            if before >= 0:
                                link[before] = after
                            else:
                                head[slot] = after
                            x = after
                            continue
                    before = x
                    x = after
                if covered:
                    continue
                new = filled[0]
                if new >= room_for:
                    return FULL, q
                visited2[new], cost2[new], tail2[new], count2[new] = set_new, new_cost, new_tail, size
                for i in range(size):
                    owner2[new, i], elapsed2[new, i], blocked2[new, i] = job[i], age[i], held_back[i]
                bound2[new], parent2[new], gap2[new], alive2[new] = bound, q, gap, True
                link[new] = head[slot]
                head[slot] = new
                filled[0] = new + 1
    return DONE, last
