"""Whether a results file is true: stored schedules, values and certificates judged anew by the checkers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kvbound.checkers import check, check_execution, verify
from kvbound.models.errors import KvboundError
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule
from kvbound.sweeps.content import instance_hash, unpack_certificate, unpack_execution, unpack_schedule
from kvbound.sweeps.store import ResultStore, Stored
from kvbound.sweeps.work import figures

#: Cells that hold something to check.
_CHECKABLE = "schedule IS NOT NULL OR certificate IS NOT NULL OR tel IS NOT NULL OR bound IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a row: its key, what it claims to be, and why that is not so."""

    key: str
    label: str
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found: cells with something to check, those checked, schedules, certificates and figures among
    them, bounds that are their prover's claim (no certificate), and faults."""

    checkable: int
    cells: int
    schedules: int
    certificates: int
    claims: int
    faults: tuple[Fault, ...]


def verify_store(
    store: ResultStore, sample: int | None = 100, *, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Verdict:
    """Check `sample` cells of the file, drawn with `seed`; None: all of them.

    Recomputed are: the instance's hash and the cell's key, the schedule by every rule and its TEL in integers, the
    execution with its evictions, every other figure, and the bound from its certificate in exact integers.
    """
    keys = store.keys(_CHECKABLE)
    total = len(keys)
    if sample is not None and sample < total:
        keys = sorted(random.Random(seed).sample(keys, sample))
    faults: list[Fault] = []
    problems: dict[str, Problem | str] = {}
    schedules = certificates = claims = done = 0
    for key in keys:
        try:
            (stored,) = store.rows([key])
        except KvboundError as error:
            faults.append(Fault(key, "(unreadable)", str(error)))
            continue
        done += 1
        schedules += stored.outcome.schedule is not None
        certificates += stored.outcome.certificate is not None
        claims += stored.outcome.bound is not None and stored.outcome.certificate is None
        faults += [Fault(key, stored.cell.label, what) for what in _faults(store, stored, problems)]
        if progress is not None:
            progress(done, len(keys))
    return Verdict(total, done, schedules, certificates, claims, tuple(faults))


def _faults(store: ResultStore, stored: Stored, problems: dict[str, Problem | str]) -> Iterator[str]:
    cell, outcome = stored.cell, stored.outcome
    if cell.key != stored.key:
        yield f"the key does not fit: source, method or options were changed (they give {cell.key[:12]}…)"
    if cell.instance not in problems:
        if len(problems) > 64:
            problems.clear()
        problems[cell.instance] = _instance(store, cell.instance)
    problem = problems[cell.instance]
    if isinstance(problem, str):
        yield problem
        return
    for part in (_schedule, _certificate):
        try:
            yield from part(problem, stored)
        except (KvboundError, ValueError, OverflowError, KeyError, TypeError) as error:
            yield str(error)
    if outcome.tel is not None and outcome.bound is not None and outcome.bound > outcome.tel:
        yield f"the bound {outcome.bound} lies above the TEL {outcome.tel} of the same row"


def _instance(store: ResultStore, instance: str) -> Problem | str:
    try:
        problem = store.problem(instance)
    except KvboundError as error:
        return str(error)
    found = instance_hash(problem)
    return problem if found == instance else f"the instance was changed: its content hashes to {found[:12]}…"


def _schedule(problem: Problem, stored: Stored) -> Iterator[str]:
    outcome = stored.outcome
    if outcome.schedule is None:
        if outcome.tel is not None:
            yield f"TEL {outcome.tel} is claimed without a schedule"
        return
    schedule = unpack_schedule(outcome.schedule, problem.n)
    report = check(problem, schedule)
    if report.objective is None:
        yield f"the schedule breaks {len(report.violations)} rule(s): {report.summary(1)}"
        return
    if report.objective != outcome.tel:
        yield f"TEL is stored as {outcome.tel}, the schedule has {report.objective}"
    execution = None
    if outcome.execution is not None:
        execution = unpack_execution(outcome.execution, problem.requests)
        judged = check_execution(problem, execution)
        if judged.objective is None:
            yield f"the execution breaks {len(judged.violations)} rule(s): {judged.summary(1)}"
            return
        if execution.schedule(problem.requests) != schedule:
            yield "the serving attempts of the execution are another schedule"
            return
    yield from _figures(problem, schedule, figures(problem, schedule, execution, stored.cell.options), stored)


def _figures(problem: Problem, schedule: Schedule, found: dict[str, Any], stored: Stored) -> Iterator[str]:
    claimed = stored.outcome.metrics or {}
    for name, value in found.items():
        there = claimed.get(name)
        same = (
            isinstance(there, (int, float)) and math.isclose(there, value, rel_tol=1e-12)
            if isinstance(value, float)
            else there == value
        )
        if not same:
            yield f"{name} is stored as {there}, recomputed it is {value}"


def _certificate(problem: Problem, stored: Stored) -> Iterator[str]:
    outcome = stored.outcome
    if outcome.certificate is None:
        if outcome.verified:
            yield "a verified bound is claimed without a certificate"
        return
    certificate = unpack_certificate(outcome.certificate)
    metrics = outcome.metrics or {}
    if certificate.objective is not None:
        value = verify(replace(problem, objective=Reward.from_identity(certificate.objective)), certificate)
        if (value, certificate.objective) != (metrics.get("reward_bound"), metrics.get("objective")):
            yield f"the reward bound is stored as {metrics.get('reward_bound')}, the certificate proves {value}"
        return
    value = verify(problem, certificate)
    if outcome.bound != value:
        yield f"the bound is stored as {outcome.bound}, the certificate proves {value}"
