"""Which stagger weights are worth a price: candidates by instance, and their violation by a fractional schedule."""

from __future__ import annotations

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.weights import LevelsWeight, LinearWeight, Weight

#: Delays tried, as fractions of a typical output among the requests that a weight counts.
_DELAY_SHARES = (0.0, 0.06, 0.12, 0.2, 0.3, 0.42, 0.55)
_LINEAR_SHARES = (0.0, 0.06, 0.15, 0.27, 0.42)
_EPSILONS = ((1, 10), (1, 5), (3, 10), (2, 5))
#: After completion the linear weight takes one window per step of delay: longer ones cost more than they bring.
_LONGEST_LINEAR_DELAY = 24
_MOST_LEVELS = 8


def candidates(problem: Problem) -> list[Weight]:
    """Weights of docs/math.md §4 that count at least two requests of this instance."""
    r, memory = problem.requests, problem.fleet.largest
    found: dict[Weight, None] = {}
    for m in range(1, _MOST_LEVELS + 1):
        counted = (m + 1) * r.peak > memory
        if counted.sum() < 2:
            continue
        typical = float(np.median(r.output[counted]))
        window = float(np.quantile(((m + 1) * r.peak - memory)[counted] / ((m + 1) * m), 0.95))
        for share in _DELAY_SHARES:
            # Beyond the longest extension ω a larger delay only cuts early ages away.
            found[LevelsWeight(m, round(min(share * typical, window)))] = None
    for top, bottom in _EPSILONS:
        counted = bottom * r.peak >= top * memory
        if counted.sum() < 2:
            continue
        typical = float(np.median(r.output[counted]))
        for share in _LINEAR_SHARES:
            delay = round(share * typical)
            if delay <= _LONGEST_LINEAR_DELAY:
                found[LinearWeight(top, bottom, delay)] = None
    return list(found)
