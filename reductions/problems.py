"""The number problems among the nodes: 3-Partition, Partition, bin packing, bin packing with level sums.

An instance is a decision problem with its question in the class docstring; a *yes-certificate* is data that makes
"yes" evident, and `verify` is the checker that accepts it or says what is wrong (`CertificateError`). No solver here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kvbound.models.errors import CertificateError, InputError

#: m triples of indices into the numbers.
Triples = tuple[tuple[int, ...], ...]
#: Bin (from 0) or level (from 1) of each item; for Partition the side, 0 or 1, of each number.
Assignment = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """How large an instance is: how many numbers its lists hold, and the largest number anywhere in it.

    An edge's `size_bound` is polynomial in both, so an edge also reduces instances written in unary: strong
    NP-hardness travels along it.
    """

    items: int
    largest: int


@dataclass(frozen=True, slots=True)
class ThreePartition:
    """Can 3m integers a_i with sum mB and B/4 < a_i < B/2 be cut into m triples of sum B each?

    NP-complete in the strong sense (Garey and Johnson, 1979, problem SP15). A certificate is m triples of indices.

    Parameters
    ----------
    numbers
        The a_i.
    target
        B; default Σ a_i / m.

    Raises
    ------
    InputError
        The count is not a multiple of three, the sum is not mB, or a number lies outside (B/4, B/2).
    """

    numbers: tuple[int, ...]
    target: int = 0

    name: ClassVar[str] = "three-partition"
    title: ClassVar[str] = "3-Partition"

    def __post_init__(self) -> None:
        numbers = whole_numbers(self.numbers, "number", 1)
        object.__setattr__(self, "numbers", numbers)
        n = len(numbers)
        if n == 0 or n % 3:
            raise InputError(f"the count is {n}; 3-Partition needs 3m numbers, a positive multiple of three")
        m, total = n // 3, sum(numbers)
        if self.target == 0:
            if total % m:
                raise InputError(f"the sum is {total}, not mB: it is no multiple of m = {m}, so no triples are equal")
            object.__setattr__(self, "target", total // m)
        if total != m * self.target:
            raise InputError(f"the sum is {total}, not mB = {m}·{self.target} = {m * self.target}")
        for i, a in enumerate(numbers):
            if not self.target < 4 * a or not 2 * a < self.target:
                raise InputError(
                    f"number {i} is {a}, outside (B/4, B/2) = ({self.target / 4:g}, {self.target / 2:g}) for "
                    f"B = {self.target}: a set of sum B could have another size than three"
                )

    @property
    def m(self) -> int:
        """Number of triples."""
        return len(self.numbers) // 3

    @property
    def size(self) -> Size:
        """3m numbers, none larger than B."""
        return Size(len(self.numbers), self.target)

    def verify(self, certificate: Sequence[Sequence[int]]) -> None:
        """Accept m disjoint triples of indices that sum to B each, or raise `CertificateError`."""
        if len(certificate) != self.m:
            raise CertificateError(f"{len(certificate)} triples; there have to be m = {self.m}")
        used: set[int] = set()
        for triple in certificate:
            if len(triple) != 3:
                raise CertificateError(f"{tuple(triple)} has {len(triple)} members, not three")
            for i in triple:
                if not 0 <= i < len(self.numbers) or i in used:
                    raise CertificateError(f"number {i} does not exist or stands in two triples")
                used.add(i)
            total = sum(self.numbers[i] for i in triple)
            if total != self.target:
                raise CertificateError(f"the triple {tuple(triple)} sums to {total}, not B = {self.target}")


@dataclass(frozen=True, slots=True)
class Partition:
    """Can integers a_i ≥ 1 with sum 2S be split into two halves of sum S each?

    NP-complete, though not strongly (SP12). A certificate names the side, 0 or 1, of each number.

    Raises
    ------
    InputError
        There is no number, one is below 1, or the sum is odd.
    """

    numbers: tuple[int, ...]

    name: ClassVar[str] = "partition"
    title: ClassVar[str] = "Partition"

    def __post_init__(self) -> None:
        numbers = whole_numbers(self.numbers, "number", 1)
        object.__setattr__(self, "numbers", numbers)
        if not numbers:
            raise InputError("there is no number to split")
        if sum(numbers) % 2:
            raise InputError(f"the sum is {sum(numbers)}, an odd number: it has no halves")

    @property
    def half(self) -> int:
        """S, the sum of each side."""
        return sum(self.numbers) // 2

    @property
    def size(self) -> Size:
        """n numbers, none larger than 2S."""
        return Size(len(self.numbers), 2 * self.half)

    def verify(self, certificate: Sequence[int]) -> None:
        """Accept one side per number such that both sides sum to S, or raise `CertificateError`."""
        if len(certificate) != len(self.numbers) or set(certificate) - {0, 1}:
            raise CertificateError(f"a split names the side, 0 or 1, of each of {len(self.numbers)} numbers")
        left = sum(a for a, side in zip(self.numbers, certificate, strict=True) if side == 0)
        if left != self.half:
            raise CertificateError(
                f"side 0 sums to {left}, side 1 to {2 * self.half - left}; each has to be {self.half}"
            )


@dataclass(frozen=True, slots=True)
class BinPacking:
    """Do items of sizes w_i fit into k bins of capacity W?

    NP-complete in the strong sense (SR1). A certificate names the bin, 0..k−1, of each item.

    Raises
    ------
    InputError
        No item, no bin, or an item larger than a bin.
    """

    sizes: tuple[int, ...]
    capacity: int
    bins: int

    name: ClassVar[str] = "bin-packing"
    title: ClassVar[str] = "bin packing"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", item_sizes(self.sizes, self.capacity))
        if self.bins < 1:
            raise InputError(f"bins is {self.bins}; there has to be at least one")

    @property
    def threshold(self) -> int:
        """k, the number of bins."""
        return self.bins

    @property
    def size(self) -> Size:
        """n items; the numbers are the sizes, W and k."""
        return Size(len(self.sizes), max(self.capacity, self.bins))

    def verify(self, certificate: Sequence[int]) -> None:
        """Accept one bin per item that overfills none, or raise `CertificateError`."""
        if len(certificate) != len(self.sizes):
            raise CertificateError(f"{len(certificate)} bins are named for {len(self.sizes)} items")
        for i, b in enumerate(certificate):
            if not 0 <= b < self.bins:
                raise CertificateError(f"item {i} is in bin {b}; there are the bins 0..{self.bins - 1}")
        overfull(self.sizes, self.capacity, certificate)


@dataclass(frozen=True, slots=True)
class LevelPacking:
    """Can items be packed into bins 1, 2, 3, … of capacity W so that the bin numbers sum to at most `budget`?

    A certificate names the level (bin number, from 1) of each item.

    Raises
    ------
    InputError
        No item, or an item larger than a bin.
    """

    sizes: tuple[int, ...]
    capacity: int
    budget: int

    name: ClassVar[str] = "level-packing"
    title: ClassVar[str] = "bin packing with level sums"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", item_sizes(self.sizes, self.capacity))

    @property
    def threshold(self) -> int:
        """The budget of the level sum."""
        return self.budget

    @property
    def size(self) -> Size:
        """n items; the numbers are the sizes, W and the budget."""
        return Size(len(self.sizes), max(self.capacity, self.budget))

    def verify(self, certificate: Sequence[int]) -> None:
        """Accept one level per item that overfills none and sums to at most the budget, or raise."""
        if len(certificate) != len(self.sizes) or any(level < 1 for level in certificate):
            raise CertificateError(f"a packing names a level of at least 1 for each of {len(self.sizes)} items")
        overfull(self.sizes, self.capacity, certificate)
        if sum(certificate) > self.budget:
            raise CertificateError(f"the levels sum to {sum(certificate)}, more than {self.budget}")


def whole_numbers(values: Sequence[int], what: str, low: int) -> tuple[int, ...]:
    """Return `values` as a tuple, or raise `InputError` naming the first that is no integer of at least `low`."""
    for i, value in enumerate(values):
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError(f"{what} {i} is {value!r}, not an integer")
        if value < low:
            raise InputError(f"{what} {i} is {value}; it has to be at least {low}")
    return tuple(values)


def item_sizes(values: Sequence[int], capacity: int) -> tuple[int, ...]:
    """Item sizes from 1 to `capacity`, at least one, or `InputError`."""
    sizes = whole_numbers(values, "item", 1)
    if not sizes:
        raise InputError("there is no item to pack")
    for i, w in enumerate(sizes):
        if w > capacity:
            raise InputError(f"item {i} has size {w}, more than the capacity {capacity}: it fits into no bin")
    return sizes


def overfull(sizes: Sequence[int], capacity: int, bins: Sequence[int]) -> None:
    """Raise `CertificateError` naming the first bin whose items exceed the capacity."""
    filled: dict[int, int] = {}
    for w, b in zip(sizes, bins, strict=True):
        filled[b] = filled.get(b, 0) + w
    for b in sorted(filled):
        if filled[b] > capacity:
            raise CertificateError(f"bin {b} holds {filled[b]}, more than its capacity {capacity}")
