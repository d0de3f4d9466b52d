"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kvbound.instances.parameters import nearest
from kvbound.models.errors import OptionError
from kvbound.reproduction import bid_prices, mc_sf, sorted_f
from kvbound.reproduction.context import Context
from kvbound.reproduction.findings import Row

_SORTED_F = "Wang, Ye, Zhou: LLM Serving Optimization with Variable Prefill and Decode Lengths (arXiv 2508.06133)"
_MC_SF = "Jaillet et al.: Online Scheduling for LLM Inference with KV Cache Constraints (arXiv 2502.07115)"
_PRICES = "Chen, Ye, Zhou: Online Linear Programming for Multi-Objective Routing in LLM Serving (arXiv 2607.03948)"


@dataclass(frozen=True, slots=True)
class Experiment:
    """A published figure that can be run again.

    Parameters
    ----------
    name, title, paper
        Name on the command line; what it shows; source.
    published
        The published figures in words.
    rows
        Yields rows as they are measured.
    quick_seconds, full_seconds
        Estimate on an idle core, said before it starts: the processor time of a run where one was measured, else
        added up from parts and time limits. What a run took stands in its outcome.
    """

    name: str
    title: str
    paper: str
    published: str
    rows: Callable[[Context], Iterator[Row]]
    quick_seconds: int
    full_seconds: int


_ALL = (
    Experiment("sorted-f", "Sorted-F against FCFS and MC-SF, n = 2000", _SORTED_F,
               "4.87 times better than FCFS, 2.09 times better than MC-SF", sorted_f.headline, 6, 22),
    Experiment("sorted-f-gap", "Sorted-F against the LP bound, by size", _SORTED_F,
               "1.03 to 1.09 where the LP is tractable", sorted_f.lp_gap, 30, 120),
    Experiment("sorted-f-load", "Gain by load", _SORTED_F,
               "largest in overload, small in light load (no figures)", sorted_f.by_load, 2, 6),
    Experiment("sorted-f-mix", "Gain by mix of lengths", _SORTED_F,
               "largest for mixed lengths, small for uniform ones (no figures)", sorted_f.by_mix, 2, 6),
    Experiment("sorted-f-online", "Sorted-F-Online against MC-SF and FCFS", _SORTED_F,
               "better than both (no figures)", sorted_f.online, 2, 15),
    Experiment("mc-sf", "MC-SF against the optimum, all at time 0", _MC_SF,
               "mean 1.005, worst 1.074, equal on 114 of 200", mc_sf.offline, 50, 750),
    Experiment("mc-sf-online", "MC-SF against the optimum in hindsight, Poisson arrivals", _MC_SF,
               "mean 1.047, worst 1.227", mc_sf.online, 25, 400),
    Experiment("routing", "Bid prices at a stable load, λ = 0.4, ±20 %", _PRICES,
               "against Round-Robin: mean EEL −45.75 %, P95 −42.49 %, P99 −25.85 %", bid_prices.stable, 60, 900),
    Experiment("routing-shift", "Bid prices when the rate shifts, 0.4 to 0.6", _PRICES,
               "against Round-Robin: mean EEL −44.81 %, P95 −45.69 %, P99 −31.15 %", bid_prices.shift, 6, 70),
    Experiment("routing-ratios", "Bid prices for prefill/decode 1:4 and 4:1", _PRICES,
               "tables whose figures are not at hand", bid_prices.ratios, 12, 70),
    Experiment("routing-weights", "Weights of the bid-price router", _PRICES,
               "weights move along a Pareto front (no figures)", bid_prices.weights, 6, 50),
)  # fmt: skip

#: Every experiment by its name, in the order of the page.
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}


def choose(names: Sequence[str]) -> list[Experiment]:
    """The experiments named, all when none is.

    Raises
    ------
    OptionError
        A name is unknown; the message lists them.
    """
    for name in names:
        if name not in EXPERIMENTS:
            raise OptionError(
                f"unknown experiment {name!r}{nearest(name, EXPERIMENTS)}; known: {', '.join(EXPERIMENTS)}"
            )
    return [EXPERIMENTS[name] for name in dict.fromkeys(names or EXPERIMENTS)]
