"""Schedules as files: JSON with a fingerprint of its instance, or CSV `request,start[,worker]`.

Reading says what the file says; whether it is a good schedule is for `kvbound.checkers.check`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kvbound.instances.csv_traces import table
from kvbound.instances.files import read_text, write_atomic
from kvbound.instances.schema import ScheduleFile, parse
from kvbound.instances.values import Column
from kvbound.models.errors import InputError
from kvbound.models.problem import Problem
from kvbound.models.requests import MAX_ARRIVAL, IntArray
from kvbound.models.schedule import UNSERVED, Schedule


def schedule_to_json(problem: Problem, schedule: Schedule, policy: str | None = None) -> str:
    """Return a checked schedule as one `kvbound-schedule` document.

    Raises
    ------
    ScheduleError
        The schedule breaks a rule of the problem: nothing invalid is written.
    """
    from kvbound.checkers import require_valid  # compiles kernels; reading must stay quick

    document = ScheduleFile(
        format="kvbound-schedule",
        schema_version=1,
        fingerprint=problem.fingerprint(),
        instance=problem.name,
        policy=policy,
        tel=require_valid(problem, schedule),
        starts=[None if k == UNSERVED else k for k in schedule.start.tolist()],
        workers=[None if g == UNSERVED else g for g in schedule.worker.tolist()],
    )
    return document.model_dump_json() + "\n"


def write_schedule(path: str | Path, problem: Problem, schedule: Schedule, policy: str | None = None) -> None:
    """Write a checked schedule to `path` as JSON, whole or not at all."""
    write_atomic(path, schedule_to_json(problem, schedule, policy))


def read_schedule(path: str | Path, problem: Problem) -> Schedule:
    """Read a schedule for `problem`; requests are numbered from 0 in the order of the problem.

    Raises
    ------
    InputError
        Malformed file, another instance's schedule, a request twice, missing or unknown, a worker that
        does not exist, a stated TEL that the starts do not give.
    """
    text, name = read_text(path), str(path)
    return _from_json(text, name, problem) if text.lstrip().startswith(("{", "[")) else _from_csv(text, name, problem)


def _from_json(text: str, path: str, problem: Problem) -> Schedule:
    document = parse(ScheduleFile, text, path)
    if document.fingerprint != problem.fingerprint():
        made_for = f" ({document.instance})" if document.instance else ""
        raise InputError(
            f"{path}: this schedule is for another instance{made_for}: its fingerprint is "
            f"{document.fingerprint[:12]}…, that of {problem.name} is {problem.fingerprint()[:12]}…. Use "
            f"the same source, memory, limit and offset"
        )
    n = problem.n
    if len(document.starts) != n:
        raise InputError(f"{path}: {len(document.starts)} starts for {n} requests")
    if document.workers is not None and len(document.workers) != n:
        raise InputError(f"{path}: {len(document.workers)} workers for {n} requests")
    start = np.array([UNSERVED if k is None else k for k in document.starts], dtype=np.int64)
    if document.workers is None:
        worker = np.where(start == UNSERVED, UNSERVED, 0)
    else:
        worker = np.array([UNSERVED if g is None else g for g in document.workers], dtype=np.int64)
    for j in np.flatnonzero((start == UNSERVED) != (worker == UNSERVED))[:1]:
        raise InputError(f"{path}: request {j} has a start without a worker or a worker without a start")
    _known_workers(path, worker, problem, [f"request {j}" for j in range(n)])
    _all_served(path, start, problem)
    schedule = Schedule(start, worker)
    if document.tel is not None:
        served = np.flatnonzero(schedule.served)
        found = sum(problem.objective.start_cost(problem.requests, served, start[served]).tolist())
        if found != document.tel:
            raise InputError(f"{path}: tel is {document.tel}, but the starts give {found}; correct or remove tel")
    return schedule


def _from_csv(text: str, path: str, problem: Problem) -> Schedule:
    header, rows, lines = table(path, text)
    for name in ("request", "start"):
        if name not in header:
            raise InputError(
                f"{path}: line 1: missing column {name!r}; a schedule has the header request,start[,worker]"
            )
    columns = {name: Column(path, name, [row[i] for row in rows], lines) for i, name in enumerate(header)}
    n = problem.n
    request = columns["request"].integers(0, n - 1, "the index of a request")
    start = columns["start"].integers(0, 2 * MAX_ARRIVAL, "a start step")
    repeated = _first_repeat(request.tolist())
    if repeated is not None:
        first, again = repeated
        raise InputError(
            f"{path}: line {lines[again]}: request {request[again]} stands twice (first on line "
            f"{lines[first]}); keep one"
        )
    worker = np.zeros(len(rows), np.int64)
    if "worker" in columns:
        worker = columns["worker"].integers(0, 2**31 - 1, "a worker")
    elif len(problem.fleet) > 1:
        raise InputError(f"{path}: line 1: missing column 'worker'; {problem.name} has {len(problem.fleet)} workers")
    _known_workers(path, worker, problem, [f"line {line}" for line in lines])
    starts, workers = np.full(n, UNSERVED, np.int64), np.full(n, UNSERVED, np.int64)
    starts[request], workers[request] = start, worker
    _all_served(path, starts, problem)
    return Schedule(starts, workers)


def _first_repeat(values: list[int]) -> tuple[int, int] | None:
    seen: dict[int, int] = {}
    for i, value in enumerate(values):
        if value in seen:
            return seen[value], i
        seen[value] = i
    return None


def _known_workers(path: str, worker: IntArray, problem: Problem, places: list[str]) -> None:
    for i in np.flatnonzero(worker >= len(problem.fleet))[:1]:
        raise InputError(
            f"{path}: {places[i]}: worker is {worker[i]}; {problem.name} has the workers 0 to {len(problem.fleet) - 1}"
        )


def _all_served(path: str, start: IntArray, problem: Problem) -> None:
    missing = np.flatnonzero(start == UNSERVED)
    if problem.objective.serve_all and missing.size:
        shown = ", ".join(map(str, missing[:5].tolist())) + (", …" if missing.size > 5 else "")
        raise InputError(
            f"{path}: {missing.size} of {problem.n} request(s) have no start: {shown}. Every request has to be served"
        )
