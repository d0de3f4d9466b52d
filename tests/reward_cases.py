"""Random small problems with the objective REWARD, and their brute-force optima."""

from __future__ import annotations

import random
from fractions import Fraction

from brute_reward import best_reward

from kvbound.models import Fleet, Problem, Requests, Reward


def draw(rng: random.Random, most: int = 6, horizon: int = 8) -> Problem:
    """One or two workers, equal or not, with or without batch sizes; late arrivals, equal requests, all weights."""
    n, workers, memory, end = rng.randint(1, most), rng.choice([1, 2]), rng.randint(4, 9), rng.randint(2, horizon)
    prompt = [rng.randint(0, 3) for _ in range(n)]
    output = [rng.randint(1, min(5, memory - s)) for s in prompt]
    arrival = [rng.randint(0, end) if rng.random() < 0.6 else 0 for _ in range(n)]
    if n > 1 and rng.random() < 0.3:
        prompt[1], output[1], arrival[1] = prompt[0], output[0], arrival[0]
    sizes = (memory,) + (memory + rng.choice([0, 0, 1, 3]),) * (workers - 1)
    caps = tuple(rng.choice([None, 1, 2, 3]) for _ in range(workers))
    if rng.random() < 0.4:
        caps = (caps[0],) * workers
    weights = [Fraction(rng.randint(0, 4), rng.choice([1, 1, 2, 3])) for _ in range(6)]
    reward = Reward(end, *weights, eel_limit=rng.randint(0, 6), ttft_limit=rng.randint(0, 4))
    return Problem(Requests(prompt, output, arrival), Fleet(sizes, caps), reward)


def optimum(problem: Problem) -> Fraction:
    """By brute force."""
    r, w = problem.requests, problem.objective
    assert isinstance(w, Reward)
    triples = list(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True))
    weights = (w.weights, w.eel_limit, w.ttft_limit)
    return best_reward(triples, problem.fleet.memory, problem.fleet.batch, w.horizon, weights)
