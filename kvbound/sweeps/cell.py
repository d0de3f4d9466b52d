"""A cell: one method on one instance. It is known by a hash of everything that its result depends on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from kvbound import __version__

Kind = Literal["policy", "router", "bound", "exact", "search"]
#: What a method may be, in the order in which a sweep runs them on an instance.
KINDS: tuple[Kind, ...] = ("bound", "policy", "router", "search", "exact")

#: How a cell can end. `done` and `declined` are answers; the other three are repeated by `--retry` only.
Status = Literal["done", "declined", "failed", "timeout", "memory"]
STATUSES: tuple[Status, ...] = ("done", "declined", "failed", "timeout", "memory")
ANSWERS: tuple[Status, ...] = ("done", "declined")


@dataclass(frozen=True, slots=True)
class Cell:
    """One task.

    Parameters
    ----------
    source, seed
        Where the instance comes from (any SOURCE of the commands) and the seed of arrivals, noise and the method.
    setting
        What was changed about the source, in the words of the plan: memory, workers, batch, noise, rate, …; for
        people: the key knows the instance by its content.
    instance
        Content hash of requests and fleet (`kvbound.sweeps.content.instance_hash`); "" when it could not be loaded.
    kind, method
        What runs: a policy, a router, a bound method, an exact method, or the policy that a search starts from.
    options
        Options of the method, JSON values only; part of the key.
    version
        Version of kvbound; part of the key.
    """

    source: str
    seed: int
    setting: dict[str, Any]
    instance: str
    kind: Kind
    method: str
    options: dict[str, Any]
    version: str = __version__

    @property
    def key(self) -> str:
        """SHA-256 of instance, method, options, seed and version, as hexadecimal digits."""
        identity: dict[str, Any] = {
            "instance": self.instance,
            "kind": self.kind,
            "method": self.method,
            "options": self.options,
            "seed": self.seed,
            "version": self.version,
        }
        if not self.instance:  # no content to go by: the words have to do
            identity |= {"source": self.source, "setting": self.setting}
        return hashlib.sha256(canonical(identity).encode()).hexdigest()

    @property
    def label(self) -> str:
        """The cell in a few words, for messages."""
        return f"{self.kind} {self.method} on {self.source}, seed {self.seed}"


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a cell gave.

    Parameters
    ----------
    status
        How it ended.
    tel
        TEL of the checked schedule in steps, or None.
    bound, verified
        Lower bound on TEL in steps, or None; whether exact integer arithmetic verified its certificate.
    metrics
        All other figures, JSON values only; the same for the same cell wherever it runs.
    schedule, execution, certificate
        Blobs (`kvbound.sweeps.content`), or None.
    error
        Why it did not end with `done`.
    seconds
        Wall time of the cell.
    started, finished
        UTC, ISO 8601.
    host
        Name of the machine that ran it.
    """

    status: Status
    tel: int | None = None
    bound: int | None = None
    verified: bool | None = None
    metrics: dict[str, Any] | None = None
    schedule: bytes | None = None
    execution: bytes | None = None
    certificate: bytes | None = None
    error: str | None = None
    seconds: float = 0.0
    started: str = ""
    finished: str = ""
    host: str = ""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no blanks: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
