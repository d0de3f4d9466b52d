"""What a search changes: groups of identical requests, in the order in which they stand in the instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests

#: Shortest prompt that a search makes: a request without a prompt is no request.
LEAST_PROMPT = 1


class Group(NamedTuple):
    """`count` identical requests: prompt s, output o, arrival a."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    prompt: int
    output: int
    arrival: int = 0


#: An instance as the search sees it. Order matters: policies break ties by index.
Groups = tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """Where a search may look.

    Parameters
    ----------
    n
        Most requests.
    memory, workers, batch
        KV tokens and batch size of each worker, and their number.
    latest
        Latest arrival, in steps; 0 is a backlog.
    """

    n: int
    memory: int
    workers: int = 1
    batch: int | None = None
    latest: int = 0

    def __post_init__(self) -> None:
        if self.n < 1:
            raise OptionError(f"n is {self.n}; an instance needs at least one request")
        if self.memory < LEAST_PROMPT + 1:
            raise OptionError(f"memory is {self.memory}; a request needs at least {LEAST_PROMPT + 1} tokens")

    @property
    def fleet(self) -> Fleet:
        """The workers."""
        return Fleet.uniform(self.memory, self.workers, self.batch)

    def problem(self, groups: Groups, name: str = "attack") -> Problem:
        """The instance that `groups` stand for."""
        return Problem(expand(groups), self.fleet, name=name)

    def repaired(self, groups: Sequence[Group]) -> Groups:
        """`groups` with every value brought into its range and n kept by shortening the largest groups.

        Neighbours that are equal become one group.
        """
        inside: list[Group] = []
        for count, prompt, output, arrival in groups:
            if count < 1:
                continue
            s = min(max(prompt, LEAST_PROMPT), self.memory - 1)
            o = min(max(output, 1), self.memory - s)
            group = Group(min(count, self.n), s, o, min(max(arrival, 0), self.latest))
            if inside and inside[-1][1:] == group[1:]:
                group = group._replace(count=min(group.count + inside.pop().count, self.n))
            inside.append(group)
        while (excess := size(inside) - self.n) > 0:
            i = max(range(len(inside)), key=lambda k: inside[k].count)
            left = inside[i].count - max(1, min(excess, inside[i].count // 2))
            if left >= 1:
                inside[i] = inside[i]._replace(count=left)
            else:
                del inside[-1]
        return tuple(inside) or (Group(1, LEAST_PROMPT, 1),)

    def random(self, rng: np.random.Generator) -> Groups:
        """A random instance of one to five groups; values plain or on a logarithmic scale."""
        number = int(rng.integers(1, 6))
        return self.repaired([self.random_group(rng) for _ in range(number)])

    def random_group(self, rng: np.random.Generator) -> Group:
        """A random group."""
        count = spread(rng, 1, self.n)
        prompt = spread(rng, LEAST_PROMPT, self.memory - 1)
        output = spread(rng, 1, self.memory - prompt)
        arrival = spread(rng, 0, self.latest) if self.latest and rng.random() < 0.7 else 0
        return Group(count, prompt, output, arrival)


def spread(rng: np.random.Generator, low: int, high: int) -> int:
    """A random integer from low to high: plain, or small, or close to the upper end, each on a logarithmic scale."""
    if high <= low:
        return low
    kind = rng.random()
    if kind < 0.3:
        return int(rng.integers(low, high + 1))
    distance = min(int(np.exp(rng.random() * np.log(high - low + 2))) - 1, high - low)
    return low + distance if kind < 0.75 else high - distance


def size(groups: Iterable[Group]) -> int:
    """Number of requests."""
    return sum(group.count for group in groups)


def expand(groups: Groups) -> Requests:
    """The requests, group after group."""
    table = np.array(groups, np.int64)
    return Requests(*(np.repeat(table[:, c], table[:, 0]) for c in (1, 2, 3)))


def grouped(requests: Requests) -> Groups:
    """The runs of identical requests, in order; undoes `expand`."""
    found: list[Group] = []
    rows = zip(requests.prompt.tolist(), requests.output.tolist(), requests.arrival.tolist(), strict=True)
    for prompt, output, arrival in rows:
        if found and found[-1][1:] == (prompt, output, arrival):
            found[-1] = found[-1]._replace(count=found[-1].count + 1)
        else:
            found.append(Group(1, prompt, output, arrival))
    return tuple(found)


def shown(groups: Iterable[Group]) -> str:
    """For people: `2 × (1, 35), 51 × (1, 1)`, with arrivals where they are not 0."""
    parts = (f"{c} × ({s}, {o}{f', at {a}' if a else ''})" for c, s, o, a in groups)
    return ", ".join(parts)
