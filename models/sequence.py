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

from typing import NamedTuple

import numpy as np
from numba import njit

from kvbound.models.errors import SizeError
from kvbound.models.requests import IntArray, Requests
from kvbound.models.threads import in_chunks, threads

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
        2 (one shape is remembered beside the position's request) or 3 (two shapes).
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
    offset
        Values are ragged: set x of remembered shapes has `offset[x]:offset[x+1]`, whose entry r is the least value over
        the r smallest peaks; larger peaks do not fit beside the set. Sets that do not fit have the entry 0 only.
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
    offset: np.ndarray[tuple[int], np.dtype[np.int32]]

    @classmethod
    def of(cls, requests: Requests, memory: int, level: int) -> Relaxation:
        """State space of `requests` on one worker of `memory` tokens."""
        rows = np.stack((requests.peak, requests.output), axis=1)
        types, count = np.unique(rows, axis=0, return_counts=True)
        peak, output = types[:, 0].copy(), types[:, 1].copy()
        hold, left, fresh = [0], [0], np.zeros(len(types), np.int64)
        for s in np.unique(peak - output):
            same = peak - output == s
            fresh[same] = len(hold) - 1 + output[same]
            steps = range(1, int(output[same].max()) + 1)
            hold.extend(int(s) + r for r in steps)
            left.extend(steps)
        held = np.array(hold, np.int64)
        rank = np.searchsorted(peak, np.arange(memory + 1), side="right").astype(np.int64)
        if level == 2:
            room = memory - held
        else:
            first, second = np.tril_indices(len(held))
            room = memory - held[first] - held[second]
        width = np.where(room < 0, 0, rank[np.maximum(room, 0)])
        offset = np.concatenate((np.zeros(1, np.int64), np.cumsum(width + 1)))
        if offset[-1] >= 1 << 31:
            raise SizeError("the sequence relaxation would need more than 2^31 values per position")
        return cls(
            level,
            memory,
            peak,
            output,
            count.astype(np.int64),
            fresh,
            held,
            np.array(left, np.int64),
            rank,
            offset.astype(np.int32),
        )

    def type_of(self, requests: Requests) -> IntArray:
        """Type of each of the requests that the space was made of, shape (n,)."""
        rows = np.stack((requests.peak, requests.output), axis=1)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)

    @staticmethod
    def entries(requests: Requests, level: int) -> int:
        """Upper bound on the values of one position, before anything is built."""
        prompts, longest = np.unique(requests.prompt), int(requests.output.max())
        shapes = 1 + min(len(prompts) * longest, int(requests.output.sum()))
        return (shapes if level == 2 else shapes * (shapes + 1) // 2) * (len(requests) + 1)


@njit(cache=True, inline="always")
def _pair(a, b):  # type: ignore[no-untyped-def]
    return b * (b + 1) // 2 + a if a < b else a * (a + 1) // 2 + b


@njit(cache=True, inline="always")
def _least(space, after, row, r):  # type: ignore[no-untyped-def]
    """Least value with set `row` remembered, over the r smallest peaks (r types fit beside a set that holds it)."""
    return after[space.offset[row] + r]


@njit(cache=True, inline="always")
def _after_gap(space, after, g, t, q1, q2):  # type: ignore[no-untyped-def]
    """Value of the next position when its completion lies g steps earlier, and the (set, rank) that attains it.

    When more are active than can be remembered, every choice gives a valid bound, so the largest counts.
    """
    room, i1, i2, i3 = space.memory, 0, 0, 0
    if g < space.output[t]:
        i1 = space.fresh[t] - g
        room -= space.peak[t] - g
    if g < space.left[q1]:
        i2 = q1 - g
        room -= space.hold[q1] - g
    if g < space.left[q2]:
        i3 = q2 - g
        room -= space.hold[q2] - g
    r = space.rank[room]
    if space.level == 2:
        row = i1
        value = _least(space, after, row, r)
        if i1 == 0 or (i2 > 0 and _least(space, after, i2, r) > value):
            row, value = i2, _least(space, after, i2, r)
    elif i1 > 0 and i2 > 0 and i3 > 0:
        row = _pair(i1, i2)
        value = _least(space, after, row, r)
        other = _pair(i1, i3)
        if _least(space, after, other, r) > value:
            row, value = other, _least(space, after, other, r)
        other = _pair(i2, i3)
        if _least(space, after, other, r) > value:
            row, value = other, _least(space, after, other, r)
    else:  # at most two are active
        row = _pair(i2, i3) if i1 == 0 else _pair(i1, max(i2, i3))
        value = _least(space, after, row, r)
    return value, row, r


@njit(cache=True)
def _best(space, after, unit, t, q1, q2):  # type: ignore[no-untyped-def]
    """Least value over the gaps to the next completion, with its (set, rank)."""
    best, best_row, best_rank = IMPOSSIBLE, 0, 0
    for g in range(max(space.output[t], space.left[q1], space.left[q2]) + 1):
        value, row, r = _after_gap(space, after, g, t, q1, q2)
        if unit * g + value < best:
            best, best_row, best_rank = np.int32(unit * g + value), row, r
    return best, best_row, best_rank


@njit(cache=True, inline="always")
def _value(level, offset, after, r, floor, shape, i2, i3):  # type: ignore[no-untyped-def]
    """`_after_gap` for a request of that shape > 0 that is still active; `floor` is the value of the set {i2, i3}."""
    value = max(floor, after[offset[shape if level == 2 else _pair(shape, i2)] + r])
    return max(value, after[offset[_pair(shape, i3)] + r]) if i3 > 0 else value


@njit(cache=True)
def _fill_set(level, memory, peak, output, fresh, hold, left, rank, offset, m, n, scale, price, after, here, row, q1, q2, gone, kept, both):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    """Fill the values of position m with the shapes q1, q2 remembered.

    The value behind a gap never rises with the gap (docs/bounds.md §1), so its value at the end of a block of
    gaps bounds the block from below and most blocks are skipped; often the value of q1 and q2 alone is enough for that.
    """
    begin, width = offset[row], offset[row + 1] - offset[row] - 1
    here[begin] = IMPOSSIBLE
    longest = max(left[q1], left[q2])
    unit, least = scale * m, after[len(peak)]
    if width and m < n:
        # From the gap at which the request at position m has gone on, its type no longer matters.
        gone[longest + 1] = IMPOSSIBLE
        for g in range(longest, -1, -1):
            i2 = q1 - g if g < left[q1] else 0
            i3 = q2 - g if g < left[q2] else 0
            kept[g] = memory - hold[i2] - hold[i3]
            both[g] = offset[i2 if level == 2 else _pair(i2, i3)]
            gone[g] = min(gone[g + 1], np.int32(unit * g + after[both[g] + rank[kept[g]]]))
    for t in range(width):
        o = output[t]
        if m == n:  # the first completion waits for the longest that is still active
            here[begin + t + 1] = min(here[begin + t], np.int32(scale * n * max(o, longest) - price[t]))
            continue
        # Behind gaps of o and more only q1 and q2 count; nobody is active behind `longest`. What is not below the
        # value of the types before this one is of no use.
        best = gone[o] if o <= longest else np.int32(unit * o + least)
        best = min(best, np.int32(here[begin + t] + price[t]))
        p, shape = peak[t], fresh[t]
        g, size = 0, 1
        while g < o and unit * g + least < best:
            end = min(g + size - 1, o - 1)
            r = rank[(kept[end] if end <= longest else memory) - p + end]
            floor = after[both[end] + r] if end <= longest else least
            if unit * g + floor < best:
                i2 = q1 - end if end < left[q1] else 0
                i3 = q2 - end if end < left[q2] else 0
                floor = _value(level, offset, after, r, floor, shape - end, i2, i3)
                best = min(best, np.int32(unit * end + floor))
            while g < end and unit * g + floor < best:
                r = rank[(kept[g] if g <= longest else memory) - p + g]
                value = after[both[g] + r] if g <= longest else least
                if unit * g + value < best:
                    i2 = q1 - g if g < left[q1] else 0
                    i3 = q2 - g if g < left[q2] else 0
                    best = min(best, np.int32(unit * g + _value(level, offset, after, r, value, shape - g, i2, i3)))
                g += 1
            g, size = end + 1, min(2 * size, 8)
        here[begin + t + 1] = min(here[begin + t], np.int32(best - price[t]))


@njit(cache=True, nogil=True)
def _position(chunk, chunks, level, memory, peak, output, fresh, hold, left, rank, offset, m, n, scale, price, after, here):  # type: ignore[no-untyped-def]  # noqa: E501  # fmt: skip
    """Fill the values of position m from those of position m + 1."""
    size = left.max() + 2
    gone, kept, both = np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)
    for q1 in range(chunk, len(hold), chunks):
        for q2 in range(1 if level == 2 else q1 + 1):
            row = q1 if level == 2 else _pair(q1, q2)
            _fill_set(level, memory, peak, output, fresh, hold, left, rank, offset, m, n, scale, price, after, here,
                      row, q1, q2, gone, kept, both)  # fmt: skip


@njit(cache=True)
def _walk(space, n, scale, tables, visits):  # type: ignore[no-untyped-def]
    """Count how often each type occurs in an optimal path of the relaxation."""
    row, r = 0, len(space.peak)
    for m in range(1, n + 1):
        t = 0  # the first type that attains the prefix minimum
        while _least(space, tables[m], row, t + 1) > _least(space, tables[m], row, r):
            t += 1
        visits[t] += 1
        if m == n:
            break
        q1, q2 = row, 0
        if space.level == 3:
            q1 = int((np.sqrt(8.0 * row + 1.0) - 1.0) / 2.0)
            while q1 * (q1 + 1) // 2 > row:
                q1 -= 1
            while (q1 + 1) * (q1 + 2) // 2 <= row:
                q1 += 1
            q2 = row - q1 * (q1 + 1) // 2
        _, row, r = _best(space, tables[m + 1], scale * m, t, q1, q2)


def evaluate(space: Relaxation, scale: int, price: IntArray, *, visits: bool = False) -> tuple[int, IntArray | None]:
    """Return scale × the bound on Σ C that the multipliers prove, and (on demand) the visits per type.

    Parameters
    ----------
    scale, price
        The multiplier of type t is price[t]/scale, in steps; shape (T,).
    visits
        Also return how often each type occurs in an optimal path, shape (T,): count − visits is a supergradient.
        Keeps the tables of all positions in memory.

    Raises
    ------
    SizeError
        The numbers would not fit the 32-bit tables.
    """
    n, types = int(space.number.sum()), len(space.peak)
    top = scale * n * (n + 1) * (int(space.output.max()) + 1) + n * int(np.abs(price).max(initial=0))
    if top >= _LARGEST:
        raise SizeError(f"values up to {top} do not fit the tables of the sequence relaxation; use a smaller scale")
    tables = np.empty((n + 2 if visits else 2, int(space.offset[-1])), np.int32)
    cost = price.astype(np.int32)
    alone = space.offset[-1] < _ALONE_BELOW
    for m in range(n, 0, -1):
        after, here = (tables[m + 1], tables[m]) if visits else (tables[(m + 1) % 2], tables[m % 2])
        in_chunks(_position, threads(), space.level, space.memory, space.peak, space.output, space.fresh, space.hold,
                  space.left, space.rank, space.offset, m, n, scale, cost, after, here, alone=alone)  # fmt: skip
    value = int(tables[1][space.offset[0] + types]) + sum((price * space.number).tolist())
    if not visits:
        return value, None
    counts = np.zeros(types, np.int64)
    _walk(space, n, scale, tables, counts)
    return value, counts
