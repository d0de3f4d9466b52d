"""Instances as JSON files: a problem goes out and the very same problem comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kvbound.instances.files import read_text, write_atomic
from kvbound.instances.schema import InstanceFile, RequestColumns, parse
from kvbound.models.errors import InputError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests


def instance_to_json(problem: Problem) -> str:
    """Return `problem` as one `kvbound-instance` document."""
    requests = problem.requests
    if problem.objective.name != "tel":
        raise InputError(
            f"{problem.name}: the instance format, version 1, cannot hold the objective {problem.objective.name}"
        )
    document = InstanceFile(
        format="kvbound-instance",
        schema_version=1,
        name=problem.name,
        origin=problem.origin,
        memory=list(problem.fleet.memory),
        batch=list(problem.fleet.batch),
        requests=RequestColumns(
            prompt=requests.prompt.tolist(),
            output=requests.output.tolist(),
            arrival=requests.arrival.tolist(),
            predicted_low=_listed(requests.predicted_low),
            predicted_high=_listed(requests.predicted_high),
            predicted=_listed(requests.predicted),
        ),
    )
    return document.model_dump_json() + "\n"


def parse_instance(text: str, path: str) -> tuple[Requests, InstanceFile]:
    """Return the requests and the document of an instance; `path` is for messages (`InputError`).

    The fleet is left to the caller, who may have another memory in mind.
    """
    document = parse(InstanceFile, text, path)
    columns = document.requests
    if document.batch is not None and len(document.batch) != len(document.memory):
        raise InputError(f"{path}: {len(document.memory)} values of memory but {len(document.batch)} of batch")
    try:
        requests = Requests(
            _array(columns.prompt),
            _array(columns.output),
            _array([0] * len(columns.prompt) if columns.arrival is None else columns.arrival),
            None if columns.predicted_low is None else _array(columns.predicted_low),
            None if columns.predicted_high is None else _array(columns.predicted_high),
            None if columns.predicted is None else _array(columns.predicted),
        )
    except InputError as error:
        raise InputError(f"{path}: requests: {error}") from None
    return requests, document


def fleet_of(document: InstanceFile) -> Fleet:
    """Return the fleet that stands in the file."""
    return Fleet(tuple(document.memory), tuple(document.batch) if document.batch is not None else ())


def read_instance(path: str | Path) -> Problem:
    """Read a `kvbound-instance` file exactly as it was written."""
    requests, document = parse_instance(read_text(path), str(path))
    try:
        return Problem(requests, fleet_of(document), name=document.name, origin=document.origin)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_instance(path: str | Path, problem: Problem) -> None:
    """Write `problem` to `path` as JSON, whole or not at all (`InputError`)."""
    write_atomic(path, instance_to_json(problem))


def _array(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _listed(values: IntArray | None) -> list[int] | None:
    return None if values is None else values.tolist()
