"""Equal volumes that block one another: smallest volume first, and what every list schedule loses at the start."""

from __future__ import annotations

import math

import numpy as np

from kvbound.instances.adversarial.families.base import (
    Family,
    Member,
    conveyor,
    conveyor_starts,
    conveyor_tel,
    memory,
    require,
    serial,
    triangle,
    waves,
)
from kvbound.instances.parameters import Parameter
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule


def thin_and_fat(memory: int, thin: int, alpha: float) -> tuple[int, int, int]:
    """Lengths (prompt, output) of the thin requests and the peak V of the fat ones: the longest output that works.

    Conditions: V = s·o + o(o + 1)/2 ≤ αM (equal volumes, the fat one is (V − 1, 1)), thin·(s + 1) > M − V (as long as
    all thin ones run, the fat one waits), thin·(s + o) ≤ M (they fit together).
    """
    cap = int(alpha * memory)
    for output in range(memory, 1, -1):
        half = output * (output + 1) // 2
        if half > cap:
            continue
        prompt = max(0, -((half + thin - memory - 1) // (output + thin)))
        peak = prompt * output + half
        if peak <= cap and thin * (prompt + 1) > memory - peak and thin * (prompt + output) <= memory:
            return prompt, output, peak
    require(False, f"memory={memory}, thin={thin}, alpha={alpha}: no lengths with equal volumes block; raise memory")
    raise AssertionError


def svf(memory: int, rounds: int = 30, thin: int = 1, alpha: float = 1.0) -> Member:
    """Rounds of `thin` thin requests (s, o) and one fat (V − 1, 1), all of the same volume V ≤ αM: about 1/(1 − α).

    Ties go to the lower index, so smallest volume first keeps the rounds (perturb by one token to do without ties). Let
    m thin ones hold more than M − V together from their first step on. *Claim:* the fat one of round i starts at F_i ≥
    i·o. The thin ones of round i start at F_{i−1} or later, all of them before the fat one. At F_i one of them has
    completed, else all would be active in step F_i + 1; so F_i ≥ F_{i−1} + o. Hence with K rounds

        TEL(SVF) ≥ Σ_i [(i·o + 1) + m·((i − 1)·o + o)] = (m + 1)·o·K(K + 1)/2 + K ,

    and with m = 1 exactly K(K + 1)(o + 1) − K, as then nothing fits beside the fat one. The reference takes the thin
    ones first, side by side, then the fat ones (or the other way round), TEL ≈ (m + 1)²K²V/(2M) when m is large.
    As V = αM and m·s ≈ (1 − α)M, s ≫ o (M → ∞): o = V/s = mα/(1 − α), and for K, m → ∞ the ratio tends to

        (m + 1)·o / ((m + 1)²·α) → 1/(1 − α) .

    The theorem (docs/math.md §7) allows 1 + 2/(1 − α). With α = 1, m = 1 the thin ones have o ≈ √(2M), run alone one by
    one in SVF and √(M/2) at a time in the reference: the ratio is of order √M, so no constant holds without α.
    """
    s, o, peak = thin_and_fat(memory, thin, alpha)
    count = thin * rounds
    width, gap = conveyor(count, s, o, memory)
    beside = conveyor_tel(count, o, width, gap)
    end = (-(-count // width) - 1) * gap + o
    thin_first, fat_first = rounds * end, count * rounds
    starts = conveyor_starts(count, width, gap)
    fats = serial(end, 1, rounds)
    if fat_first < thin_first:
        starts, fats = starts + rounds, fats - end
    order = np.concatenate([starts.reshape(rounds, thin), fats[:, None]], axis=1)
    one_round = np.array([[s, o]] * thin + [[peak - 1, 1]], dtype=np.int64)
    lengths = np.tile(one_round, (rounds, 1))
    exact = thin == 1
    policy = rounds * (rounds + 1) * (o + 1) - rounds if exact else (thin + 1) * o * triangle(rounds) + rounds
    return Member(
        Requests(lengths[:, 0], lengths[:, 1]),
        memory,
        Schedule(order.ravel()),
        beside + triangle(rounds) + min(thin_first, fat_first),
        policy,
        exact,
    )


def strict(memory: int, rounds: int | None = None) -> Member:
    """Thin and fat in turn by strictly ascending volumes: no tie to break; also for Sorted-F with the quantile greedy.

    Thin requests (s_i, o_i) with volumes v_1 < v_2 < … at least 2 apart in [M − W, M − 2], W = 4K, and s_i > W, each
    followed by a fat one (v_i, 1) of volume v_i + 1. The lengths are searched for: those of longest output. Nothing
    runs beside anything: s_i + 1 + v_j + 1 > M for all i, j. So T_{i+1} = T_i + o_i + 1 and TEL(SVF) = Σ (2(T_i + o_i)
    + 1). Scored by volume, the batches of the quantile greedy are single requests, as thin and fat do not fit together,
    so it makes the same schedule (up to 256 requests, its sample). The reference takes the fat ones, then the thin ones
    in waves. By counting, about every third volume is met by some output o ≤ x√M with 1/x − x/2 = 4K/√M; then, with K =
    √M/4, all outputs are of order √M, and so is the ratio. That there are as many is not proved, it is found (or
    refused) at each M.
    """
    k = max(1, round(memory**0.5 / 4)) if rounds is None else rounds
    window = 4 * k
    found: dict[int, tuple[int, int]] = {}
    for output in range(2, int((2 * memory) ** 0.5) + 1):
        half = output * (output + 1) // 2
        low = max(window + 1, -((half + window - memory) // output))
        for prompt in range(low, (memory - 2 - half) // output + 1):
            found[prompt * output + half] = (prompt, output)
    chosen: list[tuple[int, int, int]] = []
    for v in sorted(found, key=lambda v: (-found[v][1], v)):
        if len(chosen) < k and all(abs(v - other) > 1 for other, _, _ in chosen):
            chosen.append((v, *found[v]))
    require(len(chosen) == k, f"memory={memory}, rounds={k}: only {len(chosen)} thin requests exist; fewer rounds")
    value, s, o = (np.array(column, dtype=np.int64) for column in zip(*sorted(chosen), strict=True))
    begin = np.cumsum(o + 1) - o - 1
    policy = int(np.sum(2 * (begin + o) + 1))
    width = memory // int((s + o).max())
    starts, now = np.zeros(k, np.int64), k
    order = np.argsort(o, kind="stable")
    for first in range(0, k, width):
        wave = order[first : first + width]
        starts[wave] = now
        now += int(o[wave].max())
    lengths = np.stack((np.stack((s, o), 1), np.stack((value, np.ones_like(value)), 1)), axis=1).reshape(-1, 2)
    return Member(
        Requests(lengths[:, 0], lengths[:, 1]),
        memory,
        Schedule(np.stack((starts, np.arange(k, dtype=np.int64)), axis=1).ravel()),
        triangle(k) + int((starts + o).sum()),
        policy,
    )


def _thin_first(memory: int, output: int, fat: int | None) -> Member:
    k = round(math.sqrt(2 * output)) if fat is None else fat
    lengths = np.array([[0, output]] + [[memory - 1, 1]] * k, dtype=np.int64)
    starts = np.append(k, np.arange(k, dtype=np.int64))
    after = triangle(k)
    return Member(
        Requests(lengths[:, 0], lengths[:, 1]),
        memory,
        Schedule(starts),
        after + k + output,
        output + k * output + after,
    )


def classes(memory: int, fat: int | None = None) -> Member:
    """One thin (0, o) with o(o + 1)/2 ≤ M, then `fat` × (M − 1, 1) of volume M: about 0.84·M^¼ by volume.

    The thin one has the smaller volume, or the same class and the smaller peak. It goes first, and nothing fits beside
    it: TEL = o + k·o + k(k + 1)/2, against k(k + 1)/2 + k + o with the fat ones first. With o ≈ √(2M) and k = √(2o) the
    ratio is k/2·(1 + o(1)) = √(o/2). So no way of grouping volumes has a constant ratio when α may be 1.
    """
    return _thin_first(memory, (math.isqrt(8 * memory + 1) - 1) // 2, fat)


def smith(memory: int, fat: int | None = None) -> Member:
    """One thin (0, o) with v/√o ≤ M, then `fat` × (M − 1, 1): of order M^⅓ for Smith's rule v/√o.

    As `classes`, with the longest o for which (o(o + 1)/2)² < M²·o, about (2M)^⅔: the ratio is √(o/2)·(1 + o(1)).
    """
    output = 1
    while (output + 1) * (output + 2) ** 2 < 4 * memory**2 and output + 1 < memory:
        output += 1
    return _thin_first(memory, output, fat)


def lockstep(memory: int, fit: int = 4, n: int = 200) -> Member:
    """n × (0, M/r): identical requests of which r start together; every list schedule is 2 − 1/r off as n → ∞.

    All orders are alike. r = `fit` of them start at once, since their peaks sum up to M, and until they complete, all
    at the same time, nobody else fits: TEL = o·Σ⌈i/r⌉ ≈ o·n²/(2r), half of the memory is idle on average. Started one
    by one every o/(2r − 1) steps, 2r − 1 run at a time: at a completion they hold d·(1 + … + (2r − 1)) = d·r(2r − 1) =
    M tokens with d = o/(2r − 1). TEL ≈ n²·o/(2(2r − 1)), so the ratio tends to (2r − 1)/r. No policy that starts
    whatever fits and has only an order to choose, Sorted-F, SVF, Sorted-LP included, has a ratio below 2 (r → ∞), or
    below 2 − α with peaks of at most αM.
    """
    require(memory % fit == 0, f"memory={memory} is not a multiple of fit={fit}; the peaks have to fill it exactly")
    output = memory // fit
    width, gap = conveyor(n, 0, output, memory)
    zeros = np.zeros(n, np.int64)
    return Member(
        Requests(zeros, zeros + output),
        memory,
        Schedule(conveyor_starts(n, width, gap)),
        conveyor_tel(n, output, width, gap),
        output * waves(n, fit),
    )


_ROUNDS = Parameter("rounds", "int", 30, "number K of rounds", 1, 10**5)
_FAT = Parameter("fat", "int", None, "number k of fat requests (default √(2o))", 1, 10**6)

FAMILIES = (
    Family(
        "svf",
        "equal volumes, thin ones that block a fat one, again and again",
        ("svf",),
        "1/(1 − α) (M, m, K → ∞); Θ(√M) at α = 1",
        (
            memory(196, 8),
            _ROUNDS,
            Parameter("thin", "int", 1, "thin requests m in a round", 1, 10**4),
            Parameter("alpha", "float", 1.0, "largest peak over memory", 0.01, 1),
        ),
        svf,
    ),
    Family(
        "svf:strict",
        "thin and fat in turn by ascending volume, without ties",
        ("svf", "sorted-f:quantile"),
        "≈ 0.16·√M, as measured",
        (memory(196, 64), Parameter("rounds", "int", None, "number K of rounds (default √M/4)", 1, 10**4)),
        strict,
    ),
    Family(
        "volume-classes",
        "one thin request of less volume before fat ones",
        ("volume-classes", "svf"),
        "≈ 0.84·M^¼",
        (memory(196, 4), _FAT),
        classes,
    ),
    Family(
        "wspt",
        "one thin request of smaller v/√o before fat ones",
        ("wspt",),
        "≈ 0.9·M^⅓",
        (memory(196, 4), _FAT),
        smith,
    ),
    Family(
        "lockstep",
        "identical requests that start and end together",
        ("fcfs", "mc-sf", "total-size", "svf", "volume-classes", "sorted-f:exact", "sorted-f:swap", "sorted-f:quantile",
         "sorted-lp", "lp-swap", "area", "wspt", "weighted", "shortest-prompt", "longest-first",
         "a-max", "a-min", "sorted-f:a-min", "sorted-f:online"),
        "2 − 1/r (n → ∞)",
        (
            memory(196, 1),
            Parameter("fit", "int", 4, "r: how many peaks fill the memory", 1, 10**6),
            Parameter("n", "int", 200, "number of requests", 1, 10**6),
        ),
        lockstep,
    ),
)  # fmt: skip
