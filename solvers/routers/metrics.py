"""Figures of an execution on a fleet (docs/routing.md, "Figures"): latency, throughput, SLOs, utilisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models.execution import Execution
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests, volume

#: Percentiles of EEL and TTFT that are reported.
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Limits:
    """When a request misses its SLO: its EEL is `eel` steps or more, or its TTFT `ttft` steps or more."""

    eel: int
    ttft: int

    @classmethod
    def default(cls, requests: Requests) -> Limits:
        """EEL: twice the 95th percentile of the outputs. TTFT: the median output. Both depend on no router."""
        return cls(2 * int(np.quantile(requests.output, 0.95)) + 1, int(np.median(requests.output)) + 1)


@dataclass(frozen=True, slots=True)
class Metrics:
    """What happened, in steps and tokens, over all n requests.

    Parameters
    ----------
    mean_eel, p50_eel, p95_eel, p99_eel
        End-to-end latency C_j − a_j.
    mean_ttft, p50_ttft, p95_ttft, p99_ttft
        First token: (start of the first attempt) + 1 − a_j.
    throughput, qps
        Output tokens, and requests, per step from the first arrival to the last completion.
    slo_violations, eel_violations, ttft_violations
        Share of requests over one of the `Limits`, over the EEL limit, over the TTFT limit.
    kv_utilisation, batch_utilisation
        Tokens held, and requests running, as a share of what the fleet has over that time; evicted attempts count.
        The latter is None when some worker has no batch cap.
    evictions, lost_tokens, recomputed_tokens
        See `kvbound.models.execution.Execution`.
    makespan
        Last completion.
    """

    mean_eel: float
    p50_eel: float
    p95_eel: float
    p99_eel: float
    mean_ttft: float
    p50_ttft: float
    p95_ttft: float
    p99_ttft: float
    throughput: float
    qps: float
    slo_violations: float
    eel_violations: float
    ttft_violations: float
    kv_utilisation: float
    batch_utilisation: float | None
    evictions: int
    lost_tokens: int
    recomputed_tokens: int
    makespan: int


def measure(problem: Problem, execution: Execution, limits: Limits) -> Metrics:
    """The figures of a checked execution."""
    requests = problem.requests
    completion = execution.schedule(requests).completion(requests)
    eel = completion - requests.arrival
    ttft = execution.first_start(requests) + 1 - requests.arrival
    last = int(completion.max())
    span = last - int(requests.arrival.min())
    late_eel, late_ttft = eel >= limits.eel, ttft >= limits.ttft
    held, slots = _used(requests, execution, problem.fleet, span)
    return Metrics(
        *_latency(eel),
        *_latency(ttft),
        throughput=int(requests.output.sum()) / span,
        qps=problem.n / span,
        slo_violations=float((late_eel | late_ttft).mean()),
        eel_violations=float(late_eel.mean()),
        ttft_violations=float(late_ttft.mean()),
        kv_utilisation=held,
        batch_utilisation=slots,
        evictions=execution.evictions,
        lost_tokens=execution.lost_tokens,
        recomputed_tokens=execution.recomputed_tokens,
        makespan=last,
    )


def _latency(steps: IntArray) -> tuple[float, float, float, float]:
    """Mean and percentiles."""
    p50, p95, p99 = np.percentile(steps, PERCENTILES)
    return float(steps.mean()), float(p50), float(p95), float(p99)


def _used(requests: Requests, execution: Execution, fleet: Fleet, span: int) -> tuple[float, float | None]:
    made = execution.end - execution.start
    held = sum(volume(requests.prompt[execution.request], made).tolist()) / (fleet.pooled_memory * span)
    slots = fleet.pooled_batch
    return held, None if slots is None else int(made.sum()) / (slots * span)
