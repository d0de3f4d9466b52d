"""What a solve gives back: why it stopped and what is in hand are two questions, each with its enum."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from kvbound.checkers import Certificate
from kvbound.models.objective import TEL, Objective
from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule
from kvbound.solvers.exact.config import SolveConfig


class Termination(Enum):
    """Why a solve stopped."""

    #: Schedule and bound meet.
    OPTIMAL = "optimal"
    #: The gap asked for is reached.
    GAP_REACHED = "gap-reached"
    #: The time is up.
    TIME_LIMIT = "time-limit"
    #: A limit on memory or on the size of a model ended the search.
    MEMORY_LIMIT = "memory-limit"
    #: Some other limit of the solver (iterations, solutions, objective) ended the search.
    OTHER_LIMIT = "other-limit"
    #: Ctrl-C.
    INTERRUPTED = "interrupted"
    #: There is no schedule under the restrictions handed over.
    INFEASIBLE = "infeasible"
    #: The solver refused the model or failed.
    ERROR = "error"
    #: The solver gave up without saying why.
    UNKNOWN = "unknown"


class SolutionStatus(Enum):
    """What is in hand."""

    #: A checked schedule whose objective equals the bound.
    OPTIMAL = "optimal"
    #: A checked schedule.
    FEASIBLE = "feasible"
    #: No schedule.
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Outcome of `kvbound.solvers.exact.solve`.

    Parameters
    ----------
    termination, status
        Why it stopped; what is in hand.
    schedule, objective
        The best schedule, checked, and what was minimised, recomputed in integers: TEL in steps, or minus the reward in
        units of 1 / denominator of the weights; None without one. `tel` and `reward` give it in its own terms.
    bound
        Lower bound on the least objective, kept whatever the termination; None when there is none.
    gap
        (objective − bound) / |bound|, or None.
    method
        The method that ran (for `auto`, the one that finished the work).
    proved_by
        Who proved the bound; "" without one.
    certificate
        Certificate of the bound, verified in exact integers, or None: then the bound is its prover's claim.
    native
        The solver's own status, in its own words.
    seconds, build_seconds, solve_seconds
        Wall time of the whole call; of building models; of the solver itself.
    config
        The configuration used.
    minimised
        The objective of the problem.
    """

    termination: Termination
    status: SolutionStatus
    schedule: Schedule | None
    objective: int | None
    bound: int | None
    gap: float | None
    method: str
    proved_by: str
    certificate: Certificate | None
    native: str
    seconds: float
    build_seconds: float
    solve_seconds: float
    config: SolveConfig
    minimised: Objective = TEL

    @property
    def tel(self) -> int | None:
        """TEL of the schedule in steps; None without one, or when the objective is another one."""
        return self.objective if self.minimised.name == "tel" else None

    @property
    def reward(self) -> Fraction | None:
        """Reward of the schedule; None without one, or when the objective is another one."""
        return self._as_reward(self.objective)

    @property
    def reward_bound(self) -> Fraction | None:
        """No schedule earns more; None without a bound, or when the objective is another one."""
        return self._as_reward(self.bound)

    def _as_reward(self, cost: int | None) -> Fraction | None:
        if cost is None or not isinstance(self.minimised, Reward):
            return None
        return Fraction(-cost, self.minimised.denominator)
