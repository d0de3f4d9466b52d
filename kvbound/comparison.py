"""The main job: policies and schedules of one problem against one lower bound.

`compare` is `kvbound gap` without the command line. Every schedule in it has passed the checker and its TEL
was recomputed in integers; the bound comes with who proved it and whether exact arithmetic verified it.
"""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kvbound.checkers import Certificate, Gap, Report, check, gap
from kvbound.models.errors import OptionError
from kvbound.models.execution import Execution
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline, until_interrupted
from kvbound.solvers.policies import POLICIES, Policy, run_policy
from kvbound.solvers.progress import Progress, ProgressCallback

#: Bound that `compare` and `kvbound gap` use when none is named.
DEFAULT_BOUND = "lagrangian"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One line of the table: a policy or a schedule of the user's.

    Parameters
    ----------
    name
        Policy name, or the file name of a schedule.
    tel, mean_eel, makespan
        TEL in steps, TEL / n, last completion; None when the policy declined or the schedule is invalid.
    seconds
        Time the policy took, or None for a schedule that was read.
    schedule
        The checked schedule, or None.
    declined
        Why the policy declined, or None.
    report
        What the checker found, for a schedule that was read; otherwise None.
    execution
        What happened, with evictions and lost tokens, when output lengths were predicted; otherwise None.
    """

    name: str
    tel: int | None
    mean_eel: float | None
    makespan: int | None
    seconds: float | None
    schedule: Schedule | None
    declined: str | None = None
    report: Report | None = None
    execution: Execution | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BoundStatement:
    """A lower bound on the optimal TEL and what stands behind it.

    Parameters
    ----------
    value
        In steps, or None when the method found none.
    method
        Method that was asked for.
    verified
        True: a certificate was verified in exact integer arithmetic. False: the prover's claim.
    seconds
        Wall time.
    proved_by
        Who proved it, in words.
    certificate
        The proof, or None.
    termination
        Why the exact method stopped (`kvbound.solvers.exact.Termination`); other methods: `interrupted` or None.
    """

    value: int | None
    method: str
    verified: bool
    seconds: float
    proved_by: str
    certificate: Certificate | None = None
    termination: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Rows against a bound.

    Parameters
    ----------
    problem, rows, bound
        What was compared (policies, then schedules of the user's); `bound` is None when none was asked for.
    exact
        The best schedule that the exact method found while proving its bound, or None.
    notes
        What a reader of the figures should know.
    interrupted
        Whether Ctrl-C ended the work early.
    """

    problem: Problem
    rows: tuple[Row, ...]
    bound: BoundStatement | None
    exact: Row | None = None
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def best(self) -> Row | None:
        """The row of least TEL, or None."""
        rows = self.rows if self.exact is None else (*self.rows, self.exact)
        return min((r for r in rows if r.tel is not None), key=lambda r: r.tel or 0, default=None)

    def gap(self, row: Row) -> Gap | None:
        """The gap statement of a row, or None when it has no TEL."""
        if row.tel is None:
            return None
        if self.bound is None:
            return gap(row.tel, None, verified=False, proved_by="nobody")
        return gap(row.tel, self.bound.value, verified=self.bound.verified, proved_by=self.bound.proved_by)

    def ratio(self, row: Row) -> float | None:
        """TEL / bound of a row: at most this many times the optimum; None without both."""
        statement = self.gap(row)
        return None if statement is None else statement.ratio


def compare(
    problem: Problem,
    policies: Sequence[str | Policy] = ("all",),
    *,
    schedules: Mapping[str, Schedule] | None = None,
    bound: str | None = DEFAULT_BOUND,
    time_limit: float | None = 30.0,
    seed: int = 0,
    threads: int | None = None,
    search: float | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Run policies, check schedules, prove a bound and state every gap.

    Parameters
    ----------
    problem
        The problem.
    policies
        Names, `all`, or `Policy` objects (`custom_policy` makes one of your function).
    schedules
        Schedules of your own, by the name they get in the table. An invalid one is reported, not refused.
    bound
        A method of `kvbound.bound`, `exact` (`kvbound.solve`), or None for no bound.
    time_limit
        Seconds for the bound; None is no limit.
    seed
        Seed of policies and methods that draw random numbers.
    threads
        Threads of an exact solver; None leaves it to the solver's default.
    search
        Seconds to search for a schedule better than all rows (the row `best known`); None: no search.
    progress
        Called with `Progress` while it runs.

    Raises
    ------
    OptionError
        An unknown policy or bound method.
    SolverError
        A bound above a checked schedule: one of them is wrong.

    Notes
    -----
    Ctrl-C during the bound keeps the rows and falls back to the volume bound, which takes no time.
    """
    require_method(bound)
    chosen = _resolve(policies)
    rows: list[Row] = []
    own: list[Row] = []
    exact: Row | None = None
    notes = _remarks(problem, chosen)
    clock = Deadline(time_limit)
    interrupted = False
    statement: BoundStatement | None = None
    try:
        for name, schedule in (schedules or {}).items():
            own.append(judged_row(problem, name, schedule))
        warm_up(chosen, progress)
        for policy in chosen:
            _tell(progress, f"policy {policy.name}", clock, rows)
            rows.append(policy_row(problem, policy, seed))
        if search is not None:
            rows.append(best_known_row(problem, Comparison(problem, (*rows, *own), None).best, search, seed, progress))
        if bound is not None:
            done = Comparison(problem, (*rows, *own), None)
            statement, found = prove_bound(
                problem,
                bound,
                time_limit=time_limit,
                seed=seed,
                threads=threads,
                incumbent=done.best,
                progress=progress,
            )
            if found is not None:
                exact = judged_row(problem, "exact", found)
            interrupted = statement.termination == "interrupted"
            if statement.termination not in (None, "optimal"):
                notes.append(f"the bound stopped early: {statement.termination}")
    except KeyboardInterrupt:
        interrupted = True
        notes.append(f"interrupted after {clock.elapsed:.1f} s: what follows is what there was by then")
        if statement is None and bound is not None:
            statement, _ = prove_bound(problem, "volume", time_limit=None, seed=seed)
            notes.append("the bound is the volume bound; a full run proves a better one")
    return Comparison(problem, (*rows, *own), statement, exact, tuple(notes), interrupted)


def warm_up(policies: Sequence[Policy], progress: ProgressCallback | None = None) -> None:
    """Load the kernels (or compile them, once after installation), so that seconds are the policies' own."""
    built_in = [policy for policy in policies if POLICIES.get(policy.name) is policy]
    for policy in built_in or [POLICIES["fcfs"]]:  # a user's rule is never called twice
        _tell(progress, f"preparing {policy.name} (compiles once after installation)", Deadline(), ())
        _prepare_policy(policy.name)


@functools.cache
def _prepare_policy(name: str) -> None:
    run_policy(_tiny(), POLICIES[name])


def _tiny() -> Problem:
    return Problem(Requests(np.array([1, 2, 3]), np.array([2, 1, 2])), Fleet((8,)))


def policy_row(problem: Problem, policy: Policy, seed: int) -> Row:
    """Run one policy."""
    run = run_policy(problem, policy, seed=seed)
    if run.schedule is None or run.tel is None:
        return Row(run.name, None, None, None, run.seconds, None, declined=run.declined)
    makespan = int(run.schedule.completion(problem.requests).max())
    return Row(run.name, run.tel, run.tel / problem.n, makespan, run.seconds, run.schedule, execution=run.execution)


def best_known_row(
    problem: Problem,
    best: Row | None,
    seconds: float,
    seed: int,
    progress: ProgressCallback | None,
    target: int | None = None,
    windows: float = 0.0,
) -> Row:
    """Search for `seconds` from the best row (without one: from first come, first served), at most down to `target`.

    `windows` is the share of CP-SAT on windows (`kvbound.solvers.search.improve`); with two cores both search.
    """
    from kvbound.solvers.search import improve, prepare

    _tell(progress, "search (compiles once after installation)", Deadline(), ())
    prepare()
    if best is None or best.schedule is None:
        best = policy_row(problem, POLICIES["fcfs"], seed)
    assert best.schedule is not None
    found = improve(
        problem,
        best.schedule,
        deadline=Deadline(seconds),
        seed=seed,
        target=target,
        threads=min(2, os.cpu_count() or 1),
        windows=windows,
        progress=progress,
    )
    makespan = int(found.schedule.completion(problem.requests).max())
    return Row("best known", found.tel, found.tel / problem.n, makespan, found.seconds, found.schedule)


def judged_row(problem: Problem, name: str, schedule: Schedule) -> Row:
    """Check a schedule that came from elsewhere."""
    report = check(problem, schedule)
    if report.objective is None:
        return Row(name, None, None, None, None, None, report=report)
    makespan = int(schedule.completion(problem.requests).max())
    return Row(name, report.objective, report.objective / problem.n, makespan, None, schedule, report=report)


def require_method(method: str | None) -> None:
    """Raise `OptionError` unless `method` is a bound method, `exact` or None."""
    if method is None:
        return
    from kvbound.solvers.bounds import METHODS

    known = (*METHODS, "exact")
    if method not in known:
        near = difflib.get_close_matches(method, known, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise OptionError(f"unknown bound method {method!r}: {hint}Known: {', '.join(known)}")


def prove_bound(
    problem: Problem,
    method: str,
    *,
    time_limit: float | None,
    seed: int,
    threads: int | None = None,
    incumbent: Row | None = None,
    progress: ProgressCallback | None = None,
    start: Certificate | None = None,
) -> tuple[BoundStatement, Schedule | None]:
    """Prove a lower bound with any method, `exact` included; return it with the exact method's schedule, if any.

    `incumbent` is the best row so far: its TEL steers dual methods, its schedule starts the exact search. `start` is a
    certificate found earlier, from which `sequence` and `best` go on (`kvbound.solvers.bounds.bound`).
    """
    require_method(method)
    if method == "exact":
        return _exact_bound(problem, time_limit, seed, threads, incumbent, progress)
    from kvbound.solvers.bounds import bound as prove
    from kvbound.solvers.bounds import prepare

    _tell(progress, f"bound {method} (compiles once after installation)", Deadline(), ())
    prepare(method)
    upper = None if incumbent is None else incumbent.tel
    with until_interrupted(time_limit) as deadline:
        result = prove(problem, method, deadline=deadline, seed=seed, upper=upper, progress=progress, start=start)
        why = "interrupted" if deadline.stopped else None
    by = f"{result.method}: {_evidence(result.certificate, result.verified)}"
    return BoundStatement(result.value, method, result.verified, result.seconds, by, result.certificate, why), None


def _exact_bound(
    problem: Problem,
    time_limit: float | None,
    seed: int,
    threads: int | None,
    incumbent: Row | None,
    progress: ProgressCallback | None,
) -> tuple[BoundStatement, Schedule | None]:
    from kvbound.solvers.exact import SolveConfig, prepare, solve

    _tell(progress, "exact search (compiles once after installation)", Deadline(), ())
    prepare()
    config = SolveConfig(time_limit=time_limit, threads=threads, seed=seed)
    start = None if incumbent is None else incumbent.schedule
    result = solve(problem, config=config, progress=progress, incumbent=start)
    verified = result.certificate is not None
    by = f"{result.proved_by or 'nobody'}: {_evidence(result.certificate, verified)}"
    why = result.termination.value
    return BoundStatement(result.bound, "exact", verified, result.seconds, by, result.certificate, why), result.schedule


def _evidence(certificate: Certificate | None, verified: bool) -> str:
    if certificate is None or not verified:
        return "the solver's claim, no certificate"
    if certificate.rule == "volume":
        return "recomputed from the volumes in exact integer arithmetic"
    if certificate.multipliers is not None:
        number = len(certificate.multipliers)
        return f"certificate of {number:,} multipliers ({certificate.method}), verified in exact integer arithmetic"
    prices = sum(int((term.prices > 0).sum()) for term in certificate.terms)
    return f"certificate of {prices:,} prices, verified in exact integer arithmetic"


def _remarks(problem: Problem, policies: Sequence[Policy]) -> list[str]:
    """What a reader of the rows should know about how they came about (docs/policies.md)."""
    names = [policy.name for policy in policies if policy.rule.queue != "plan"]
    ahead = [name for name in names if name.startswith(("sorted-f", "sorted-lp", "lp-swap"))]
    if ahead and problem.requests.arrival.any():
        return [f"not online, ranked with all requests in view, those to come included: {', '.join(ahead)}"]
    return []


def _resolve(policies: Sequence[str | Policy]) -> list[Policy]:
    from kvbound.custom import policies as by_name

    chosen: list[Policy] = []
    for item in policies:
        found = [item] if isinstance(item, Policy) else by_name([item])
        chosen += [policy for policy in found if policy.name not in {p.name for p in chosen}]
    return chosen


def _tell(progress: ProgressCallback | None, stage: str, clock: Deadline, rows: Sequence[Row]) -> None:
    if progress is not None:
        progress(Progress(stage, clock.elapsed, min((r.tel for r in rows if r.tel is not None), default=None), None))
