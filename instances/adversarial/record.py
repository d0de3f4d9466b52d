"""A record: an instance, what the policy does on it, and something better; the file format `kvbound-record`, version 1.

What it proves is in docs/attack.md: TEL(policy) / TEL(better schedule) is a lower bound on TEL(policy) / optimum,
whoever found the better schedule and however.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from kvbound.checkers.certificate import Certificate
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json
from kvbound.instances.adversarial.groups import Group, expand, grouped
from kvbound.instances.files import read_text, write_atomic
from kvbound.models.errors import InputError
from kvbound.models.fleet import MAX_MEMORY, NO_CAP, Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import MAX_ARRIVAL, MAX_TOKENS
from kvbound.models.schedule import Schedule

_STRICT = ConfigDict(extra="forbid", strict=True)
_Text = Annotated[str, Field(min_length=1)]
_Start = Annotated[int, Field(ge=0, le=2 * MAX_ARRIVAL)]
_Worker = Annotated[int, Field(ge=0, lt=2**31)]
_Positive = Annotated[int, Field(ge=1, lt=2**62)]
_Natural = Annotated[int, Field(ge=0, lt=2**62)]
_Row = tuple[
    Annotated[int, Field(ge=1, le=10**7)],
    Annotated[int, Field(ge=0, le=MAX_TOKENS)],
    Annotated[int, Field(ge=1, le=MAX_TOKENS)],
    Annotated[int, Field(ge=0, le=MAX_ARRIVAL)],
]
#: What a policy is measured against.
ReferenceKind = Literal["optimum", "best-known", "bound"]
#: An instance of at most this many requests is a small one: an exact solver can prove its optimum.
SMALL = 12


@dataclass(frozen=True, slots=True)
class Attacked:
    """Who loses.

    Parameters
    ----------
    kind, name
        A policy or a router, by its name with all parameters (`sorted-f:quantile,sample=512`).
    seed
        Seed that it was run with.
    file, sha256
        For a policy of the user's: the name of its file and the SHA-256 of the text; otherwise None.
    """

    __pydantic_config__ = _STRICT
    kind: Literal["policy", "router"]
    name: _Text
    seed: _Natural = 0
    file: _Text | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


@dataclass(frozen=True, slots=True)
class Starts:
    """A schedule: start of each request, and its worker (None: all on worker 0)."""

    __pydantic_config__ = _STRICT
    start: list[_Start]
    worker: list[_Worker] | None = None

    @classmethod
    def of(cls, schedule: Schedule) -> Starts:
        """The starts of a schedule."""
        alone = not schedule.worker.any()
        return cls(schedule.start.tolist(), None if alone else schedule.worker.tolist())

    @property
    def schedule(self) -> Schedule:
        """The schedule, unchecked."""
        start = np.array(self.start, np.int64)
        return Schedule(start) if self.worker is None else Schedule(start, np.array(self.worker, np.int64))


@dataclass(frozen=True, slots=True)
class Reference:
    """What the policy is measured against.

    Parameters
    ----------
    kind
        `best-known`: `schedule` has TEL `value`, nothing more is said. `optimum`: it is also optimal, by the word of
        `proved_by` or by `certificate`. `bound`: no schedule has a TEL below `value`, by `certificate`.
    value
        TEL of the schedule, or the bound, in steps.
    schedule, certificate
        The evidence; `certificate` is a `kvbound-certificate` document as text.
    proved_by
        Who proved the optimum or the bound, in words; None for `best-known`.
    """

    __pydantic_config__ = _STRICT
    kind: ReferenceKind
    value: _Positive
    schedule: Starts | None = None
    certificate: _Text | None = None
    proved_by: _Text | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """How it was found: program and version, method, seed, evaluations, wall seconds, day (YYYY-MM-DD)."""

    __pydantic_config__ = _STRICT
    by: _Text
    how: _Text
    seed: _Natural
    evaluations: _Natural
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    day: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Parameters
    ----------
    attacked
        Who loses.
    memory, batch
        KV tokens and batch size (None: no cap) of each worker.
    requests
        Rows (count, prompt, output, arrival) of identical requests, in the order of the instance.
    policy, policy_tel
        The attacked policy's schedule and its TEL.
    reference
        What it is measured against.
    ratio
        policy_tel / reference value as a fraction in lowest terms, such as `7/3`.
    found
        How it was found.
    """

    __pydantic_config__ = _STRICT
    format: Literal["kvbound-record"]
    schema_version: Literal[1]
    attacked: Attacked
    memory: Annotated[list[Annotated[int, Field(ge=1, le=MAX_MEMORY)]], Field(min_length=1)]
    batch: list[Annotated[int, Field(ge=1, lt=NO_CAP)] | None]
    requests: Annotated[list[_Row], Field(min_length=1)]
    policy: Starts
    policy_tel: _Positive
    reference: Reference
    ratio: Annotated[str, Field(pattern=r"^[1-9]\d*/[1-9]\d*$")]
    found: Finding

    @property
    def problem(self) -> Problem:
        """The instance (`InputError` when it is none)."""
        requests = expand(self.groups)
        return Problem(requests, Fleet(tuple(self.memory), tuple(self.batch)), name=f"record of {self.attacked.name}")

    @property
    def groups(self) -> tuple[Group, ...]:
        """The requests as groups."""
        return tuple(Group(*row) for row in self.requests)

    @property
    def n(self) -> int:
        """Number of requests."""
        return sum(row[0] for row in self.requests)

    @property
    def value(self) -> Fraction:
        """The ratio."""
        return Fraction(self.ratio)

    @property
    def certificate(self) -> Certificate | None:
        """The certificate, unverified (`CertificateError`)."""
        text = self.reference.certificate
        return None if text is None else certificate_from_json(text, f"record of {self.attacked.name}")

    @property
    def slot(self) -> str:
        """Its place in the hall of records: policy, size class, and whether the ratio is to a mere bound."""
        kind = "router." if self.attacked.kind == "router" else ""
        size = "small" if self.n <= SMALL else "large"
        measure = ".bound" if self.reference.kind == "bound" else ""
        name = "".join(c if c.isalnum() or c in "-=.," else "-" for c in self.attacked.name)
        return f"{kind}{name}.{size}{measure}"


def make_record(
    problem: Problem, attacked: Attacked, policy: Schedule, policy_tel: int, reference: Reference, found: Finding
) -> Record:
    """A record of `problem`; nothing is verified here (`kvbound.instances.adversarial.verification`)."""
    ratio = Fraction(policy_tel, reference.value)
    return Record(
        "kvbound-record", 1, attacked, list(problem.fleet.memory), list(problem.fleet.batch),
        [(c, s, o, a) for c, s, o, a in grouped(problem.requests)], Starts.of(policy), policy_tel, reference,
        f"{ratio.numerator}/{ratio.denominator}", found,
    )  # fmt: skip


def certificate_text(certificate: Certificate) -> str:
    """A certificate as it stands in a record."""
    return certificate_to_json(certificate).strip()


def record_to_json(record: Record) -> str:
    """The record as one JSON document, one top-level field per line."""
    fields = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in asdict(record).items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def record_from_json(text: str, path: str) -> Record:
    """Read a record; `path` names the file in errors (`InputError`)."""
    try:
        return TypeAdapter(Record).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            raise InputError(f"{path}: not valid JSON ({first['msg']}); is the file cut off?") from None
        where = ".".join(map(str, first["loc"])) or "the document"
        shown = "" if isinstance(first["input"], (dict, list)) else f" ({first['input']!r:.60})"
        message = f"{path}: {where}{shown}: {first['msg']}; expected a record written by `kvbound attack -o`"
        raise InputError(message) from None


def read_record(path: Path | str) -> Record:
    """Read a record file (`InputError`)."""
    return record_from_json(read_text(path), str(path))


def write_record(path: Path | str, record: Record) -> None:
    """Write a record file whole or not at all."""
    write_atomic(path, record_to_json(record))
