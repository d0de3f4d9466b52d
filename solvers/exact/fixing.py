"""Reduced-cost fixing: which starts can a schedule better than the incumbent still have?

With prices of bound L, request j at start k costs at least L + (cost of k − cheapest cost of j); starts for which this
reaches the incumbent are dropped. Everything is compared in the certificate's own integers.
"""

from __future__ import annotations

from dataclasses import replace

from kvbound.models.errors import CertificateError
from kvbound.models.problem import Problem
from kvbound.solvers.exact.known import Known


def fix_starts(problem: Problem, known: Known) -> Known:
    """Keep only starts of schedules with TEL < `known.tel`; the model is restricted from then on (`Known.cutoff`).

    When some request keeps no start, the incumbent is optimal. Without a certificate of prices nothing changes.
    """
    certificate, tel = known.certificate, known.tel
    if certificate is None or certificate.rule != "prices" or tel is None:
        return known
    from kvbound.solvers.bounds import reduced_costs

    try:
        allowed = reduced_costs(problem, certificate).remaining(tel)
    except CertificateError:
        return known  # no prices, or integers beyond 64 bits: nothing can be fixed
    if any(len(starts) == 0 for starts in allowed):
        return known.with_bound(tel, f"{known.proved_by}, reduced costs")
    last = max(int(starts[-1]) + int(o) for starts, o in zip(allowed, problem.requests.output, strict=True))
    return replace(known, allowed=list(allowed), cutoff=tel, horizon=last)
