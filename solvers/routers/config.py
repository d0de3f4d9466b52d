"""Parameters of the bid-price router."""

from __future__ import annotations

from dataclasses import dataclass

from kvbound.models.errors import OptionError

#: Orders of admission, see `BidPriceConfig.order`.
ORDERS = ("margin", "density")


@dataclass(frozen=True, slots=True)
class BidPriceConfig:
    """How prices are learned and used (docs/routing.md, "Bid prices"); published values where there are any.

    Parameters
    ----------
    steps, rate, sample
        K subgradient steps per period, step size η, mini-batch |S| (5, 0.01, 64 are published).
    horizon
        Planning horizon W in steps: prices stand for the next W steps, footprints and rewards are cut there.
    window
        Observed columns that are remembered, the latest ones; memory does not grow with time.
    slack
        By how much the threshold for admission falls, times backlog ratio times mean reward (0 and 1 are published).
    backlog_gain
        Weight of what waits in the sample average, beside expected arrivals (1 is published).
    halve
        Halve all prices when nothing is admitted although something that waits would fit (published).
    hold
        Let a request wait although its margin is positive when a later start has a larger one.
    normaliser
        Reward of one slot for one step, the unit of prices that makes η dimensionless; None: mean reward over mean
        output of the window.
    resolve
        Solve the sampled dual afresh, as an LP, every that many steps, and take first-order steps between; None: never.
    per_worker
        Prices for every worker by itself instead of one set per kind of workers.
    period
        Steps between decisions while requests wait; arrivals and completions always make one.
    order
        In which order those that wait are looked at: ``margin`` (published), or ``density``: what a request loses by
        waiting over the price of its footprint.
    reserve
        How many requests with a margin above the threshold that fit nowhere keep the worker on which they could start
        soonest, so that nobody behind them starts there in this period; 0: none (published).
    """

    steps: int = 5
    rate: float = 0.01
    sample: int = 64
    horizon: int = 1024
    window: int = 1024
    slack: float = 0.0
    backlog_gain: float = 1.0
    halve: bool = False
    hold: bool = False
    normaliser: float | None = None
    resolve: int | None = None
    per_worker: bool = False
    period: int = 1
    order: str = "density"
    reserve: int = 4

    def __post_init__(self) -> None:
        for name, low in (("steps", 0), ("sample", 1), ("horizon", 1), ("window", 1), ("period", 1), ("reserve", 0)):
            if getattr(self, name) < low:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be at least {low}")
        if self.order not in ORDERS:
            raise OptionError(f"order is {self.order!r}; known: {', '.join(ORDERS)}")
        for name in ("rate", "slack", "backlog_gain"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise OptionError(f"{name} is {getattr(self, name)}; it must be a number of at least 0")
        if self.normaliser is not None and not 0 < self.normaliser < float("inf"):
            raise OptionError(f"normaliser is {self.normaliser}; it must be above 0")
        if self.resolve is not None and self.resolve < 1:
            raise OptionError(f"resolve is {self.resolve}; it must be at least 1 step")
        if self.resolve is not None and self.per_worker:
            raise OptionError("resolve solves the LP pooled by kind of workers; it cannot go with per_worker")


#: Admission as published: in order of margin, nobody keeps a worker, nobody waits for a better start, halving.
PUBLISHED = BidPriceConfig(halve=True, hold=False, order="margin", reserve=0)
