"""The scheduling problems among the nodes: decision versions of TEL and REWARD. Certificates are schedules."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kvbound.checkers import require_valid
from kvbound.models.errors import CertificateError, InputError
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule
from kvbound.reductions.problems import Size


@dataclass(frozen=True, slots=True)
class TelDecision:
    """Is there a schedule that serves every request with TEL = Σ (C_j − a_j) ≤ `threshold`?"""

    problem: Problem
    threshold: int

    name: ClassVar[str] = "tel"
    title: ClassVar[str] = "TEL decision"

    def __post_init__(self) -> None:
        if self.problem.objective.name != "tel":
            raise InputError(f"{self.problem.name}: the objective is {self.problem.objective.name}, not TEL")

    @property
    def size(self) -> Size:
        """Requests and workers; the numbers are lengths, arrivals, memories and the threshold."""
        return _size(self.problem, self.threshold)

    def verify(self, certificate: Schedule) -> None:
        """Accept a valid schedule with TEL ≤ threshold (`ScheduleError`, `CertificateError`)."""
        tel = require_valid(self.problem, certificate)
        if tel > self.threshold:
            raise CertificateError(f"the schedule has TEL {tel}, above the threshold {self.threshold}")


@dataclass(frozen=True, slots=True)
class UnitTelDecision(TelDecision):
    """TEL decision with o_j = 1 on one worker, all requests waiting at step 0, no batch cap.

    Raises
    ------
    InputError
        Some output is longer than one token, some request arrives later, or there is more than one worker.
    """

    name: ClassVar[str] = "unit-tel"
    title: ClassVar[str] = "TEL decision, o = 1"

    def __post_init__(self) -> None:
        TelDecision.__post_init__(self)
        requests, fleet = self.problem.requests, self.problem.fleet
        long = np.flatnonzero(requests.output != 1)
        if long.size:
            j = int(long[0])
            raise InputError(f"request {j} has output {requests.output[j]}; unit-output TEL needs o = 1")
        late = np.flatnonzero(requests.arrival)
        if late.size:
            raise InputError(f"request {late[0]} arrives at step {requests.arrival[late[0]]}; all have to wait at 0")
        if len(fleet) > 1 or fleet.batch[0] is not None:
            raise InputError("unit-output TEL has one worker and no batch cap")


@dataclass(frozen=True, slots=True)
class RewardDecision:
    """Is there a schedule that serves each request at most once with reward ≥ `threshold` within the horizon?"""

    problem: Problem
    threshold: int

    name: ClassVar[str] = "reward"
    title: ClassVar[str] = "REWARD decision"

    def __post_init__(self) -> None:
        if not isinstance(self.problem.objective, Reward):
            raise InputError(f"{self.problem.name}: the objective is {self.problem.objective.name}, not REWARD")

    @property
    def size(self) -> Size:
        """Requests and workers; the numbers are lengths, memories and the threshold."""
        return _size(self.problem, self.threshold)

    def value(self, certificate: Schedule) -> Fraction:
        """Reward of a valid schedule, exactly (`ScheduleError`)."""
        assert isinstance(self.problem.objective, Reward)
        return Fraction(-require_valid(self.problem, certificate), self.problem.objective.denominator)

    def verify(self, certificate: Schedule) -> None:
        """Accept a valid schedule with reward ≥ threshold (`ScheduleError`, `CertificateError`)."""
        reward = self.value(certificate)
        if reward < self.threshold:
            raise CertificateError(f"the schedule has reward {reward}, below the threshold {self.threshold}")


def _size(problem: Problem, threshold: int) -> Size:
    requests = problem.requests
    numbers = [int(a.max()) for a in (requests.prompt, requests.output, requests.arrival)]
    return Size(problem.n + len(problem.fleet), max(threshold, *numbers, *problem.fleet.memory))
