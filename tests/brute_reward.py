"""Brute-force optimum of REWARD for tests: every choice of worker, start or "unserved", step by step.

Plain Python, no numpy, no kvbound: it shares nothing with the code it judges. For n ≤ 8 and short horizons.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

#: (token, eel, ttft, served, eel_tail, ttft_tail), then the limits of EEL and TTFT.
Weights = tuple[Sequence[Fraction | int], int, int]


def reward_of(weights: Weights, horizon: int, output: int, arrival: int, start: int) -> Fraction:
    """What one request earns; counted step by step where that is possible."""
    (token, eel, ttft, served, eel_tail, ttft_tail), eel_limit, ttft_limit = weights
    end = start + output
    total = Fraction(served)
    total += token * sum(1 for step in range(start + 1, end + 1) if step <= horizon)
    total += eel * len(range(end, horizon)) + ttft * len(range(start + 1, horizon))
    if end - arrival < eel_limit:
        total += eel_tail
    if start + 1 - arrival < ttft_limit:
        total += ttft_tail
    return total


def best_reward(
    requests: Sequence[tuple[int, int, int]],
    memory: Sequence[int],
    batch: Sequence[int | None],
    horizon: int,
    weights: Weights,
) -> Fraction:
    """Largest reward over all schedules of (prompt, output, arrival) triples."""
    order = sorted(requests, key=lambda r: -(r[0] + r[1]) * r[1])
    most = [reward_of(weights, horizon, o, a, a) if a < horizon else Fraction(0) for _, o, a in order]
    hope = [sum(most[j:], Fraction(0)) for j in range(len(order) + 1)]
    held = [[0] * (horizon + 1) for _ in memory]
    running = [[0] * (horizon + 1) for _ in memory]
    best = Fraction(-1)

    def place(j: int, earned: Fraction) -> None:
        nonlocal best
        best = max(best, earned)
        if j == len(order) or earned + hope[j] <= best:
            return
        s, o, a = order[j]
        for g, (size, cap) in enumerate(zip(memory, batch, strict=True)):
            if s + o > size:
                continue
            for k in range(a, horizon):
                steps = range(k + 1, min(k + o, horizon) + 1)
                if any(held[g][t] + s + t - k > size or (cap is not None and running[g][t] >= cap) for t in steps):
                    continue
                for t in steps:
                    held[g][t] += s + t - k
                    running[g][t] += 1
                place(j + 1, earned + reward_of(weights, horizon, o, a, k))
                for t in steps:
                    held[g][t] -= s + t - k
                    running[g][t] -= 1
        place(j + 1, earned)

    place(0, Fraction(0))
    return best
