"""Local-swap selector of Sorted-F: greedy starts, then add, exchange and drop while F falls.

The paper names the search and no more; the starts, the neighbourhood (one in, one out, or one for one) and the
ladder are ours. All requests stand in ascending (output, prompt, index), the starts are orders of them that are
sorted once and thinned out batch by batch, so a batch costs O(n) and the exchanges made in it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit

from kvbound.models.requests import IntArray
from kvbound.solvers.policies.batch_value import keeps_f, no_worse

#: Which greedy starts: one of them, the first three together, or those and a ladder of mixed ones.
Starts = Literal["output", "peak", "area", "greedy", "ladder"]

#: Exponents of two in the ladder o + 2^e·(mean o / mean p)·p.
_LADDER = range(-4, 5)


def start_orders(prompt: IntArray, output: IntArray, starts: Starts) -> IntArray:
    """Greedy orders, shape (orders, n), of requests that are sorted by output.

    The ladder o + λp is the order in which a relaxed memory row with price λ would pick requests.
    """
    peak = prompt + output
    keys = {"output": output, "peak": peak, "area": output * peak}
    if starts in keys:
        return np.argsort(keys[starts], kind="stable")[None, :]
    orders = [np.argsort(key, kind="stable") for key in keys.values()]
    if starts == "ladder":
        scale = float(output.mean()) / float(peak.mean())
        orders += [np.argsort(output + scale * 2.0**e * peak, kind="stable") for e in _LADDER]
    return np.stack(orders)


@njit(cache=True)
def _greedy(order, output, peak, memory, cap, inside):  # type: ignore[no-untyped-def]
    """Fill in the given order while the peak fits and F does not rise; return (number, Σo, Σp)."""
    count, total, held = 0, 0, 0
    inside[:] = False
    least = peak.min()
    for j in order:
        if count >= cap or held + least > memory:
            break
        if held + peak[j] <= memory and keeps_f(total, count, output[j]):
            inside[j] = True
            count += 1
            total += output[j]
            held += peak[j]
    return count, total, held


@njit(cache=True)
def _best_prefix(order, output, peak, memory, cap, inside):  # type: ignore[no-untyped-def]
    """Fill in the given order while the peak fits, whatever F does, and keep the prefix of least F."""
    taken = np.empty(len(order), np.int64)
    count, total, held, best, best_total, best_held = 0, 0, 0, 0, 0, 0
    inside[:] = False
    least = peak.min()
    for j in order:
        if count >= cap or held + least > memory:
            break
        if held + peak[j] > memory:
            continue
        taken[count] = j
        count += 1
        total += output[j]
        held += peak[j]
        if best == 0 or no_worse(total, count, best_total, best):
            best, best_total, best_held = count, total, held
    for i in range(best):
        inside[taken[i]] = True
    return best, best_total, best_held


@njit(cache=True)
def _improve(output, peak, memory, cap, inside, count, total, held):  # type: ignore[no-untyped-def]
    """Best moves until none lowers (F, Σp); positions are sorted by (output, prompt).

    With room T the best one to take in is the first outside with p ≤ T: it has the least output, and the least peak
    among those. Such firsts are where the least peak so far falls, so one pass finds those for all T.
    """
    n = len(output)
    record = np.empty(n, np.int64)
    while count > 0:
        # Dropping the largest output lowers F most, if any drop does.
        last = n - 1
        while not inside[last]:
            last -= 1
        records = 0
        for j in range(n):
            if records > 0 and output[j] > output[last] and held + peak[record[records - 1]] <= memory:
                break  # nobody further on would be exchanged or added
            if not inside[j] and (records == 0 or peak[j] < peak[record[records - 1]]):
                record[records] = j
                records += 1
        if count < cap:
            j = _first_that_fits(record, records, peak, memory - held)
            if j >= 0 and keeps_f(total, count, output[j]):
                inside[j] = True
                count += 1
                total += output[j]
                held += peak[j]
                continue
        if count > 1 and not no_worse(total, count, total - output[last], count - 1):
            inside[last] = False
            count -= 1
            total -= output[last]
            held -= peak[last]
            continue
        best_gain, best_room, out, into = 0, 0, -1, -1
        for i in range(last + 1):
            if not inside[i]:
                continue
            j = _first_that_fits(record, records, peak, memory - held + peak[i])
            if j < 0:
                continue
            gain, room = output[i] - output[j], peak[i] - peak[j]
            if gain > best_gain or (gain == best_gain and room > best_room):
                best_gain, best_room, out, into = gain, room, i, j
        if out < 0:
            return count, total, held
        inside[out], inside[into] = False, True
        total += output[into] - output[out]
        held += peak[into] - peak[out]
    return count, total, held  # nobody fits


@njit(cache=True)
def _first_that_fits(record, records, peak, room):  # type: ignore[no-untyped-def]
    """First of the records (peaks strictly descending) with a peak of at most `room`, or −1."""
    low, high = 0, records
    while low < high:
        middle = (low + high) // 2
        if peak[record[middle]] <= room:
            high = middle
        else:
            low = middle + 1
    return record[low] if low < records else -1


@njit(cache=True)
def best_batch(orders, output, peak, memory, cap, whole):  # type: ignore[no-untyped-def]
    """Mark the best local optimum over the greedy starts: least F, then more requests, then smaller Σp.

    `output` ascending, `orders` as from `start_orders`; `whole`: starts may pass through batches of larger F.
    """
    chosen, inside = np.zeros(len(output), np.bool_), np.zeros(len(output), np.bool_)
    best, best_total, best_held = 0, 0, 0
    for order in orders:
        if whole:
            start = _best_prefix(order, output, peak, memory, cap, inside)
        else:
            start = _greedy(order, output, peak, memory, cap, inside)
        count, total, held = _improve(output, peak, memory, cap, inside, *start)
        if count == 0:
            continue
        better = best == 0 or not no_worse(best_total, best, total, count)
        if not better and no_worse(total, count, best_total, best):
            better = count > best or (count == best and held < best_held)
        if better:
            best, best_total, best_held = count, total, held
            chosen[:] = inside
    return chosen


@njit(cache=True)
def _batches(orders, output, peak, memory, cap, whole):  # type: ignore[no-untyped-def]
    """All batches one after another: positions, and where each batch ends among them."""
    n = len(output)
    where = np.arange(n)
    result, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    done, number = 0, 0
    while done < n:
        chosen = best_batch(orders, output, peak, memory, cap, whole)
        left = len(output) - int(chosen.sum())
        new = np.empty(len(output), np.int64)
        kept = 0
        for i in range(len(output)):
            if chosen[i]:
                result[done] = where[i]
                done += 1
            else:
                new[i] = kept
                kept += 1
        ends[number] = done
        number += 1
        thinned = np.empty((orders.shape[0], left), np.int64)
        for row in range(orders.shape[0]):
            at = 0
            for j in orders[row]:
                if not chosen[j]:
                    thinned[row, at] = new[j]
                    at += 1
        orders = thinned
        where, output, peak = where[~chosen], output[~chosen], peak[~chosen]
    return result, ends[:number]


def swap_batch(
    prompt: IntArray, output: IntArray, memory: int, cap: int, starts: Starts = "greedy", orders: IntArray | None = None
) -> IntArray:
    """Return the positions of a batch that no add, exchange or drop improves.

    Parameters
    ----------
    prompt, output
        Lengths, `output` ascending, every peak at most `memory`; shape (n,).
    memory, cap
        Most tokens Σ_X p and most requests |X|.
    starts
        Greedy starts (see `start_orders`); the best local optimum of all is returned.
    orders
        Own starts in their place, shape (orders, n).
    """
    rows = start_orders(prompt, output, starts) if orders is None else orders
    return np.flatnonzero(best_batch(rows, output, prompt + output, memory, cap, starts == "ladder"))


def swap_batches(
    prompt: IntArray, output: IntArray, memory: int, cap: int, starts: Starts = "greedy", orders: IntArray | None = None
) -> list[IntArray]:
    """Return the positions of all batches as `swap_batch` chooses them one after another; parameters as there."""
    rows = start_orders(prompt, output, starts) if orders is None else orders
    positions, ends = _batches(rows, output, prompt + output, memory, cap, starts == "ladder")
    return np.split(positions, ends[:-1])
