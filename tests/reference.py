"""Brute-force optimum of TEL for tests: a step-by-step simulation that tries every decision.

Plain Python, no numpy, no kvbound: it shares nothing with the code it judges. For n ≤ 6 and short outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

WAITING = -1


def brute_force(
    prompt: Sequence[int],
    output: Sequence[int],
    memory: Sequence[int],
    arrival: Sequence[int] | None = None,
    batch: Sequence[int | None] | None = None,
) -> int:
    """Least Σ (completion − arrival) over all schedules; `memory` and `batch` have one entry per worker.

    In each step every waiting request that has arrived either waits on or starts on one of the workers;
    what has started runs to its end. A step costs 1 for each request that has arrived and is not finished.
    """
    n, workers = len(prompt), range(len(memory))
    arrived = [0] * n if arrival is None else list(arrival)
    caps = [None] * len(memory) if batch is None else list(batch)
    last_step = max(arrived) + sum(output)  # idling longer than one-after-the-other never pays

    @cache
    def cheapest(step: int, left: tuple[int, ...], place: tuple[int, ...]) -> float:
        """Cost from the end of `step` on; left[j] = steps that j still has to run, place[j] = its worker."""
        if not any(left):
            return 0
        if step == last_step:
            return float("inf")
        cost = sum(1 for j in range(n) if left[j] and arrived[j] <= step)
        choices = [
            (WAITING, *workers) if left[j] and place[j] == WAITING and arrived[j] <= step else (place[j],)
            for j in range(n)
        ]
        best = float("inf")
        for chosen in product(*choices):
            if all(fits(g, chosen, left) for g in workers):
                after = tuple(left[j] - 1 if left[j] and chosen[j] != WAITING else left[j] for j in range(n))
                where = tuple(chosen[j] if after[j] else WAITING for j in range(n))
                best = min(best, cheapest(step + 1, after, where))
        return cost + best

    def fits(g: int, chosen: tuple[int, ...], left: tuple[int, ...]) -> bool:
        """Whether worker g can run what is chosen to its end: s tokens and one more for each step run."""
        running = [j for j in range(n) if left[j] and chosen[j] == g]
        for ahead in range(max((left[j] for j in running), default=0)):
            active = [j for j in running if left[j] > ahead]
            held = sum(prompt[j] + (output[j] - left[j] + ahead + 1) for j in active)
            cap = caps[g]
            if held > memory[g] or (cap is not None and len(active) > cap):
                return False
        return True

    best = cheapest(0, tuple(output), (WAITING,) * n)
    assert best < float("inf"), "some request fits on no worker"
    return int(best)
