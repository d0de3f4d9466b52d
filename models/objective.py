"""Objectives: what one start costs, and whether every request has to be served.

All formulations, price kernels and checkers take an objective through this interface: TEL is here, REWARD
(docs/math.md §1) in `kvbound.models.reward`.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from kvbound.models.requests import IntArray, Requests


class Objective(Protocol):
    """A linear objective over starts, to be minimised."""

    name: ClassVar[str]
    #: True: exactly one start per request; False: at most one.
    serve_all: ClassVar[bool]

    @property
    def horizon(self) -> int | None:
        """H: starts are before H and footprints are cut there; None when time does not end."""
        ...

    @property
    def identity(self) -> str:
        """All that the meaning of the objective depends on: part of a problem's fingerprint."""
        ...

    def start_cost(self, requests: Requests, request: npt.ArrayLike, start: npt.ArrayLike) -> IntArray:
        """Cost of starting `request` at step `start` (arrays broadcast together)."""
        ...


class TotalLatency:
    """TEL = Σ_j (C_j − a_j), total end-to-end latency in steps; every request is served."""

    name: ClassVar[str] = "tel"
    serve_all: ClassVar[bool] = True
    horizon: ClassVar[int | None] = None
    identity: ClassVar[str] = "tel"

    def start_cost(self, requests: Requests, request: npt.ArrayLike, start: npt.ArrayLike) -> IntArray:
        """k + o_j − a_j."""
        j = np.asarray(request)
        return np.asarray(start) + requests.output[j] - requests.arrival[j]

    def __repr__(self) -> str:
        return "TEL"


TEL = TotalLatency()
