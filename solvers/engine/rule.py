"""How a policy is executed: what it takes for a request's length, whom it evicts, how the queue is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray


@dataclass(frozen=True, slots=True)
class Rule:
    """Execution of an order under uncertainty (docs/policies.md, "Execution and uncertainty").

    Parameters
    ----------
    length
        What is taken for o_j until the request completes or outlives it: `point`, the predicted value (without one,
        the middle of the interval), or `low` = l_j, or `high` = u_j. Without predictions all three are o_j.
    evict
        Who goes first when memory overflows: `youngest` (latest start, then last in order) or `bound` (ascending
        current lower bound, then latest start, then last in order).
    queue
        `order`: waiting requests by the policy's order; `bound`: by current lower bound, then index;
        `plan`: the order is planned again at every arrival and completion.
    window, plan_seconds
        For plans: how many waiting requests a plan looks at, at most; and a cap on its wall time in seconds, or None.
        With a cap in seconds the same seed need not give the same answer.
    """

    length: Literal["point", "low", "high"] = "point"
    evict: Literal["youngest", "bound"] = "youngest"
    queue: Literal["order", "bound", "plan"] = "order"
    window: int = 32
    plan_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.window < 1:
            raise OptionError(f"window is {self.window}; a plan needs at least one request")
        if self.plan_seconds is not None and not self.plan_seconds > 0:
            raise OptionError(f"plan_seconds is {self.plan_seconds}; it must be above 0")


#: An order with point predictions and preemption of the youngest: what serving engines do.
POINT = Rule()


def assumed_length(problem: Problem, length: str) -> IntArray:
    """What a policy takes for o_j, shape (n,), in 1..M−s_j for the largest memory M.

    A prediction beyond M − s_j is cut: a request that could run nowhere would not have been accepted.
    """
    requests = problem.requests
    low, high = requests.predicted_low, requests.predicted_high
    if low is None or high is None:
        return requests.output
    value = {"low": low, "high": high, "point": requests.point}[length]
    assert value is not None
    return np.minimum(value, problem.fleet.largest - requests.prompt)
