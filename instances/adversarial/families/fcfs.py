"""Long requests at the head of the line: FCFS, and every key that puts them there, is unbounded in M."""

from __future__ import annotations

import math

import numpy as np

from kvbound.instances.adversarial.families.base import (
    Family,
    Member,
    memory,
    require,
    schedule,
    serial,
    stack,
    triangle,
    waves,
)
from kvbound.instances.parameters import Parameter
from kvbound.models.requests import Requests


def fcfs(memory: int, long: int = 2, short: int | None = None) -> Member:
    """`long` × (s = 1, o = M − 1), then `short` × (1, 1); the ratio is at least about M/4 (docs/math.md §9).

    Each long request fills the memory, so they run one after another and completion i is i·(M − 1). No short one starts
    before the last long one, at T = (L − 1)(M − 1): TEL(FCFS) ≥ k·(T + 1). Shorts first, c = ⌊M/2⌋ per step, take
    q = ⌈k/c⌉ steps and delay the long ones by at most q: TEL* ≤ Σ⌈i/c⌉ + qL + (M − 1)L(L + 1)/2. With L = 2 and
    k = √2·M this is M/4·(1 + o(1)); with k = √(M/2)·√(M L(L + 1)/2) and L → ∞ it tends to M/√2.

    Exactly: in step T + i the last long one holds 1 + i, so c_i = ⌊(M − 1 − i)/2⌋ shorts run beside it.
    """
    return _long_first(memory, long, 1, short)


def prompts(memory: int, long: int = 2, short: int | None = None) -> Member:
    """`long` × (s = 0, o = M), then `short` × (1, 1): the same for keys that see no output; about M/4.

    By prompt, by prompt area s·o and by output descending the long ones come first. They fill the memory by themselves
    and run one after another; a short one (peak 2) fits beside the last. TEL(policy) ≥ k·((L − 1)M + 1). The reference
    is that of the family `fcfs`.
    """
    return _long_first(memory, long, 0, short)


def _long_first(memory: int, long: int, prompt: int, short: int | None) -> Member:
    """`long` × (s, M − s) one after another with `short` × (1, 1) behind them, against the short ones first.

    In step i of the last long one, i ≤ M − s, it holds s + i tokens and ⌊(M − s − i)/2⌋ short ones run beside it.
    """
    count = round(math.sqrt(2) * memory) if short is None else short
    output = memory - prompt
    last, longs = (long - 1) * output, output * triangle(long)
    policy, left, i = longs, count, 0
    while left:
        i += 1
        room = (output - i if i <= output else memory) // 2
        run = min(room, left)
        policy += run * (last + i)
        left -= run
    width = memory // 2
    steps = -(-count // width)
    rest = count - width * (steps - 1)
    begin = steps - 1 if 2 * rest + prompt + 1 <= memory else steps
    shorts = [i // width for i in range(count)]
    return Member(
        stack((long, prompt, output), (count, 1, 1)),
        memory,
        schedule(serial(begin, output, long), shorts),
        waves(count, width) + begin * long + longs,
        policy,
    )


def arrivals(memory: int, late: int | None = None) -> Member:
    """One (s = 0, o = M) at step 0, `late` × (M − 1, 1) at step 1: what cannot wait is about √(M/2) off.

    Whoever starts what fits starts the long one at 0; nothing fits beside it until M, since the late ones need all of
    the memory. TEL = M + k(M − 1) + k(k + 1)/2. Serving the late ones first costs k(k + 1)/2 + (k + 1 + M). With
    k = √(2M) the ratio is √(M/2)·(1 + o(1)). No policy that never idles escapes, whatever its order.
    """
    count = round(math.sqrt(2 * memory)) if late is None else late
    lengths = stack((1, 0, memory), (count, memory - 1, 1))
    requests = Requests(lengths.prompt, lengths.output, np.array([0] + [1] * count))
    return Member(
        requests,
        memory,
        schedule([count + 1], serial(1, 1, count)),
        triangle(count) + count + 1 + memory,
        memory + count * (memory - 1) + triangle(count),
    )


def total_size(memory: int, long: int = 2, large: int | None = None) -> Member:
    """`long` × (1, M − 2), then `large` × (M − 1, 1): smallest peak first is at least about √M·4/5 (docs/math.md §9).

    The long ones have peak M − 1 and run one after another (M − 1 + 2 > M), the large ones fill the memory for a step:
    TEL = (M − 2)L(L + 1)/2 + kL(M − 2) + k(k + 1)/2. The other way round: k(k + 1)/2 + kL + (M − 2)L(L + 1)/2. With
    L = 2 and k = 2√M the ratio is 4√M/5·(1 + o(1)); with k = √(M L(L + 1)) and L → ∞ it tends to √M.
    """
    require(memory >= 4, f"memory={memory}: the family needs at least 4 tokens")
    count = round(2 * math.sqrt(memory)) if large is None else large
    longs = (memory - 2) * triangle(long)
    return Member(
        stack((long, 1, memory - 2), (count, memory - 1, 1)),
        memory,
        schedule(serial(count, memory - 2, long), serial(0, 1, count)),
        triangle(count) + count * long + longs,
        longs + count * long * (memory - 2) + triangle(count),
    )


_LONG = Parameter("long", "int", 2, "number L of long requests", 1, 10**5)
_SHORT = Parameter("short", "int", None, "number k of short requests (default √2·M)", 1, 10**6)

FAMILIES = (
    Family(
        "fcfs",
        "long requests at the head of the line, short ones behind",
        ("fcfs",),
        "≈ M/4 (L → ∞: M/√2)",
        (memory(196, 4), _LONG, _SHORT),
        fcfs,
    ),
    Family(
        "shortest-prompt",
        "long outputs behind no prompt: the same for keys that see no output",
        ("shortest-prompt", "area", "longest-first"),
        "≈ M/4 (L → ∞: M/√2)",
        (memory(196, 4), _LONG, _SHORT),
        prompts,
    ),
    Family(
        "total-size",
        "long requests of slightly smaller peak than short ones",
        ("total-size",),
        "≈ 4√M/5 (L → ∞: √M)",
        (
            memory(196, 4),
            _LONG,
            Parameter("large", "int", None, "number k of requests (M − 1, 1) (default 2√M)", 1, 10**6),
        ),
        total_size,
    ),
    Family(
        "online",
        "a long request alone at step 0, large short ones right after: who cannot wait loses",
        ("sorted-f:online", "fcfs", "mc-sf", "total-size", "svf", "volume-classes", "shortest-prompt"),
        "≈ √(M/2)",
        (memory(196, 2), Parameter("late", "int", None, "number k of late requests (default √(2M))", 1, 10**6)),
        arrivals,
    ),
)
