"""What a bound on REWARD hands back: its value, its prices and its proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvbound.checkers.certificate import Certificate
from kvbound.models.errors import OptionError
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.solvers.bounds.rows import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class RewardPrices:
    """Shadow prices p ≥ 0 of memory and batch per kind of workers and step (docs/math.md §6).

    The margin of a start is its reward minus Σ_t (batch price + tokens held · memory price). Everything is in units of
    1 / denominator of the weights, like `Reward.reward`.

    Parameters
    ----------
    workers
        First worker of each kind (`Fleet.kinds`), shape (kinds,).
    memory, batch
        Price of a token, of a slot, in step t at entry t; shape (kinds, H + 1). Entry 0 is 0: nothing is held there.
        Batch prices of a kind without batch size are 0.
    """

    workers: tuple[int, ...]
    memory: FloatArray
    batch: FloatArray

    def of_worker(self, problem: Problem, worker: int) -> tuple[FloatArray, FloatArray]:
        """(memory, batch) prices of any worker of the fleet, shapes (H + 1,)."""
        for at, kind in enumerate(problem.fleet.kinds):
            if worker in kind:
                return self.memory[at], self.batch[at]
        raise OptionError(f"there is no worker {worker}; the fleet has {len(problem.fleet)}")


@dataclass(frozen=True, slots=True, eq=False)
class RewardBound:
    """An upper bound on the reward of every schedule, with its proof.

    Parameters
    ----------
    method
        The method that was asked for.
    value
        ⌊U⌋ in units of 1 / `denominator`, recomputed in exact integers from the certificate.
    denominator
        Common denominator of the weights.
    raw
        What floating-point arithmetic believed before rounding, in the same units.
    prices
        The prices before rounding.
    certificate
        The proof, claiming exactly `value`.
    seconds
        Wall-clock time of the whole call.
    iterations
        Evaluations of the Lagrangian, or simplex iterations of the LP.
    """

    method: str
    value: int
    denominator: int
    raw: float
    prices: RewardPrices
    certificate: Certificate
    seconds: float
    iterations: int

    @property
    def reward(self) -> Fraction:
        """The bound as a reward: no schedule earns more."""
        return Fraction(self.value, self.denominator)


def reward_of(problem: Problem) -> Reward:
    """The objective of `problem`; `OptionError` when it is not REWARD."""
    if not isinstance(problem.objective, Reward):
        raise OptionError(f"{problem.name}: reward bounds are for REWARD, the objective is {problem.objective.name}")
    return problem.objective
