"""Routers against one another and against certified bounds, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

import numpy as np

from kvbound.instances.arrivals import poisson
from kvbound.instances.predictions import with_predictions
from kvbound.models.errors import OptionError
from kvbound.models.execution import Execution
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.reward import PRESETS, Reward
from kvbound.routing_bounds import NO_BOUND, BoundPair, prove_bounds
from kvbound.solvers.progress import Progress, ProgressCallback
from kvbound.solvers.routers import Router, resolve_routers, run_router
from kvbound.solvers.routers.metrics import Limits, Metrics, measure
from kvbound.statistics import Interval, interval

_LETTERS = "α,β,γ,σ,ζ1,ζ2"


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One router on one seed.

    Parameters
    ----------
    metrics, reward
        Figures of the checked execution and its reward, summed in integers and divided once by the denominator.
    execution
        What happened.
    gap, eel_gap
        1 − reward / bound and mean EEL / bound − 1; None without a bound.
    seconds
        Wall time of the run.
    decisions
        Median and 99th percentile of the router's decision time in milliseconds, or None when it was not timed.
    """

    metrics: Metrics
    reward: float
    execution: Execution
    gap: float | None
    eel_gap: float | None
    seconds: float
    decisions: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RouterRow:
    """One router over all seeds."""

    name: str
    trials: tuple[Trial, ...]

    def figures(self) -> dict[str, Interval | None]:
        """Mean and 95 % confidence interval over the seeds of every figure; None where there is none."""
        columns = [
            asdict(t.metrics)
            | {"reward": t.reward, "gap": t.gap, "eel_gap": t.eel_gap, "seconds": t.seconds}
            | dict(zip(("decision_ms", "decision_ms_p99"), t.decisions or (None, None), strict=True))
            for t in self.trials
        ]
        return {key: interval([column[key] for column in columns]) for key in columns[0]}


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """Routers against bounds.

    Parameters
    ----------
    problems
        What was routed, one problem per seed.
    reward
        The objective REWARD, with its horizon and thresholds.
    rows
        One per router, in the order asked for; fewer trials after Ctrl-C.
    bounds
        One pair per seed.
    notes, interrupted
        What a reader should know; whether Ctrl-C ended the work early.
    """

    problems: tuple[Problem, ...]
    reward: Reward
    rows: tuple[RouterRow, ...]
    bounds: tuple[BoundPair, ...]
    notes: tuple[str, ...]
    interrupted: bool = False


def parse_weights(text: str, horizon: int, limits: Limits) -> Reward:
    """Return the objective for `average`, `tail`, `throughput` or up to six numbers α,β,γ,σ,ζ1,ζ2 (the rest 0)."""
    if text in PRESETS:
        return Reward.preset(text, horizon, eel_limit=limits.eel, ttft_limit=limits.ttft)
    try:
        numbers = [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise OptionError(
            f"weights {text!r}: give {', '.join(PRESETS)} or numbers {_LETTERS}, such as 0,1,1 or 0,1,1/2"
        ) from None
    if len(numbers) > 6:
        raise OptionError(f"weights {text!r}: {len(numbers)} numbers; there are six weights, {_LETTERS}")
    a, b, c, d, e, f = [*numbers, *[Fraction(0)] * (6 - len(numbers))]
    return Reward(horizon, a, b, c, d, e, f, limits.eel, limits.ttft)


def default_horizon(problem: Problem) -> int:
    """Steps until the last arrival, the longest output and the time the fleet needs for all work at full use."""
    requests, fleet = problem.requests, problem.fleet
    busy = -(-sum(requests.volume.tolist()) // fleet.pooled_memory)
    if fleet.pooled_batch is not None:
        busy = max(busy, -(-int(requests.output.sum()) // fleet.pooled_batch))
    return int(requests.arrival.max()) + int(requests.output.max()) + busy


def seeded(problem: Problem, seed: int, rate: float | None, noise: str | None) -> Problem:
    """The problem with Poisson arrivals of `rate` and predictions of `noise` (None leaves either) for one seed."""
    if rate is not None:
        r = problem.requests
        arrival = poisson(problem.n, rate, np.random.default_rng([seed, 1]))
        kept = (r.predicted_low, r.predicted_high, r.predicted)
        problem = replace(problem, requests=Requests(r.prompt, r.output, arrival, *kept))
    return problem if noise is None else with_predictions(problem, noise, seed)


def route(
    problem: Problem,
    routers: Sequence[str | Router] = ("all",),
    *,
    weights: str = "average",
    rate: float | None = None,
    noise: str | None = None,
    seeds: int = 1,
    seed: int = 0,
    horizon: int | None = None,
    limits: Limits | None = None,
    bounds: bool = True,
    time_limit: float | None = 30.0,
    progress: ProgressCallback | None = None,
) -> Routing:
    """Run routers on a fleet and state every gap to the certified bounds on reward and mean EEL.

    Parameters
    ----------
    problem
        Requests with arrivals, fleet; the objective is replaced by REWARD.
    routers
        Names (`kvbound.solvers.routers.resolve_routers`) or `Router` objects.
    weights
        `average`, `tail`, `throughput` or α,β,γ,σ,ζ1,ζ2.
    rate, noise
        Poisson arrivals (requests per step) and a noise model in place of the problem's own; drawn anew per seed.
    seeds, seed
        Number of seeds and the first; a seed drives arrivals, predictions and the routers' random numbers.
    horizon, limits
        H in steps (default: `default_horizon` of the first seed) and the SLO thresholds, which are τ1 and τ2, too.
    bounds, time_limit
        Whether to prove bounds, and seconds for each of them.

    Raises
    ------
    OptionError
        Unknown router or weights, a number out of range.
    """
    if seeds < 1:
        raise OptionError(f"seeds is {seeds}; it must be at least 1")
    chosen = [r for item in routers for r in ([item] if isinstance(item, Router) else resolve_routers([item]))]
    chosen = list({router.name: router for router in chosen}.values())
    limits = limits or Limits.default(problem.requests)
    problems = tuple(seeded(problem, seed + i, rate, noise) for i in range(seeds))
    objective = parse_weights(weights, horizon or default_horizon(problems[0]), limits)
    begin = time.perf_counter()
    trials: dict[str, list[Trial]] = {router.name: [] for router in chosen}
    pairs: list[BoundPair] = []
    notes: list[str] = []
    interrupted = False
    try:
        for i, one in enumerate(problems):
            _tell(progress, f"bounds, seed {seed + i}", begin)
            pairs.append(prove_bounds(one, objective, time_limit, progress) if bounds else NO_BOUND)
            for router in chosen:
                _tell(progress, f"{router.name}, seed {seed + i}", begin)
                trials[router.name].append(_trial(one, router, objective, limits, pairs[-1], seed + i))
    except KeyboardInterrupt:
        interrupted = True
        done = min(len(t) for t in trials.values())
        notes.append(f"interrupted: {done} of {seeds} seeds are complete")
    rows = tuple(RouterRow(name, tuple(found)) for name, found in trials.items() if found)
    return Routing(problems, objective, rows, tuple(pairs), tuple(notes), interrupted)


def _trial(problem: Problem, router: Router, objective: Reward, limits: Limits, pair: BoundPair, seed: int) -> Trial:
    run = run_router(problem, router, objective=objective, seed=seed)
    metrics = measure(problem, run.execution, limits)
    schedule = run.execution.schedule(problem.requests)
    earned = sum(objective.reward(problem.requests, np.arange(problem.n), schedule.start).tolist())
    gap = None if not pair.reward else 1 - earned / pair.reward
    eel_gap = None if not pair.total_eel else metrics.mean_eel * problem.n / pair.total_eel - 1
    ms = run.milliseconds
    decisions = None if ms is None else (float(np.median(ms)), float(np.percentile(ms, 99)))
    return Trial(metrics, earned / objective.denominator, run.execution, gap, eel_gap, run.seconds, decisions)


def _tell(progress: ProgressCallback | None, stage: str, begin: float) -> None:
    if progress is not None:
        progress(Progress(stage, time.perf_counter() - begin, None, None))


def mean_bounds(result: Routing) -> dict[str, float | None]:
    """`reward` (as a reward, not in units of 1 / denominator) and `mean_eel`, averaged over the seeds."""
    pairs, n = result.bounds, result.problems[0].n
    reward = interval([None if p.reward is None else p.reward / result.reward.denominator for p in pairs])
    eel = interval([None if p.total_eel is None else p.total_eel / n for p in pairs])
    return {"reward": None if reward is None else reward.mean, "mean_eel": None if eel is None else eel.mean}
