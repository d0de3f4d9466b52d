"""Prices that explain themselves: a history of a run, and which resource binds when."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.solvers.routers.prices import FILLED, MEM, SUM_OUTPUT, SUM_VOLUME, WAITS, FloatArray, Prices
from kvbound.solvers.routers.registry import Router
from kvbound.solvers.routers.run import RouterRun, run_router

#: Resources that can bind.
RESOURCES = ("memory", "batch")
#: A price below this share of the mean reward per slot and step counts as none.
_BINDS = 0.01
#: Snapshots kept, and steps ahead in each.
_MOST_SNAPSHOTS, _MOST_AHEAD = 400, 128


@dataclass(frozen=True, slots=True, eq=False)
class PriceHistory:
    """Prices along a run of the bid-price router, evenly thinned out.

    Parameters
    ----------
    step
        Steps of the decisions kept, shape (m,).
    ahead
        Steps ahead of the decision at which prices are kept, shape (a,).
    price
        [snapshot, kind, resource, ahead] in reward per step: of the tokens that a mean request holds, of one slot.
    unit
        Mean reward of a request per step of its output at each snapshot, shape (m,): what 1 means in the picture.
    waiting
        Requests that waited after the decision, shape (m,).
    run
        The run itself.
    """

    step: FloatArray
    ahead: FloatArray
    price: FloatArray
    unit: FloatArray
    waiting: FloatArray
    run: RouterRun

    def near(self) -> FloatArray:
        """Mean price of the nearer half of the planning horizon, relative to `unit`: [snapshot, kind, resource]."""
        half = max(1, len(self.ahead) // 2)
        mean: FloatArray = self.price[..., :half].mean(axis=-1) / self.unit[:, None, None]
        return mean

    def binding(self, kind: int) -> list[str]:
        """The dearer resource at each snapshot, "none" where neither has a price worth mentioning."""
        near = self.near()[:, kind]
        return [RESOURCES[int(pair.argmax())] if pair.max() > _BINDS else "none" for pair in near]

    def phases(self, kind: int) -> list[tuple[int, int, str]]:
        """(first step, last step, resource) of the stretches during which the same resource binds."""
        found = []
        for what, group in groupby(enumerate(self.binding(kind)), key=lambda pair: pair[1]):
            places = [i for i, _ in group]
            found.append((int(self.step[places[0]]), int(self.step[places[-1]]), what))
        return found

    def thinned(self) -> dict[str, list[Any]]:
        """At most 100 snapshots, 32 steps ahead: price relative to `unit`, [kind][resource][snapshot][ahead]."""
        snapshots = np.unique(np.linspace(0, len(self.step) - 1, min(100, len(self.step))).astype(np.int64))
        near = np.unique(np.linspace(0, len(self.ahead) - 1, min(32, len(self.ahead))).astype(np.int64))
        relative = (self.price / self.unit[:, None, None, None])[snapshots][..., near]
        return {
            "step": self.step[snapshots].tolist(),
            "ahead": self.ahead[near].tolist(),
            "price": np.round(relative.transpose(1, 2, 0, 3), 5).tolist(),
            "waiting": self.waiting[snapshots].tolist(),
        }

    def shares(self, kind: int) -> dict[str, float]:
        """Share of the snapshots in which each resource binds."""
        binding = self.binding(kind)
        return {what: binding.count(what) / max(1, len(binding)) for what in (*RESOURCES, "none")}


class _Recorder:
    """Keeps every snapshot at first; when there are too many, every second, and from then on only those."""

    def __init__(self, reward: Reward) -> None:
        self.reward, self.every, self.seen = reward, 1, 0
        self.kept: list[tuple[int, FloatArray, float, int]] = []

    def __call__(self, now: int, prices: Prices) -> None:
        if self.seen % self.every == 0:
            self.kept.append(self._snapshot(now, prices))
            if len(self.kept) > _MOST_SNAPSHOTS:
                self.kept, self.every = self.kept[::2], 2 * self.every
        self.seen += 1

    def _snapshot(self, now: int, prices: Prices) -> tuple[int, FloatArray, float, int]:
        at = prices.at
        output = max(1, int(at[SUM_OUTPUT])) / max(1, int(at[FILLED]))
        tokens = int(at[SUM_VOLUME]) / max(1, int(at[SUM_OUTPUT]))
        table = prices.table[:, :, steps_ahead(prices)].copy()
        table[:, MEM] *= tokens
        horizon, weights = prices.table.shape[2] - 1, [float(w) * self.reward.denominator for w in self.reward.weights]
        token, eel, ttft, served, eel_tail, ttft_tail = weights
        at_once = served + token * output + eel * max(0.0, horizon - output) + ttft * (horizon - 1)
        return now, table, max(1e-12, at_once + eel_tail + ttft_tail) / output, int(at[WAITS])


def steps_ahead(prices: Prices) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Steps ahead that a snapshot keeps, 1..W evenly thinned out."""
    last = prices.table.shape[2] - 1
    return np.unique(np.linspace(1, last, min(last, _MOST_AHEAD)).astype(np.int64))


def price_history(problem: Problem, router: Router, objective: Reward, *, seed: int = 0) -> PriceHistory:
    """Run a bid-price router and keep its prices."""
    recorder = _Recorder(objective)
    ahead: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []

    def watch(now: int, prices: Prices) -> None:
        if not ahead:
            ahead.append(steps_ahead(prices))
        recorder(now, prices)

    run = run_router(problem, router, objective=objective, seed=seed, watch=watch)
    step, price, unit, waiting = zip(*recorder.kept, strict=True)
    return PriceHistory(np.array(step, float), ahead[0].astype(float), np.array(price), np.array(unit),
                        np.array(waiting, float), run)  # fmt: skip
