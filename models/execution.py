"""Execution: what really happened when a policy did not know the output lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models.errors import InputError
from kvbound.models.requests import MAX_ARRIVAL, MAX_TOKENS, IntArray, Requests, integer_array
from kvbound.models.schedule import UNSERVED, Schedule


@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """Attempts to serve requests, in the order in which they began, and what the failed ones cost.

    An attempt of request j that begins at k and ends at e is active in the steps k+1 .. e, holds s_j + (t − k) tokens
    in step t and has made e − k tokens. It serves the request if that is o_j; otherwise it was evicted after step e.

    Parameters
    ----------
    request, worker, start, end
        j, g, k and e of each attempt, shape (m,), m ≥ n.
    evictions
        Attempts that were evicted.
    lost_tokens
        Output tokens thrown away, Σ (e − k) over the evicted attempts; as many decode steps are done again.
    recomputed_tokens
        KV entries that had to be built again, Σ (s_j + e − k) over the evicted attempts: prompts and lost tokens.
    """

    request: IntArray
    worker: IntArray
    start: IntArray
    end: IntArray
    evictions: int
    lost_tokens: int
    recomputed_tokens: int

    def __post_init__(self) -> None:
        put, least = object.__setattr__, -1
        put(self, "request", integer_array(self.request, "request", least, 1 << 31))
        put(self, "worker", integer_array(self.worker, "worker", least, 1 << 31))
        put(self, "start", integer_array(self.start, "start", least, 2 * MAX_ARRIVAL))
        put(self, "end", integer_array(self.end, "end", least, 2 * MAX_ARRIVAL + MAX_TOKENS))
        for name in ("worker", "start", "end"):
            if len(getattr(self, name)) != len(self.request):
                raise InputError(f"{len(self.request)} attempts but {len(getattr(self, name))} values of {name}")

    def __len__(self) -> int:
        """Number of attempts."""
        return len(self.request)

    def serving(self, requests: Requests) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Mask of the attempts that serve their request, shape (m,)."""
        return self.end - self.start == requests.output[self.request]

    def schedule(self, requests: Requests) -> Schedule:
        """The serving attempts alone: a schedule with the same completions (docs/math.md §7)."""
        start, worker = (np.full(len(requests), UNSERVED, np.int64) for _ in range(2))
        done = self.serving(requests)
        start[self.request[done]] = self.start[done]
        worker[self.request[done]] = self.worker[done]
        return Schedule(start, worker)

    def first_start(self, requests: Requests) -> IntArray:
        """Start of each request's first attempt, shape (n,): its first token leaves one step later (TTFT)."""
        first = np.full(len(requests), np.iinfo(np.int64).max)
        np.minimum.at(first, self.request, self.start)
        return first


def count_losses(requests: Requests, request: IntArray, start: IntArray, end: IntArray) -> tuple[int, int, int]:
    """Evictions, lost tokens and recomputed tokens of attempts, see `Execution`."""
    made = end - start
    lost = made != requests.output[request]
    tokens = sum(made[lost].tolist())
    return int(lost.sum()), tokens, tokens + sum(requests.prompt[request[lost]].tolist())
