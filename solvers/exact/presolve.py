"""Screens before any search: cheap facts, said in plain words, and the heuristics' incumbent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.checkers import Certificate, verify
from kvbound.checkers.certificate import certified
from kvbound.models.formulations.unit_outputs import is_unit, positional_bound
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.known import Known
from kvbound.solvers.policies import POLICIES, run_policy, schedule_in_order
from kvbound.solvers.progress import ProgressCallback
from kvbound.solvers.search import improve

#: Most annealing moves per squared number of requests: small problems need the proof, not the polish.
MOVES = 500
#: Policies whose best schedule starts the search: the cheap ones, each the best on some kind of instance.
STARTERS = ("fcfs", "mc-sf", "total-size", "svf", "sorted-f:exact", "sorted-f:swap", "sorted-f:quantile", "wspt")


@dataclass(frozen=True, slots=True)
class Screen:
    """What the screens saw, in words for the reader."""

    notes: tuple[str, ...]
    unit: bool


def screen(problem: Problem, known: Known) -> tuple[Known, Screen]:
    """Apply every screen; a closed case comes back with bound = TEL.

    A request that fits on no worker never gets here: `Problem` refuses it by name and number.
    """
    notes = []
    requests = problem.requests
    shortest = int(requests.output.sum())
    known = known.with_bound(shortest, "every request takes at least its own output length")
    volume = Certificate("volume", "volume", problem.fingerprint(), 1, (), None)
    known = known.with_bound(verify(problem, volume), "volume bound", certified(problem, volume))
    if known.incumbent is None:
        schedule, _ = schedule_in_order(problem, np.lexsort((requests.output, requests.arrival)))
        known = known.with_schedule(problem, schedule)
    if known.tel == shortest:
        notes.append("everything fits at once: each request starts when it arrives")
    elif problem.n == 1:
        notes.append("a single request starts when it arrives")
    unit = is_unit(problem)
    if unit:
        notes.append("all outputs are one token: this is bin packing, one bin per step and worker")
        known = known.with_bound(positional_bound(problem), "bin packing of the shortest prompts")
    groups = len(set(zip(requests.prompt.tolist(), requests.output.tolist(), requests.arrival.tolist(), strict=True)))
    if groups < problem.n:
        notes.append(f"{problem.n} requests are of {groups} kinds: identical ones are ordered")
    return known, Screen(tuple(notes), unit)


def heuristics(
    problem: Problem, known: Known, deadline: Deadline, seed: int, progress: ProgressCallback | None
) -> Known:
    """Best schedule of `STARTERS`, then search over orders until `deadline` or until it meets the bound."""
    for policy in (POLICIES[name] for name in STARTERS):
        if deadline.passed and known.incumbent is not None:
            break
        run = run_policy(problem, policy, seed=seed)
        if run.schedule is not None:
            known = known.with_schedule(problem, run.schedule)
        if known.closed:
            return known
    start: Schedule | None = known.incumbent
    if start is not None and problem.n > 1 and not deadline.passed:
        moves = MOVES * problem.n**2
        found = improve(
            problem, start, deadline=deadline, seed=seed, moves=moves, target=known.bound, progress=progress
        )
        known = known.with_schedule(problem, found.schedule)
    return known
