"""The sequence relaxation: packing the last few completions exactly, in reversed time (docs/bounds.md §1).

Sort the completions of a one-worker schedule descending, e_1 ≥ e_2 ≥ … ≥ e_n, so that Σ C = Σ_m m·(e_m − e_{m+1})
with e_{n+1} = 0. Going back in time, the m-th request appears with its peak and then holds one token less per step
until its own start. The relaxation remembers, beside the request at position m, up to `level` − 1 earlier ones that
are still active, and demands memory at each completion from the remembered ones only. That each request occurs
exactly once is priced by multipliers. Its optimum is a lower bound on Σ C whatever the multipliers are.

A remembered request matters through (tokens held, steps left) alone, its *shape*; requests of equal prompt and
output are one *type*. One evaluation costs O(n · sets of shapes · types · longest output), whatever the horizon.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np
from numba import njit

from kvbound.models.errors import SizeError
from kvbound.models.requests import IntArray, Requests
from kvbound.models.threads import in_chunks, threads

#: How many requests a set and the one at its position can be, from the weakest relaxation to the strongest.
LEVELS: tuple[int, ...] = (2, 3, 4)
#: No schedule passes through a state of about this value.
IMPOSSIBLE = np.int32(1 << 29)
#: Values stay below this, so that sums of two of them fit int32.
_LARGEST = 1 << 28
#: Table entries per position below which one thread is faster than waking another.
_ALONE_BELOW = 20_000


class Relaxation(NamedTuple):
    """The state space: types, shapes, and where the values of one position stand.

    Parameters
    ----------
    level
        2 (one shape is remembered beside the position's request), 3 (two shapes) or 4 (three).
    memory
        M, tokens.
    peak, output, number
        p, o and number of requests per type; types ascend by (peak, output), shape (T,).
    fresh
        The shape of a type g < o steps before its completion is `fresh − g`; shape (T,).
    hold, left
        Tokens held and steps left per shape; shape 0 is "nobody"; shape (Q,).
    rank
        Number of types whose peak is at most r, for r = 0..M; shape (M + 1,).
    sets
        The sets of shapes that fit, each descending with "nobody" behind, by ascending `_number`; shape (S, 3).
    number_of
        Their numbers, shape (S,).
    offset
        Per number: values are ragged, and the set has `offset[x]:offset[x] + width + 1`, whose entry r is the least
        value over the r smallest peaks; the `width` types fit beside it. The entry before them is the set's least value
        over the gaps when the request of its position is left out. −1 for sets that do not fit.
    entries
        Length of all values of one position.
    """

    level: int
    memory: int
    peak: IntArray
    output: IntArray
    number: IntArray
    fresh: IntArray
    hold: IntArray
    left: IntArray
    rank: IntArray
    sets: IntArray
    number_of: IntArray
    offset: np.ndarray[tuple[int], np.dtype[np.int32]]
    entries: int

    @classmethod
    def of(cls, requests: Requests, memory: int, level: int) -> Relaxation:
        """State space of `requests` on one worker of `memory` tokens."""
        rows = np.stack((requests.peak, requests.output), axis=1)
        types, count = np.unique(rows, axis=0, return_counts=True)
        peak, output = types[:, 0].copy(), types[:, 1].copy()
        held, left, fresh = _shapes(peak, output)
        rank = np.searchsorted(peak, np.arange(memory + 1), side="right").astype(np.int64)
        sets = np.arange(len(held))[:, None]
        for _ in range(level - 2):
            # One more shape in front: the sets behind shape a are those numbered before the first set of a + 1.
            behind = np.cumsum(np.bincount(sets[:, 0], minlength=len(held)))
            at = np.arange(int(behind.sum())) - np.repeat(np.cumsum(behind) - behind, behind)
            sets = np.concatenate((np.repeat(np.arange(len(held)), behind)[:, None], sets[at]), axis=1)
        room = memory - held[sets].sum(axis=1)
        fits = room >= 0
        number_of = np.flatnonzero(fits)
        size = rank[room[fits]] + 2
        if size.sum() >= 1 << 31:
            raise SizeError("the sequence relaxation would need more than 2^31 values per position")
        offset = np.full(len(sets), -1, np.int32)
        offset[number_of] = np.cumsum(size) - size + 1
        padded = np.zeros((len(number_of), 3), np.int64)
        padded[:, : level - 1] = sets[fits]
        return cls(
            level,
            memory,
            peak,
            output,
            count.astype(np.int64),
            fresh,
            held,
            left,
            rank,
            padded,
            number_of,
            offset,
            int(size.sum()),
        )

    def type_of(self, requests: Requests) -> IntArray:
        """Type of each of the requests that the space was made of, shape (n,)."""
        rows = np.stack((requests.peak, requests.output), axis=1)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)

    @staticmethod
    def most_sets(requests: Requests, level: int) -> int:
        """Upper bound on the sets of shapes, from the lengths alone; those that do not fit count, too."""
        prompts, longest = np.unique(requests.prompt), int(requests.output.max())
        shapes = 1 + min(len(prompts) * longest, int(requests.output.sum()))
        return comb(shapes + level - 2, level - 1)

    @staticmethod
    def size(requests: Requests, memory: int, level: int) -> int:
        """`entries` of the relaxation, counted before anything is built."""
        held, _, _ = _shapes(requests.peak, requests.output)
        sets = np.zeros((level, memory + 1), np.int64)  # by members and tokens held
        sets[0, 0] = 1
        for tokens in held[(held > 0) & (held <= memory)].tolist():
            for members in range(1, level):
                sets[members, tokens:] += sets[members - 1, : memory + 1 - tokens]
        types = np.unique(np.stack((requests.peak, requests.output), axis=1), axis=0)[:, 0]
        beside = np.searchsorted(types, memory - np.arange(memory + 1), side="right")
        return int((sets.sum(axis=0) * (beside + 2)).sum())


def _shapes(peak: IntArray, output: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Tokens held and steps left of all shapes, nobody first, and per request `fresh` of its type."""
    hold, left, fresh = [0], [0], np.zeros(len(peak), np.int64)
    for s in np.unique(peak - output):
        same = peak - output == s
        fresh[same] = len(hold) - 1 + output[same]
        steps = range(1, int(output[same].max()) + 1)
        hold.extend(int(s) + r for r in steps)
        left.extend(steps)
    return np.array(hold, np.int64), np.array(left, np.int64), fresh


# The kernels take the level as a tuple of level − 1 entries: its length belongs to its type, so every level is
# compiled by itself, without the branches of the others.


@njit(cache=True, inline="always")
def _number(level, a, b, c):  # type: ignore[no-untyped-def]
    """Number of a set of up to level − 1 shapes in any order, 0 for nobody: its place among all descending tuples."""
    if len(level) == 1:
        return a
    if a < b:
        a, b = b, a
    if len(level) == 2:
        return a * (a + 1) // 2 + b
    if b < c:
        b, c = c, b
        if a < b:
            a, b = b, a
    return a * (a + 1) * (a + 2) // 6 + b * (b + 1) // 2 + c


@njit(cache=True, inline="always")
def _aged(level, q1, q2, q3, l1, l2, l3, g):  # type: ignore[no-untyped-def]
    """The set {q1, q2, q3} g steps earlier; `l1` … are the steps left."""
    i1 = q1 - g if g < l1 else 0
    i2 = (q2 - g if g < l2 else 0) if len(level) > 1 else 0
    i3 = (q3 - g if g < l3 else 0) if len(level) > 2 else 0
    return i1, i2, i3


@njit(cache=True)
def _after_gap(level, space, after, g, t, q):  # type: ignore[no-untyped-def]
    """Value of the next position when its completion lies g steps earlier, and the (set, rank) that attains it.

    When more are active than can be remembered, every choice gives a valid bound, so the largest counts.
    """
    active, room, many = np.zeros(4, np.int64), space.memory, 0
    if g < space.output[t]:
        active[0], many = space.fresh[t] - g, 1
        room -= space.peak[t] - g
    for shape in q:
        if g < space.left[shape]:
            active[many] = shape - g
            room -= space.hold[shape] - g
            many += 1
    r = space.rank[room]
    if many <= len(level):
        chosen = _number(level, active[0], active[1], active[2])
        return after[space.offset[chosen] + r], chosen, r
    value, best = -IMPOSSIBLE, 0
    for out in range(many):
        kept, at = np.zeros(3, np.int64), 0
        for i in range(many):
            if i != out:
                kept[at] = active[i]
                at += 1
        chosen = _number(level, kept[0], kept[1], kept[2])
        if after[space.offset[chosen] + r] > value:
            value, best = after[space.offset[chosen] + r], chosen
    return value, best, r


@njit(cache=True)
def _best(level, space, after, unit, t, q):  # type: ignore[no-untyped-def]
    """Least value over the gaps to the next completion, with its (set, rank)."""
    best, best_set, best_rank = IMPOSSIBLE, 0, 0
    longest = max(space.output[t], space.left[q[0]], space.left[q[1]], space.left[q[2]])
    for g in range(longest + 1):
        value, chosen, r = _after_gap(level, space, after, g, t, q)
        if unit * g + value < best:
            best, best_set, best_rank = np.int32(unit * g + value), chosen, r
    return best, best_set, best_rank


@njit(cache=True)
def _leave_out(level, memory, hold, left, rank, sets, offset, unit, after):  # type: ignore[no-untyped-def]
    """Write before the values of each set the least one over the gaps when the position's request counts no more.

    One step later the set has aged by one step, and its number is smaller.
    """
    for f in range(len(sets)):
        q1, q2, q3 = sets[f, 0], sets[f, 1], sets[f, 2]
        at = offset[_number(level, q1, q2, q3)]
        now = after[at + rank[memory - hold[q1] - hold[q2] - hold[q3]]]
        if q1 > 0:
            i1, i2, i3 = _aged(level, q1, q2, q3, left[q1], left[q2], left[q3], 1)
            now = min(now, np.int32(unit + after[offset[_number(level, i1, i2, i3)] - 1]))
        after[at - 1] = now


@njit(cache=True, inline="always")
def _value(level, offset, after, r, floor, shape, i1, i2, i3):  # type: ignore[no-untyped-def]
    """`_after_gap` for a request of that shape > 0 that is still active; `floor` is the value of {i1, i2, i3}."""
    value = max(floor, after[offset[_number(level, shape, i1, i2)] + r])
    if len(level) == 2 and i2 > 0:
        value = max(value, after[offset[_number(level, shape, i2, 0)] + r])
    if len(level) == 3 and i3 > 0:
        value = max(value, after[offset[_number(level, shape, i1, i3)] + r])
        value = max(value, after[offset[_number(level, shape, i2, i3)] + r])
    return value


@njit(cache=True, nogil=True)
def _position(chunk, chunks, level, memory, peak, output, fresh, hold, left, rank, sets, offset, m, n, scale, price, after, here):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    """Fill the values of position m from those of position m + 1, for every chunks-th set.

    The value behind a gap never rises with the gap (docs/bounds.md §1), so its value at the end of a block of
    gaps bounds the block from below and most blocks are skipped; often the value of the set alone is enough for that.
    """
    kept, floors = np.empty(output.max() + 1, np.int64), np.empty(output.max() + 1, np.int64)
    unit, least = scale * m, after[offset[0] + len(peak)]
    for f in range(chunk, len(sets), chunks):
        q1, q2, q3 = sets[f, 0], sets[f, 1], sets[f, 2]
        l1, l2, l3 = left[q1], left[q2], left[q3]
        begin, width = offset[_number(level, q1, q2, q3)], rank[memory - hold[q1] - hold[q2] - hold[q3]]
        here[begin] = IMPOSSIBLE
        known = 0  # gaps for which the room and the place of the set's values are known
        for t in range(width):
            o = output[t]
            if m == n:  # the first completion waits for the longest that is still active
                here[begin + t + 1] = min(here[begin + t], np.int32(scale * n * max(o, l1, l2, l3) - price[t]))
                continue
            # Behind gaps of o and more the set alone counts. What is not below the value of the types before this one
            # is of no use.
            i1, i2, i3 = _aged(level, q1, q2, q3, l1, l2, l3, o)
            best = np.int32(unit * o + after[offset[_number(level, i1, i2, i3)] - 1])
            best = min(best, np.int32(here[begin + t] + price[t]))
            p, shape = peak[t], fresh[t]
            g, size = 0, 1
            while g < o and unit * g + least < best:
                end = min(g + size - 1, o - 1)
                while known <= end:
                    i1, i2, i3 = _aged(level, q1, q2, q3, l1, l2, l3, known)
                    kept[known] = memory - hold[i1] - hold[i2] - hold[i3]
                    floors[known] = offset[_number(level, i1, i2, i3)]
                    known += 1
                r = rank[kept[end] - p + end]
                floor = after[floors[end] + r]
                if unit * g + floor < best:
                    i1, i2, i3 = _aged(level, q1, q2, q3, l1, l2, l3, end)
                    floor = _value(level, offset, after, r, floor, shape - end, i1, i2, i3)
                    best = min(best, np.int32(unit * end + floor))
                while g < end and unit * g + floor < best:
                    r = rank[kept[g] - p + g]
                    value = after[floors[g] + r]
                    if unit * g + value < best:
                        i1, i2, i3 = _aged(level, q1, q2, q3, l1, l2, l3, g)
                        value = _value(level, offset, after, r, value, shape - g, i1, i2, i3)
                        best = min(best, np.int32(unit * g + value))
                    g += 1
                g, size = end + 1, min(2 * size, 8)
            here[begin + t + 1] = min(here[begin + t], np.int32(best - price[t]))


@njit(cache=True)
def _walk(level, space, n, scale, tables, visits):  # type: ignore[no-untyped-def]
    """Count how often each type occurs in an optimal path of the relaxation."""
    chosen, r = 0, len(space.peak)
    for m in range(1, n + 1):
        values = tables[m][space.offset[chosen] :]
        t = 0  # the first type that attains the prefix minimum
        while values[t + 1] > values[r]:
            t += 1
        visits[t] += 1
        if m < n:
            q = space.sets[np.searchsorted(space.number_of, chosen)]
            _, chosen, r = _best(level, space, tables[m + 1], scale * m, t, q)


class AbandonedError(Exception):
    """An evaluation was ended before its value was known."""


def evaluate(
    space: Relaxation,
    scale: int,
    price: IntArray,
    *,
    visits: bool = False,
    abandon: Callable[[float], bool] | None = None,
) -> tuple[int, IntArray | None]:
    """Return scale × the bound on Σ C that the multipliers prove, and (on demand) the visits per type.

    Parameters
    ----------
    scale, price
        The multiplier of type t is price[t]/scale, in steps; shape (T,).
    visits
        Also return how often each type occurs in an optimal path, shape (T,): count − visits is a supergradient.
        Keeps the tables of all positions in memory.
    abandon
        Asked after each position with the share of them that is done; True ends the evaluation.

    Raises
    ------
    AbandonedError
        `abandon` said so.
    SizeError
        The numbers would not fit the 32-bit tables.
    """
    n, types = int(space.number.sum()), len(space.peak)
    top = scale * n * (n + 1) * (int(space.output.max()) + 1) + n * int(np.abs(price).max(initial=0))
    if top >= _LARGEST:
        raise SizeError(f"values up to {top} do not fit the tables of the sequence relaxation; use a smaller scale")
    tables = np.empty((n + 2 if visits else 2, space.entries), np.int32)
    cost = price.astype(np.int32)
    alone, level = space.entries < _ALONE_BELOW, (0,) * (space.level - 1)
    for m in range(n, 0, -1):
        after, here = (tables[m + 1], tables[m]) if visits else (tables[(m + 1) % 2], tables[m % 2])
        if m < n:
            _leave_out(level, space.memory, space.hold, space.left, space.rank, space.sets, space.offset,
                       scale * m, after)  # fmt: skip
        in_chunks(_position, threads(), level, space.memory, space.peak, space.output, space.fresh,
                  space.hold, space.left, space.rank, space.sets, space.offset, m, n, scale, cost, after, here,
                  alone=alone)  # fmt: skip
        if abandon is not None and m > 1 and abandon((n - m + 1) / n):
            raise AbandonedError
    value = int(tables[1][space.offset[0] + types]) + sum((price * space.number).tolist())
    if not visits:
        return value, None
    counts = np.zeros(types, np.int64)
    _walk(level, space, n, scale, tables, counts)
    return value, counts
