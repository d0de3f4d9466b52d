"""Our own exact 3-Partition solver: the largest number first, its two partners by value, states remembered."""

from __future__ import annotations

from collections import Counter

from kvbound.models.errors import SizeError
from kvbound.reductions.problems import ThreePartition, Triples

#: Most triples that the search takes on; beyond, the number of states may explode.
MOST_TRIPLES = 6


def three_partition(instance: ThreePartition, most: int = MOST_TRIPLES) -> Triples | None:
    """Return triples of sum B, or None when there are none (a proof by exhaustion).

    The largest number left has to be in some triple; every pair of values that completes it is tried. What can
    still happen depends on the multiset of numbers left only, so a multiset that failed is never searched again.
    Equal numbers are interchangeable, so values are counted, not indices.

    Raises
    ------
    SizeError
        More than `most` triples.
    """
    if instance.m > most:
        raise SizeError(f"the exhaustive search takes at most m = {most} triples, not {instance.m}; use CP-SAT")
    values = sorted(set(instance.numbers), reverse=True)
    count = Counter(instance.numbers)
    failed: set[tuple[int, ...]] = set()
    chosen: list[tuple[int, int, int]] = []

    def search() -> bool:
        left = tuple(count[v] for v in values)
        if not any(left):
            return True
        if left in failed:
            return False
        a = next(v for v, c in zip(values, left, strict=True) if c)
        count[a] -= 1
        for b in values:
            c = instance.target - a - b
            if c > b or not count[b]:
                continue  # b ≥ c: each pair once
            count[b] -= 1
            if count[c] > 0:
                count[c] -= 1
                chosen.append((a, b, c))
                if search():
                    return True
                chosen.pop()
                count[c] += 1
            count[b] += 1
        count[a] += 1
        failed.add(left)
        return False

    return with_indices(instance, chosen) if search() else None


def with_indices(instance: ThreePartition, triples: list[tuple[int, int, int]]) -> Triples:
    """Triples of values as triples of indices, ascending, checked."""
    places: dict[int, list[int]] = {}
    for i, a in enumerate(instance.numbers):
        places.setdefault(a, []).append(i)
    indices = tuple(sorted(tuple(sorted(places[v].pop() for v in triple)) for triple in triples))
    instance.verify(indices)
    return indices
