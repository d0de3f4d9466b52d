"""What a relaxation does not see: Sorted-LP starts a long request first because fractions of others fit beside it."""

from __future__ import annotations

import math
from fractions import Fraction

from kvbound.instances.adversarial.families.base import Family, Member, memory, schedule, serial, stack, triangle
from kvbound.instances.parameters import Parameter


def delay(large: int, memory: int) -> Fraction:
    """Σ over steps of the backlog of k × (M − 1, 1) beside one (0, M) started at 0, minus the backlog without it.

    In step t the long one holds t tokens, so at most 1 − t/M of the large ones run, in fractions.
    """
    total, served, t = Fraction(0), Fraction(0), 0
    while served < large:
        t += 1
        beside = Fraction(t, memory) if t <= memory else Fraction(0)
        served = min(Fraction(large), served + 1 - beside)
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
    before = min(k, int(2 * delay(k, memory) + 1))
    return Member(
        stack((1, 0, memory), (k, memory - 1, 1)),
        memory,
        schedule([k], serial(0, 1, k)),
        triangle(k) + k + memory,
        triangle(k) + memory + (k - before) * memory,
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
)
