"""`attack`: search an instance on which a policy or router loses most, shrink it, certify it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from kvbound.attack_certify import MOVES, Effort, certify, finding
from kvbound.attack_islands import STORE, Plan, ranked, read_state, run_islands, write_state
from kvbound.attack_sides import Target, sides, simple_orders
from kvbound.instances.adversarial.groups import Group, Groups, Space, size
from kvbound.instances.adversarial.record import SMALL, Finding, Record, ReferenceKind
from kvbound.instances.adversarial.search import Found, Island, Sides
from kvbound.instances.adversarial.shrink import shrunk
from kvbound.models.errors import OptionError
from kvbound.records import require_true
from kvbound.solvers.deadline import Deadline, until_interrupted
from kvbound.solvers.progress import Progress, ProgressCallback
from kvbound.solvers.routers import Router
from kvbound.solvers.search.quick import quick

#: What a policy can be measured against.
AGAINST: tuple[ReferenceKind, ...] = get_args(ReferenceKind)
#: Share of the time for the search; shrinking and certifying have the rest.
SEARCH_SHARE = 0.7
#: Shares of what is left then, and moves of the search that ranks the finalists.
RANK_SHARE, SHRINK_SHARE, RANK_MOVES = 0.15, 0.3, 4000
#: Best instances that are looked at once more.
FINALISTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """Outcome of `attack`.

    Parameters
    ----------
    record
        The worst instance found, verified.
    groups
        Its requests.
    evaluations, seconds
        Instances looked at in all (also before a resumption), wall time of this call.
    interrupted
        Whether Ctrl-C ended the search early.
    """

    record: Record
    groups: Groups
    evaluations: int
    seconds: float
    interrupted: bool

    @property
    def ratio(self) -> float:
        """TEL(policy) / reference."""
        return float(self.record.value)


def attack(
    target: Target,
    space: Space,
    *,
    against: str | None = None,
    time_limit: float | None = 60.0,
    evaluations: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    resume: Path | None = None,
    shrink_memory: bool = False,
    progress: ProgressCallback | None = None,
) -> Attack:
    """Search an instance in `space` that makes TEL(target) / TEL(reference) large.

    Parameters
    ----------
    target
        `Target.named("svf")`, or `Target(policy)` with a `Policy` of your own (then jobs = 1).
    against
        `optimum`: exact at the end (default up to 12 requests; what cannot be proved in time is `best-known`).
        `best-known`: the best schedule that a search finds (default beyond). `bound`: a certified lower bound; such a
        ratio is an *upper* bound on TEL(target) / optimum.
    time_limit
        Seconds for everything, or None; then `evaluations` has to end the search.
    evaluations
        Instances to look at, over all islands, resumed ones included. With it alone (`time_limit=None`) the same seed
        and jobs give the same answer, provided the final proof needs no limit.
    jobs
        Processes; each searches on its own, with its own seed.
    resume
        File with the state of the search, written every few seconds and at the end; if it is there, go on from it.
    shrink_memory
        Let the memory shrink, too, as long as the ratio stays.

    Raises
    ------
    OptionError
        No limit at all; the target declines everything; `resume` belongs to another search.
    """
    kind = _kind(against or ("optimum" if space.n <= SMALL else "best-known"))
    if time_limit is None and evaluations is None:
        raise OptionError("an attack needs a time limit or a number of evaluations")
    if jobs < 1:
        raise OptionError(f"jobs is {jobs}; it must be at least 1")
    plan = _plan(target, space, kind, seed, jobs)
    islands = read_state(resume, plan) if resume is not None and resume.exists() else plan.fresh()
    _warm_up(target, space, kind)
    began = time.monotonic()
    if jobs > 1:
        plan.target()  # has to exist by name
    with until_interrupted(time_limit) as deadline:
        search = deadline.share(SEARCH_SHARE)
        watch = _Watch(plan, target, resume, began, progress)
        islands = run_islands(
            plan, target, islands, evaluations=evaluations, stop=lambda: search.passed, jobs=jobs, report=watch
        )
        if resume is not None:
            write_state(resume, plan, islands)
        interrupted = deadline.stopped
    total = sum(island.evaluations for island in islands)
    best = ranked(islands)[:FINALISTS]
    if not best:
        raise OptionError(
            f"{target.name} declined all {total:,} instances that were tried; try a smaller --n or --memory"
        )
    # The rest of the time; after Ctrl-C a little of it, so that what was found gets its certificate.
    left = None if deadline.seconds is None else max(2.0, deadline.seconds - (time.monotonic() - began))
    rest = Deadline(min(left or 20.0, 20.0) if interrupted else left)
    how = f"kvbound attack, n ≤ {space.n}, M = {space.memory}, {len(islands)} island(s), against {kind}"
    source = finding(how, seed, total, 0.0)
    record = _best_record(best, space, target, kind, rest, shrink_memory, source, progress)
    record = replace(record, found=replace(source, seconds=round(time.monotonic() - began, 1)))
    require_true(record, target)
    return Attack(record, record.groups, total, time.monotonic() - began, interrupted)


def _kind(name: str) -> ReferenceKind:
    for kind in AGAINST:
        if name == kind:
            return kind
    raise OptionError(f"cannot attack against {name!r}; known: {', '.join(AGAINST)}")


def _plan(target: Target, space: Space, kind: ReferenceKind, seed: int, jobs: int) -> Plan:
    what = "router" if isinstance(target.chosen, Router) else "policy"
    file = None if target.file is None else str(target.file)
    return Plan(what, target.name, target.seed, file, space, kind, seed, jobs)


def _warm_up(target: Target, space: Space, kind: ReferenceKind) -> None:
    """Load the kernels, or compile them once after installation, before the clock runs."""
    from kvbound.solvers.search import prepare

    prepare()
    if kind == "optimum":
        from kvbound.solvers.exact import prepare as prepare_exact

        prepare_exact()
    target.value(space.problem(space.repaired([Group(1, 1, 1), Group(1, 1, 2)])))


def _best_record(
    best: Sequence[Found],
    space: Space,
    target: Target,
    kind: ReferenceKind,
    deadline: Deadline,
    shrink_memory: bool,
    found: Finding,
    progress: ProgressCallback | None,
) -> Record:
    """Rank the finalists with a longer search, shrink the best of them, certify what came out.

    When the smaller instance has a smaller ratio in the end (the search's reference was too weak), the one that it
    came from is certified instead.
    """
    moves = None if deadline.seconds is not None else MOVES
    compare = sides(target, kind)
    share = deadline.share(RANK_SHARE)
    ranked_again: list[Found] = []
    for candidate in best:
        if not ranked_again or not share.passed:
            ranked_again.append(_looked_at(candidate, space, kind, found.seed))
    top = max(ranked_again, key=lambda f: f.ratio)
    share = deadline.share(SHRINK_SHARE)
    small, where = shrunk(top, space, _thorough(compare), memory=shrink_memory, stop=lambda: share.passed)

    def certified(candidate: Found, space: Space, part: float) -> Record:
        effort = Effort(deadline.share(part).remaining, moves, found.seed)
        return certify(space.problem(candidate.groups), target, kind, found, effort, progress)

    record = certified(small, where, 0.7 if small.groups != top.groups else 1.0)
    if small.groups != top.groups and record.value < top.ratio:
        record = max(record, certified(top, space, 1.0), key=lambda r: r.value)
    return record


def _looked_at(candidate: Found, space: Space, kind: ReferenceKind, seed: int) -> Found:
    """The candidate with the reference that a longer search finds."""
    if kind == "bound":
        return candidate
    problem = space.problem(candidate.groups)
    values = [quick(problem, simple_orders(problem), moves=RANK_MOVES, seed=seed + i).tel for i in range(3)]
    return replace(candidate, reference=min(*values, candidate.reference))


def _thorough(compare: Sides) -> Sides:
    """For shrinking: every step counts, nothing is screened."""
    return replace(compare, screen=None)


class _Watch:
    """Reports the islands, and stores them now and then."""

    __slots__ = ("_began", "_path", "_plan", "_progress", "_stored", "_target")

    def __init__(
        self, plan: Plan, target: Target, path: Path | None, began: float, progress: ProgressCallback | None
    ) -> None:
        self._plan, self._target, self._path = plan, target, path
        self._began = self._stored = began
        self._progress = progress

    def __call__(self, islands: Sequence[Island]) -> None:
        now = time.monotonic()
        if self._path is not None and now - self._stored > STORE:
            self._stored = now
            write_state(self._path, self._plan, islands)
        if self._progress is None:
            return
        best = max((i.best for i in islands if i.best is not None), key=lambda f: f.ratio, default=None)
        total, lives = sum(i.evaluations for i in islands), sum(i.life for i in islands)
        shown = "nothing yet" if best is None else f"ratio {best.score:.4f} with n = {size(best.groups)}"
        stage = f"attacking {self._target.name}: {shown}; {total:,} instances, {lives + len(islands)} starts"
        self._progress(Progress(stage, now - self._began, None, None))
