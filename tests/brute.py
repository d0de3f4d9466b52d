"""Slow, plain-Python truths that the tests of models and checkers compare with; no code of the project inside."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise


def holds(prompt: int, output: int, start: int, step: int) -> int:
    """Tokens that a request started at `start` holds in `step`; 0 while it is not active."""
    return prompt + step - start if start < step <= start + output else 0


def feasible(requests, starts, workers, memory, batch) -> bool:
    """Every rule, step by step. `requests` are (prompt, output, arrival) triples."""
    if any(k < a for (_, _, a), k in zip(requests, starts, strict=True)):
        return False
    last = max(k + o for (_, o, _), k in zip(requests, starts, strict=True))
    for g, (size, cap) in enumerate(zip(memory, batch, strict=True)):
        mine = [(s, o, k) for (s, o, _), k, w in zip(requests, starts, workers, strict=True) if w == g]
        for step in range(1, last + 1):
            if sum(holds(s, o, k, step) for s, o, k in mine) > size:
                return False
            if cap is not None and sum(k < step <= k + o for _, o, k in mine) > cap:
                return False
    return True


def optimum(requests, memory, batch, slack: int = 0) -> int:
    """Least Σ (C_j − a_j) over all starts and workers that end by last arrival + Σ o_j + `slack`; depth-first."""
    order = sorted(range(len(requests)), key=lambda j: -(requests[j][0] + requests[j][1]))
    requests = [requests[j] for j in order]
    shortest = [sum(o for _, o, _ in requests[j:]) for j in range(len(requests) + 1)]
    last = max(a for _, _, a in requests) + shortest[0] + slack
    held = [[0] * (last + 1) for _ in memory]
    running = [[0] * (last + 1) for _ in memory]
    # One after another on the worker with the largest memory: feasible, so an upper bound.
    clock = best = 0
    for _, o, a in sorted(requests, key=lambda r: r[2]):
        clock = max(clock, a) + o
        best += clock - a

    def place(j: int, cost: int) -> None:
        nonlocal best
        if j == len(requests):
            best = min(best, cost)
            return
        s, o, a = requests[j]
        for g, (size, cap) in enumerate(zip(memory, batch, strict=True)):
            for k in range(a, last - o + 1):
                total = cost + k + o - a
                if total + shortest[j + 1] >= best:
                    break
                steps = range(k + 1, k + o + 1)
                if all(held[g][t] + s + t - k <= size and (cap is None or running[g][t] < cap) for t in steps):
                    for t in steps:
                        held[g][t] += s + t - k
                        running[g][t] += 1
                    place(j + 1, total)
                    for t in steps:
                        held[g][t] -= s + t - k
                        running[g][t] -= 1

    place(0, 0)
    return best


def levels_value(prompt: int, output: int, memory: int, levels: int, delay: int, after: Fraction) -> int:
    """docs/math.md §4, levels: the value at `after` steps after completion (negative: before)."""
    if output < delay:
        return 0
    for i in range(levels, 0, -1):
        w = prompt + output - Fraction(i * memory, levels + 1)
        if w > 0:
            alpha, omega = min(w, output - delay), min(w / (levels + 1 - i), delay)
            if -alpha < after < omega:
                return i
    return 0


def linear_value(prompt: int, output: int, memory: int, epsilon: Fraction, delay: int, after: Fraction) -> Fraction:
    """docs/math.md §4, linear middle: the value at `after` steps after completion (negative: before)."""
    peak = prompt + output
    if output < delay:
        return Fraction(0)
    if after <= 0:
        if output + after <= delay:  # the age
            return Fraction(0)
        held = peak + after
        if held > (1 - epsilon) * memory:
            return Fraction(1)
        return held / memory if held >= epsilon * memory else Fraction(0)
    if after >= min(delay, epsilon * memory) or peak < epsilon * memory + after:
        return Fraction(0)
    others = (memory - peak) // (epsilon * memory - after)
    return Fraction(1) if others == 0 else max(Fraction(0), (peak - others * after) / memory)


def sep_holds(first, second, memory: int) -> bool:
    """docs/math.md §3 for two (prompt, output, start) triples on one worker."""
    (s, o, k), (z, q, m) = sorted((first, second), key=lambda r: r[1] + r[2])
    return (m + q) - (k + o) >= min(q, s + o + z + q - memory)


def positional_holds(requests, memory: int) -> bool:
    """docs/math.md §5.6 for all k, m over (prompt, output, start) triples on one worker."""
    done = sorted(requests, key=lambda r: r[1] + r[2])
    ends = [o + k for _, o, k in done]
    assert all(a <= b for a, b in pairwise(ends))
    for i, (s, o, _) in enumerate(done):
        gap = need = 0
        for q in range(i + 1, len(done)):
            gap += ends[q] - ends[i]
            need += done[q][1]
            if gap < s + o + need - memory:
                return False
    return True
