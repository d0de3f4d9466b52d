"""Decode a sequence into a schedule: each request starts as early as its future fits, never before its predecessor.

A request may also carry a *delay*, steps that it waits after its predecessor's start in any case: a request that
starts later holds less while others complete, so some optima are no plain list schedules (tiny 10/0 is one).
Decoding resumes at a checkpoint before the first changed position and stops as soon as the objective must
exceed a limit, so a move costs what it changes and not O(n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kvbound.models.footprint import earliest_start
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.list_scheduling import drop_completed, insert_active


class Instance(NamedTuple):
    """A problem as the kernel takes it; arrays of shape (n,) and (G,)."""

    prompt: IntArray
    output: IntArray
    arrival: IntArray
    memory: IntArray
    caps: IntArray

    @classmethod
    def of(cls, problem: Problem) -> Instance:
        """The arrays of `problem`."""
        requests, fleet = problem.requests, problem.fleet
        return cls(
            requests.prompt,
            requests.output,
            requests.arrival,
            np.array(fleet.memory, np.int64),
            np.array(fleet.caps, np.int64),
        )


class Checkpoints(NamedTuple):
    """States of the decoder before every `stride`-th position of the current sequence."""

    stride: int
    now: IntArray
    tel: IntArray
    running: IntArray
    ends: IntArray
    peaks: IntArray

    @classmethod
    def empty(cls, n: int, workers: int, most_active: int) -> Checkpoints:
        """Room for the checkpoints of a sequence of n requests with at most `most_active` at once per worker."""
        stride = max(1, int(np.sqrt(n)))
        number = -(-n // stride)
        shape = (number + 1, workers, most_active + 1)
        return cls(
            stride,
            np.zeros(number + 1, np.int64),
            np.zeros(number + 1, np.int64),
            np.zeros((number + 1, workers), np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
        )


def most_active(problem: Problem) -> int:
    """Upper bound on the requests active at once on one worker: each holds s + 1 tokens at least."""
    least = np.cumsum(np.sort(problem.requests.prompt + 1))
    fits = int(np.searchsorted(least, problem.fleet.largest, side="right"))
    return min(fits, max(problem.fleet.caps), problem.n) + 1


@njit(cache=True)
def decode(sequence, delay, first, inst, points, slot, limit, rest, start, worker):  # type: ignore[no-untyped-def]
    """Decode `sequence` from the checkpoint before position `first`; return its TEL, or -1 above `limit`.

    Positions before `first` must be those of the sequence that wrote the checkpoints. The state works in
    the spare row `slot` of the checkpoint arrays. `rest` is Σ o_j − a_j over all requests (TEL at start 0).
    """
    n, workers = len(sequence), len(inst.memory)
    begin = first // points.stride
    now, tel = points.now[begin], points.tel[begin]
    count, ends, peaks = points.running[slot], points.ends[slot], points.peaks[slot]
    for g in range(workers):
        count[g] = points.running[begin, g]
        for i in range(count[g]):
            ends[g, i] = points.ends[begin, g, i]
            peaks[g, i] = points.peaks[begin, g, i]
    for position in range(begin * points.stride, n):
        j = sequence[position]
        s, o = inst.prompt[j], inst.output[j]
        now = max(now + delay[j], inst.arrival[j])
        best, chosen = np.int64(-1), -1
        for g in range(workers):
            if s + o > inst.memory[g]:
                continue
            count[g] = drop_completed(ends[g], peaks[g], count[g], now)
            k = earliest_start(s, o, inst.memory[g], inst.caps[g], now, ends[g], peaks[g], count[g])
            if chosen < 0 or k < best:
                best, chosen = k, g
        now = best
        start[j], worker[j] = best, chosen
        tel += best
        # Everybody behind starts now at the earliest.
        if tel + (n - position - 1) * now + rest > limit:
            return np.int64(-1)
        count[chosen] = drop_completed(ends[chosen], peaks[chosen], count[chosen], now)
        insert_active(ends[chosen], peaks[chosen], count[chosen], best + o, s + o)
        count[chosen] += 1
    return tel + rest


@njit(cache=True)
def save_checkpoints(sequence, first, inst, points, start, worker):  # type: ignore[no-untyped-def]
    """Rewrite the checkpoints after position `first` from the decoded `start` and `worker` of `sequence`."""
    n, workers = len(sequence), len(inst.memory)
    begin = first // points.stride
    for block in range(begin, (n - 1) // points.stride):
        count, ends, peaks = points.running[block + 1], points.ends[block + 1], points.peaks[block + 1]
        now, tel = points.now[block], points.tel[block]
        for g in range(workers):
            count[g] = points.running[block, g]
            for i in range(count[g]):
                ends[g, i] = points.ends[block, g, i]
                peaks[g, i] = points.peaks[block, g, i]
        for position in range(block * points.stride, (block + 1) * points.stride):
            j = sequence[position]
            now = start[j]
            tel += now
            g = worker[j]
            count[g] = drop_completed(ends[g], peaks[g], count[g], now)
            insert_active(ends[g], peaks[g], count[g], now + inst.output[j], inst.prompt[j] + inst.output[j])
            count[g] += 1
        points.now[block + 1], points.tel[block + 1] = now, tel


@njit(cache=True)
def delays_of(sequence, start, inst):  # type: ignore[no-untyped-def]
    """Delays with which `decode` gives each request of `sequence` (in order of start) its `start`, on one worker.

    On several workers the decoder may choose others, and then the starts may differ.
    """
    n, workers = len(sequence), len(inst.memory)
    delay, count = np.zeros(n, np.int64), np.zeros(workers, np.int64)
    ends, peaks = np.zeros((workers, n), np.int64), np.zeros((workers, n), np.int64)
    before = np.int64(0)
    for j in sequence:
        s, o, wanted = inst.prompt[j], inst.output[j], start[j]
        for attempt in range(2):
            earliest = max(before if attempt == 0 else wanted, inst.arrival[j])
            best, chosen = np.int64(-1), -1
            for g in range(workers):
                if s + o > inst.memory[g]:
                    continue
                k = earliest_start(s, o, inst.memory[g], inst.caps[g], earliest, ends[g], peaks[g], count[g])
                if chosen < 0 or k < best:
                    best, chosen = k, g
            if best >= wanted:
                break
            delay[j] = wanted - before
        before = best
        count[chosen] = drop_completed(ends[chosen], peaks[chosen], count[chosen], best)
        insert_active(ends[chosen], peaks[chosen], count[chosen], best + o, s + o)
        count[chosen] += 1
    return delay
