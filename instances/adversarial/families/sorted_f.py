"""Batches whose last request outlives them: Sorted-F with an exact selector, and its two ways to lose."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kvbound.instances.adversarial.families.base import Family, Member, require
from kvbound.instances.parameters import Parameter
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule

IntArray = npt.NDArray[np.int64]


def spacing(peak: int, output: int, memory: int) -> int:
    """Least distance of completions at which requests of that peak and at most that output fit.

    With completions d apart, at a completion the i-th next one holds p − i·d if i·d < o and nothing otherwise.
    """
    for gap in range(1, output + 1):
        active = (output - 1) // gap + 1
        if active * peak - gap * active * (active - 1) // 2 <= memory:
            return gap
    return output


def tails(wide: int = 8, rounds: int = 12, base: int | None = None, late: int = 0, width: int = 1) -> Member:
    """Batches of N units and one tail, each followed by a request that fills the memory; perhaps late ones: 8/3, 3.

    Round i = 1..K has a level ℓ = base + i and the requests

        N units (p − Nℓ, Nℓ),   a tail (p − 1 − t, t) with t = (2N + 1)ℓ − 1,   a plug (M − ℓ, ℓ),   M = N·p + p − 1,

    where p = `width`·(2N + 1)(base + K), so that p − 1 ≥ t. With `late` = β − 2 > 0 there are also c = (β − 2)N − 1
    *late* requests (0, βNL), L = base + K.

    *Sorted-F takes the rounds one after another, units, tail, plug, and the late ones at the end.*
    N + 1 units do not fit (M + 1), N units and a tail fit exactly: F = (N²ℓ + (2N + 1)ℓ − 1)/(N + 1)² = ℓ − 1/(N + 1)².
    The requests of later rounds have larger outputs. A batch without late ones of size N + 1 has a tail in it, and more
    fit never (N + 2 peaks of p − 1 exceed M), so N units and one tail have the least Σo of that size; of size x ≤ N, x
    units have F = Nℓ/x ≥ ℓ; the plug has F = ℓ and fits with nothing; the round before ended with F = ℓ − 1. With j
    late ones beside x requests of the batch, x ≤ N + 1, F ≥ ((x + j)·Nℓ + j(β − 1)Nℓ)/(x + j)², and for x ≤ N that is
    at least ℓ, since βNj + Nx ≥ (x + j)² for all j ≤ (β − 2)N; N + 1 with a tail leave room for none (M full), N + 1
    tails and units with two tails or more have Σo above (N + 1)²ℓ. Inside the batch the order is by output.

    *The schedule.* The units start together and complete after Nℓ. The plug, with peak M, starts when the tail
    completes: while the tail is active, it holds more in one of the plug's steps than the plug leaves free. The next
    units hold more than ℓ from their first step on, so they wait for the plug. Round i lasts t + ℓ = (2N + 2)ℓ − 1
    steps, twice as long as its units: TEL(Sorted-F) = Σ_i [N(T_i + Nℓ_i) + 2(T_i + t_i) + ℓ_i] + c(T_{K+1} + βNL), with
    T_{i+1} = T_i + (2N + 2)ℓ_i − 1.

    *A better schedule.* The late ones at 0; beside them all units with completions d apart (`spacing`), then the plugs,
    then the tails like the units. Without late ones and with base ≫ K: p ≈ 2a for a = Nℓ, a unit uses (p − a/2)a =
    3a²/2 memory-time, so d ≈ 3a²/(2M) ≈ 3a/(4N), where Sorted-F needs 2a per N units. Plugs and tails are 2 of N + 2
    requests. N, K → ∞: the ratio tends to 2/(3/4) = 8/3. With late ones and width → ∞ (so that they use no memory to
    speak of) d → a/N, and N → ∞, then K = 2β → ∞:

        [K² + (β − 2)(2K + β)] / [K²/2 + (β − 2)β] → (4 + 4 + 1)/(2 + 1) = 3 .
    """
    level = np.arange(1, rounds + 1, dtype=np.int64) + (rounds if base is None else base)
    unit, tail = wide * level, (2 * wide + 1) * level - 1
    peak = width * (int(tail[-1]) + 1)
    memory = wide * peak + peak - 1
    begin = np.concatenate(([0], np.cumsum(tail + level)))
    policy = int(np.sum(wide * (begin[:-1] + unit) + 2 * (begin[:-1] + tail) + level))
    count, long = (late * wide - 1, (late + 2) * int(unit[-1])) if late else (0, 0)
    policy += count * (int(begin[-1]) + long)
    room = memory - count * long
    require(room >= peak, f"late={late}: the late requests would fill the memory; raise width")
    # The window of requests that are active together reaches into later rounds, whose outputs are larger.
    ahead = -(-2 * (wide + 1) // wide) + 1
    gaps = np.array([spacing(peak, int(unit[min(i + ahead, rounds - 1)]), room) for i in range(rounds)])
    done = int(unit[0]) + np.concatenate(([0], np.cumsum(np.repeat(gaps, wide))[:-1]))
    plugs = max(int(done[-1]), long) + np.cumsum(level) - level
    free = int(plugs[-1] + level[-1])
    slots = np.array([spacing(peak - 1, int(tail[min(i + 2 * wide + 2, rounds - 1)]), memory) for i in range(rounds)])
    ends = np.maximum(free + int(tail[0]) + np.concatenate(([0], np.cumsum(slots)[:-1])), free + tail)
    starts = np.concatenate(
        [(done.reshape(rounds, wide) - unit[:, None]), (ends - tail)[:, None], plugs[:, None]], axis=1
    )
    output = np.concatenate([np.repeat(unit[:, None], wide, axis=1), tail[:, None], level[:, None]], axis=1)
    prompt = np.array([peak] * wide + [peak - 1, memory], dtype=np.int64) - output
    reference = int(done.sum() + (plugs + level).sum() + ends.sum()) + count * long
    zeros = np.zeros(count, np.int64)
    return Member(
        Requests(np.concatenate((prompt.ravel(), zeros)), np.concatenate((output.ravel(), zeros + long))),
        memory,
        Schedule(np.concatenate((starts.ravel(), zeros))),
        reference,
        policy,
    )


def halves(half: int = 100, rounds: int = 6) -> Member:
    """Pairs (0, a), (M − b, b) with a ≈ b just above M/2: one after the other, or three of the first at a time: → 2.

    Round i = 1..K has a = h + 2i − 1 and b = h + 2i with h = M/2: all peaks exceed M/2, so every batch is a single
    request and Sorted-F (like shortest output first) goes by output, (0, a) and (M − b, b) in turn. The second cannot
    start before the last step of the first: at that completion they hold a + (M − b) + age = M − 1 + age, so the age is
    at most 1. The next first one cannot start beside the second, which ends with all of the memory. A round takes a + b
    − 1 = 2a steps: TEL = Σ_i [2T_i + 3a_i], T_{i+1} = T_i + 2a_i, about 2hK². First all first ones with completions d ≈
    M/6 = h/3 apart (at a completion they hold a + (a − d) + (a − 2d) ≤ M), then all others: h/3·K²/2 + (h/3)K² + hK²/2
    = hK². For K → ∞, M ≫ K the ratio tends to 2; it needs no large batches, so it shows at n = 12 already.
    """
    memory = 2 * half
    first = half + 2 * np.arange(1, rounds + 1, dtype=np.int64) - 1
    second = first + 1
    require(int(second[-1]) <= memory, f"rounds={rounds}: outputs would exceed the memory; raise half")
    lengths = np.stack((first, second), axis=1)
    prompts = np.stack((0 * first, memory - second), axis=1)
    begin = np.cumsum(2 * first) - 2 * first
    gap = spacing(int(first[-1]), int(first[-1]), memory)
    done = first[0] + gap * np.arange(rounds, dtype=np.int64)
    done = np.maximum(done, first)
    rest = int(done[-1]) + np.cumsum(second) - second
    starts = np.stack((done - first, rest), axis=1)
    reference = int(done.sum() + (rest + second).sum())
    return Member(
        Requests(prompts.ravel(), lengths.ravel()),
        memory,
        Schedule(starts.ravel()),
        reference,
        int(np.sum(2 * begin + 3 * first)),
    )


FAMILIES = (
    Family(
        "sorted-f",
        "batches with a tail that holds up a request as large as the memory",
        ("sorted-f:exact",),
        "8/3 (N, K → ∞); with late ones 3",
        (
            Parameter("wide", "int", 8, "units N in a batch", 2, 1000),
            Parameter("rounds", "int", 12, "rounds K", 1, 10**4),
            Parameter("base", "int", None, "level before the first round (default K)", 0, 10**6),
            Parameter("late", "int", 0, "β − 2: N times as many, less one, of β-fold output come last", 0, 10**4),
            Parameter("width", "int", 1, "peaks of units over the output of the longest tail", 1, 10**5),
        ),
        tails,
    ),
    Family(
        "sorted-f:halves",
        "pairs of peaks above M/2 that exclude each other",
        ("sorted-f:exact", "sorted-f:swap", "mc-sf"),
        "2 (K, M/K → ∞)",
        (
            Parameter("half", "int", 100, "h = M/2", 3, 10**7),
            Parameter("rounds", "int", 6, "rounds K", 1, 10**5),
        ),
        halves,
    ),
)
