"""What an attack compares: a policy or a router, run as always, and quick schedules that are better."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from kvbound.checkers import check
from kvbound.custom import policies, policy_from_file
from kvbound.instances.adversarial.record import Attacked
from kvbound.instances.adversarial.search import Sides
from kvbound.instances.files import read_text
from kvbound.models.errors import InputError, OptionError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule
from kvbound.solvers.bounds import bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies import Declined, Policy, View, run_policy
from kvbound.solvers.policies.list_scheduling import list_schedule
from kvbound.solvers.policies.run import permutation, run_order
from kvbound.solvers.routers import Router, resolve_routers, run_router
from kvbound.solvers.search.quick import Quick, quick

#: Annealing moves × requests of the reference inside a search, and the share of its screen.
WORK, SCREEN_SHARE = 18_000, 0.1
_LEAST_MOVES = 60


@dataclass(frozen=True, slots=True)
class Target:
    """The policy or router under attack; it gets problems like any other and is told nothing else.

    Parameters
    ----------
    chosen
        The policy or router itself.
    seed
        Seed that it is run with.
    file
        File of a user's policy, or None.
    """

    chosen: Policy | Router
    seed: int = 0
    file: Path | None = None

    @classmethod
    def named(cls, name: str, *, router: bool = False, file: Path | None = None, seed: int = 0) -> Target:
        """The built-in or installed policy `name`, the router `name`, or the policy of `file` (whose stem is `name`).

        Raises
        ------
        OptionError
            The name is unknown, stands for several, or does not fit the file.
        """
        if file is not None:
            policy = policy_from_file(file)
            if name != policy.name:
                raise OptionError(f"{file} defines the policy {policy.name!r}, not {name!r}; attack {policy.name}")
            return cls(policy, seed, file)
        found = cls._of_name(name, router)
        if len(found) != 1:
            raise OptionError(f"{name!r} stands for {len(found)} policies; attack one of them")
        return cls(found[0], seed)

    @classmethod
    def _of_name(cls, name: str, router: bool) -> list[Router] | list[Policy]:
        try:
            return resolve_routers([name]) if router else policies([name])
        except OptionError:
            try:
                _ = policies([name]) if router else resolve_routers([name])
            except OptionError:
                pass
            else:
                kind, other, way = ("policy", "router", "without") if router else ("router", "policy", "with")
                raise OptionError(f"{name!r} is a {kind}, no {other}: kvbound attack takes it {way} --router") from None
            raise

    @property
    def name(self) -> str:
        """Name with all parameters."""
        return self.chosen.name

    @property
    def attacked(self) -> Attacked:
        """How a record names it."""
        kind: Literal["policy", "router"] = "router" if isinstance(self.chosen, Router) else "policy"
        if self.file is None:
            return Attacked(kind, self.name, self.seed)
        return Attacked(kind, self.name, self.seed, self.file.name, text_hash(self.file))

    def run(self, problem: Problem) -> Schedule:
        """Its schedule, checked (`OptionError` when it declines)."""
        if isinstance(self.chosen, Router):
            return run_router(problem, self.chosen, seed=self.seed).execution.schedule(problem.requests)
        done = run_policy(problem, self.chosen, seed=self.seed)
        if done.schedule is None:
            raise OptionError(f"{self.name} declined {problem.name} with n = {problem.n}: {done.declined}")
        return done.schedule

    def value(self, problem: Problem) -> int | None:
        """TEL of `run`, without the checker and on the shortest way; None when it declines."""
        policy = self.chosen
        if isinstance(policy, Router):
            return _tel(problem, run_router(problem, policy, seed=self.seed).execution.schedule(problem.requests))
        try:
            order = policy.order(View.of(problem, self.seed, policy.rule))
        except Declined:
            return None
        order = permutation(order, problem.n, self.name)
        if policy.rule.queue == "order" and not problem.requests.arrival.any():
            return quick(problem, order[None]).tel
        return _tel(problem, run_order(problem, order, policy.rule).schedule(problem.requests))


def text_hash(file: Path) -> str:
    """SHA-256 of the text of a policy file."""
    return hashlib.sha256(read_text(file).encode("utf-8")).hexdigest()


def target_of(attacked: Attacked, files: tuple[Path, ...] = ()) -> Target:
    """The target that a record names; a user's policy is looked for among `files` (`InputError`)."""
    if attacked.file is None:
        return Target.named(attacked.name, router=attacked.kind == "router", seed=attacked.seed)
    for file in files:
        if file.stem == attacked.name:
            if text_hash(file) != attacked.sha256:
                raise InputError(f"{file}: is another policy than the one of the record (SHA-256 differs)")
            return Target.named(attacked.name, file=file, seed=attacked.seed)
    raise InputError(f"the policy {attacked.name} is a user's; hand in {attacked.file} with --policy-file")


def sides(target: Target, against: str) -> Sides:
    """The callables for the search: the target, and quick schedules or the volume bound."""
    if against == "bound":
        return Sides(target.value, volume_bound)
    return Sides(target.value, quick_value, screen_value)


def volume_bound(problem: Problem) -> int:
    """The volume bound, at least 1 (docs/math.md §5.1)."""
    return bound(problem, "volume", deadline=Deadline()).value or 1


def quick_value(problem: Problem) -> int:
    """TEL of the quick reference."""
    return quick_reference(problem, 1.0).tel


def screen_value(problem: Problem) -> int:
    """TEL of a quicker one."""
    return quick_reference(problem, SCREEN_SHARE).tel


def quick_reference(problem: Problem, share: float) -> Quick:
    """A good schedule within a millisecond or so: simple orders, then a short annealing from the best."""
    moves = max(_LEAST_MOVES, int(WORK / problem.n)) * share
    return quick(problem, simple_orders(problem), moves=int(moves), seed=0)


def simple_orders(problem: Problem) -> IntArray:
    """Sequences by simple keys, shape (k, n); with arrivals the orders of start of their list schedules."""
    r = problem.requests
    keys = (r.output, r.peak, r.volume, r.prompt, r.prompt * r.output, -r.output, -r.prompt, np.arange(problem.n))
    orders = np.array([np.argsort(key, kind="stable") for key in keys])
    if r.arrival.any():
        orders = np.array([np.argsort(list_schedule(problem, order).start, kind="stable") for order in orders])
    return orders


def _tel(problem: Problem, schedule: Schedule) -> int:
    requests = problem.requests
    return int((schedule.start + requests.output - requests.arrival).sum())


def tel_of(problem: Problem, schedule: Schedule) -> int:
    """TEL of a schedule that keeps every rule (`InputError`: it does not)."""
    report = check(problem, schedule)
    if report.objective is None:
        raise InputError(f"{problem.name}: the schedule breaks a rule: {report.summary(1)}")
    return report.objective
