"""Is an entry true? Regenerate the instance, check the schedule, recompute the bound in exact integers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kvbound.checkers import check, verify
from kvbound.instances.catalogue.entry import Entry
from kvbound.instances.catalogue.packing import unpack_certificate, unpack_starts
from kvbound.instances.catalogue.recipe import TraceMissing, build
from kvbound.models.errors import KvboundError
from kvbound.models.problem import Problem


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `verify_entry` found.

    Parameters
    ----------
    name
        The entry.
    failures
        What is wrong, one sentence each; empty when everything holds.
    skipped
        Why nothing could be verified (the trace file is missing), or None.
    seconds
        Wall time.
    """

    name: str
    failures: tuple[str, ...]
    skipped: str | None
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether everything was verified and holds."""
        return not self.failures and self.skipped is None


def verify_entry(entry: Entry, traces: Path | str | None = None) -> Verdict:
    """Verify every statement of an entry that can be verified; a `claim` only against schedule and bound."""
    begin = time.perf_counter()
    failures: tuple[str, ...] = ()
    skipped = None
    try:
        problem = build(entry.name, entry.recipe, traces).problem
        failures = tuple(_failures(entry, problem))
    except TraceMissing as error:
        skipped = str(error)
    except KvboundError as error:
        failures = (f"{entry.name}: the instance cannot be made: {error}",)
    return Verdict(entry.name, failures, skipped, time.perf_counter() - begin)


def _failures(entry: Entry, problem: Problem) -> Iterator[str]:
    found = problem.fingerprint()
    if found != entry.fingerprint:
        yield (
            f"{entry.name}: the recipe gives other requests: SHA-256 {found[:12]}…, "
            f"the entry says {entry.fingerprint[:12]}…"
        )
    if (problem.n, problem.fleet.memory) != (entry.n, (entry.memory,)):
        yield (
            f"{entry.name}: the recipe gives n = {problem.n}, M = {problem.fleet.memory}; "
            f"the entry says n = {entry.n}, M = {entry.memory}"
        )
    yield from _schedule_failures(entry, problem)
    yield from _bound_failures(entry, problem)
    tel, bound = entry.schedule.tel, entry.bound.value
    if bound > tel:
        yield f"{entry.name}: the bound {bound} lies above the TEL {tel}"
    if entry.claim is not None and not bound < entry.claim.value <= tel:
        yield f"{entry.name}: the claimed bound {entry.claim.value} does not lie above {bound} and up to the TEL {tel}"


def _schedule_failures(entry: Entry, problem: Problem) -> Iterator[str]:
    try:
        report = check(problem, unpack_starts(entry.schedule.starts, entry.name))
    except KvboundError as error:
        yield f"{entry.name}: the schedule cannot be read: {error}"
        return
    if report.objective is None:
        yield f"{entry.name}: the schedule breaks {len(report.violations)} rule(s): {report.summary(1)}"
    elif report.objective != entry.schedule.tel:
        yield f"{entry.name}: the schedule has TEL {report.objective}, the entry says {entry.schedule.tel}"


def _bound_failures(entry: Entry, problem: Problem) -> Iterator[str]:
    try:
        proven = verify(problem, unpack_certificate(entry.bound.certificate, entry.name))
    except KvboundError as error:
        yield f"{entry.name}: the certificate is refused: {error}"
        return
    if proven != entry.bound.value:
        yield f"{entry.name}: the certificate proves {proven}, the entry says {entry.bound.value}"
