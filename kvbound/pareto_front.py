"""The Pareto front of the bid-price router: weights swept between two presets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from kvbound.models.errors import OptionError
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.routing import default_horizon, parse_weights
from kvbound.solvers.progress import Progress, ProgressCallback
from kvbound.solvers.routers import Router, resolve_routers, run_router
from kvbound.solvers.routers.metrics import Limits, measure

#: Figures that can be axes; all are better when smaller, but throughput.
FIGURES = ("mean_eel", "p95_eel", "p99_eel", "mean_ttft", "p99_ttft", "slo_violations", "throughput")


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One mixture of weights.

    Parameters
    ----------
    share
        Weight of the second end, 0..1.
    weights
        (α, β, γ, σ, ζ1, ζ2) as the router got them.
    figures
        Means over the seeds, by the names of `FIGURES`.
    on_front
        Whether no other point is better in one axis and no worse in the other.
    """

    share: float
    weights: tuple[Fraction | int, ...]
    figures: dict[str, float]
    on_front: bool


@dataclass(frozen=True, slots=True, eq=False)
class Front:
    """Points of a sweep from `ends[0]` to `ends[1]`, judged by the two `axes`, beside baselines."""

    ends: tuple[str, str]
    axes: tuple[str, str]
    points: tuple[Point, ...]
    baselines: dict[str, dict[str, float]]


def mixture(ends: tuple[str, str], share: Fraction, horizon: int, limits: Limits) -> Reward:
    """(1 − share)·first + share·second; a met tail limit counts as τ1 steps saved, so that the two are of one size."""
    a, b = (parse_weights(name, horizon, limits).weights for name in ends)
    scale = [1, 1, 1, 1, limits.eel, limits.eel]
    mixed = [s * ((1 - share) * x + share * y) for s, x, y in zip(scale, a, b, strict=True)]
    token, eel, ttft, served, eel_tail, ttft_tail = mixed
    return Reward(horizon, token, eel, ttft, served, eel_tail, ttft_tail, limits.eel, limits.ttft)


def front_of(figures: Sequence[dict[str, float]], axes: tuple[str, str]) -> list[bool]:
    """Whether each point is beaten by no other."""
    value = [tuple(-f[a] if a == "throughput" else f[a] for a in axes) for f in figures]
    return [not any(q != p and all(b <= a for a, b in zip(p, q, strict=True)) for q in value) for p in value]


def pareto(
    problems: Sequence[Problem],
    *,
    ends: tuple[str, str] = ("average", "tail"),
    axes: tuple[str, str] = ("mean_eel", "slo_violations"),
    points: int = 7,
    baselines: Sequence[str] = ("round-robin", "lor", "lor:central"),
    router: str = "bid-price",
    horizon: int | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> Front:
    """Run the bid-price router with `points` mixtures of two weights on every problem (one per seed).

    Raises
    ------
    OptionError
        Fewer than two points, an unknown axis, weights or router.
    """
    if points < 2:
        raise OptionError(f"points is {points}; a sweep needs at least 2")
    for axis in axes:
        if axis not in FIGURES:
            raise OptionError(f"unknown axis {axis!r}; known: {', '.join(FIGURES)}")
    (priced,) = resolve_routers([router])
    if priced.config is None:
        raise OptionError(f"{router} has no weights; sweep a bid-price router")
    limits = limits or Limits.default(problems[0].requests)
    horizon = horizon or default_horizon(problems[0])
    begin = time.perf_counter()

    def figures(of: Router, objective: Reward) -> dict[str, float]:
        if progress is not None:
            progress(Progress(of.name, time.perf_counter() - begin, None, None))
        total = dict.fromkeys(FIGURES, 0.0)
        for i, problem in enumerate(problems):
            run = run_router(problem, of, objective=objective, seed=seed + i)
            found = asdict(measure(problem, run.execution, limits))
            for key in FIGURES:
                total[key] += found[key] / len(problems)
        return total

    shares = [Fraction(i, points - 1) for i in range(points)]
    objectives = [mixture(ends, share, horizon, limits) for share in shares]
    found = [figures(priced, objective) for objective in objectives]
    flags = front_of(found, axes)
    rows = tuple(
        Point(float(share), objective.weights, f, flag)
        for share, objective, f, flag in zip(shares, objectives, found, flags, strict=True)
    )
    others = {r.name: figures(r, objectives[0]) for r in resolve_routers(list(baselines))}
    return Front(ends, axes, rows, others)
