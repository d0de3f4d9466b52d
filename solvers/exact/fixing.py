"""Reduced-cost fixing: which starts can a schedule better than the incumbent still have?

With prices of bound L, request j at start k costs at least L + (cost of k − cheapest cost of j); starts for which this
reaches the incumbent are dropped. Everything is compared in the certificate's own integers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvbound.checkers import Certificate
from kvbound.models.problem import Problem
from kvbound.solvers.exact.known import Known


def fix_starts(problem: Problem, known: Known, certificate: Certificate | None) -> Known:
    """Keep only starts of schedules with TEL < `known.tel`; the model is restricted from then on (`Known.cutoff`)."""
    if certificate is None or certificate.rule != "prices" or known.tel is None:
        return known
    from kvbound.solvers.bounds import reduced_costs

    table = reduced_costs(problem, certificate)
    allowed = [np.asarray(starts, np.int64) for starts in table.remaining(known.tel)]
    return replace(known, allowed=list(allowed), cutoff=known.tel)
