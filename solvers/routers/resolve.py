"""Prices from scratch: the pooled LP of a sample of what is expected in the next W steps, beside what runs.

The sample holds requests that wait (from now on) and columns of the window at uniform steps, at most `_MOST`; when more
are expected, each stands for several, and the capacity that is free is divided by that number, which leaves prices as
they are. First-order steps refine the prices until the next time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvbound.models.errors import LimitError, SizeError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests
from kvbound.models.reward import Reward
from kvbound.solvers.bounds.reward import solve_reward_lp
from kvbound.solvers.engine.state import ASSUMED, NOW, PROMPT, State
from kvbound.solvers.routers.learning import add_up, arrival_rate, draw, look_ahead
from kvbound.solvers.routers.prices import COL_OUTPUT, COL_PROMPT, FILLED, MEM, SLOT, WAITS, Prices

#: Requests in the LP, at most.
_MOST = 40


def resolve_prices(problem: Problem, objective: Reward, state: State, prices: Prices, gain: float) -> bool:
    """Replace the prices by duals of the sampled LP; False, and prices as they were, when HiGHS has no answer.

    Of `problem` only the fleet is used: lengths are those predicted, of what waits and of the window.
    """
    now, horizon = int(state.clock[NOW]), prices.table.shape[2] - 1
    look_ahead(state, prices, now)
    sample, expected = _sample(state, prices, now, horizon, gain)
    fits = sample[0] + sample[1] <= problem.fleet.largest
    if not fits.any():
        return False
    each = max(1.0, expected / sample.shape[1])
    requests = Requests(sample[0][fits], sample[1][fits], sample[2][fits])
    ahead = Problem(requests, problem.fleet, replace(objective, horizon=horizon), "planning horizon")
    capacity = np.where(np.isinf(prices.capacity), 0.0, prices.capacity)
    free = np.where(np.isinf(prices.remaining), 0.0, prices.remaining)
    held = np.clip(capacity[:, :, None] - free / each, 0.0, capacity[:, :, None])
    held[:, :, 0] = 0.0
    try:
        found = solve_reward_lp(ahead, held_memory=held[:, MEM], held_batch=held[:, SLOT]).prices
    except (LimitError, SizeError):
        return False
    prices.table[:, MEM], prices.table[:, SLOT] = found.memory, found.batch
    add_up(prices)
    return True


def _sample(state: State, prices: Prices, now: int, horizon: int, gain: float) -> tuple[IntArray, float]:
    """(prompts, predicted outputs, arrivals from now on) of the sample, shape (3, m), and how many are expected."""
    waits, filled = int(prices.at[WAITS]), int(prices.at[FILLED])
    backlog = gain * waits
    expected = backlog + arrival_rate(prices, now) * horizon
    rows = []
    for _ in range(min(_MOST, int(np.ceil(expected)))):
        if draw(prices) * expected < backlog:
            j = prices.waiting[int(draw(prices) * waits)]
            rows.append((state.job[PROMPT, j], state.job[ASSUMED, j], 0))
        else:
            i = int(draw(prices) * filled)
            at = int(draw(prices) * horizon)
            rows.append((prices.window[COL_PROMPT, i], prices.window[COL_OUTPUT, i], at))
    return np.array(rows, np.int64).reshape(-1, 3).T, expected
