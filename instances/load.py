"""From a source string to a problem: read, then alter (cut, drop, scale time) in named steps, and say so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

import numpy as np

from kvbound.instances.generators import DEFAULT_MEMORY, GENERATORS
from kvbound.instances.parameters import nearest
from kvbound.instances.read import as_requests, read_any
from kvbound.instances.source import generate, is_generator
from kvbound.instances.trace import Trace
from kvbound.models.errors import InputError, OptionError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests

_Size = TypeVar("_Size", int, int | None)

#: Prefix of instances of the catalogue.
NAMED = "catalogue:"


#: Requests larger than memory that a message names one by one.
_MOST_NAMES = 10


@dataclass(frozen=True, slots=True)
class Loaded:
    """A problem and what was done to get it.

    Parameters
    ----------
    problem
        The problem; request j is the j-th row kept (traces: by arrival, ties in the order of the file).
    notes
        What a reader of any figure about it should know, one sentence each.
    dropped
        Requests left out: larger than memory, or failed by the trace's own account.
    too_large
        Names of those larger than memory, all of them: 1-based lines of a trace, else 0-based requests.
    """

    problem: Problem
    notes: tuple[str, ...]
    dropped: int
    too_large: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Raw:
    """A source before anything is cut."""

    name: str
    origin: str | None
    content: Trace | Requests
    fleet: Fleet | None
    notes: tuple[str, ...] = ()
    failed: int = 0


def load(
    source: str,
    *,
    memory: int | None = None,
    workers: int = 1,
    batch: int | None = None,
    limit: int | None = None,
    offset: int = 0,
    step_seconds: float | None = None,
    drop_too_large: bool = False,
) -> Loaded:
    """Return the problem that `source` names: a trace, an instance or a generator.

    Rows of traces with clock times are sorted by arrival (stable) and form a backlog, all arrivals 0, unless
    `step_seconds` is given. `offset` and `limit` then pick rows, before too large requests are dropped.

    Parameters
    ----------
    source
        E.g. `trace.csv`, `tiny:n=8,seed=0`, `mix:n=2000,long=0.2`, `family:fcfs,memory=196`,
        `catalogue:azure-conv-200`.
    memory, workers, batch
        KV tokens and batch size of each worker and their number. They replace what an instance file or a
        generator brings along (`workers` 1 and None mean: leave it); default memory of a trace: 16492.
    limit, offset
        Take at most `limit` rows from row `offset` (from 0) on.
    step_seconds
        Length of a step: arrivals become ⌊seconds / step_seconds⌋, relative to the first row kept.
    drop_too_large
        Drop requests whose peak exceeds the memory of every worker; otherwise they are an error.

    Raises
    ------
    InputError
        Bad data; the message names file, row and value and the way out.
    OptionError
        Unknown generator or parameter, an option out of range or without meaning for this source.
    """
    if source.startswith(NAMED):
        options = (memory, batch, limit, step_seconds)
        if any(x is not None for x in options) or (workers, offset, drop_too_large) != (1, 0, False):
            raise OptionError(
                f"{source}: an instance of the catalogue is fixed; to change memory or rows name its own source"
            )
        return _named(source.removeprefix(NAMED))
    _check_options(limit, offset, step_seconds)
    raw = _generated(source) if is_generator(source) else _read(source)
    notes = list(raw.notes)
    fleet = _fleet(raw.fleet, memory, workers, batch, notes)
    content = _pick(raw, limit, offset, notes)
    lines: IntArray | None = None
    if isinstance(content, Trace):
        requests = as_requests(content, _step(source, content, step_seconds, notes))
        lines = content.line
    elif step_seconds is not None:
        raise OptionError(f"{source}: --step-seconds needs arrival times in seconds; this source has steps already")
    else:
        requests = content
    requests, too_large = _fit(source, requests, lines, fleet, drop_too_large, notes)
    name = raw.name
    if limit is not None or offset:
        name += f"[{offset}:{offset + len(content)}]"
    problem = Problem(requests, fleet, name=name, origin=raw.origin)
    return Loaded(problem, tuple(notes), len(too_large) + raw.failed, too_large)


def _named(name: str) -> Loaded:
    from kvbound.instances.catalogue import catalogue, load_named  # pydantic: only when needed

    return load_named(catalogue(), name)


def _check_options(limit: int | None, offset: int, step_seconds: float | None) -> None:
    if limit is not None and limit < 1:
        raise OptionError(f"limit is {limit}; it must be at least 1")
    if offset < 0:
        raise OptionError(f"offset is {offset}; it must be at least 0")
    if step_seconds is not None and not (math.isfinite(step_seconds) and 1e-9 <= step_seconds <= 1e9):
        raise OptionError(f"step_seconds is {step_seconds}; it must be from 1e-9 to 1e9 seconds")


def _generated(source: str) -> _Raw:
    made = generate(source)
    return _Raw(made.name, f"generator: {made.summary}", made.requests, Fleet.uniform(made.memory, made.workers))


def _read(source: str) -> _Raw:
    try:
        content = read_any(source)
    except InputError as error:
        if "no such file" in str(error) and PurePath(source).name == source:
            raise InputError(f"{error}{nearest(source, GENERATORS)}; generators are {', '.join(GENERATORS)}") from None
        raise
    if isinstance(content, Trace):
        path = PurePath(source)
        notes, sorted_trace = list(content.notes), content.by_time()
        if sorted_trace is not content:
            notes.append("rows were not in order of arrival and were sorted (ties keep the order of the file)")
        return _Raw(path.stem, f"{path.name} ({content.format})", sorted_trace, None, tuple(notes), content.failed)
    requests, fleet, name, origin = content
    return _Raw(name, origin, requests, fleet)


def _fleet(own: Fleet | None, memory: int | None, workers: int, batch: int | None, notes: list[str]) -> Fleet:
    """The fleet of the source with everything replaced that the caller gave."""
    if workers < 1:
        raise OptionError(f"workers is {workers}; it must be at least 1")
    if memory is None and own is None:
        memory = DEFAULT_MEMORY
        notes.append(f"memory {memory} tokens by default (Llama-2-70B on two A100); set another with --memory")
    number = workers if workers != 1 or own is None else len(own)
    if own is not None and number != len(own) and not own.identical and (memory is None or batch is None):
        raise OptionError(f"the instance has {len(own)} different workers; to have {number}, give memory and batch too")
    memories = (memory,) * number if memory is not None else _repeat(own.memory if own else (), number)
    batches = (batch,) * number if batch is not None or own is None else _repeat(own.batch, number)
    try:
        return Fleet(memories, batches)
    except InputError as error:
        raise OptionError(str(error)) from None


def _repeat(values: tuple[_Size, ...], number: int) -> tuple[_Size, ...]:
    """Memories or batch sizes for `number` equal workers."""
    return values if len(values) == number else (values[0],) * number


def _pick(raw: _Raw, limit: int | None, offset: int, notes: list[str]) -> Trace | Requests:
    content, n = raw.content, len(raw.content)
    if offset >= n:
        raise InputError(f"{raw.name}: offset {offset} is beyond its {n} rows; use at most {n - 1}")
    if limit is not None and offset + limit > n:
        notes.append(f"limit {limit}: there are only {n - offset} requests from row {offset} on, all are taken")
        limit = n - offset
    if offset == 0 and (limit is None or limit == n):
        return content
    index = np.arange(offset, n if limit is None else offset + limit)
    return content.take(index)


def _step(source: str, trace: Trace, step_seconds: float | None, notes: list[str]) -> int | None:
    if step_seconds is None:
        if trace.time is not None:
            notes.append("arrival times are not used: all requests wait at step 0; use them with --step-seconds")
        return None
    if trace.time is None:
        have = "gives arrivals in steps" if trace.arrival is not None else "has no arrival times"
        raise OptionError(f"{source}: --step-seconds needs arrival times in seconds; this {trace.format} {have}")
    return round(step_seconds * 1_000_000_000)


def _fit(
    source: str, requests: Requests, lines: IntArray | None, fleet: Fleet, drop: bool, notes: list[str]
) -> tuple[Requests, tuple[int, ...]]:
    """Drop, or refuse and name, the requests that fit on no worker; return those kept and the names of the others."""
    large = np.flatnonzero(requests.peak > fleet.largest)
    if not large.size:
        return requests, ()
    j, n = int(large[0]), len(requests)
    names = tuple((large if lines is None else lines[large]).tolist())
    kind = "request" if lines is None else "line"
    where = f"{kind} {names[0]}"
    every = f"{kind}s " + ", ".join(str(name) for name in names[:_MOST_NAMES])
    every += f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    what = (
        f"{where} has prompt {requests.prompt[j]} + output {requests.output[j]} = {requests.peak[j]} tokens, "
        f"memory is {fleet.largest}"
    )
    if not drop:
        raise InputError(
            f"{source}: {what}; {large.size} of {n} requests are larger than memory ({every}). Raise --memory to "
            f"{requests.peak.max()} or drop them with --drop-too-large"
        )
    if large.size == n:
        raise InputError(f"{source}: every request is larger than memory, none is left ({what}). Raise --memory")
    notes.append(f"{large.size} of {n} requests dropped: larger than memory {fleet.largest} ({every})")
    keep = np.ones(n, dtype=bool)
    keep[large] = False
    return requests.take(keep), names
