"""How large a model would be, estimated before it is built (bytes by rule of thumb, not measured)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models.errors import SizeError
from kvbound.models.formulations.cuts import last_starts, possible_workers
from kvbound.models.problem import Problem
from kvbound.solvers.exact.known import Known

#: Bytes per matrix entry: the arrays, HiGHS's copies and presolve; in Pyomo its expression trees beside them.
_HIGHS_ENTRY, _PYOMO_ENTRY = 100, 400
#: Bytes per interval or pair of a CP-SAT model, all workers' copies included.
_CP_PART = 8_000


@dataclass(frozen=True, slots=True)
class Size:
    """Estimated size of one method's model."""

    method: str
    variables: int
    nonzeros: int
    bytes: int


def estimate(problem: Problem, method: str, known: Known) -> Size:
    """Estimate variables, matrix entries (or intervals and pairs) and bytes of a method's model."""
    r = problem.requests
    if method in ("highs", "pyomo"):
        horizon = problem.horizon if known.horizon is None else known.horizon
        starts = np.maximum(0, last_starts(problem, horizon) - r.arrival + 1)
        if known.allowed is not None:
            left = [s if a is None else len(a) for s, a in zip(starts, known.allowed, strict=True)]
            starts = np.array(left, np.int64)
        starts = starts * possible_workers(problem, known.cuts.symmetry).sum(axis=1)
        rows = 1 + r.output * (2 if any(cap is not None for cap in problem.fleet.batch) else 1)
        for weight in known.cuts.stagger:
            segments = weight.segments(r.prompt, r.output, problem.fleet.largest)
            ticks = np.maximum(0, segments.hi - segments.lo + 1) * 2 // weight.scale
            owner = np.repeat(np.arange(problem.n), np.diff(segments.ptr))
            rows = rows + np.bincount(owner, weights=ticks, minlength=problem.n).astype(np.int64)
        variables = sum(starts.tolist())
        nonzeros = sum(s * e for s, e in zip(starts.tolist(), rows.tolist(), strict=True))
        each = _HIGHS_ENTRY if method == "highs" else _PYOMO_ENTRY
        return Size(method, variables, nonzeros, nonzeros * each)
    workers, windows = len(problem.fleet), len(known.cuts.stagger)
    pairs = problem.n * (problem.n - 1)
    if method == "cp-sat":
        parts = workers * (int(r.output.sum()) + windows * problem.n) + (pairs // 2 if known.cuts.separation else 0)
    else:
        parts = pairs * (2 + workers) + workers * windows * problem.n
    return Size(method, problem.n * (1 + workers), parts, parts * _CP_PART)


def require_size(problem: Problem, method: str, known: Known, limit: int | None) -> Size:
    """Return the estimate, or raise `SizeError` with the numbers and a method that fits."""
    size = estimate(problem, method, known)
    if limit is None or size.bytes <= limit:
        return size
    others = [estimate(problem, m, known) for m in ("highs", "cp-sat", "end-event") if m != method]
    fitting = [o for o in sorted(others, key=lambda o: o.bytes) if o.bytes <= limit]
    way_out = (
        f"method {fitting[0].method!r} needs about {_mib(fitting[0].bytes)}"
        if fitting
        else "no exact formulation fits; method 'auto' still gives a schedule and a certified bound"
    )
    raise SizeError(
        f"{problem.name}: method {method!r} would build {size.variables:,} variables with {size.nonzeros:,} entries, "
        f"about {_mib(size.bytes)}, over the limit of {_mib(limit)}: {way_out}. Or raise memory_limit"
    )


def _mib(amount: int) -> str:
    return f"{amount / (1 << 20):,.0f} MiB"
