"""REWARD through the methods that take it; `auto`: list orders, certified bound, then a method that fits.

Inside, what is minimised is minus the reward in units of 1 / denominator of the weights, so that everything that
knows lower bounds and incumbents serves both objectives; `Result.reward` turns it around.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvbound.models.errors import OptionError, SizeError
from kvbound.models.formulations.cuts import Cuts, default_cuts
from kvbound.models.objective import TEL
from kvbound.models.problem import Problem
from kvbound.models.schedule import UNSERVED, Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.auto import BOUND_SECONDS, BOUND_SHARE, Backend
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import finish, merge
from kvbound.solvers.exact.interrupt import noticing_interrupts
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Result, Termination
from kvbound.solvers.exact.size import require_size
from kvbound.solvers.progress import Progress, ProgressCallback

#: Methods that take REWARD, in the order in which `auto` tries them.
METHODS = ("highs", "cp-sat", "pyomo")


def solve_reward(
    problem: Problem,
    method: str,
    config: SolveConfig,
    deadline: Deadline,
    progress: ProgressCallback | None,
    backends: dict[str, Backend],
    known: Known,
    cuts: Cuts | None,
) -> Result:
    """Solve by `method`, or by the stages of `auto`.

    Raises
    ------
    OptionError, SizeError
        The method minimises TEL only; the model would exceed `config.memory_limit`.
    """
    if method not in ("auto", *METHODS):
        raise OptionError(f"method {method!r} minimises TEL; for REWARD take auto, {', '.join(METHODS)}")
    horizon = problem.horizon
    if int(problem.requests.arrival.min()) >= horizon:
        known = known.with_schedule(problem, _nobody(problem)).with_bound(0, "nothing arrives before the horizon")
        return finish(problem, method, config, deadline, known, _idle())
    if method == "auto":
        return _auto(problem, config, deadline, progress, backends, known, cuts)
    known = replace(known, cuts=default_cuts(problem, method) if cuts is None else cuts)
    require_size(problem, method, known, config.memory_limit)
    answer = backends[method](problem, config, known, deadline, progress)
    return finish(problem, method, config, deadline, merge(problem, method, known, answer), answer)


def _auto(
    problem: Problem,
    config: SolveConfig,
    deadline: Deadline,
    progress: ProgressCallback | None,
    backends: dict[str, Backend],
    known: Known,
    cuts: Cuts | None,
) -> Result:
    answer, method = _idle(), "presolve"

    def tell(stage: str) -> None:
        if progress is not None:
            progress(Progress(stage, deadline.elapsed, known.tel, known.bound))

    with noticing_interrupts() as interrupted:
        try:
            known = _screen(problem, known)
            tell("list orders")
            if not known.reached(config.gap):
                method = "bound"
                known = _certified(problem, known, deadline.share(BOUND_SHARE, BOUND_SECONDS), progress)
                tell("bound")
            for stage in METHODS[:2]:
                if known.reached(config.gap) or deadline.passed or interrupted.is_set():
                    break
                start = replace(known, cuts=default_cuts(problem, stage) if cuts is None else cuts)
                try:
                    require_size(problem, stage, start, config.memory_limit)
                except SizeError as refused:
                    tell(str(refused))
                    answer = Answer(Termination.MEMORY_LIMIT, None, None, "not built", 0.0, 0.0)
                    continue
                method = stage
                answer = backends[stage](problem, config, start, deadline, progress)
                known = replace(merge(problem, stage, start, answer), cuts=known.cuts)
                tell(stage)
        except KeyboardInterrupt:
            interrupted.set()
    if interrupted.is_set():
        answer = replace(answer, termination=Termination.INTERRUPTED)
    elif deadline.passed:
        answer = replace(answer, termination=Termination.TIME_LIMIT)
    return finish(problem, method, config, deadline, known, answer)


def _screen(problem: Problem, known: Known) -> Known:
    """The reward if everybody started on arrival, and the best of a few list orders, cut at the horizon."""
    from kvbound.solvers.policies.list_scheduling import list_schedule

    r = problem.requests
    most = int(problem.objective.start_cost(r, np.arange(problem.n), r.arrival).sum())
    known = known.with_bound(most, "every request started on arrival").with_schedule(problem, _nobody(problem))
    everybody = replace(problem, objective=TEL)
    for key in (r.arrival, r.volume, r.output):
        if known.closed:
            break
        schedule = list_schedule(everybody, np.lexsort((r.volume, key)))
        late = schedule.start >= problem.horizon
        cut = Schedule(np.where(late, UNSERVED, schedule.start), np.where(late, UNSERVED, schedule.worker))
        known = known.with_schedule(problem, cut)
    return known


def _certified(problem: Problem, known: Known, deadline: Deadline, progress: ProgressCallback | None) -> Known:
    """The bound by prices, with its certificate."""
    from kvbound.solvers.bounds.reward import reward_bound

    found = reward_bound(problem, "lagrangian", deadline=deadline, progress=progress)
    return known.with_bound(-found.value, "reward prices", found.certificate)


def _nobody(problem: Problem) -> Schedule:
    return Schedule(np.full(problem.n, UNSERVED, np.int64))


def _idle() -> Answer:
    return Answer(Termination.UNKNOWN, None, None, "", 0.0, 0.0)
