"""What a relaxation does not see: it starts long requests first because fractions of others fit beside them."""

from __future__ import annotations

import math
from fractions import Fraction

from kvbound.instances.adversarial.families.base import Family, Member, memory, schedule, serial, stack, triangle
from kvbound.instances.parameters import Parameter


def delay(large: int, memory: int, *longs: int) -> Fraction:
    """Σ over steps of the backlog of k × (M − 1, 1) beside requests (0, o) started at 0, less that without them.

    In step t each long one holds t tokens until it completes, so the rest of the memory is for fractions of large ones.
    """
    total, served, t = Fraction(0), Fraction(0), 0
    while served < large:
        t += 1
        held = t * sum(t <= output for output in longs)
        served = min(Fraction(large), served + 1 - Fraction(held, memory))
        total += min(large, t) - served
    return total


def sorted_lp(memory: int, large: int | None = None) -> Member:
    """One (0, M) and `large` × (M − 1, 1): the mean start in the LP puts the long one among the first; Ω(√M).

    The integral optimum serves the k large ones first: TEL* ≤ k(k + 1)/2 + k + M. *The LP does not.* Let D be the mean
    start of the long one in an optimal solution of the LP. The large ones have peak M, so at most 1 of them is served
    per step: the sum of their mean starts is at least k(k − 1)/2, and the LP is worth at least D more than that
    (besides Σ o). The solution with the long one at 0 and fractions of the large ones in what it leaves free costs at
    most Δ = `delay` more than k(k − 1)/2, so D ≤ Δ, where Δ ≈ k³/(6M). Any i large ones have mean starts of at least
    i(i − 1)/2 in sum, so at most 2D + 1 of them have a mean start ≤ D; all the others come after the long one and wait
    for M steps:

        TEL(Sorted-LP) ≥ k(k + 1)/2 + M + (k − ⌊2Δ + 1⌋)·M .

    With k = √(2M): Δ ≈ k/3, and the ratio is at least about k/3·M/(2M) = √(2M)/6. Measured it is about √(M/2): the LP
    starts the long one at 0. Sorted-F and LP-Swap do not fall for it.
    """
    k = round(math.sqrt(2 * memory)) if large is None else large
    before = min(k, int(2 * delay(k, memory, memory) + 1))
    return Member(
        stack((1, 0, memory), (k, memory - 1, 1)),
        memory,
        schedule([k], serial(0, 1, k)),
        triangle(k) + k + memory,
        triangle(k) + memory + (k - before) * memory,
        exact=False,
    )


def lp_swap(memory: int, large: int | None = None) -> Member:
    """Two long requests that hold on to one another in the swap search, and `large` × (M − 1, 1): Ω(√M) for LP-Swap.

    Long are (0, a) and (0, b) with a = ⌈M/4⌉ and b = M − a ≤ 3a. Each has the larger F by itself, F = a or b, and
    together (a + b)/4 ≤ a. No large one fits beside either, so from {a, b} no add and no exchange is possible, and a
    drop would not lower F: a local optimum, though a large one alone has F = 1. A batch starts from the order of
    Sorted-LP, so it is {a, b} as soon as a long one is the first of what remains. By the argument of `sorted_lp`, with
    Δ for both at 0, the mean starts of the two add up to at most Δ, so at most ⌊Δ + 1⌋ large ones come before the first
    of them, and

        TEL(LP-Swap) ≥ k(k + 1)/2 + a + b + (k − ⌊Δ + 1⌋)·b ,

    while the large ones first cost k(k + 1)/2 + 2k + M. With k = √(2M): Δ ≈ 2k/3 (k of the order of √M ≪ a), so the
    ratio is at least about k/3·(3M/4)/(2M) = √(2M)/8; measured it is about 0.5·√M.
    """
    k = round(math.sqrt(2 * memory)) if large is None else large
    short = -(-memory // 4)
    long = memory - short
    before = min(k, int(delay(k, memory, short, long) + 1))
    return Member(
        stack((1, 0, short), (1, 0, long), (k, memory - 1, 1)),
        memory,
        schedule([k, k], serial(0, 1, k)),
        triangle(k) + 2 * k + memory,
        triangle(k) + memory + (k - before) * long,
        exact=False,
    )


FAMILIES = (
    Family(
        "sorted-lp",
        "a long request that a relaxation starts first, as fractions of the large short ones fit beside it",
        ("sorted-lp",),
        "≥ √(2M)/6; measured √(M/2)",
        (memory(196, 2), Parameter("large", "int", None, "number k of requests (M − 1, 1) (default √(2M))", 1, 10**5)),
        sorted_lp,
    ),
    Family(
        "lp-swap",
        "two long requests that a relaxation starts first and that the swap search does not part",
        ("lp-swap",),
        "≥ √(2M)/8; measured ≈ 0.5·√M",
        (memory(196, 8), Parameter("large", "int", None, "number k of requests (M − 1, 1) (default √(2M))", 1, 10**5)),
        lp_swap,
    ),
)
