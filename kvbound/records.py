"""The hall of records with policies at hand: what is in it is verified by running them anew."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from kvbound.attack_sides import Target, target_of
from kvbound.instances.adversarial.hall import add_record, records
from kvbound.instances.adversarial.record import Record
from kvbound.instances.adversarial.verification import record_failures
from kvbound.models.errors import KvboundError, ScheduleError
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule

__all__ = ["Verdict", "add", "record_failures_of", "records", "require_true", "resolve_optimum", "verify_record"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `verify_record` found: the slot, everything that is wrong (empty: nothing), wall seconds."""

    slot: str
    failures: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether everything was verified and holds."""
        return not self.failures


def verify_record(record: Record, files: tuple[Path, ...] = (), *, resolve: float | None = None) -> Verdict:
    """Verify every statement of a record; `files` hold users' policies.

    Parameters
    ----------
    resolve
        Seconds to prove a claimed optimum anew; None: an exact solver's word is left as it is, no ratio rests on it.
    """
    began = time.perf_counter()
    failures = record_failures_of(record, files)
    if not failures and resolve is not None and record.reference.kind == "optimum":
        wrong = resolve_optimum(record, resolve)
        failures = () if wrong is None else (wrong,)
    return Verdict(record.slot, failures, time.perf_counter() - began)


def record_failures_of(record: Record, files: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """What is wrong with a record, one sentence each."""

    def rerun(problem: Problem) -> Schedule:
        return target_of(record.attacked, files).run(problem)

    return record_failures(record, rerun)


def require_true(record: Record, target: Target) -> None:
    """Raise `ScheduleError` unless every statement of a record holds."""
    wrong = record_failures(record, target.run)
    if wrong:
        raise ScheduleError(f"the record does not survive its check: {wrong[0]}")


def resolve_optimum(record: Record, seconds: float) -> str | None:
    """Solve the instance of an `optimum` record anew; what is wrong with the claim, or None."""
    from kvbound.solvers.exact import SolutionStatus, SolveConfig, solve

    try:
        result = solve(record.problem, config=SolveConfig(time_limit=seconds))
    except KvboundError as error:
        return f"record of {record.attacked.name}: cannot be solved anew: {error}"
    if result.status is not SolutionStatus.OPTIMAL:
        return f"record of {record.attacked.name}: the optimum was not proved anew within {seconds:g} s"
    if result.tel != record.reference.value:
        return f"record of {record.attacked.name}: the optimum is {result.tel}, not {record.reference.value}"
    return None


def add(record: Record, files: tuple[Path, ...] = (), folder: Path | None = None) -> tuple[Path, Record | None]:
    """Put a record into the hall if it is verified and higher (`InputError` gives the reason otherwise)."""
    return add_record(record, lambda r: record_failures_of(r, files), folder)
