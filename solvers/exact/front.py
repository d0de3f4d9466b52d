"""The one entry: `solve`, its methods, and `export_model`."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from kvbound.models.errors import InputError, OptionError, SolverError
from kvbound.models.formulations.cuts import PLAIN, Cuts, default_cuts
from kvbound.models.formulations.time_indexed import build_time_indexed
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact.auto import Backend, solve_auto
from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.finish import finish, merge
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.outcome import Result, Termination
from kvbound.solvers.exact.reward import solve_reward
from kvbound.solvers.exact.size import require_size
from kvbound.solvers.progress import ProgressCallback

#: Methods by name, with one line for help texts. REWARD has `auto`, `highs`, `pyomo` and `cp-sat`.
METHODS: dict[str, str] = {
    "auto": "screens, heuristics, certified bound, then the best method for the size",
    "search": "dedicated search for one worker: relaxation in order of completion, then labels",
    "cp-sat": "staircase cumulative with separation and stagger windows, CP-SAT",
    "end-event": "who completes first and who is still active then, CP-SAT",
    "highs": "time-indexed program as sparse arrays, HiGHS",
    "pyomo": "the same program in Pyomo, HiGHS",
}


def solve(
    problem: Problem,
    *,
    method: str = "auto",
    config: SolveConfig | None = None,
    progress: ProgressCallback | None = None,
    cuts: Cuts | None = None,
    incumbent: Schedule | None = None,
    bound: int | None = None,
) -> Result:
    """Minimise TEL, or maximise REWARD, and prove it; at a limit or on Ctrl-C return schedule, bound and gap.

    Parameters
    ----------
    problem
        What to solve.
    method
        One of `METHODS`.
    config
        Limits; the clock starts here. Default: `SolveConfig()`.
    progress
        Called with stage, incumbent and bound while it runs.
    cuts
        Inequalities for a formulation; default `default_cuts`: `usual_cuts` for CP-SAT, symmetry alone for the
        time-indexed one and for REWARD.
    incumbent
        Warm start; it is checked first (`ScheduleError` when it breaks a rule).
    bound
        A lower bound on the objective (REWARD: on minus the reward, in units of 1 / denominator) that the caller has
        proved; it is handed on and reported as the caller's.

    Raises
    ------
    OptionError, SizeError
        Unknown method or refused option; the model would exceed `config.memory_limit`.
    SolverError
        A solver contradicted the checker.

    Examples
    --------
    >>> from kvbound.models import Fleet, Problem, Requests
    >>> result = solve(Problem(Requests([1, 1, 1], [2, 2, 1]), Fleet((5,))), method="cp-sat")
    >>> result.termination.value, result.tel, result.bound
    ('optimal', 6, 6)
    """
    settings = SolveConfig() if config is None else config
    deadline = Deadline(settings.time_limit)
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise OptionError(f"unknown method {method!r}: {hint}Known: {', '.join(METHODS)}")
    known = Known().with_bound(bound, "the caller")
    if incumbent is not None:
        known = known.with_schedule(problem, incumbent)
        if known.bound is not None and known.tel is not None and known.bound > known.tel:
            raise SolverError(f"the bound handed over, {known.bound}, lies above the schedule handed over, {known.tel}")
    if problem.objective.name == "reward":
        return solve_reward(problem, method, settings, deadline, progress, backends(), known, cuts)
    if method == "auto":
        return solve_auto(problem, settings, deadline, progress, backends(), known)
    known = replace(known, cuts=default_cuts(problem, method) if cuts is None else cuts)
    if method != "search":
        require_size(problem, method, known, settings.memory_limit)
    try:
        answer = backends()[method](problem, settings, known, deadline, progress)
    except KeyboardInterrupt:  # while a model is built; solvers that run give back what they have
        answer = Answer(Termination.INTERRUPTED, None, None, "not started", 0.0, 0.0)
    return finish(problem, method, settings, deadline, merge(problem, method, known, answer), answer)


def backends() -> dict[str, Backend]:
    """The backends by name; solvers are imported only when one is asked for."""
    from kvbound.solvers.exact.cpsat import solve_end_event, solve_staircase
    from kvbound.solvers.exact.highs import solve_highs
    from kvbound.solvers.exact.pyomo_highs import solve_pyomo
    from kvbound.solvers.exact.search_method import solve_search
    from kvbound.solvers.exact.unit_outputs import solve_unit_outputs

    return {
        "search": solve_search,
        "cp-sat": solve_staircase,
        "end-event": solve_end_event,
        "highs": solve_highs,
        "pyomo": solve_pyomo,
        "unit-outputs": solve_unit_outputs,
    }


def export_model(
    problem: Problem, path: Path | str, *, cuts: Cuts = PLAIN, memory_limit: int | None = SolveConfig().memory_limit
) -> None:
    """Write the time-indexed program as `.mps` or `.lp` for another solver; column x{j}_{g}_{k} is one start.

    Raises
    ------
    InputError, SizeError
        The suffix is another one or the file cannot be written; the model is too large.
    """
    import highspy

    from kvbound.solvers.exact.highs import load

    target = Path(path)
    if target.suffix not in (".mps", ".lp"):
        raise InputError(f"{target}: models are written as .mps or .lp, not {target.suffix or 'without a suffix'}")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist")
    require_size(problem, "highs", Known(cuts=cuts), memory_limit)
    model = build_time_indexed(problem, cuts=cuts)
    solver = load(model)
    names = zip(model.request.tolist(), model.worker.tolist(), model.start.tolist(), strict=True)
    for column, (j, g, k) in enumerate(names):
        solver.passColName(column, f"x{j}_{g}_{k}")
    for block in model.blocks:
        parameters = "" if block.weight is None else "".join(f"_{p}" for p in block.weight.parameters)
        for at, tick in enumerate(block.ticks.tolist()):
            solver.passRowName(block.first + at, f"{block.name}{parameters}_{max(block.worker, 0)}_{tick}")
    if solver.writeModel(str(target)) == highspy.HighsStatus.kError:
        raise InputError(f"{target}: HiGHS could not write the file")
