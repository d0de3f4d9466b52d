"""The graph of reductions, paths through it, and `reduce`, which finds and applies one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

import networkx as nx

from kvbound.models.errors import OptionError
from kvbound.reductions.bins import BinsAsWorkers, PaddedBins, TriplesAsBins, TwoBins
from kvbound.reductions.decisions import RewardDecision, TelDecision, UnitTelDecision
from kvbound.reductions.equal_outputs import EqualOutputs
from kvbound.reductions.fleets import HorizonOne, TwoWorkers
from kvbound.reductions.levels import LevelsAsSteps, StepsAsLevels, UnitIsTel
from kvbound.reductions.problems import BinPacking, LevelPacking, Partition, Size, ThreePartition
from kvbound.reductions.reduction import Reduction
from kvbound.reductions.varied_outputs import VariedOutputs

#: Problems by name.
PROBLEMS: dict[str, type[Any]] = {
    p.name: p
    for p in (ThreePartition, Partition, BinPacking, LevelPacking, UnitTelDecision, TelDecision, RewardDecision)
}
#: Reductions by name; of two equally short paths the one whose edges stand first is taken.
REDUCTIONS: dict[str, type[Reduction]] = {
    r.name: r
    for r in (
        EqualOutputs,
        VariedOutputs,
        HorizonOne,
        TriplesAsBins,
        TwoWorkers,
        TwoBins,
        PaddedBins,
        BinsAsWorkers,
        UnitIsTel,
        StepsAsLevels,
        LevelsAsSteps,
    )
}


def graph() -> nx.MultiDiGraph:
    """The problems as nodes (`title`, `question`) and the reductions as edges (key = name, `reduction` = class)."""
    built = nx.MultiDiGraph()
    for name, problem in PROBLEMS.items():
        built.add_node(name, title=problem.title, question=(problem.__doc__ or "").splitlines()[0])
    for name, reduction in REDUCTIONS.items():
        built.add_edge(reduction.source.name, reduction.target.name, key=name, reduction=reduction)
    return built


@dataclass(frozen=True, slots=True)
class Path:
    """Reductions one after another; itself a reduction. Call it with an instance to apply it."""

    steps: tuple[Reduction, ...]

    @property
    def source(self) -> type[Any]:
        """Class of the first problem."""
        return self.steps[0].source

    @property
    def target(self) -> type[Any]:
        """Class of the last problem."""
        return self.steps[-1].target

    def size_bound(self, size: Size) -> Size:
        """The bounds of the steps, one applied to the other: polynomials compose."""
        for step in self.steps:
            size = step.size_bound(size)
        return size

    def __call__(self, instance: Any) -> Reduced:
        """Apply every forward map; `OptionError` when the instance is of another problem."""
        if not isinstance(instance, self.source):
            raise OptionError(f"this path starts at {self.source.name}, not at {type(instance).__name__}")
        stages = [instance]
        for step in self.steps:
            stages.append(step.forward(stages[-1]))
        return Reduced(self, tuple(stages))

    def __str__(self) -> str:
        return f"{self.source.name} " + " ".join(f"—{s.name}→ {s.target.name}" for s in self.steps)


@dataclass(frozen=True, slots=True)
class Reduced:
    """An instance and what it became on a path.

    Parameters
    ----------
    stages
        The instance, each intermediate one, and the last.
    """

    path: Path
    stages: tuple[Any, ...]

    @property
    def source(self) -> Any:
        """The first instance."""
        return self.stages[0]

    @property
    def target(self) -> Any:
        """The last instance."""
        return self.stages[-1]

    @property
    def threshold(self) -> int:
        """The number in the question of the last instance."""
        return self.path.steps[-1].threshold(self.stages[-2])

    @property
    def if_no(self) -> int:
        """The optimum is at least this (for REWARD: at most) when the answer is no."""
        return self.path.steps[-1].if_no(self.stages[-2])

    def back(self, certificate: Any) -> Any:
        """A yes-certificate of the last instance as one of the first; every stage's checker has accepted it."""
        for step, instance in zip(reversed(self.path.steps), reversed(self.stages[:-1]), strict=True):
            certificate = step.back(instance, certificate)
        return certificate

    def lift(self, certificate: Any) -> Any:
        """A yes-certificate of the first instance as one of the last; every stage's checker has accepted it."""
        for step, instance in zip(self.path.steps, self.stages[:-1], strict=True):
            certificate = step.lift(instance, certificate)
        return certificate


@overload
def reduce(source: str, target: str, *, through: Sequence[str] = (), **options: Any) -> Path:
    """From name to name: the path."""


@overload
def reduce(source: Any, target: str, *, through: Sequence[str] = (), **options: Any) -> Reduced:
    """From an instance: the path, applied."""


def reduce(source: Any, target: str, *, through: Sequence[str] = (), **options: Any) -> Path | Reduced:
    """Find the shortest path of reductions to `target`, and apply it when `source` is an instance.

    Parameters
    ----------
    source
        A name in `PROBLEMS`, or an instance of one of them.
    target
        A name in `PROBLEMS`.
    through
        Names of reductions that have to be on the path.
    options
        Parameters of the reductions on it (`length`, `spread`, `extras`).

    Raises
    ------
    OptionError
        Unknown name, no path, or an option that no reduction on the path has.

    Examples
    --------
    >>> print(reduce("three-partition", "tel"))
    three-partition —equal-outputs→ tel
    >>> print(reduce("bin-packing", "tel"))
    bin-packing —padded-bins→ unit-tel —unit-is-tel→ tel
    >>> found = reduce(ThreePartition((6, 7, 7, 6, 6, 8)), "tel", length=2)
    >>> found.threshold, found.target.problem.fleet.memory
    (18, (126,))
    """
    start = source if isinstance(source, str) else _name_of(source)
    for name in (start, target):
        _known(name, PROBLEMS, "problem")
    for name in through:
        _known(name, REDUCTIONS, "reduction")
    chosen = _shortest(start, target, tuple(through))
    used: set[str] = set()
    steps = []
    for reduction in chosen:
        mine = {f.name: options[f.name] for f in fields(reduction) if f.name in options}  # type: ignore[arg-type]
        used |= set(mine)
        steps.append(reduction(**mine))
    unused = sorted(set(options) - used)
    if unused:
        names = " → ".join(r.name for r in chosen)
        raise OptionError(f"no reduction on the path ({names}) takes {', '.join(unused)}")
    path = Path(tuple(steps))
    return path if isinstance(source, str) else path(source)


def _shortest(start: str, target: str, through: tuple[str, ...]) -> tuple[type[Reduction], ...]:
    """The first of the shortest paths, edges in the order of `REDUCTIONS`, that runs through all names wanted."""
    built, order = graph(), list(REDUCTIONS)
    found = [
        tuple(key for _, _, key in path)
        for path in nx.all_simple_edge_paths(built, start, target)
        if set(through) <= {key for _, _, key in path}
    ]
    if start == target or not found:
        wanted = f" through {', '.join(through)}" if through else ""
        raise OptionError(f"there is no path from {start} to {target}{wanted}; `kvbound reduce --list` shows all edges")
    best = min(found, key=lambda keys: (len(keys), [order.index(k) for k in keys]))
    return tuple(REDUCTIONS[key] for key in best)


def _name_of(instance: Any) -> str:
    name = getattr(type(instance), "name", None)
    if not isinstance(name, str) or PROBLEMS.get(name) is not type(instance):
        raise OptionError(f"{type(instance).__name__} is no problem of the graph; known: {', '.join(PROBLEMS)}")
    return name


def _known(name: str, known: dict[str, Any], what: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise OptionError(f"unknown {what} {name!r}: {hint}Known: {', '.join(known)}")
