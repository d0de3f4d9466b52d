"""Problem: requests × fleet × objective, with its name and a fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.fleet import Fleet
from kvbound.models.objective import TEL, Objective
from kvbound.models.requests import IntArray, Requests


@dataclass(frozen=True, slots=True)
class Problem:
    """One scheduling problem (docs/math.md §1).

    Raises
    ------
    InputError
        There is no request, or a request's peak exceeds the memory of every worker.
    """

    requests: Requests
    fleet: Fleet
    objective: Objective = TEL
    name: str = "unnamed"
    origin: str | None = None

    def __post_init__(self) -> None:
        if len(self.requests) == 0:
            raise InputError(f"{self.name}: there is no request to serve")
        peak = self.requests.peak
        large = np.flatnonzero(peak > self.fleet.largest)
        if large.size:
            j = int(large[0])
            raise InputError(
                f"{self.name}: request {j} needs {peak[j]} tokens at its peak "
                f"(prompt {self.requests.prompt[j]} + output {self.requests.output[j]}), "
                f"but the memory is {self.fleet.largest}; {large.size} of {len(peak)} "
                f"requests are too large. Raise --memory or drop them with --drop-too-large"
            )

    @property
    def n(self) -> int:
        """Number of requests."""
        return len(self.requests)

    @property
    def horizon(self) -> int:
        """A number of steps within which some optimal schedule does everything.

        Without idle steps (docs/math.md §1) the makespan of TEL is at most Σ o_j after the last arrival; an
        objective with a horizon of its own ends there.
        """
        if self.objective.horizon is not None:
            return self.objective.horizon
        return int(self.requests.arrival.max()) + int(self.requests.output.sum())

    def fingerprint(self) -> str:
        """SHA-256 over everything that the meaning of a bound depends on: lengths, arrivals, fleet, objective."""
        digest = hashlib.sha256(b"kvbound-problem-1")
        digest.update(repr((self.objective.identity, self.fleet.memory, self.fleet.batch)).encode())
        for array in (self.requests.prompt, self.requests.output, self.requests.arrival):
            digest.update(array.astype("<i8").tobytes())
        return digest.hexdigest()


def drop_too_large(requests: Requests, fleet: Fleet) -> tuple[Requests, IntArray]:
    """Return the requests that fit on some worker, and the indices of those that were dropped."""
    large = requests.peak > fleet.largest
    return requests.take(~large), np.flatnonzero(large).astype(np.int64)
