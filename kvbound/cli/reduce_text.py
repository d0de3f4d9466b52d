"""What `kvbound reduce` prints: instances, proofs, answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvbound.checkers import check
from kvbound.decision import Decided
from kvbound.instances import read_schedule
from kvbound.models.errors import KvboundError
from kvbound.reductions import PROBLEMS, REDUCTIONS, Reduced, RewardDecision, TelDecision, ThreePartition
from kvbound.reductions.graph import Path as Way

#: Most requests or items that are printed one by one.
MOST_SHOWN = 60


def graph_json() -> dict[str, Any]:
    """All problems and reductions."""
    problems = [
        {"name": name, "title": p.title, "question": (p.__doc__ or "").splitlines()[0]} for name, p in PROBLEMS.items()
    ]
    reductions = [
        {"name": name, "source": r.source.name, "target": r.target.name, "statement": r().statement, "proof": r().proof}
        for name, r in REDUCTIONS.items()
    ]
    return {"problems": problems, "reductions": reductions}


def proofs(path: Way) -> list[str]:
    """Statement and proof of each reduction on the path."""
    lines = [str(path), ""]
    for step in path.steps:
        lines += [f"[{step.name}] {step.proof}", ""]
    return lines


def proofs_json(path: Way) -> dict[str, Any]:
    """The same for machines."""
    return {"path": [{"name": s.name, "target": s.target.name, "proof": s.proof} for s in path.steps]}


#: What a yes of the source says.
_YES = {
    "three-partition": "the numbers can be cut into m triples of sum B",
    "partition": "the numbers can be split into two halves of equal sum",
    "bin-packing": "the items fit into the bins",
    "level-packing": "the items can be packed within the budget",
    "unit-tel": "the requests can be scheduled within the threshold",
}


def question(reduced: Reduced) -> tuple[str, str, str]:
    """(the question, what yes means, what no means) in words."""
    target, threshold, if_no = reduced.target, reduced.threshold, reduced.if_no
    if isinstance(target, TelDecision):
        goal, shows, no = f"TEL ≤ {threshold:,}", "schedule with TEL", f"every schedule has TEL ≥ {if_no:,}"
        goal_value = f"≤ {if_no - 1:,}"
    elif isinstance(target, RewardDecision):
        goal, shows, no = f"reward ≥ {threshold:,}", "schedule with a reward", f"none earns more than {if_no:,}"
        goal_value = f"≥ {threshold:,}"
    elif target.name == "bin-packing":
        goal, shows, no = f"do {threshold:,} bins suffice", "packing into", f"at least {if_no:,} bins are needed"
        goal_value = f"{threshold:,} bins"
    else:
        goal, shows, no = f"level sum ≤ {threshold:,}", "packing with level sum", f"every level sum is ≥ {if_no:,}"
        goal_value = f"≤ {threshold:,}"
    return goal, f"{_YES[reduced.source.name]}; any {shows} {goal_value} shows how", f"it cannot be done; {no}"


def reduced_json(reduced: Reduced) -> dict[str, Any]:
    """Source, path, target and threshold."""
    goal, yes, no = question(reduced)
    return {
        "problem": reduced.source.name,
        "numbers": _numbers(reduced.source),
        "path": [step.name for step in reduced.path.steps],
        "target": reduced.target.name,
        "question": goal,
        "threshold": reduced.threshold,
        "if_no": reduced.if_no,
        "yes": yes,
        "no": no,
        "instance": _target_json(reduced.target),
    }


def instance_lines(reduced: Reduced) -> list[str]:
    """Source, instance, threshold and what yes and no mean."""
    goal, yes, no = question(reduced)
    return [
        f"{reduced.source.title}: {describe(reduced.source)}",
        f"path: {reduced.path}",
        *_target_lines(reduced.target),
        f"question: {goal}?",
        f"  yes: {yes}",
        f"  no:  {no}",
    ]


def describe(instance: Any) -> str:
    """A number problem in one line."""
    shown = _shorten(_numbers(instance) or [])
    if isinstance(instance, ThreePartition):
        return f"{shown} into m = {instance.m} triples of sum B = {instance.target}"
    keys = [("capacity", "capacity"), ("bins", "bins"), ("budget", "budget"), ("half", "half")]
    return ", ".join([shown, *(f"{word} {getattr(instance, key)}" for key, word in keys if hasattr(instance, key))])


def _numbers(instance: Any) -> list[int] | None:
    for name in ("numbers", "sizes"):
        if hasattr(instance, name):
            return list(getattr(instance, name))
    return None


def _target_json(target: Any) -> dict[str, Any]:
    if not isinstance(target, (TelDecision, RewardDecision)):
        return {name: getattr(target, name) for name in type(target).__slots__} | {"sizes": list(target.sizes)}
    problem = target.problem
    return {
        "name": problem.name,
        "objective": problem.objective.name,
        "n": problem.n,
        "memory": problem.fleet.memory[0],
        "workers": len(problem.fleet),
        "prompt": problem.requests.prompt.tolist(),
        "output": problem.requests.output.tolist(),
        "fingerprint": problem.fingerprint(),
    }


def _target_lines(target: Any) -> list[str]:
    if not isinstance(target, (TelDecision, RewardDecision)):
        return [f"{target.title}: {describe(target)}"]
    problem = target.problem
    horizon = "" if problem.objective.horizon is None else f", horizon {problem.objective.horizon}"
    return [
        f"{target.title}: n = {problem.n}, M = {problem.fleet.memory[0]:,}, {len(problem.fleet)} worker(s){horizon}",
        f"  prompt {_shorten(problem.requests.prompt.tolist())}",
        f"  output {_shorten(problem.requests.output.tolist())}",
    ]


def _shorten(values: Sequence[int]) -> str:
    shown = ",".join(map(str, values[:MOST_SHOWN]))
    return shown if len(values) <= MOST_SHOWN else f"{shown},… ({len(values)} in all)"


def certificate_json(source: Any, certificate: Any) -> dict[str, Any]:
    """A certificate of the source: for 3-Partition as triples of numbers and of indices, else by item."""
    if not isinstance(source, ThreePartition):
        return {"certificate": None if certificate is None else list(certificate)}
    if certificate is None:
        return {"triples": None, "indices": None}
    triples = [[source.numbers[i] for i in triple] for triple in certificate]
    return {"triples": triples, "indices": [list(triple) for triple in certificate]}


def certificate_lines(source: Any, certificate: Any) -> list[str]:
    """The same for people."""
    if not isinstance(source, ThreePartition):
        what = "side" if source.name == "partition" else "level" if source.name == "level-packing" else "bin"
        return [f"{what} of each number: {_shorten(list(certificate))}"]
    sums = [" + ".join(str(source.numbers[i]) for i in triple) for triple in certificate]
    return [
        f"  {total} = {source.target}   (numbers {', '.join(map(str, t))})"
        for total, t in zip(sums, certificate, strict=True)
    ]


def decided_json(decided: Decided) -> dict[str, Any]:
    """The answer; the keys of the instance are added by the caller."""
    schedule = decided.schedule
    is_tel = isinstance(decided.reduced.target, TelDecision)
    return {
        "answer": decided.answer,
        **certificate_json(decided.reduced.source, decided.certificate),
        "threshold": decided.reduced.threshold,
        "tel": decided.value if is_tel else None,
        "reward": None if is_tel else decided.value,
        "bound": decided.bound,
        "decided_by": decided.decided_by or None,
        "interrupted": decided.interrupted,
        "seconds": decided.seconds,
        "schedule": None
        if schedule is None
        else {"start": schedule.start.tolist(), "worker": schedule.worker.tolist()},
    }


def decided_lines(decided: Decided) -> list[str]:
    """The answer for people."""
    what = "TEL" if isinstance(decided.reduced.target, TelDecision) else "reward"
    have = "no schedule" if decided.value is None else f"{what} {decided.value:,}"
    limit = "no bound" if decided.bound is None else f"bound {decided.bound:,}"
    who = f"decided by the {decided.decided_by}" if decided.decided_by else "a limit came first"
    lines = [f"answer: {decided.answer} ({who}; {decided.seconds:.2f} s)", f"  {have}, {limit}"]
    if decided.certificate is not None:
        lines += certificate_lines(decided.reduced.source, decided.certificate)
    return lines


@dataclass(frozen=True, slots=True)
class Mapped:
    """A user's schedule, mapped back or not: what to print, and whether it was accepted."""

    document: dict[str, Any]
    lines: list[str]
    accepted: bool


def map_back(reduced: Reduced, path: Path) -> Mapped:
    """Judge a user's schedule of the last instance and map it back to the first."""
    target = reduced.target
    if not isinstance(target, (TelDecision, RewardDecision)):
        raise KvboundError(f"{target.name} has no schedules to map back; reduce to tel or reward")
    schedule = read_schedule(path, target.problem)
    report = check(target.problem, schedule)
    is_tel = isinstance(target, TelDecision)
    value = None if report.objective is None else report.objective if is_tel else -report.objective
    document: dict[str, Any] = {
        "answer": "unknown",
        "threshold": reduced.threshold,
        "tel": value if is_tel else None,
        "reward": None if is_tel else value,
        "violations": [v.message for v in report.violations],
    }
    if value is None:
        lines = [f"{path}: the schedule is not valid:", *(f"  {v.message}" for v in report.violations[:10])]
        return Mapped({**document, **certificate_json(reduced.source, None)}, lines, False)
    name = "TEL" if is_tel else "reward"
    try:
        certificate = reduced.back(schedule)
    except KvboundError as error:
        lines = [f"{path}: valid, {name} {value:,}, but no yes-certificate: {error}"]
        return Mapped({**document, **certificate_json(reduced.source, None)}, lines, False)
    document |= {"answer": "yes", **certificate_json(reduced.source, certificate)}
    lines = [f"{path}: valid, {name} {value:,}: the answer is yes"]
    return Mapped(document, [*lines, *certificate_lines(reduced.source, certificate)], True)
