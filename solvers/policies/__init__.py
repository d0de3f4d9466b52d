"""Scheduling policies: each is an order of the requests, executed by one list scheduler (docs/math.md §7)."""

from kvbound.solvers.policies.registry import POLICIES, custom_policy, resolve
from kvbound.solvers.policies.run import PolicyRun, run_policy, schedule_in_order
from kvbound.solvers.policies.view import Declined, Policy, View

__all__ = [
    "POLICIES",
    "Declined",
    "Policy",
    "PolicyRun",
    "View",
    "custom_policy",
    "resolve",
    "run_policy",
    "schedule_in_order",
]
