"""Which valid inequalities and symmetry rules a formulation takes: one set of switches for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.models.weights import LevelsWeight, Weight

#: Allowed starts, one ascending array per request (None: every start from the arrival on).
AllowedStarts = list[IntArray | None]


@dataclass(frozen=True, slots=True)
class Cuts:
    """Switches of a formulation (docs/math.md §3, §4).

    Parameters
    ----------
    separation
        SEP: the pairwise disjunction C_j − C_i ≥ min(o_j, p_i + p_j − M) (formulations that know pairs).
    stagger
        Weights of docs/math.md §4 whose rows or windows are added.
    symmetry
        Order identical requests by start and identical workers by their first request.
    """

    separation: bool = False
    stagger: tuple[Weight, ...] = field(default=())
    symmetry: bool = False


#: No inequality at all: the formulation as it stands in docs/math.md §2.
PLAIN = Cuts()


def usual_cuts(problem: Problem) -> Cuts:
    """SEP, symmetry and the single-machine windows (m = 1) of a few delays up to half the largest memory."""
    top = int(problem.requests.output.max())
    delays = sorted({min(top, max(1, round(f * problem.fleet.largest))) for f in (0.05, 0.15, 0.25, 0.35, 0.45)})
    return Cuts(True, tuple(LevelsWeight(1, delay) for delay in delays), True)


def default_cuts(problem: Problem, method: str) -> Cuts:
    """Inequalities that a method takes unless told otherwise.

    HiGHS gets symmetry alone: stagger rows close much of its root gap but may leave no time for the root. A choice,
    not a tuned setting; `benchmarks/exact.py` shows both.
    """
    if method == "search":
        return PLAIN
    # SEP looks at completions, and those beyond a horizon hold nothing.
    plain = method in ("highs", "pyomo") or not problem.objective.serve_all
    return Cuts(symmetry=True) if plain else usual_cuts(problem)


def identical_pairs(problem: Problem) -> Iterator[tuple[int, int]]:
    """Consecutive pairs (i, j), i < j, of requests with equal prompt, output and arrival.

    Swapping them changes nothing, so start_i ≤ start_j may be demanded when all requests are served.
    """
    r = problem.requests
    seen: dict[tuple[int, int, int], int] = {}
    for j, key in enumerate(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)):
        if key in seen:
            yield seen[key], j
        seen[key] = j


def worker_rank(problem: Problem) -> IntArray:
    """Position of each worker among the identical ones before it, shape (G,).

    Relabel identical workers by their first request: the worker of rank r then serves no request j < r.
    """
    count: dict[tuple[int, int | None], int] = {}
    rank = np.zeros(len(problem.fleet), np.int64)
    for g, kind in enumerate(zip(problem.fleet.memory, problem.fleet.batch, strict=True)):
        rank[g] = count.get(kind, 0)
        count[kind] = int(rank[g]) + 1
    return rank


def possible_workers(problem: Problem, symmetry: bool) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Mask (n, G): worker g is large enough for request j and, with `symmetry`, is not excluded by its rank."""
    mask = problem.requests.peak[:, None] <= np.array(problem.fleet.memory)[None, :]
    if symmetry:
        # Skipping a rank needs the lower ranks to be possible too; they are identical, so they are.
        mask &= np.arange(problem.n)[:, None] >= worker_rank(problem)[None, :]
    return mask


def last_starts(problem: Problem, horizon: int) -> IntArray:
    """Last start of each request within `horizon`: H − o_j, or H − 1 where footprints may be cut (REWARD)."""
    if problem.objective.serve_all:
        return horizon - problem.requests.output
    return np.full(problem.n, horizon - 1, np.int64)


def starts_within(problem: Problem, horizon: int, allowed: AllowedStarts | None) -> list[IntArray]:
    """Ascending candidate starts of each request: from arrival to the last start, cut down to `allowed`."""
    out = []
    for j, (first, last) in enumerate(zip(problem.requests.arrival, last_starts(problem, horizon), strict=True)):
        mine = None if allowed is None else allowed[j]
        if mine is None:
            out.append(np.arange(first, last + 1, dtype=np.int64))
        else:
            out.append(mine[(mine >= first) & (mine <= last)])
    return out


def canonical(problem: Problem, schedule: Schedule) -> Schedule:
    """The same schedule up to identical requests and identical workers, in the form that `symmetry` demands."""
    start, worker = schedule.start.copy(), schedule.worker.copy()
    classes: dict[tuple[int, ...], list[int]] = {}
    r = problem.requests
    for j, key in enumerate(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)):
        classes.setdefault(key, []).append(j)
    for members in classes.values():
        by_start = sorted(members, key=lambda j: (not schedule.served[j], int(schedule.start[j])))  # unserved last
        start[members], worker[members] = schedule.start[by_start], schedule.worker[by_start]
    kinds: dict[tuple[int, int | None], list[int]] = {}
    for g, kind in enumerate(zip(problem.fleet.memory, problem.fleet.batch, strict=True)):
        kinds.setdefault(kind, []).append(g)
    rename = np.arange(len(problem.fleet))
    for workers in kinds.values():
        first = {g: int(np.flatnonzero(worker == g)[0]) if (worker == g).any() else problem.n for g in workers}
        rename[sorted(workers, key=lambda g: first[g])] = workers
    return Schedule(start, np.where(worker >= 0, rename[worker], worker))
