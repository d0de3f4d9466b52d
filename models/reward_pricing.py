"""The best start of each request under prices when starts earn rewards: margin = reward − price × footprint.

The price of a start is `kvbound.models.pricing.start_price`, the reward `kvbound.models.reward.earned`; this module
only walks over the starts (docs/math.md §6). Prices lie at steps up to the horizon, which cuts footprints there.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from numba import njit

from kvbound.models.pricing import Layout, start_price
from kvbound.models.requests import IntArray
from kvbound.models.reward import Reward, earned


@njit(cache=True)
def _best(output, arrival, unit, scaled, ptr, lo, hi, a, b, scale, base, ticks, lam, the, value, start):  # type: ignore[no-untyped-def]
    for j in range(len(output)):
        for k in range(arrival[j], scaled[0]):
            flat = unit * earned(k, output[j], arrival[j], scaled)
            if flat <= value[j]:
                break  # prices are ≥ 0 and rewards never rise, so no later start is better
            price = start_price(ptr[j], ptr[j + 1], k + output[j], lo, hi, a, b, scale, base, ticks, lam, the)
            if flat - price > value[j]:
                value[j] = flat - price
                start[j] = k


def raise_margins(
    layout: Layout,
    reward: Reward,
    output: IntArray,
    arrival: IntArray,
    unit: Any,
    lam: npt.NDArray[Any],
    the: npt.NDArray[Any],
    value: npt.NDArray[Any],
    start: IntArray,
) -> None:
    """Raise `value` to max over k of unit·r_jk − price (in units of 1 / denominator of the weights), in place.

    `value` comes in as what is in hand: 0 for a request that may stay unserved, or its best margin on other workers.
    `start` becomes the first best start where `value` rose. `unit` is 1.0 in float methods and the denominator D in
    certificates; dtype follows `lam`.
    """
    _best(
        output,
        arrival,
        lam.dtype.type(unit),
        reward.scaled,
        *layout.arrays,
        lam,
        the,
        value,
        start,
    )
