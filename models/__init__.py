"""What a problem is: requests, fleet, objective, schedule, the footprint and the valid inequalities.

This package imports nothing else of kvbound. Symbols follow ``docs/math.md``.
"""

from kvbound.models.errors import InputError, KvboundError, OptionError
from kvbound.models.execution import Execution
from kvbound.models.fleet import Fleet
from kvbound.models.objective import TEL, Objective, TotalLatency
from kvbound.models.problem import Problem, drop_too_large
from kvbound.models.requests import Requests
from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule

__all__ = [
    "TEL",
    "Execution",
    "Fleet",
    "InputError",
    "KvboundError",
    "Objective",
    "OptionError",
    "Problem",
    "Requests",
    "Reward",
    "Schedule",
    "TotalLatency",
    "drop_too_large",
]
