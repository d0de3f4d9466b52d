"""Policies that differ by how they are executed: A_max and A_min for uncertain lengths, Sorted-F-Online.

With known lengths A_max and A_min are MC-SF and Sorted-F + A_min is Sorted-F (docs/policies.md).
"""

from __future__ import annotations

from kvbound.models.requests import IntArray
from kvbound.solvers.engine import Rule
from kvbound.solvers.policies.orders import mc_sf
from kvbound.solvers.policies.sorted_f import quantile_order, swap_order
from kvbound.solvers.policies.view import Policy, View

_UNCERTAIN = "Chen, Ye, Zhou, arXiv 2508.14544"
_A = "Wang, Ye, Zhou, arXiv 2508.06133"
#: From how many requests on Sorted-F + A_min takes the quantile selector.
_MANY = 5000


def sorted_f(view: View) -> IntArray:
    """Sorted-F by swaps, for more than 5000 requests by quantiles."""
    return swap_order(view) if len(view) <= _MANY else quantile_order(view)


#: A_max and A_min, Sorted-F + A_min, Sorted-F-Online.
EXECUTED: tuple[Policy, ...] = (
    Policy(
        "a-max",
        mc_sf,
        "upper bound u ascending; o assumed to be u",
        "none stated",
        _UNCERTAIN,
        "O(n log n)",
        Rule(length="high"),
    ),
    Policy(
        "a-min",
        mc_sf,
        "current lower bound ascending; evicts by it",
        "O(log(u/l)) of MC-SF, equal s",
        _UNCERTAIN,
        "O(n log n)",
        Rule(length="low", evict="bound", queue="bound"),
    ),
    Policy(
        "sorted-f:a-min",
        sorted_f,
        "Sorted-F with lower bounds; evicts by them",
        "none stated",
        _A,
        "that of sorted-f:swap",
        Rule(length="low", evict="bound"),
    ),
    Policy(
        "sorted-f:online",
        mc_sf,
        "Sorted-F again at each arrival and completion",
        "none stated",
        _A,
        "O(window²) per event",
        Rule(queue="plan"),
    ),
)
