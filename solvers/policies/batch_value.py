"""F(X) = Σ_X o / |X|², the value of a batch in Sorted-F (docs/math.md §7), compared in integers."""

from __future__ import annotations

from numba import njit


@njit(cache=True, inline="always")
def no_worse(total, count, other_total, other_count):  # type: ignore[no-untyped-def]
    """Whether Σo = `total` over `count` requests has an F at most that of the other batch; an empty one has none.

    total/count² ≤ other/other_count², without division.
    """
    return total * other_count * other_count <= other_total * count * count


@njit(cache=True, inline="always")
def keeps_f(total, count, output):  # type: ignore[no-untyped-def]
    """Whether adding a request of that output length to a batch of `count` with Σo = `total` does not raise F.

    True for the empty batch.
    """
    return no_worse(total + output, count + 1, total, count)
