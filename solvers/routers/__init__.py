"""Routers: who runs where and when on a fleet of workers; the baselines of serving engines and the bid-price router.

They run on the public pieces of `kvbound.solvers.engine`: its state, its worker kernels, its record of attempts.
"""

from kvbound.solvers.routers.config import BidPriceConfig
from kvbound.solvers.routers.registry import BASELINES, ROUTERS, Router, bid_price_router, resolve_routers
from kvbound.solvers.routers.run import RouterRun, run_router

__all__ = [
    "BASELINES",
    "ROUTERS",
    "BidPriceConfig",
    "Router",
    "RouterRun",
    "bid_price_router",
    "resolve_routers",
    "run_router",
]
