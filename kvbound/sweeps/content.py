"""Instances, schedules, executions and certificates as bytes: exact, compact, with a content hash.

Arrays are little-endian int64, row after row, compressed by zlib; certificates are the JSON of `kvbound bound`.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence

import numpy as np

from kvbound.checkers.certificate import Certificate
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json
from kvbound.models.errors import InputError
from kvbound.models.execution import Execution, count_losses
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests
from kvbound.models.schedule import Schedule
from kvbound.sweeps.cell import canonical

_ROWS = ("prompt", "output", "arrival", "predicted_low", "predicted_high", "predicted")


def instance_hash(problem: Problem) -> str:
    """SHA-256 of requests (predictions included) and fleet: name and origin do not matter."""
    digest = hashlib.sha256(b"kvbound-instance-1\n" + fleet_text(problem.fleet).encode() + b"\n")
    digest.update(_raw(_rows(problem.requests)))
    return digest.hexdigest()


def pack_requests(requests: Requests) -> bytes:
    """Rows prompt, output, arrival; with predictions predicted_low, predicted_high, and predicted if there is one."""
    return zlib.compress(_raw(_rows(requests)), 6)


def fleet_text(fleet: Fleet) -> str:
    """`{"batch":[…],"memory":[…]}`, one entry per worker; null is no cap."""
    return canonical({"memory": list(fleet.memory), "batch": list(fleet.batch)})


def unpack_problem(n: int, requests: bytes, fleet: str, name: str, origin: str | None = None) -> Problem:
    """Return the problem that `pack_requests` and `fleet_text` were made of; `InputError` when it is none."""
    rows = _unpack(requests, n, f"instance {name}: requests")
    if len(rows) not in (3, 5, 6):
        raise InputError(f"instance {name}: {len(rows)} rows of requests; there must be 3, 5 or 6")
    try:
        data = json.loads(fleet)
        workers = Fleet(tuple(data["memory"]), tuple(data["batch"]))
    except (ValueError, KeyError, TypeError):
        raise InputError(f"instance {name}: the fleet {fleet!r:.60} cannot be read") from None
    return Problem(Requests(**dict(zip(_ROWS, rows, strict=False))), workers, name=name, origin=origin)


def pack_schedule(schedule: Schedule) -> bytes:
    """Rows start, worker; −1 is not served."""
    return zlib.compress(_raw((schedule.start, schedule.worker)), 6)


def unpack_schedule(blob: bytes, n: int) -> Schedule:
    """Return the schedule of n requests; `InputError` when the bytes are none."""
    rows = _unpack(blob, n, "schedule")
    if len(rows) != 2:
        raise InputError(f"schedule: {len(rows)} rows of {n} requests; there must be 2, start and worker")
    return Schedule(*rows)


def pack_execution(execution: Execution) -> bytes:
    """Rows request, worker, start, end of all attempts, evicted ones included."""
    return zlib.compress(_raw((execution.request, execution.worker, execution.start, execution.end)), 6)


def unpack_execution(blob: bytes, requests: Requests) -> Execution:
    """Return the execution, its counters counted anew; `InputError` when the bytes are none."""
    size = len(_inflate(blob, "execution"))
    if size % 32:
        raise InputError(f"execution: {size} bytes are not four rows of integers")
    request, worker, start, end = _unpack(blob, size // 32, "execution")
    outside = (request < 0) | (request >= len(requests))
    if outside.any():
        raise InputError(f"execution: request {request[outside][0]} does not exist")
    return Execution(request, worker, start, end, *count_losses(requests, request, start, end))


def pack_certificate(certificate: Certificate) -> bytes:
    """The document that `kvbound bound --certificate` writes."""
    return zlib.compress(certificate_to_json(certificate).encode(), 6)


def unpack_certificate(blob: bytes) -> Certificate:
    """Return the certificate; `CertificateError` or `InputError` when the bytes are none."""
    try:
        text = _inflate(blob, "certificate").decode()
    except UnicodeDecodeError:
        raise InputError("certificate: is no UTF-8 text") from None
    return certificate_from_json(text, "certificate")


def _rows(requests: Requests) -> tuple[IntArray, ...]:
    return tuple(row for name in _ROWS if (row := getattr(requests, name)) is not None)


def _raw(rows: Sequence[IntArray]) -> bytes:
    return b"".join(np.ascontiguousarray(row, dtype="<i8").tobytes() for row in rows)


def _inflate(blob: bytes, what: str) -> bytes:
    try:
        return zlib.decompress(blob)
    except (zlib.error, TypeError) as error:
        raise InputError(f"{what}: the stored bytes are damaged ({error})") from None


def _unpack(blob: bytes, n: int, what: str) -> list[IntArray]:
    raw = _inflate(blob, what)
    if n < 1 or len(raw) % (8 * n):
        raise InputError(f"{what}: {len(raw)} bytes are not rows of {n} integers")
    return list(np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(-1, n))
