"""Which stagger weights are worth a price: candidates by instance, and their violation by a fractional schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.weights import LevelsWeight, LinearWeight, Weight
from kvbound.solvers.bounds.rows import FloatArray

#: Delays tried, as fractions of what limits them: the typical output of the requests counted, or the longest extension.
_LEVEL_SHARES = (0.0, 0.06, 0.12, 0.2, 0.3, 0.4, 0.5)
_LINEAR_SHARES = (0.0, 0.2, 0.4, 0.55, 0.7, 0.85)
_MOST_LEVELS = 8
#: ε in twentieths.
_EPSILONS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)


def candidates(problem: Problem) -> list[Weight]:
    """Weights of docs/math.md §4 that count at least two requests of this instance."""
    r, memory = problem.requests, problem.fleet.largest
    found: dict[Weight, None] = {}
    for m in range(1, _MOST_LEVELS + 1):
        counted = (m + 1) * r.peak > memory
        if counted.sum() < 2:
            continue
        typical = float(np.median(r.output[counted]))
        # Beyond the longest extension ω a larger delay only cuts early ages away.
        window = float(np.quantile(((m + 1) * r.peak - memory)[counted] / ((m + 1) * m), 0.95))
        for share in _LEVEL_SHARES:
            found[LevelsWeight(m, round(min(share * typical, window)))] = None
    for k in _EPSILONS:
        counted = 20 * r.peak >= k * memory
        if counted.sum() < 2:
            continue
        typical = float(np.median(r.output[counted]))
        for share in _LINEAR_SHARES:
            found[LinearWeight(k, 20, round(share * min(k * memory / 20, 0.8 * typical)))] = None
    return list(found)


def family(weight: Weight) -> tuple[str, int]:
    """What a weight shares with those that differ from it in the delay only."""
    return weight.kind, weight.parameters[0]


def choose(weights: Sequence[Weight], violation: FloatArray, most: int) -> list[Weight]:
    """The most violated weight of each family, worst first, at most `most`."""
    chosen: dict[tuple[str, int], Weight] = {}
    for i in np.argsort(-violation, kind="stable").tolist():
        if violation[i] > 0.0:
            chosen.setdefault(family(weights[i]), weights[i])
    return list(chosen.values())[:most]


def neighbours(weights: Sequence[Weight]) -> list[Weight]:
    """The same families with delays next to those of `weights`, which are left out."""
    found: dict[Weight, None] = {}
    for weight in weights:
        if not isinstance(weight, LevelsWeight | LinearWeight):
            continue
        step = max(1, weight.delay // 10)
        for delay in (weight.delay - step, weight.delay + step):
            if delay >= 0:
                found[replace(weight, delay=delay)] = None
    return [w for w in found if w not in set(weights)]
