"""F(X) = Σ_X o / |X|², the value of a batch in Sorted-F (docs/math.md §7), compared in integers."""

from __future__ import annotations

from numba import njit


@njit(cache=True, inline="always")
def keeps_f(total, count, output):  # type: ignore[no-untyped-def]
    """Whether adding a request of that output length to a batch of `count` with Σo = `total` does not raise F.

    (total + o)/(count + 1)² ≤ total/count², without division; true for the empty batch.
    """
    return (total + output) * count * count <= total * (count + 1) * (count + 1)
