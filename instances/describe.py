"""What an instance looks like: lengths, load, how much of the memory the largest request takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray


@dataclass(frozen=True, slots=True)
class Summary:
    """Minimum, median, mean, 95th percentile and maximum; percentiles are observed values (inverted CDF)."""

    min: int
    median: int
    mean: float
    p95: int
    max: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of one problem, for `kvbound info`.

    Parameters
    ----------
    n, workers, memory
        Requests, workers, Σ M_g in tokens.
    prompt, output, peak
        Tokens.
    volume
        Memory-time v_j in token-steps (docs/math.md §5.1).
    total_volume
        Σ v_j, exact.
    makespan_bound
        ⌈Σ v_j / Σ M_g⌉ steps: no schedule completes everything sooner.
    largest_share
        Largest peak / memory of the largest worker.
    concurrency
        Σ M_g / (Σ v_j / Σ o_j): requests that fit at once on average, were the memory always full.
    arrival_span, arrival_rate
        Steps from first to last arrival; n − 1 arrivals per span, or None when all arrive together.
    predicted
        Whether output lengths are only predicted.
    """

    n: int
    workers: int
    memory: int
    prompt: Summary
    output: Summary
    peak: Summary
    volume: Summary
    total_volume: int
    makespan_bound: int
    largest_share: float
    concurrency: float
    arrival_span: int
    arrival_rate: float | None
    predicted: bool

    def as_dict(self) -> dict[str, object]:
        """The same as plain nested dictionaries, ready for JSON."""
        return asdict(self)


def summarise(values: IntArray) -> Summary:
    """Summarise integers, shape (n,), n ≥ 1."""
    median, p95 = (int(q) for q in np.quantile(values, [0.5, 0.95], method="inverted_cdf"))
    total = sum(values.tolist())  # Python integers: volumes of long requests leave int64 when added up
    return Summary(int(values.min()), median, total / len(values), p95, int(values.max()))


def statistics(problem: Problem) -> Statistics:
    """Return the figures of `problem`."""
    requests, fleet = problem.requests, problem.fleet
    volume = sum(requests.volume.tolist())
    memory = fleet.pooled_memory
    span = int(requests.arrival.max() - requests.arrival.min())
    return Statistics(
        n=problem.n,
        workers=len(fleet),
        memory=memory,
        prompt=summarise(requests.prompt),
        output=summarise(requests.output),
        peak=summarise(requests.peak),
        volume=summarise(requests.volume),
        total_volume=volume,
        makespan_bound=-(-volume // memory),
        largest_share=int(requests.peak.max()) / fleet.largest,
        concurrency=memory * sum(requests.output.tolist()) / volume,
        arrival_span=span,
        arrival_rate=(problem.n - 1) / span if span else None,
        predicted=requests.predicted_low is not None,
    )
