"""The objective REWARD (docs/math.md §1): at most one start per request within a horizon, rewards to be maximised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from kvbound.models.errors import InputError, OptionError
from kvbound.models.requests import MAX_ARRIVAL, IntArray, Requests

#: Largest weight, and largest common denominator of the weights: keeps every reward inside int64.
_MOST_WEIGHT, _MOST_DENOMINATOR = 10**4, 10**4


@dataclass(frozen=True, slots=True)
class Reward:
    """Reward of serving requests within the horizon H, as a linear objective over starts.

    Started at k < H, request j earns

        σ + α·min(o_j, H−k) + β·max(0, H−k−o_j) + γ·max(0, H−k−1) + ζ1·1[k+o_j−a_j < τ1] + ζ2·1[k+1−a_j < τ2] .

    Footprints are cut at H: nothing is held after step H. Weights are integers or fractions, never floats; all
    rewards are kept as integers in units of 1 / `denominator`. To fit `Objective`, a start *costs* minus its reward.

    Parameters
    ----------
    horizon
        H ≥ 1, steps.
    token, eel, ttft
        α, β, γ: per token made, per step of EEL saved, per step of TTFT saved.
    served
        σ, per request served.
    eel_tail, ttft_tail
        ζ1, ζ2: for an EEL below `eel_limit`, a TTFT below `ttft_limit`.
    eel_limit, ttft_limit
        τ1, τ2 ≥ 0, steps.

    Raises
    ------
    InputError, OptionError
        A weight is negative, a float or too large; the horizon or a limit is out of range.
    """

    horizon: int
    token: Fraction | int = 0
    eel: Fraction | int = 0
    ttft: Fraction | int = 0
    served: Fraction | int = 0
    eel_tail: Fraction | int = 0
    ttft_tail: Fraction | int = 0
    eel_limit: int = 0
    ttft_limit: int = 0

    name: ClassVar[str] = "reward"
    serve_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field, low in (("horizon", 1), ("eel_limit", 0), ("ttft_limit", 0)):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= MAX_ARRIVAL:
                raise InputError(f"{field} is {value!r}; it must be a whole number of steps from {low} on")
        for field, value in zip(_WEIGHTS, self.weights, strict=True):
            if not isinstance(value, (int, Fraction)) or isinstance(value, bool):
                raise InputError(f"the weight {field} is {value!r}; give an integer or a fraction such as 1/2")
            if not 0 <= value <= _MOST_WEIGHT:
                raise InputError(f"the weight {field} is {value}; it must be from 0 to {_MOST_WEIGHT}")
        if self.denominator > _MOST_DENOMINATOR:
            raise InputError(f"the weights have the common denominator {self.denominator}; use simpler fractions")
        if sum(self.weights) * self.denominator * self.horizon >= 1 << 60:
            raise InputError(
                f"rewards over {self.horizon} steps leave 64 bits; use smaller weights or a shorter horizon"
            )

    @classmethod
    def preset(cls, name: str, horizon: int, *, eel_limit: int = 0, ttft_limit: int = 0) -> Reward:
        """Weights by name: `average` (EEL and TTFT saved), `tail` (both indicators) or `throughput` (tokens)."""
        if name not in PRESETS:
            raise OptionError(f"unknown weights {name!r}; known: {', '.join(PRESETS)}")
        return cls(horizon, *PRESETS[name], eel_limit=eel_limit, ttft_limit=ttft_limit)

    @property
    def weights(self) -> tuple[Fraction | int, ...]:
        """(α, β, γ, σ, ζ1, ζ2)."""
        return (self.token, self.eel, self.ttft, self.served, self.eel_tail, self.ttft_tail)

    @property
    def identity(self) -> str:
        """Name and all parameters: part of a problem's fingerprint."""
        weights = ",".join(str(Fraction(w)) for w in self.weights)
        return f"reward:{self.horizon}:{weights}:{self.eel_limit}:{self.ttft_limit}"

    @property
    def denominator(self) -> int:
        """Common denominator of the weights: `reward` counts in units of 1 / denominator."""
        return math.lcm(*(Fraction(w).denominator for w in self.weights))

    @property
    def scaled(self) -> tuple[int, ...]:
        """(H, α, β, γ, σ, ζ1, ζ2, τ1, τ2) with the weights times `denominator`: what `earned` takes."""
        weights = (int(w * self.denominator) for w in self.weights)
        return (self.horizon, *weights, self.eel_limit, self.ttft_limit)

    @classmethod
    def from_identity(cls, identity: str) -> Reward:
        """The objective that `identity` names; `InputError` when it names none."""
        try:
            _, horizon, listed, eel_limit, ttft_limit = identity.split(":")
            token, eel, ttft, served, eel_tail, ttft_tail = (Fraction(w) for w in listed.split(","))
            limits = int(eel_limit), int(ttft_limit)
            found = cls(int(horizon), token, eel, ttft, served, eel_tail, ttft_tail, *limits)
        except (ValueError, ZeroDivisionError):
            found = None
        if found is None or found.identity != identity:
            raise InputError(f"{identity!r} names no reward")
        return found

    def reward(self, requests: Requests, request: npt.ArrayLike, start: npt.ArrayLike) -> IntArray:
        """denominator · r_{jk} of starting `request` at step `start` (arrays broadcast together); 0 from H on."""
        j, k = np.broadcast_arrays(np.asarray(request, np.int64), np.asarray(start, np.int64))
        out = np.empty(j.shape, np.int64)
        _earned_each(k.ravel(), requests.output[j].ravel(), requests.arrival[j].ravel(), self.scaled, out.reshape(-1))
        return out

    def start_cost(self, requests: Requests, request: npt.ArrayLike, start: npt.ArrayLike) -> IntArray:
        """−denominator · r_{jk}: minimising the cost maximises the reward."""
        return -self.reward(requests, request, start)


@njit(cache=True, inline="always")
def earned(start, output, arrival, scaled):  # type: ignore[no-untyped-def]
    """The formula of `Reward` for one start before the horizon; `scaled` is `Reward.scaled`.

    It never rises with the start: a search for the best start may stop when it alone falls below what is in hand.
    """
    horizon, token, eel, ttft, served, eel_tail, ttft_tail, eel_limit, ttft_limit = scaled
    left = horizon - start  # steps left from the start on
    total = served + token * min(output, left) + eel * max(0, left - output) + ttft * max(0, left - 1)
    if start + output - arrival < eel_limit:
        total += eel_tail
    if start + 1 - arrival < ttft_limit:
        total += ttft_tail
    return total


@njit(cache=True)
def _earned_each(start, output, arrival, scaled, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = earned(start[i], output[i], arrival[i], scaled) if start[i] < scaled[0] else 0


_WEIGHTS = ("token", "eel", "ttft", "served", "eel_tail", "ttft_tail")

#: (α, β, γ, σ, ζ1, ζ2) by name; `average` and `tail` after Chen, Ye and Zhou, arXiv 2607.03948.
PRESETS: dict[str, tuple[int, int, int, int, int, int]] = {
    "average": (0, 1, 1, 0, 0, 0),
    "tail": (0, 0, 0, 0, 1, 1),
    "throughput": (1, 0, 0, 0, 0, 0),
}
