"""Unit outputs, in stages: pattern prices for the bound, then patterns and counts in turn for the schedule."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count

import numpy as np

from kvbound.models.formulations.unit_outputs import build_unit_outputs, last_step
from kvbound.models.problem import Problem
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.cpsat import run_cp_sat
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.patterns import PatternLp, best_of_patterns, dive, enrich, generate, patterns_fit
from kvbound.solvers.progress import Progress, ProgressCallback

#: Widths of the dives (1 is the plain one, wider ones vary).
DIVES = (1, 2, 2, 3, 3, 4)
#: Shares of the remaining time: pricing, first choice among patterns, counting model, second choice.
SHARES = (0.3, 0.25, 0.5, 1.0)


def solve_unit_outputs(
    problem: Problem, config: SolveConfig, known: Known, deadline: Deadline, progress: ProgressCallback | None
) -> Answer:
    """Solve a problem whose outputs are all one token; bounds are the prover's claim, without a certificate."""
    begin = time.perf_counter()
    native = "patterns"
    program: PatternLp | None = None

    def tell() -> None:
        if progress is not None:
            progress(Progress("bin packing", deadline.elapsed, known.tel, known.bound))

    def choose(among: PatternLp, share: float) -> None:
        nonlocal known
        if known.incumbent is None or known.reached(config.gap) or deadline.passed:
            return
        found = best_of_patterns(among, known.incumbent, deadline.share(share))
        if found is not None:
            known = known.with_schedule(problem, found)
        tell()

    if known.incumbent is not None and known.tel is not None and patterns_fit(problem):
        program = PatternLp.of(problem, last_step(problem, known.tel), deadline)
        program.add_schedule(known.incumbent)
        known = known.with_bound(generate(program, deadline.share(SHARES[0])), "pattern prices")
        tell()
        if not known.reached(config.gap):
            rng, limit = np.random.default_rng(config.seed), deadline.share(0.3)
            for width in DIVES:
                found = dive(program, rng, width, limit)
                known = known if found is None else known.with_schedule(problem, found)
            tell()
        choose(program, SHARES[1])
    build_seconds = 0.0
    termination = Termination.OPTIMAL
    for turn in count():
        if known.reached(config.gap) or (turn and deadline.passed):
            break
        built = time.perf_counter()
        horizon = problem.horizon if known.tel is None else last_step(problem, known.tel)
        unit = build_unit_outputs(problem, horizon=horizon, upper=known.tel, lower=known.bound)
        if known.incumbent is not None:
            unit.hint(known.incumbent)
        lost = time.perf_counter() - built
        build_seconds += lost
        # Patterns find the schedules, the counting model proves: each turn gives both their share of what is left.
        limit = deadline if program is None else deadline.share(SHARES[2])
        turn_config = replace(config, seed=(config.seed + turn) % (1 << 31))
        answer = run_cp_sat(unit.model, 0, unit.schedule, turn_config, known, limit, progress, lost)
        native, termination = answer.native, answer.termination
        if answer.schedule is not None:
            known = known.with_schedule(problem, answer.schedule)
        known = known.with_bound(answer.bound, "counting model")
        tell()
        gave_up = termination not in (Termination.TIME_LIMIT, Termination.OPTIMAL)
        if gave_up or known.reached(config.gap) or deadline.passed or program is None:
            break
        if known.tel is not None and known.bound is not None:
            enrich(program, known.tel - known.bound, config.seed + turn, deadline.share(0.2))
            choose(program, SHARES[3])
    if termination is not Termination.INTERRUPTED and deadline.passed and not known.reached(config.gap):
        termination = Termination.TIME_LIMIT
    return Answer(termination, known.incumbent, known.bound, native, build_seconds, time.perf_counter() - begin)
