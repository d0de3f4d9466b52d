"""Schedule: a start step and a worker for each request."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.requests import MAX_ARRIVAL, IntArray, Requests, integer_array

#: Start and worker of a request that is not served.
UNSERVED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Starts and workers, by request index (docs/math.md §1).

    Started at step k, request j is active in the steps k+1 .. k+o_j and completes at C_j = k + o_j.

    Parameters
    ----------
    start
        k_j ≥ 0, or `UNSERVED`; shape (n,).
    worker
        g_j from 0, or `UNSERVED`; shape (n,). Default: worker 0 for every served request.
    """

    start: IntArray
    worker: IntArray = field(default=None)  # type: ignore[arg-type]  # filled in __post_init__

    def __post_init__(self) -> None:
        start = integer_array(self.start, "start", UNSERVED, 2 * MAX_ARRIVAL)
        worker = np.where(start == UNSERVED, UNSERVED, 0) if self.worker is None else self.worker
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "worker", integer_array(worker, "worker", UNSERVED, 1 << 31))
        if len(self.start) != len(self.worker):
            raise InputError(f"{len(self.start)} starts but {len(self.worker)} workers")

    def __len__(self) -> int:
        return len(self.start)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return np.array_equal(self.start, other.start) and np.array_equal(self.worker, other.worker)

    @property
    def served(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Mask of the served requests, shape (n,)."""
        return self.start != UNSERVED

    def completion(self, requests: Requests) -> IntArray:
        """C_j = k_j + o_j; `UNSERVED` for requests that are not served; shape (n,)."""
        return np.where(self.served, self.start + requests.output, UNSERVED)
