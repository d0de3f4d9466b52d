"""The policies by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.sorted_f import exact_order, quantile_order, swap_order
from kvbound.solvers.policies.view import OrderRule, Policy, View

_A = "Wang, Ye, Zhou, arXiv 2508.06133"
_JAILLET = "Jaillet et al., arXiv 2502.07115"


def _by(key: IntArray) -> IntArray:
    """Ascending by key; ties by index."""
    return np.argsort(key, kind="stable")


def _fcfs(view: View) -> IntArray:
    return _by(view.arrival)


def _mc_sf(view: View) -> IntArray:
    return _by(view.output)


def _total_size(view: View) -> IntArray:
    return _by(view.peak)


def _svf(view: View) -> IntArray:
    return _by(view.volume)


_ALL = (
    Policy("fcfs", _fcfs, "order of arrival", "none (unbounded)", "engines' default", "O(n log n)"),
    Policy("mc-sf", _mc_sf, "output o ascending", "none (unbounded)", _JAILLET, "O(n log n)"),
    Policy("total-size", _total_size, "s + o ascending", "none (unbounded)", _A, "O(n log n)"),
    Policy("svf", _svf, "volume s·o + o(o+1)/2 ascending", "1 + 2/(1−α), peaks ≤ αM", "arXiv 2606.22327", "O(n log n)"),
    Policy("sorted-f:exact", exact_order, "batches of least Σo/|X|², exact DP", "48", _A, "O(n²M) per batch"),
    Policy("sorted-f:swap", swap_order, "batches of small Σo/|X|², local swap", "none stated", _A, "O(n²) per batch"),
    Policy("sorted-f:quantile", quantile_order, "batches by a sampled quantile", "none stated", _A, "O(n) per batch"),
)

#: Every built-in policy by its name.
POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}


def resolve(names: Sequence[str]) -> list[Policy]:
    """Return the policies named, in that order and once each; `all` stands for every built-in one.

    Raises
    ------
    OptionError
        A name is unknown; the message suggests the nearest.
    """
    chosen: dict[str, Policy] = {}
    for name in names:
        if name == "all":
            chosen.update(POLICIES)
        elif name in POLICIES:
            chosen[name] = POLICIES[name]
        else:
            near = difflib.get_close_matches(name, POLICIES, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(f"unknown policy {name!r}: {hint}Known: {', '.join(POLICIES)}, all")
    return list(chosen.values())


def custom_policy(name: str, function: OrderRule, source: str = "user") -> Policy:
    """Wrap a user's order rule: a function from a `View` to request indices, best first."""
    return Policy(name, function, "user's own order", "unknown", source, "unknown")
