"""Edges into fleets: 3-Partition → REWARD on m workers, Partition → TEL on two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule
from kvbound.reductions.bins import without_giants
from kvbound.reductions.building import scheduling_problem
from kvbound.reductions.decisions import RewardDecision, TelDecision
from kvbound.reductions.problems import Assignment, Partition, Size, ThreePartition, Triples
from kvbound.reductions.reduction import Reduction


@dataclass(frozen=True, slots=True)
class HorizonOne(Reduction):
    """3-Partition → REWARD: m workers of M = 3B + 3, s_i = 3a_i, o_i = 1, horizon 1, σ = 1; yes iff REWARD* ≥ 3m.

    *Proof.* Within horizon 1 a request can start at 0 only and holds 3a_i + 1 tokens in step 1. Requests with Σa ≥ B
    + 1 on one worker hold at least 3(B + 1) + 1 > M. As 4a_i ≥ B + 1, a worker serves at most three; three fit iff Σa
    ≤ B, as they hold 3Σa + 3. All 3m are served iff each of the m workers serves three with Σa ≤ B, that is, as these
    sums add up to mB, with Σa = B. ∎

    *Certificates.* A worker is a triple. *Size.* 3m requests, m workers, numbers at most max(3B + 3, 3m).
    """

    name: ClassVar[str] = "horizon-one"
    source: ClassVar[type[ThreePartition]] = ThreePartition
    target: ClassVar[type[RewardDecision]] = RewardDecision

    def forward(self, instance: ThreePartition) -> RewardDecision:
        """The REWARD instance and its threshold."""
        prompt = [3 * a for a in instance.numbers]
        name = f"3-partition m={instance.m}, B={instance.target}, horizon 1"
        memory = 3 * instance.target + 3
        problem = scheduling_problem(name, prompt, [1] * len(prompt), memory, instance.m, Reward(1, served=1))
        return RewardDecision(problem, self.threshold(instance))

    def threshold(self, instance: ThreePartition) -> int:
        """3m: everything is served."""
        return 3 * instance.m

    def if_no(self, instance: ThreePartition) -> int:
        """3m − 1, the most that can be earned."""
        return 3 * instance.m - 1

    def size_bound(self, size: Size) -> Size:
        """n requests and n/3 workers; the memory, or n."""
        return Size(size.items + size.items // 3, max(3 * size.largest + 3, size.items))

    def _back(self, instance: ThreePartition, certificate: Schedule) -> Triples:
        return tuple(tuple(int(j) for j in np.flatnonzero(certificate.worker == g)) for g in range(instance.m))

    def _lift(self, instance: ThreePartition, certificate: Triples) -> Schedule:
        worker = np.zeros(3 * instance.m, np.int64)
        for g, triple in enumerate(certificate):
            worker[list(triple)] = g
        return Schedule(np.zeros(3 * instance.m, np.int64), worker)


@dataclass(frozen=True, slots=True)
class TwoWorkers(Reduction):
    """Partition → TEL on two workers: s_i = nL·a_i, o_i = L, M = nL(S + 1); yes iff TEL* ≤ T = nL.

    Holds for every L ≥ 1. A number above S makes the answer no; such an instance becomes (2, 2, 2), a no as well.

    *Proof.* Every C_j is at least L, so TEL ≤ nL iff all n requests start at step 0. Then the numbers on a worker
    have Σa ≤ S: otherwise it holds at least nL(S + 1) = M in prompts and one token more in step 1. Both sides
    together have 2S, so each has S. Conversely, n requests or fewer with Σa = S hold at most nL·S + nL = M at any
    age. ∎

    *Certificates.* A worker is a side. *Size.* n requests, two workers, numbers at most nL(S + 1). (Partition is not
    strongly NP-hard, so this alone proves weak hardness; its point is that two workers with nothing to schedule in
    time are hard already.)

    Parameters
    ----------
    length
        L ≥ 1, output of every request, in steps.
    """

    length: int = 1

    name: ClassVar[str] = "two-workers"
    source: ClassVar[type[Partition]] = Partition
    target: ClassVar[type[TelDecision]] = TelDecision

    def __post_init__(self) -> None:
        if self.length < 1:
            raise InputError(f"length is {self.length}; outputs have at least one token")

    def forward(self, instance: Partition) -> TelDecision:
        """The TEL instance on two workers and its threshold."""
        plain = without_giants(instance)
        n = len(plain.numbers)
        scale = n * self.length
        name = f"partition n={n}, S={plain.half}, L={self.length}"
        prompt = [scale * a for a in plain.numbers]
        problem = scheduling_problem(name, prompt, [self.length] * n, scale * (plain.half + 1), 2)
        return TelDecision(problem, self.threshold(instance))

    def threshold(self, instance: Partition) -> int:
        """T = nL."""
        return len(without_giants(instance).numbers) * self.length

    def size_bound(self, size: Size) -> Size:
        """n requests and two workers; never below (2, 2, 2)."""
        n, largest = max(3, size.items), max(6, size.largest)
        return Size(n + 2, n * self.length * (largest // 2 + 1))

    def _back(self, instance: Partition, certificate: Schedule) -> Assignment:
        return tuple(int(g) for g in certificate.worker)

    def _lift(self, instance: Partition, certificate: Assignment) -> Schedule:
        return Schedule(np.zeros(len(certificate), np.int64), np.array(certificate, np.int64))
