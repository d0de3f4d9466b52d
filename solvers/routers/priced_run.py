"""The bid-price router (docs/math.md §7): learns shadow prices online, or is given them."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kvbound.models.errors import OptionError
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.solvers.engine.state import NOW, State, with_longer_log
from kvbound.solvers.routers.config import ORDERS, BidPriceConfig
from kvbound.solvers.routers.learning import add_up, shift
from kvbound.solvers.routers.priced_loop import DECIDE, DONE, LOG_FULL, decide, decide_fixed, next_decision
from kvbound.solvers.routers.prices import DECISIONS, HALVINGS, LAST, MEM, SLOT, FloatArray, Prices, new_prices
from kvbound.solvers.routers.resolve import resolve_prices

#: Called after each decision with the step and the router's memory.
Watcher = Callable[[int, Prices], None]


@dataclass(frozen=True, slots=True, eq=False)
class GivenPrices:
    """Prices of the steps 1..H for each kind of workers in the order of `Fleet.kinds`, e.g. duals of the pooled LP.

    Parameters
    ----------
    memory, batch
        Price of a token, of a slot, in step t at entry t; shape (kinds, H + 1), ≥ 0, in the unit of `Reward.reward`.
    """

    memory: FloatArray
    batch: FloatArray

    def __post_init__(self) -> None:
        for name in ("memory", "batch"):
            table = getattr(self, name)
            if table.ndim != 2 or table.shape != self.memory.shape:
                raise OptionError(f"{name} prices have shape {table.shape}; kinds × (H + 1) entries are needed")
            if not (table >= 0).all():
                raise OptionError(f"a {name} price is negative or no number; prices are at least 0")


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """What a run of the bid-price router leaves: the state with its log, the memory, time per decision.

    `milliseconds` has one entry per decision (price updates and admissions together).
    """

    state: State
    prices: Prices
    milliseconds: FloatArray


def run_bid_price(
    problem: Problem,
    objective: Reward,
    config: BidPriceConfig,
    state: State,
    *,
    seed: int = 0,
    given: GivenPrices | None = None,
    watch: Watcher | None = None,
) -> Priced:
    """Route `problem` from `state` (before the first step) to its end.

    Parameters
    ----------
    objective
        Its weights and thresholds are the router's; its horizon matters with `given` prices only: the router plans
        for the `config.horizon` steps ahead of it and does not know when the evaluation ends.
    given
        Fixed prices in place of learned ones.
    watch
        Called after each decision.
    """
    fleet = problem.fleet
    if given is not None:
        config = replace(config, horizon=given.memory.shape[1] - 1, per_worker=False)
    prices = new_prices(fleet, config, problem.n, state.slot.shape[2], seed)
    if given is not None:
        _give(prices, given)
    limit = np.array([fleet.memory[int(np.argmax(prices.kind == y))] for y in range(len(prices.table))], np.int64)
    weights = objective.scaled[1:]
    scaled = (config.horizon, *weights)
    order = ORDERS.index(config.order)
    spent = array("d")  # 8 bytes per decision: the only thing here that grows with time
    fresh, solved = True, None
    while (code := next_decision(state, prices, config.period, fresh)) != DONE:
        if code == LOG_FULL:
            state, fresh = with_longer_log(state), True  # the decision of this step is still due
            continue
        assert code == DECIDE
        begin, now = time.perf_counter(), int(state.clock[NOW])
        if given is None and config.resolve is not None and (solved is None or now >= solved + config.resolve):
            _move_on(prices, now)
            resolve_prices(problem, objective, state, prices, config.backlog_gain)
            solved = now
        if given is not None:
            decide_fixed(state, prices, limit, config.hold, order, config.reserve, scaled)
        else:
            decide(
                state,
                prices,
                limit,
                config.steps,
                config.rate,
                config.sample,
                config.slack,
                config.backlog_gain,
                config.normaliser or 0.0,
                config.halve,
                config.hold,
                order,
                config.reserve,
                scaled,
            )
        spent.append(time.perf_counter() - begin)
        fresh = False
        if watch is not None:
            watch(now, prices)
    return Priced(state, prices, 1e3 * np.array(spent))


def _move_on(prices: Prices, now: int) -> None:
    """Let the prices count from `now`."""
    shift(prices, min(now - int(prices.at[LAST]), prices.table.shape[2] - 1))
    prices.at[LAST] = now


def _give(prices: Prices, given: GivenPrices) -> None:
    if len(given.memory) != len(prices.table):
        raise OptionError(f"prices for {len(given.memory)} kinds of workers; the fleet has {len(prices.table)}")
    prices.table[:, MEM, 1:], prices.table[:, SLOT, 1:] = given.memory[:, 1:], given.batch[:, 1:]
    add_up(prices)


def counts(prices: Prices) -> tuple[int, int]:
    """Decisions made, and times that all prices were halved."""
    return int(prices.at[DECISIONS]), int(prices.at[HALVINGS])


def memory_bytes(prices: Prices) -> int:
    """Bytes that the router keeps beside the list of what waits: they do not depend on how many requests came."""
    arrays: list[npt.NDArray[np.generic]] = [
        getattr(prices, name) for name in Prices._fields if name not in ("waiting", "margin", "key", "lengths", "order")
    ]
    return sum(array.nbytes for array in arrays)
