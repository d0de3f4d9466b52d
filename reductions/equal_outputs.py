"""3-Partition → TEL on one worker, all outputs equal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kvbound.checkers.certificate import Certificate, PriceTerm, certified
from kvbound.models.errors import InputError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.models.weights import weight_from
from kvbound.reductions.building import consecutive_triples, in_rounds, scheduling_problem
from kvbound.reductions.decisions import TelDecision
from kvbound.reductions.problems import Size, ThreePartition, Triples
from kvbound.reductions.reduction import Reduction


@dataclass(frozen=True, slots=True)
class EqualOutputs(Reduction):
    """3-Partition → TEL: s_i = 3L·a_i, o_i = L, M = 3L(B + 1); yes iff TEL* ≤ T = 3L·m(m+1)/2.

    Holds for every L ≥ 1; a no-instance even has TEL* ≥ T + L.

    *Proof.* A set of active requests with Σa ≥ B + 1 holds at least 3L(B + 1) = M in prompts and at least one token
    each: too much. As 4a_i ≥ B + 1, no four requests are active together. Three with Σa ≤ B may be, whatever their
    ages: they hold at most 3L·B + 3L = M.

    Yes ⇒ TEL* ≤ T: run the triples one after another, each in lockstep. Three requests complete at L, three at 2L, …;
    the sum is 3L(1 + … + m).

    No ⇒ TEL* ≥ T + L: sort a schedule by start, k_(1) ≤ k_(2) ≤ …. If k_(q+3) < k_(q) + L, the requests (q)..(q+3)
    were all active in step k_(q+3) + 1. So k_(q+3) ≥ k_(q) + L, and by induction k_(q) = L(⌈q/3⌉ − 1) + x_q with x_q
    ≥ 0. Hence TEL = T + Σ x_q. Suppose Σ x_q < L. Then the starts of (3i+1), (3i+2), (3i+3) lie in [Li, Li + L − 1],
    and all three are active in step k_(3i+3) + 1 ≤ L(i + 1): so Σa ≤ B for these three. This holds for every i, and
    the sums add up to mB, so each is B: a yes. ∎

    *Certificates.* Any schedule with TEL < T + L gives the triples: its requests in order of start, three by three.
    For TEL = T these are the requests with equal starts. Triples give the schedule in rounds.

    *Size.* 3m requests, numbers at most max(M, T). With L = 1 this alone proves that TEL is strongly NP-hard.

    Parameters
    ----------
    length
        L ≥ 1, output of every request, in steps.
    """

    length: int = 1

    name: ClassVar[str] = "equal-outputs"
    source: ClassVar[type[ThreePartition]] = ThreePartition
    target: ClassVar[type[TelDecision]] = TelDecision

    def __post_init__(self) -> None:
        if self.length < 1:
            raise InputError(f"length is {self.length}; outputs have at least one token")

    def forward(self, instance: ThreePartition) -> TelDecision:
        """The TEL instance and its threshold."""
        scale, n = 3 * self.length, len(instance.numbers)
        prompt = [scale * a for a in instance.numbers]
        name = f"3-partition m={instance.m}, B={instance.target}, L={self.length}"
        problem = scheduling_problem(name, prompt, [self.length] * n, scale * (instance.target + 1))
        return TelDecision(problem, self.threshold(instance))

    @classmethod
    def recognise(cls, problem: Problem) -> tuple[EqualOutputs, ThreePartition]:
        """The reduction and the numbers that `problem` came from; `InputError` when it cannot be an image."""
        requests, fleet = problem.requests, problem.fleet
        length = int(requests.output[0])
        scale = 3 * length
        bad = (requests.output != length) | (requests.arrival != 0) | (requests.prompt % scale != 0)
        if bad.any() or len(fleet) > 1 or fleet.batch[0] is not None or fleet.memory[0] % scale:
            raise InputError(
                f"{problem.name}: not an instance that 3-Partition reduces to (one worker, all outputs L, prompts and "
                f"memory multiples of 3L); give the numbers themselves with --numbers"
            )
        numbers = tuple(int(s) // scale for s in requests.prompt)
        return cls(length), ThreePartition(numbers, fleet.memory[0] // scale - 1)

    def threshold(self, instance: ThreePartition) -> int:
        """T = 3L·m(m+1)/2."""
        return 3 * self.length * instance.m * (instance.m + 1) // 2

    def if_no(self, instance: ThreePartition) -> int:
        """T + L."""
        return self.threshold(instance) + self.length

    def size_bound(self, size: Size) -> Size:
        """One number more (the worker); memory 3L(B+1) or threshold L·n(n+3)/6, whichever is larger."""
        n = size.items
        return Size(n + 1, max(3 * self.length * (size.largest + 1), self.length * n * (n + 3) // 6))

    def accepts(self, instance: ThreePartition, certificate: Schedule) -> None:
        """Any valid schedule with TEL < T + L will do."""
        replace(self.forward(instance), threshold=self.if_no(instance) - 1).verify(certificate)

    def _back(self, instance: ThreePartition, certificate: Schedule) -> Triples:
        return consecutive_triples(certificate)

    def _lift(self, instance: ThreePartition, certificate: Triples) -> Schedule:
        return in_rounds(certificate, [self.length] * len(instance.numbers))

    def proof_of_threshold(self, instance: ThreePartition) -> Certificate:
        """A bound certificate that proves TEL* ≥ T for yes and no alike, in m − 1 integers (docs/reductions.md §4).

        Prices (m − i)·L just before the step iL, i < m, on "at most three are active": the levels weight with four
        levels and no delay. A start in round i pays for that row alone, so its latency and price are at least mL.
        """
        m, length = instance.m, self.length
        scale = weight_from("levels", (3, 0)).scale
        rounds: IntArray = np.arange(1, m, dtype=np.int64)
        term = PriceTerm("levels", (3, 0), scale * length * rounds - 1, (m - rounds) * length)
        problem = self.forward(instance).problem
        return certified(problem, Certificate("prices", "reduction", problem.fingerprint(), 1, (term,), None))
