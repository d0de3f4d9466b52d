"""kvbound: how far from optimal is a scheduler for LLM requests under a KV-memory budget?

Everything a user needs is here; what is not listed in ``__all__`` is private. Names are imported on first
use, so ``import kvbound`` is instant whatever solvers are installed.

=====================  ==================================================================================
Problem data           `Requests`, `Fleet`, `Problem`, `Schedule`, `load`, `write_instance`, `read_schedule`,
                       `write_schedule`, `with_predictions`, `catalogue`
Truth                  `check`, `Report`, `verify`, `Certificate`, `read_certificate`, `write_certificate`,
                       `Gap`, `gap`, `verify_entry`, `check_execution`, `Execution`
Answers                `compare`, `Comparison`, `POLICIES`, `run_policy`, `custom_policy`, `bound`, `solve`,
                       `SolveConfig`, `Deadline`
Fleets                 `Reward`, `reward_bound`, `mean_eel_bound`, `route`, `Routing`, `pareto`, `Front`,
                       `ROUTERS`, `run_router`, `BidPriceConfig`, `bid_price_router`, `price_history`
Hardness               `reduce`, `decide`
Pictures               `plot_comparison`, `plot_schedule`
Errors                 `KvboundError` and its branches `InputError`, `OptionError`
=====================  ==================================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvbound.checkers import Certificate as Certificate
    from kvbound.checkers import Gap as Gap
    from kvbound.checkers import Report as Report
    from kvbound.checkers import check as check
    from kvbound.checkers import check_execution as check_execution
    from kvbound.checkers import gap as gap
    from kvbound.checkers import verify as verify
    from kvbound.checkers.certificate_file import read_certificate as read_certificate
    from kvbound.comparison import Comparison as Comparison
    from kvbound.comparison import compare as compare
    from kvbound.decision import decide as decide
    from kvbound.files import write_certificate as write_certificate
    from kvbound.instances import load as load
    from kvbound.instances import read_schedule as read_schedule
    from kvbound.instances import with_predictions as with_predictions
    from kvbound.instances import write_instance as write_instance
    from kvbound.instances import write_schedule as write_schedule
    from kvbound.instances.catalogue import catalogue as catalogue
    from kvbound.instances.catalogue import verify_entry as verify_entry
    from kvbound.models import Execution as Execution
    from kvbound.models import Fleet as Fleet
    from kvbound.models import InputError as InputError
    from kvbound.models import KvboundError as KvboundError
    from kvbound.models import OptionError as OptionError
    from kvbound.models import Problem as Problem
    from kvbound.models import Requests as Requests
    from kvbound.models import Reward as Reward
    from kvbound.models import Schedule as Schedule
    from kvbound.pareto_front import Front as Front
    from kvbound.pareto_front import pareto as pareto
    from kvbound.plot import plot_comparison as plot_comparison
    from kvbound.plot import plot_schedule as plot_schedule
    from kvbound.reductions import reduce as reduce
    from kvbound.routing import Routing as Routing
    from kvbound.routing import route as route
    from kvbound.solvers.bounds import bound as bound
    from kvbound.solvers.bounds import mean_eel_bound as mean_eel_bound
    from kvbound.solvers.bounds import reward_bound as reward_bound
    from kvbound.solvers.deadline import Deadline as Deadline
    from kvbound.solvers.exact import SolveConfig as SolveConfig
    from kvbound.solvers.exact import solve as solve
    from kvbound.solvers.policies import POLICIES as POLICIES
    from kvbound.solvers.policies import custom_policy as custom_policy
    from kvbound.solvers.policies import run_policy as run_policy
    from kvbound.solvers.routers import ROUTERS as ROUTERS
    from kvbound.solvers.routers import BidPriceConfig as BidPriceConfig
    from kvbound.solvers.routers import bid_price_router as bid_price_router
    from kvbound.solvers.routers import run_router as run_router
    from kvbound.solvers.routers.explain import price_history as price_history

__version__ = "0.1.0"

#: Public name -> module that defines it.
_HOME = {
    **dict.fromkeys(("Certificate", "Gap", "Report", "check", "check_execution", "gap", "verify"), "kvbound.checkers"),
    "read_certificate": "kvbound.checkers.certificate_file",
    "write_certificate": "kvbound.files",
    **dict.fromkeys(("Comparison", "compare"), "kvbound.comparison"),
    **dict.fromkeys(
        ("load", "read_schedule", "with_predictions", "write_instance", "write_schedule"), "kvbound.instances"
    ),
    **dict.fromkeys(("catalogue", "verify_entry"), "kvbound.instances.catalogue"),
    **dict.fromkeys(
        (
            "Execution",
            "Fleet",
            "InputError",
            "KvboundError",
            "OptionError",
            "Problem",
            "Requests",
            "Reward",
            "Schedule",
        ),
        "kvbound.models",
    ),
    **dict.fromkeys(("plot_comparison", "plot_schedule"), "kvbound.plot"),
    "decide": "kvbound.decision",
    "reduce": "kvbound.reductions",
    **dict.fromkeys(("bound", "mean_eel_bound", "reward_bound"), "kvbound.solvers.bounds"),
    "Deadline": "kvbound.solvers.deadline",
    **dict.fromkeys(("Front", "pareto"), "kvbound.pareto_front"),
    **dict.fromkeys(("Routing", "route"), "kvbound.routing"),
    **dict.fromkeys(("BidPriceConfig", "ROUTERS", "bid_price_router", "run_router"), "kvbound.solvers.routers"),
    "price_history": "kvbound.solvers.routers.explain",
    **dict.fromkeys(("SolveConfig", "solve"), "kvbound.solvers.exact"),
    **dict.fromkeys(("POLICIES", "custom_policy", "run_policy"), "kvbound.solvers.policies"),
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'kvbound' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
