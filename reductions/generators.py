"""3-Partition instances with a known answer: planted yes, certified no, near misses. Same seed, same instance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kvbound.models.errors import InputError, SizeError
from kvbound.reductions.problems import ThreePartition, Triples
from kvbound.reductions.three_partition_search import MOST_TRIPLES, three_partition

#: A certifier: triples, None for a proved "no"; raises `SizeError` when it cannot tell.
Certifier = Callable[[ThreePartition], Triples | None]
#: Draws before a generator gives up.
DRAWS = 200
#: Seeds of the three kinds never meet.
_YES, _NO, _NEAR = 1, 2, 3


def planted_yes(m: int, target: int, seed: int) -> tuple[ThreePartition, Triples]:
    """A yes-instance of m triples of sum `target`, with the triples that were planted (they need not be the only ones).

    Each triple is uniform among the ordered triples (a, b, c) with B/4 < a, b, c < B/2; then all are shuffled.
    """
    return _planted(m, target, np.random.default_rng([seed, _YES]))


def certified_no(m: int, target: int, seed: int, certify: Certifier = three_partition) -> ThreePartition:
    """A no-instance: independent uniform numbers, corrected to the sum mB, drawn until `certify` proves "no".

    The default certifier takes m ≤ 6; beyond, hand in one by CP-SAT
    (`kvbound.solvers.exact.three_partition`, or `kvbound.hard_instance`, which does it).

    Raises
    ------
    SizeError
        m is beyond the certifier, or no draw could be certified: with many small numbers nearly all are yes.
    """
    rng = np.random.default_rng([seed, _NO])
    return _first_no(m, target, certify, lambda: _random(m, target, rng))


def near_miss(m: int, target: int, seed: int, certify: Certifier = three_partition) -> ThreePartition:
    """A no-instance one step away from a yes: a planted instance, one number raised by 1 and one lowered by 1.

    Drawn until `certify` proves "no"; raises as `certified_no`.
    """
    rng = np.random.default_rng([seed, _NEAR])

    def draw() -> tuple[int, ...] | None:
        numbers = list(_planted(m, target, rng)[0].numbers)
        i, j = (int(x) for x in rng.permutation(3 * m)[:2])
        numbers[i] += 1
        numbers[j] -= 1
        return tuple(numbers) if 2 * numbers[i] < target < 4 * numbers[j] else None

    return _first_no(m, target, certify, draw)


def _first_no(m: int, target: int, certify: Certifier, draw: Callable[[], tuple[int, ...] | None]) -> ThreePartition:
    _range(m, target)
    if certify is three_partition and m > MOST_TRIPLES:
        raise SizeError(f"our own search certifies up to m = {MOST_TRIPLES}, not {m}; hand in a certifier by CP-SAT")
    for _ in range(DRAWS):
        numbers = draw()
        if numbers is not None:
            instance = ThreePartition(numbers, target)
            if certify(instance) is None:
                return instance
    raise SizeError(
        f"none of {DRAWS} draws with m = {m}, B = {target} was a no: with so many numbers from so few values nearly "
        f"every instance is a yes; take a larger target"
    )


def _range(m: int, target: int) -> tuple[int, int]:
    """Smallest and largest number strictly inside (B/4, B/2); `InputError` when no triple of them sums to B."""
    if m < 1:
        raise InputError(f"m is {m}; there has to be at least one triple")
    low, high = target // 4 + 1, (target - 1) // 2
    if not 3 * low <= target <= 3 * high:
        raise InputError(f"no three numbers strictly between B/4 and B/2 sum to B = {target}; take another target")
    return low, high


def _planted(m: int, target: int, rng: np.random.Generator) -> tuple[ThreePartition, Triples]:
    low, high = _range(m, target)
    triples: list[tuple[int, int, int]] = []
    while len(triples) < m:
        a, b = (int(x) for x in rng.integers(low, high + 1, 2))
        if low <= target - a - b <= high:
            triples.append((a, b, target - a - b))
    flat = [a for triple in triples for a in triple]
    place = rng.permutation(3 * m)  # number i of the instance is flat[place[i]]
    where = np.argsort(place)
    planted = tuple(tuple(sorted(int(where[3 * t + x]) for x in range(3))) for t in range(m))
    return ThreePartition(tuple(flat[p] for p in place), target), planted


def _random(m: int, target: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Uniform numbers, then single steps at random places until the sum is mB."""
    low, high = _range(m, target)
    numbers = [int(a) for a in rng.integers(low, high + 1, 3 * m)]
    missing = m * target - sum(numbers)
    while missing:
        i, step = int(rng.integers(3 * m)), 1 if missing > 0 else -1
        if low <= numbers[i] + step <= high:
            numbers[i] += step
            missing -= step
    return tuple(numbers)
