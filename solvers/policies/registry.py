"""The policies by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from kvbound.models.errors import OptionError
from kvbound.solvers.policies import orders
from kvbound.solvers.policies.parameters import tuned
from kvbound.solvers.policies.sorted_f import exact_order, quantile_order, swap_order
from kvbound.solvers.policies.sorted_lp import lp_swap_order, sorted_lp_order
from kvbound.solvers.policies.tunables import TUNABLE
from kvbound.solvers.policies.uncertain import EXECUTED
from kvbound.solvers.policies.view import OrderRule, Policy

_A = "Wang, Ye, Zhou, arXiv 2508.06133"
_JAILLET = "Jaillet et al., arXiv 2502.07115"

_ALL = (
    Policy("fcfs", orders.fcfs, "order of arrival", "none (unbounded)", "engines' default", "O(n log n)"),
    Policy("mc-sf", orders.mc_sf, "output o ascending", "none (unbounded)", _JAILLET, "O(n log n)"),
    Policy("total-size", orders.total_size, "s + o ascending", "none (unbounded)", _A, "O(n log n)"),
    Policy(
        "svf",
        orders.svf,
        "volume s·o + o(o+1)/2 ascending",
        "1 + 2/(1−α), peaks ≤ αM",
        "Kong, Qi, Ye, Zhou, arXiv 2606.22327",
        "O(n log n)",
    ),
    Policy(
        "volume-classes",
        orders.volume_classes,
        "volume in powers of 2, then s + o",
        "1 + 4/(1−α), peaks ≤ αM",
        "ours",
        "O(n log n)",
    ),
    Policy("sorted-f:exact", exact_order, "batches of least Σo/|X|², exact DP", "48", _A, "O(n²M) per batch, cut"),
    Policy(
        "sorted-f:swap",
        swap_order,
        "batches of small Σo/|X|², local swap",
        "none stated",
        _A,
        "O(n) per batch + swaps",
    ),
    Policy("sorted-f:quantile", quantile_order, "batches by a sampled quantile", "none stated", _A, "≈ linear in n"),
    Policy(
        "sorted-lp",
        sorted_lp_order,
        "mean start in the LP, or under its prices",
        "none stated",
        _A,
        "dual ascent: n·horizon",
    ),
    Policy("lp-swap", lp_swap_order, "Sorted-F, swap search from sorted-lp", "none stated", _A, "sorted-lp + swap"),
    Policy("area", orders.area, "prompt area s·o ascending", "none", "baseline", "O(n log n)"),
    Policy("wspt", orders.wspt, "Smith's ratio v/√o ascending", "none", "baseline", "O(n log n)"),
    Policy("weighted", orders.weighted, "s/mean(s) + o/mean(o) ascending", "none", "baseline", "O(n log n)"),
    Policy("shortest-prompt", orders.shortest_prompt, "prompt s ascending", "none", "baseline", "O(n log n)"),
    Policy("longest-first", orders.longest_first, "output o descending", "none", "baseline", "O(n log n)"),
    *EXECUTED,
)

#: Every built-in policy by its name.
POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}


def resolve(names: Sequence[str]) -> list[Policy]:
    """Return the policies named, in that order and once each; `all` stands for every built-in one.

    A name may set parameters: `sorted-f:quantile,sample=512` (`kvbound.solvers.policies.tunables`).

    Raises
    ------
    OptionError
        A name or a parameter is unknown; the message suggests the nearest.
    """
    chosen: dict[str, Policy] = {}
    for name in names:
        if name == "all":
            chosen.update(POLICIES)
        elif name in POLICIES:
            chosen[name] = POLICIES[name]
        elif name.partition(",")[0] in POLICIES:
            base, _, assignments = name.partition(",")
            policy = tuned(POLICIES[base], TUNABLE.get(base), assignments)
            chosen[policy.name] = policy
        else:
            near = difflib.get_close_matches(name, POLICIES, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(f"unknown policy {name!r}: {hint}Known: {', '.join(POLICIES)}, all")
    return list(chosen.values())


def custom_policy(name: str, function: OrderRule, source: str = "user") -> Policy:
    """Wrap a user's order rule: a function from a `View` to request indices, best first."""
    return Policy(name, function, "user's own order", "unknown", source, "unknown")
