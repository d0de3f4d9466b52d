"""What a family of bad instances is, and the arithmetic that its members share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from kvbound.instances.parameters import Parameter
from kvbound.models.errors import OptionError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One instance of a family, with what is proved about it.

    Parameters
    ----------
    requests, memory, workers
        The instance: KV tokens of each of the workers.
    reference
        A schedule that is better than the policy's; the checker has to agree, nobody takes it on trust.
    reference_tel
        Its TEL in steps by the closed form of the family.
    policy_tel
        TEL in steps of the policies that the family hurts, by the closed form; None: there is none, run them.
    exact
        Whether `policy_tel` is their TEL; False: a proved lower bound on it.
    """

    requests: Requests
    memory: int
    reference: Schedule
    reference_tel: int
    policy_tel: int | None
    exact: bool = True
    workers: int = 1

    def problem(self, name: str) -> Problem:
        """The instance as a problem."""
        return Problem(self.requests, Fleet.uniform(self.memory, self.workers), name=name)

    @property
    def ratio(self) -> Fraction:
        """The ratio that the closed forms prove: a lower bound on TEL(policy) / TEL*; 1 without a closed form."""
        return Fraction(1) if self.policy_tel is None else Fraction(self.policy_tel, self.reference_tel)


@dataclass(frozen=True, slots=True)
class Family:
    """A named, parametrised family.

    Parameters
    ----------
    name, summary
        For the command line.
    hurts
        Policies or routers for which the closed form holds, by their names in kvbound.
    growth
        What the ratio does along the family, as a formula.
    parameters
        What `family:NAME,parameter=value` accepts.
    build
        Function of the parameter values, by name; raises `OptionError` naming the parameter that is out of range.
    """

    name: str
    summary: str
    hurts: tuple[str, ...]
    growth: str
    parameters: tuple[Parameter, ...]
    build: Callable[..., Member]


def stack(*groups: tuple[int, int, int]) -> Requests:
    """Requests from (number, prompt, output) triples, in that order, all at step 0."""
    count, prompt, output = (np.array(column, dtype=np.int64) for column in zip(*groups, strict=True))
    return Requests(np.repeat(prompt, count), np.repeat(output, count))


def waves(n: int, width: int) -> int:
    """Σ_{i=1..n} ⌈i/width⌉: the sum of the numbers of the waves when n requests go `width` at a time."""
    full, rest = divmod(n, width)
    return width * full * (full + 1) // 2 + rest * (full + 1)


def triangle(n: int) -> int:
    """1 + 2 + … + n."""
    return n * (n + 1) // 2


def together(prompt: int, output: int, width: int, gap: int, most: int | None = None) -> int:
    """Most tokens held when `width` identical requests start every `gap` steps, in the long run.

    At a completion the active waves have the ages o, o − gap, …; usage is largest there (docs/math.md §1). `most`
    limits the number of waves.
    """
    active = (output - 1) // gap + 1
    if most is not None:
        active = min(active, most)
    return width * (active * (prompt + output) - gap * active * (active - 1) // 2)


def conveyor(n: int, prompt: int, output: int, memory: int) -> tuple[int, int]:
    """The (width, gap) with the least TEL of n identical requests when `width` start every `gap` steps within memory.

    All of them at once, and waiting for each wave to complete, are among the choices.
    """
    best, chosen = None, (1, output)
    for width in range(1, memory // (prompt + output) + 1):
        low, high = 1, output
        while low < high:
            middle = (low + high) // 2
            if together(prompt, output, width, middle, -(-n // width)) <= memory:
                high = middle
            else:
                low = middle + 1
        cost = low * (waves(n, width) - n)
        if best is None or cost < best:
            best, chosen = cost, (width, low)
        if width >= n:
            break
    return chosen


def conveyor_starts(n: int, width: int, gap: int) -> npt.NDArray[np.int64]:
    """Starts of n requests, `width` at a time, every `gap` steps; shape (n,)."""
    return np.arange(n, dtype=np.int64) // width * gap


def conveyor_tel(n: int, output: int, width: int, gap: int) -> int:
    """TEL of n requests of that output length on a conveyor."""
    return n * output + gap * (waves(n, width) - n)


def schedule(*starts: Sequence[int] | npt.NDArray[np.int64]) -> Schedule:
    """A schedule on one worker from the starts of the groups, in the order of `stack`."""
    return Schedule(np.concatenate([np.asarray(part, dtype=np.int64) for part in starts]))


def serial(first: int, length: int, n: int) -> npt.NDArray[np.int64]:
    """Starts of n requests one after another, `length` steps each; shape (n,)."""
    return first + length * np.arange(n, dtype=np.int64)


def require(good: bool, message: str) -> None:
    """Refuse parameters: raise `OptionError` with `message` unless `good`."""
    if not good:
        raise OptionError(message)


#: The KV memory, a parameter of most families.
def memory(default: int, low: int) -> Parameter:
    """Parameter `memory` with the least value for which the family is defined."""
    return Parameter("memory", "int", default, "KV memory M in tokens", low, 10**7)
