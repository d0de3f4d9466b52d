"""The routers by name: `lor`, `lor:central`, `lor:central:svf`, `power-of-3`, `bid-price`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvbound.models.errors import OptionError
from kvbound.solvers.routers.choice import LEAST_KV, LOR, POWER, RANDOM, ROUND_ROBIN
from kvbound.solvers.routers.config import PUBLISHED, BidPriceConfig


@dataclass(frozen=True, slots=True)
class Router:
    """How a worker is chosen, when, and in which order requests wait.

    Parameters
    ----------
    name
        Name on the command line and in tables.
    rule
        Which worker (`kvbound.solvers.routers.choice`).
    choices
        Random numbers per request: d of Power-of-d, 1 for Random.
    central
        False: dispatched at arrival to the queue of a worker. True: held in one queue until a worker has room.
    svf
        Waiting requests by predicted volume instead of by arrival.
    config
        Parameters of the bid-price router, to which `rule` .. `svf` do not apply; None for baselines.
    summary
        What it does, for people.
    """

    name: str
    rule: int
    choices: int = 0
    central: bool = False
    svf: bool = False
    config: BidPriceConfig | None = None
    summary: str = ""


_RULES = {
    "round-robin": (ROUND_ROBIN, 0, "workers in turn"),
    "random": (RANDOM, 1, "a random worker"),
    "lor": (LOR, 0, "the worker with the fewest outstanding requests (running and queued)"),
    "power-of-2": (POWER, 2, "of two random workers the one with fewer outstanding requests"),
    "least-kv": (LEAST_KV, 0, "the worker whose share of KV memory held, with the predicted peaks queued, is least"),
}


def _baseline(rule: str, central: bool, svf: bool) -> Router:
    number, choices, summary = _RULES[rule]
    name = rule + ":central" * central + ":svf" * svf
    when = "held centrally until it can start" if central else "dispatched at arrival"
    order = "smallest predicted volume first" if svf else "first come, first served"
    return Router(name, number, choices, central, svf, summary=f"{summary}; {when}; {order}")


#: Every built-in baseline by its name.
BASELINES: dict[str, Router] = {
    router.name: router
    for router in (
        _baseline(rule, central, svf) for svf in (False, True) for central in (False, True) for rule in _RULES
    )
}


def bid_price_router(name: str, config: BidPriceConfig) -> Router:
    """A bid-price router with parameters of your own."""
    if config.resolve is None:
        return Router(name, -1, central=True, config=config, summary="shadow prices learned online")
    summary = f"shadow prices from the sampled LP every {config.resolve} steps, first-order steps between"
    return Router(name, -1, central=True, config=config, summary=summary)


#: Every built-in router by its name.
ROUTERS: dict[str, Router] = BASELINES | {
    "bid-price": bid_price_router("bid-price", BidPriceConfig()),
    "bid-price:paper": replace(
        bid_price_router("bid-price:paper", PUBLISHED),
        summary="shadow prices learned online, admission as published: in order of margin, halving",
    ),
    "bid-price:resolve": bid_price_router("bid-price:resolve", BidPriceConfig(horizon=192, resolve=400)),
}
#: What `all` stands for: the published baselines, first come first served, each with and without holding; bid prices.
ALL: tuple[str, ...] = (*(name for name, router in BASELINES.items() if not router.svf), "bid-price")

_POWER = re.compile(r"power-of-([1-9]\d?)((?::central)?(?::svf)?)")


def resolve_routers(names: Sequence[str]) -> list[Router]:
    """Return the routers named, in that order and once each; `all` stands for the published ones.

    Raises
    ------
    OptionError
        A name is unknown; the message suggests the nearest.
    """
    chosen: dict[str, Router] = {}
    for name in names:
        if name == "all":
            chosen.update((known, ROUTERS[known]) for known in ALL)
        elif name in ROUTERS:
            chosen[name] = ROUTERS[name]
        elif found := _POWER.fullmatch(name):
            like = _baseline("power-of-2", ":central" in found[2], ":svf" in found[2])
            summary = like.summary.replace("two", found[1])
            chosen[name] = Router(name, POWER, int(found[1]), like.central, like.svf, summary=summary)
        else:
            near = difflib.get_close_matches(name, ROUTERS, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(f"unknown router {name!r}: {hint}Known: {', '.join(ROUTERS)}, power-of-D, all")
    return list(chosen.values())
