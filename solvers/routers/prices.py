"""What the bid-price router remembers: prices, a window of observed columns, who waits. Bounded but for the waiting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kvbound.models.fleet import Fleet
from kvbound.models.requests import IntArray
from kvbound.solvers.engine.state import Table
from kvbound.solvers.routers.config import BidPriceConfig

FloatArray = npt.NDArray[np.float64]

#: Resources.
MEM, SLOT = range(2)
#: Rows of `Prices.window`: prompt, predicted output, arrival.
COL_PROMPT, COL_OUTPUT, COL_ARRIVAL = range(3)
#: Entries of `Prices.at`: step of the last decision, columns in the window, place of the next one, Σ predicted outputs
#: and Σ volumes in the window, waiting requests, decisions, halvings, requests admitted in the last decision, workers
#: that have room.
LAST, FILLED, PLACE, SUM_OUTPUT, SUM_VOLUME, WAITS, DECISIONS, HALVINGS, ADMITTED, OPEN = range(10)
#: Sizes that are remembered to fit nowhere, within one period.
_REFUSED = 32


class Prices(NamedTuple):
    """Prices for y kinds of workers and the W steps after `at[LAST]` (or, when they are given, steps 1..H).

    All prices are ≥ 0, in reward per token and step and per slot and step.
    """

    table: FloatArray  # (y, 2, W + 1): [kind, MEM or SLOT, step]; entry 0 is not used
    lam: FloatArray  # (y, 2·(W + 2)): prefix sums of both resources, for `models.pricing.start_price`
    the: FloatArray  # (y, 2·(W + 2))
    remaining: FloatArray  # (y, 2, W + 1): capacity that what runs leaves free
    scratch: FloatArray  # (y, 2, W + 2): difference arrays
    column: Table  # (7, 2): segments of one request, see `kvbound.models.pricing.Layout`
    capacity: FloatArray  # (y, 2): tokens and slots of all workers of a kind; inf slots without a cap
    kind: IntArray  # (G,): kind of each worker
    window: Table  # (3, N)
    waiting: IntArray  # (n,): requests that wait, in any order
    margin: FloatArray  # (y + 1, n): of each that waits on each kind, and the best of them; scratch
    key: FloatArray  # (n,): by which those that wait are ordered; scratch
    lengths: Table  # (3, n): prompt, predicted output, arrival of each that waits; scratch
    order: IntArray  # (n,): scratch
    open: IntArray  # (G,): workers that have room; scratch
    refused: Table  # (2, few): prompt and output of requests that fit nowhere; scratch
    room: Table  # (G, width): see `models.footprint.room_ahead`
    base: Table  # (G, width + 1)
    at: IntArray  # (10,)
    random: npt.NDArray[np.uint64]  # (1,)


def new_prices(fleet: Fleet, config: BidPriceConfig, n: int, width: int, seed: int) -> Prices:
    """Prices of 0 and an empty window; at most n requests can wait."""
    groups = tuple((g,) for g in range(len(fleet))) if config.per_worker else fleet.kinds
    kinds, horizon = len(groups), config.horizon
    kind = np.zeros(len(fleet), np.int64)
    capacity = np.zeros((kinds, 2))
    for y, workers in enumerate(groups):
        kind[list(workers)] = y
        caps = [fleet.batch[g] for g in workers]
        capacity[y, MEM] = sum(fleet.memory[g] for g in workers)
        capacity[y, SLOT] = np.inf if None in caps else sum(c for c in caps if c is not None)
    column = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [0, horizon + 2], [horizon, horizon]], np.int64)
    return Prices(
        np.zeros((kinds, 2, horizon + 1)),
        np.zeros((kinds, 2 * (horizon + 2))),
        np.zeros((kinds, 2 * (horizon + 2))),
        np.zeros((kinds, 2, horizon + 1)),
        np.zeros((kinds, 2, horizon + 2)),
        column,
        capacity,
        kind,
        np.zeros((3, config.window), np.int64),
        np.zeros(n, np.int64),
        np.zeros((kinds + 1, n)),
        np.zeros(n),
        np.zeros((3, n), np.int64),
        np.zeros(n, np.int64),
        np.zeros(len(fleet), np.int64),
        np.zeros((2, _REFUSED), np.int64),
        np.zeros((len(fleet), width), np.int64),
        np.zeros((len(fleet), width + 1), np.int64),
        np.zeros(10, np.int64),
        np.random.default_rng([seed, 4]).integers(1, 1 << 63, 1, np.uint64),
    )
