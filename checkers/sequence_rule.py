"""The bound that multipliers prove through the sequence relaxation (docs/bounds.md §1), in exact integers."""

from __future__ import annotations

import numpy as np

from kvbound.models.errors import CertificateError, SizeError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.sequence import Relaxation, evaluate

#: Most sets, and largest table in entries of one position, that a certificate may ask the checker to build.
MOST_SETS, _MOST_ENTRIES = 6_000_000, 100_000_000


def sequence_bound(problem: Problem, level: int, denominator: int, multipliers: IntArray) -> int:
    """Return ⌈bound⌉ − Σ a_j for one worker, at least Σ o_j; multipliers are numerators over `denominator`.

    Arrivals and batch caps are relaxed: a schedule that respects them is a schedule without them.
    """
    if len(problem.fleet) != 1:
        raise CertificateError(f"a sequence certificate is for one worker; the fleet has {len(problem.fleet)}")
    requests, memory = problem.requests, problem.fleet.largest
    if Relaxation.most_sets(requests, level) > MOST_SETS or Relaxation.size(requests, memory, level) > _MOST_ENTRIES:
        raise CertificateError("the lengths are too many and too long for the sequence relaxation")
    space = Relaxation.of(requests, memory, level)
    if len(multipliers) != len(space.peak):
        raise CertificateError(f"{len(multipliers)} multipliers, but there are {len(space.peak)} types of requests")
    most = int(np.abs(multipliers).max(initial=0))
    if most >= 1 << 28 or denominator >= 1 << 28:
        raise CertificateError("multipliers or denominator exceed 28 bits")
    try:
        scaled, _ = evaluate(space, denominator, multipliers)
    except SizeError as error:
        raise CertificateError(str(error)) from None
    value = -(-scaled // denominator) - sum(requests.arrival.tolist())
    return max(value, sum(requests.output.tolist()))
