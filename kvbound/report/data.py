"""What a report shows, whatever file it came from: instances, lines, proofs, fronts, prices, origins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Instance:
    """What was scheduled; `key` tells instances apart (a content hash or a fingerprint)."""

    key: str
    name: str
    n: int
    memory: str
    workers: int
    batch: str
    origin: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One method on one instance.

    Parameters
    ----------
    instance
        Key of the instance.
    kind
        `policy`, `router`, `search`, `exact` or `schedule` (read from a file).
    method, options, seed
        What ran; seed None where the file does not say.
    status
        `done`, `declined`, `failed`, `timeout`, `memory` or `invalid`.
    tel, mean_eel
        In steps; None when there is none. Routers over several seeds have a mean EEL only.
    seconds
        Wall time, or None.
    figures
        Other figures by name, as in docs/routing.md; a share is a number from 0 to 1.
    eel_gap, reward_gap
        As the file states them (routing); TEL lines get theirs from the proofs.
    error
        Why it is not `done`.
    draw
        Loads the problem and the checked schedule, or None when the file holds none.
    """

    instance: str
    kind: str
    method: str
    options: str = ""
    seed: int | None = None
    status: str = "done"
    tel: int | None = None
    mean_eel: float | None = None
    seconds: float | None = None
    figures: dict[str, float | None] = field(default_factory=dict)
    eel_gap: float | None = None
    reward_gap: float | None = None
    error: str | None = None
    draw: Callable[[], tuple[Problem, Schedule]] | None = None

    @property
    def label(self) -> str:
        """The method as tables and pictures name it."""
        named = self.kind in ("policy", "router", "schedule") or self.method in ("exact", "best known")
        return self.method if named else f"{self.kind} {self.method}"


@dataclass(frozen=True, slots=True)
class Proof:
    """A bound on one instance.

    Parameters
    ----------
    instance, method, options, seed
        As in `Line`.
    value
        The bound, None when the method proved nothing.
    unit
        `TEL`, `mean EEL` (both from below) or `reward` (from above).
    verified
        Whether exact integer arithmetic confirmed a certificate; False: the prover's claim.
    evidence
        What stands behind it, in words.
    seconds
        Wall time, or None.
    """

    instance: str
    method: str
    value: float | None
    verified: bool
    evidence: str
    unit: str = "TEL"
    options: str = ""
    seed: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FrontData:
    """A Pareto front: as `kvbound.Front`, with what it was drawn for."""

    title: str
    ends: tuple[str, str]
    axes: tuple[str, str]
    points: list[dict[str, Any]]
    baselines: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class PriceData:
    """Prices of one router run: `step` (m), `ahead` (a), `price` [kind][resource][m][a], `waiting` (m), and shares."""

    title: str
    router: str
    step: list[float]
    ahead: list[float]
    price: list[list[list[list[float]]]]
    waiting: list[float]
    binds: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where results came from: one file, or one sweep in a file; `facts` are pairs of a name and a text."""

    title: str
    facts: tuple[tuple[str, str], ...]
    plan: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything that was read. Lists are filled by the readers and read by the page."""

    instances: dict[str, Instance] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    fronts: list[FrontData] = field(default_factory=list)
    prices: list[PriceData] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def best_proofs(self) -> dict[str, Proof]:
        """Instance -> the proof on TEL that ratios are measured against: the strongest verified, else the strongest."""
        best: dict[str, Proof] = {}
        for proof in self.proofs:
            if proof.unit != "TEL" or proof.value is None or proof.value <= 0:
                continue
            held = best.get(proof.instance)
            if held is None or (proof.verified, proof.value) > (held.verified, held.value or 0):
                best[proof.instance] = proof
        return best


def ratio_of(line: Line, best: dict[str, Proof]) -> float | None:
    """TEL / bound, at most this many times the optimum; of routers mean EEL / bound. None without both."""
    proof = best.get(line.instance)
    if line.tel is not None and proof is not None and proof.value:
        return line.tel / proof.value
    return None if line.eel_gap is None else 1 + line.eel_gap


def certified_by(line: Line, best: dict[str, Proof]) -> str:
    """How the ratio of a line was certified, in words."""
    if ratio_of(line, best) is None:
        return "no bound"
    proof = best.get(line.instance)
    if line.tel is None or proof is None:
        return "certificate verified"
    return "certificate verified" if proof.verified else "prover's claim"
