"""Keys that see the output alone, or what they believe of it: shortest output first, A_max, A_min."""

from __future__ import annotations

import math

import numpy as np

from kvbound.instances.adversarial.families.base import (
    Family,
    Member,
    memory,
    schedule,
    serial,
    stack,
    triangle,
    waves,
)
from kvbound.instances.parameters import Parameter
from kvbound.models.requests import Requests


def pairs(n: int, memory: int) -> list[int]:
    """Starts of n × (1, 2) by list scheduling on an empty worker, relative to the first.

    c = ⌊M/3⌋ start in every even step; when M leaves a remainder of 2 one more starts in every odd step. (In step
    t + 1 after an even t: 2c for the new ones, 3 for the extra; in step t + 2: 3c and 2.)
    """
    width, extra = memory // 3, memory % 3 == 2
    starts: list[int] = []
    t = 0
    while len(starts) < n:
        run = (width if t % 2 == 0 else int(extra)) if t else width
        starts += [t] * min(run, n - len(starts))
        t += 1
    return starts


def mc_sf(memory: int, large: int | None = None, small: int | None = None) -> Member:
    """`large` × (M − 1, 1), then `small` × (1, 2): shortest output first is about √M off (docs/math.md §9).

    The large ones fill the memory for a step each, nothing runs beside them: TEL(MC-SF) = k(k + 1)/2 + Σ over the small
    ones of k + start + 2. The small ones first: the same starts from 0, then the large ones, each delayed by the
    makespan S of the small ones: TEL* ≤ Σ(start + 2) + kS + k(k + 1)/2. With k = √M/2, m = k√M the small ones take at
    most 4 steps (M large), and the ratio is at least m·k/(4m + 4k + k²/2 + k/2), of order √M.
    """
    k = max(1, round(math.sqrt(memory) / 2)) if large is None else large
    m = max(1, round(k * math.sqrt(memory))) if small is None else small
    starts = pairs(m, memory)
    end = starts[-1] + 2
    beside = sum(starts) + 2 * m
    return Member(
        stack((k, memory - 1, 1), (m, 1, 2)),
        memory,
        schedule(serial(end, 1, k), starts),
        beside + k * end + triangle(k),
        triangle(k) + m * k + beside,
    )


def a_max(memory: int, n: int | None = None) -> Member:
    """n × (0, 1), each predicted to lie in [1, M]: A_max, which believes in M, is (M + 1)/2 off at n = M.

    A_max assumes that each request will fill the memory, so none starts beside another: one per step, TEL = n(n + 1)/2.
    In truth M of them fit into a step: TEL* = Σ⌈i/M⌉, which is n for n ≤ M. For n → ∞ the ratio tends to M.
    """
    count = memory if n is None else n
    one = np.ones(count, np.int64)
    requests = Requests(0 * one, one, 0 * one, one, memory * one)
    starts = np.arange(count, dtype=np.int64) // memory
    return Member(requests, memory, schedule(starts), waves(count, memory), triangle(count))


def hidden(levels: int = 6) -> Member:
    """M/2^e requests (0, 2^e), e = q − 1, …, 0, longest first, all predicted to lie in [1, M], M = 2^q: A_min evicts.

    A_min believes in one token each and starts M requests, those with outputs of at least 2. With t tokens each only
    M/t of them fit; the bounds are all alike, so the last in order, the shortest, are evicted, those of 2^e tokens just
    before their last one. The long ones stay and fill the memory, the short ones trickle through what rounding
    leaves free. A schedule that knows the lengths takes the classes shortest first, each of them in lockstep as its
    peaks fill the memory: class e completes at 2^(e + 1) − 1, TEL = Σ_e (M/2^e)(2^(e + 1) − 1) = 2qM − 2M + 2. For
    A_min we have no closed form; its ratio is measured, and doubles about as M grows fourfold. (The O(log(u/l)) of its
    authors is for M → ∞ with u fixed; here u = M.)
    """
    memory = 2**levels
    classes = [(memory >> e, 0, 1 << e) for e in reversed(range(levels))]
    lengths = stack(*classes)
    n = len(lengths)
    requests = Requests(
        lengths.prompt, lengths.output, np.zeros(n, np.int64), np.ones(n, np.int64), np.full(n, memory, np.int64)
    )
    starts = np.concatenate([np.full(count, output - 1, np.int64) for count, _, output in classes])
    return Member(requests, memory, schedule(starts), 2 * levels * memory - 2 * memory + 2, None)


FAMILIES = (
    Family(
        "mc-sf",
        "large requests of one token before small ones of two",
        ("mc-sf", "a-min", "a-max"),
        "Θ(√M)",
        (
            memory(196, 9),
            Parameter("large", "int", None, "number k of requests (M − 1, 1) (default √M/2)", 1, 10**6),
            Parameter("small", "int", None, "number m of requests (1, 2) (default k·√M)", 1, 10**6),
        ),
        mc_sf,
    ),
    Family(
        "a-max",
        "one token each, predicted to be up to M",
        ("a-max",),
        "(M + 1)/2 at n = M (n → ∞: M)",
        (memory(196, 1), Parameter("n", "int", None, "number of requests (default M)", 1, 10**6)),
        a_max,
    ),
    Family(
        "a-min",
        "lengths in powers of two, all predicted alike, the longest first",
        ("a-min", "sorted-f:a-min"),
        "measured: Θ(√M) for a-min, more for sorted-f:a-min",
        (Parameter("levels", "int", 6, "q = log₂ M", 1, 18),),
        hidden,
    ),
)
