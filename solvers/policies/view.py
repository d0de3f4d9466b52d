"""What a policy is, and what it may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, volume
from kvbound.solvers.engine import POINT, Rule, assumed_length


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a policy sees of a problem.

    Parameters
    ----------
    prompt, output, arrival
        s_j, the *visible* output length and a_j, shape (n,). The visible output length is o_j when lengths
        are known. When they are predicted, it is what the policy's rule takes for them (the predicted value or the
        middle of the interval, rounded up; or one of its ends), cut to M − s_j.
    memory
        KV tokens of the largest worker.
    batch
        Batch size of the worker with the most slots, or None without a cap.
    workers
        Number of workers G.
    seed
        For policies that draw random numbers.
    """

    prompt: IntArray
    output: IntArray
    arrival: IntArray
    memory: int
    batch: int | None
    workers: int
    seed: int

    @classmethod
    def of(cls, problem: Problem, seed: int = 0, rule: Rule = POINT) -> View:
        """The view of `problem` that a policy executed under `rule` has."""
        requests, fleet = problem.requests, problem.fleet
        visible = assumed_length(problem, rule.length)
        batch = None if None in fleet.batch else max(cap for cap in fleet.batch if cap is not None)
        return cls(requests.prompt, visible, requests.arrival, fleet.largest, batch, len(fleet), seed)

    @property
    def peak(self) -> IntArray:
        """Visible peaks s_j + o_j, shape (n,)."""
        return self.prompt + self.output

    @property
    def volume(self) -> IntArray:
        """Visible volumes s_j·o_j + o_j(o_j+1)/2, shape (n,)."""
        return volume(self.prompt, self.output)

    def __len__(self) -> int:
        return len(self.prompt)


#: A policy's rule: the requests in order of priority, best first; a permutation of 0..n-1.
OrderRule = Callable[[View], "Sequence[int] | IntArray"]


class Declined(Exception):
    """Raised by an order rule that will not handle an instance; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A named order rule.

    Parameters
    ----------
    name
        Name on the command line and in tables.
    order
        The rule.
    key
        What the order minimises, in a formula.
    guarantee
        Proven worst-case ratio to the optimal TEL, or "none".
    source
        Where it comes from.
    cost
        Running time.
    rule
        How the order is executed, above all when lengths are uncertain.
    """

    name: str
    order: OrderRule
    key: str
    guarantee: str
    source: str
    cost: str
    rule: Rule = POINT

    @property
    def summary(self) -> str:
        """The policy in one line."""
        return f"{self.key}; guarantee {self.guarantee}; {self.cost}; {self.source}"
