"""Is a record true? Schedules by the checkers, the policy run anew, ratio and certificate in exact integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from kvbound.checkers import check, verify
from kvbound.instances.adversarial.record import Record, Starts
from kvbound.models.errors import KvboundError
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule

#: Runs the attacked policy; may raise any `KvboundError`.
Rerun = Callable[[Problem], Schedule]


def record_failures(record: Record, rerun: Rerun) -> tuple[str, ...]:
    """Everything that is wrong with a record, one sentence each; empty when every statement was verified and holds.

    Not verified is the word of an exact solver that a schedule is optimal: the ratio does not rest on it.
    """
    name = f"record of {record.attacked.name}"
    try:
        problem = record.problem
    except KvboundError as error:
        return (f"{name}: the instance is none: {error}",)
    return tuple(_failures(record, problem, rerun, name))


def _failures(record: Record, problem: Problem, rerun: Rerun, name: str) -> Iterator[str]:
    yield from _schedule_failures(problem, record.policy, record.policy_tel, f"{name}: the policy's schedule")
    try:
        again = rerun(problem)
        if again != record.policy.schedule:
            tel = check(problem, again).objective
            yield f"{name}: run anew, the policy makes another schedule, of TEL {tel} instead of {record.policy_tel}"
    except KvboundError as error:
        yield f"{name}: the policy cannot be run: {error}"
    yield from _reference_failures(record, problem, name)
    value = Fraction(record.policy_tel, record.reference.value)
    if value != record.value:
        yield f"{name}: the ratio is {record.ratio}, but {record.policy_tel} / {record.reference.value} = {value}"
    if record.value < 1:
        yield f"{name}: the ratio {record.ratio} is below 1, so the policy beats what it is measured against"


def _reference_failures(record: Record, problem: Problem, name: str) -> Iterator[str]:
    reference = record.reference
    if reference.schedule is not None and reference.kind != "bound":
        yield from _schedule_failures(problem, reference.schedule, reference.value, f"{name}: the better schedule")
    elif reference.kind != "bound":
        yield f"{name}: a reference of kind {reference.kind} needs a schedule"
    if reference.kind == "bound" and reference.certificate is None:
        yield f"{name}: a reference of kind bound needs a certificate"
    if reference.kind != "best-known" and reference.proved_by is None:
        yield f"{name}: nobody is named who proved the {reference.kind}"
    if reference.certificate is None or reference.kind == "best-known":
        return
    try:
        certificate = record.certificate
        assert certificate is not None
        proven = verify(problem, certificate)
    except KvboundError as error:
        yield f"{name}: the certificate is refused: {error}"
        return
    if proven != reference.value:
        yield f"{name}: the certificate proves {proven}, the record says {reference.value}"


def _schedule_failures(problem: Problem, starts: Starts, tel: int, what: str) -> Iterator[str]:
    try:
        report = check(problem, starts.schedule)
    except KvboundError as error:
        yield f"{what} cannot be read: {error}"
        return
    if report.objective is None:
        yield f"{what} breaks {len(report.violations)} rule(s): {report.summary(1)}"
    elif report.objective != tel:
        yield f"{what} has TEL {report.objective}, the record says {tel}"
