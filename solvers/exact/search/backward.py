"""The problem as the search sees it: one worker, time reversed, requests sorted by peak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models import Problem, Schedule
from kvbound.models.errors import OptionError, SizeError
from kvbound.models.requests import IntArray

#: Requests fit into one machine word, sign excluded.
MOST_REQUESTS = 62


@dataclass(frozen=True, slots=True, eq=False)
class Backward:
    """Arrays in the search's own numbering: ascending peak, then output, then arrival.

    Parameters
    ----------
    order
        Request index of each position, shape (n,).
    peak, output, arrival
        p_j, o_j, a_j in that numbering, shape (n,).
    twins
        Bit mask of the later requests with the same prompt and output, shape (n,): they complete after this one.
    memory, cap
        M and B (B = n when there is no cap).
    """

    order: IntArray
    peak: IntArray
    output: IntArray
    arrival: IntArray
    twins: IntArray
    memory: int
    cap: int

    @classmethod
    def of(cls, problem: Problem) -> Backward:
        """Prepare `problem`.

        Raises
        ------
        OptionError
            The fleet has more than one worker or the objective is not TEL.
        SizeError
            There are more than `MOST_REQUESTS` requests.
        """
        if len(problem.fleet) != 1 or problem.objective.name != "tel":
            raise OptionError("the search solves TEL on one worker; take cp-sat or highs for a fleet")
        if problem.n > MOST_REQUESTS:
            raise SizeError(
                f"{problem.n} requests, but the search keeps sets of at most {MOST_REQUESTS} in one word; take cp-sat"
            )
        r = problem.requests
        order = np.lexsort((r.arrival, r.output, r.peak)).astype(np.int64)
        peak, output, arrival = r.peak[order], r.output[order], r.arrival[order]
        twins = np.zeros(problem.n, np.int64)
        for i in range(problem.n):
            for j in range(i + 1, problem.n):
                if peak[i] == peak[j] and output[i] == output[j]:
                    twins[i] |= 1 << j
        cap = min(problem.n, problem.fleet.caps[0])
        return cls(order, peak, output, arrival, twins, problem.fleet.memory[0], cap)

    @property
    def n(self) -> int:
        """Number of requests."""
        return len(self.peak)

    @property
    def life(self) -> IntArray:
        """o_j + a_j: how far before its completion the schedule has to reach back for request j, shape (n,)."""
        return self.output + self.arrival

    @property
    def most_active(self) -> int:
        """Most requests that can run together: each holds at least s_j + 1."""
        least = np.cumsum(np.sort(self.peak - self.output + 1))
        return min(self.cap, max(1, int(np.searchsorted(least, self.memory, side="right"))))

    def start_times(self, distance: IntArray) -> IntArray:
        """Starts, in the problem's numbering, of the schedule with completions T − D_j, T as small as possible."""
        makespan = int((distance + self.life).max())
        start = np.empty(self.n, np.int64)
        start[self.order] = makespan - distance - self.output
        return start

    def distances(self, schedule: Schedule) -> IntArray:
        """D_j = T − C_j of `schedule` in the search's numbering, shape (n,)."""
        completion = schedule.start[self.order] + self.output
        return completion.max() - completion
