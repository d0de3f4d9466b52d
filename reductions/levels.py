"""Unit-output TEL *is* bin packing with level sums, in both directions; and it is a case of TEL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kvbound.models.schedule import Schedule
from kvbound.reductions.building import scheduling_problem
from kvbound.reductions.decisions import TelDecision, UnitTelDecision
from kvbound.reductions.problems import Assignment, LevelPacking, Size
from kvbound.reductions.reduction import Reduction


@dataclass(frozen=True, slots=True)
class StepsAsLevels(Reduction):
    """TEL with o = 1 → bin packing with level sums: w_j = s_j + 1, W = M, budget = threshold; equal optima.

    *Proof.* A request started at k holds s_j + 1 tokens in step k + 1 and nothing in any other step, and completes at
    C_j = k + 1. So the steps 1, 2, … are bins of capacity M, the request is an item of size s_j + 1 in the bin C_j, the
    memory rule says that no bin is overfull, and TEL = Σ C_j is the sum of the levels. Schedules and packings
    correspond one to one, with equal objectives. ∎

    TEL ≤ T is *not* the question whether k bins suffice: items 2, 2, 2, 4, 4, 4 in bins of 6 have the level sum 12 in
    three bins (2 + 4 each) and in four (2 + 2 + 2, then 4, 4, 4). That direction needs the padding of `padded-bins`.

    *Certificates.* level = start + 1. *Size.* The numbers grow by at most 1.
    """

    name: ClassVar[str] = "steps-as-levels"
    source: ClassVar[type[UnitTelDecision]] = UnitTelDecision
    target: ClassVar[type[LevelPacking]] = LevelPacking

    def forward(self, instance: UnitTelDecision) -> LevelPacking:
        """One item per request."""
        sizes = tuple(int(s) + 1 for s in instance.problem.requests.prompt)
        return LevelPacking(sizes, instance.problem.fleet.memory[0], self.threshold(instance))

    def threshold(self, instance: UnitTelDecision) -> int:
        """The same number."""
        return instance.threshold

    def size_bound(self, size: Size) -> Size:
        """No number grows beyond the memory, which is there already."""
        return size

    def _back(self, instance: UnitTelDecision, certificate: Assignment) -> Schedule:
        return Schedule(np.array(certificate, np.int64) - 1)

    def _lift(self, instance: UnitTelDecision, certificate: Schedule) -> Assignment:
        return tuple(int(k) + 1 for k in certificate.start)


@dataclass(frozen=True, slots=True)
class LevelsAsSteps(Reduction):
    """Bin packing with level sums → TEL with o = 1: s_i = w_i − 1, o_i = 1, M = W, threshold = budget; equal optima.

    *Proof.* The inverse of `steps-as-levels`: item i in level b is the request i started at b − 1, which holds w_i
    tokens in step b alone and completes there. Capacity is the memory rule, the level sum is TEL. ∎

    *Certificates.* start = level − 1. *Size.* One number more (the worker).
    """

    name: ClassVar[str] = "levels-as-steps"
    source: ClassVar[type[LevelPacking]] = LevelPacking
    target: ClassVar[type[UnitTelDecision]] = UnitTelDecision

    def forward(self, instance: LevelPacking) -> UnitTelDecision:
        """One request per item."""
        name = f"level packing n={len(instance.sizes)}, W={instance.capacity}"
        prompt = [w - 1 for w in instance.sizes]
        problem = scheduling_problem(name, prompt, [1] * len(prompt), instance.capacity)
        return UnitTelDecision(problem, self.threshold(instance))

    def threshold(self, instance: LevelPacking) -> int:
        """The same number."""
        return instance.budget

    def size_bound(self, size: Size) -> Size:
        """The worker is one more."""
        return Size(size.items + 1, size.largest)

    def _back(self, instance: LevelPacking, certificate: Schedule) -> Assignment:
        return tuple(int(k) + 1 for k in certificate.start)

    def _lift(self, instance: LevelPacking, certificate: Assignment) -> Schedule:
        return Schedule(np.array(certificate, np.int64) - 1)


@dataclass(frozen=True, slots=True)
class UnitIsTel(Reduction):
    """TEL with o = 1 → TEL: the instance stays as it is.

    *Proof.* Unit-output TEL is TEL restricted to some of its instances. ∎

    *Certificates.* The same schedule. *Size.* Unchanged.
    """

    name: ClassVar[str] = "unit-is-tel"
    source: ClassVar[type[UnitTelDecision]] = UnitTelDecision
    target: ClassVar[type[TelDecision]] = TelDecision

    def forward(self, instance: UnitTelDecision) -> TelDecision:
        """The same problem."""
        return TelDecision(instance.problem, self.threshold(instance))

    def threshold(self, instance: UnitTelDecision) -> int:
        """The same number."""
        return instance.threshold

    def size_bound(self, size: Size) -> Size:
        """Unchanged."""
        return size

    def _back(self, instance: UnitTelDecision, certificate: Schedule) -> Schedule:
        return certificate

    def _lift(self, instance: UnitTelDecision, certificate: Schedule) -> Schedule:
        return certificate
