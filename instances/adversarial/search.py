"""Seeded search for a bad instance: small populations evolve, coordinates polish the best, then a new start.

The search knows neither policies nor solvers: it is handed callables and makes their quotient large. What it does
depends on its seed and the number of evaluations only; its whole state is plain data, so that it can be stopped
after any evaluation and taken up again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from kvbound.instances.adversarial.groups import Group, Groups, Space
from kvbound.instances.adversarial.moves import crossed, mutated, neighbours
from kvbound.models.errors import InputError
from kvbound.models.problem import Problem

#: Objective of the attacked policy on an instance; None when it declines.
PolicyValue = Callable[[Problem], "int | None"]
#: Objective of something better, or a bound below everything.
ReferenceValue = Callable[[Problem], int]

#: Instances alive at once.
POPULATION = 10
#: A population ends after so many evaluations, × (1 + log2 n), without a better best instance.
STALL = 120
#: Best instances kept for new starts.
ELITES = 6
#: Every third start is made of the elites, the others are random.
_FROM_ELITES = 3
#: A quick reference may be this much too large: an instance is only dropped when its ratio is smaller by more.
_SLACK = 1.05
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """An instance with the objective of the policy and of the reference."""

    groups: Groups
    policy: int
    reference: int

    @property
    def ratio(self) -> Fraction:
        """policy / reference, exactly."""
        return Fraction(self.policy, self.reference)

    @property
    def score(self) -> float:
        """The ratio as a number."""
        return self.policy / self.reference


@dataclass(frozen=True, slots=True)
class Sides:
    """The two callables that are compared.

    Parameters
    ----------
    policy, reference
        What is attacked, and what it is measured against.
    screen
        A quicker, never better reference that decides which instances are worth the real one; None: none.
    """

    policy: PolicyValue
    reference: ReferenceValue
    screen: ReferenceValue | None = None


class Island:
    """One search. A working state: `advance` changes it, `state` writes it down."""

    __slots__ = (
        "_memory",
        "_rng",
        "best",
        "elites",
        "evaluations",
        "life",
        "phase",
        "polish",
        "population",
        "quiet",
        "seed",
        "space",
    )  # fmt: skip

    def __init__(self, space: Space, seed: tuple[int, ...]) -> None:
        self.space, self.seed = space, seed
        self._rng = np.random.default_rng(seed)
        self.evaluations = self.life = self.quiet = 0
        self.phase = "evolve"
        self.population: list[Found] = []
        self.elites: list[Found] = []
        self.best: Found | None = None
        #: Where the coordinate search stands: next neighbour, neighbours without success, score at its start.
        self.polish: tuple[int, float] = (0, 0.0)
        self._memory: dict[Groups, tuple[int | None, int | None, int | None]] = {}

    def advance(self, sides: Sides, evaluations: int, stop: Callable[[], bool] = lambda: False) -> None:
        """Go on until `evaluations` have been made in all, or `stop` says so."""
        while self.evaluations < evaluations and not stop():
            self._step(sides)

    def _step(self, sides: Sides) -> None:
        """One evaluation."""
        if self.phase == "polish":
            self._polish(sides)
        elif len(self.population) < POPULATION:
            groups = self._fresh()
            found = self._evaluate(sides, groups, 0.0)
            if found is not None:
                self.population.append(found)
                self._note(found)
        else:
            self._evolve(sides)

    def _fresh(self) -> Groups:
        if self.elites and self.life % _FROM_ELITES == _FROM_ELITES - 1:
            parent = self.elites[int(self._rng.integers(len(self.elites)))].groups
            for _ in range(3):
                parent = mutated(parent, self.space, self._rng)
            return parent
        return self.space.random(self._rng)

    def _evolve(self, sides: Sides) -> None:
        rng, alive = self._rng, self.population
        parent = self._tournament()
        if rng.random() < 0.1:
            child = crossed(parent.groups, self._tournament().groups, self.space, rng)
        else:
            child = mutated(parent.groups, self.space, rng)
        worst = min(range(len(alive)), key=lambda i: alive[i].score)
        top = max(found.score for found in alive)
        found = self._evaluate(sides, child, alive[worst].score)
        self.quiet += 1
        if found is not None and found.score >= alive[worst].score and all(child != f.groups for f in alive):
            alive[worst] = found
            self._note(found)
            if found.score > top * (1 + 1e-9):
                self.quiet = 0
        if self.quiet > self._stall():
            self.phase = "polish"
            self.population.sort(key=lambda f: (-f.score, f.groups))
            self.polish = (0, self.population[0].score)

    def _stall(self) -> int:
        return int(STALL * (1 + np.log2(self.space.n)))

    def _tournament(self) -> Found:
        picks = self._rng.integers(len(self.population), size=2)
        return max((self.population[int(i)] for i in picks), key=lambda f: f.score)

    def _polish(self, sides: Sides) -> None:
        """Try the next neighbour of the best; start over from a better one; end when none is better."""
        cursor, before = self.polish
        at = self.population[0]
        neighbour = next(islice(neighbours(at.groups, self.space), cursor, None), None)
        if neighbour is None:
            if at.score > before * (1 + 1e-4):  # a better place: evolve from there once more
                self.phase, self.quiet = "evolve", 0
                return
            self._next_life(at)
            return
        found = self._evaluate(sides, neighbour, at.score) if neighbour != at.groups else None
        if found is not None and found.score > at.score * (1 + 1e-12):
            self.population[0] = found
            self._note(found)
            self.polish = (0, before)
        else:
            self.polish = (cursor + 1, before)

    def _next_life(self, end: Found) -> None:
        known = [f for f in self.elites if f.groups != end.groups]
        self.elites = sorted([*known, end], key=lambda f: (-f.score, f.groups))[:ELITES]
        self.life += 1
        self.phase, self.quiet, self.population = "evolve", 0, []

    def _note(self, found: Found) -> None:
        if self.best is None or found.ratio > self.best.ratio:
            self.best = found

    def _evaluate(self, sides: Sides, groups: Groups, wanted: float) -> Found | None:
        """The instance with its values, or None when the policy declines or the ratio stays clearly below `wanted`."""
        self.evaluations += 1
        problem: Problem | None = None
        known = self._memory.get(groups)
        if known is None:
            if len(self._memory) >= _REMEMBERED:
                self._memory.clear()
            problem = self.space.problem(groups)
            known = self._memory[groups] = (sides.policy(problem), None, None)
        policy, screen, reference = known
        if policy is None:
            return None
        if sides.screen is not None:
            if screen is None:
                problem = problem or self.space.problem(groups)
                screen = sides.screen(problem)
                self._memory[groups] = (policy, screen, reference)
            if policy * _SLACK < wanted * screen:
                return None
        if reference is None:
            reference = sides.reference(problem or self.space.problem(groups))
            self._memory[groups] = (policy, screen, reference)
        return Found(groups, policy, reference)

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the search depends on, as plain data for JSON."""
        return {
            "seed": list(self.seed),
            "rng": self._rng.bit_generator.state,
            "evaluations": self.evaluations,
            "life": self.life,
            "quiet": self.quiet,
            "phase": self.phase,
            "polish": list(self.polish),
            "population": [_written(f) for f in self.population],
            "elites": [_written(f) for f in self.elites],
            "best": None if self.best is None else _written(self.best),
        }

    @classmethod
    def of_state(cls, space: Space, state: dict[str, Any]) -> Island:
        """Undo `state`; `InputError` when something is missing or malformed."""
        try:
            island = cls(space, tuple(int(k) for k in state["seed"]))
            island._rng.bit_generator.state = state["rng"]
            island.evaluations, island.life = int(state["evaluations"]), int(state["life"])
            island.quiet, island.phase = int(state["quiet"]), str(state["phase"])
            island.polish = (int(state["polish"][0]), float(state["polish"][1]))
            island.population = [_read(f) for f in state["population"]]
            island.elites = [_read(f) for f in state["elites"]]
            island.best = None if state["best"] is None else _read(state["best"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"the state of the search is damaged ({type(error).__name__}: {error})") from None
        return island


def _written(found: Found) -> list[Any]:
    return [[list(group) for group in found.groups], found.policy, found.reference]


def _read(row: list[Any]) -> Found:
    groups, policy, reference = row
    return Found(tuple(Group(*map(int, group)) for group in groups), int(policy), int(reference))
