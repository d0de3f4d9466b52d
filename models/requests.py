"""Requests: what arrives, as immutable integer arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kvbound.models.errors import InputError

IntArray = npt.NDArray[np.int64]

#: Longest prompt or output accepted, in tokens. Keeps s·o and all prefix sums inside int64.
MAX_TOKENS = 10**8
#: Latest arrival accepted, in steps.
MAX_ARRIVAL = 10**11


def integer_array(values: npt.ArrayLike | Sequence[Any], name: str, low: int, high: int) -> IntArray:
    """Return `values` as a read-only int64 vector, or raise `InputError` naming the first bad entry.

    Floats are accepted only when they are whole numbers; NaN, infinities and strings are refused.
    """
    raw = np.asarray(values)
    if raw.ndim != 1:
        raise InputError(f"{name}: expected a list of numbers, got an array of shape {raw.shape}")
    if raw.size == 0:
        return _frozen(np.zeros(0, np.int64))
    if raw.dtype == object and all(isinstance(v, (int, np.integer)) for v in raw):
        bad = [i for i, v in enumerate(raw) if not low <= v <= high]
    elif raw.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected integers, got values such as {raw[0]!r}")
    else:
        with np.errstate(invalid="ignore"):
            wrong = ~((raw >= low) & (raw <= high))
            if raw.dtype.kind == "f":
                wrong |= raw != np.floor(raw)
        bad = list(np.flatnonzero(wrong)[:1])
    if bad:
        value = raw[bad[0]]
        raise InputError(f"{name} of request {bad[0]} is {value}; it must be an integer from {low} to {high}")
    return _frozen(raw.astype(np.int64))


def _frozen(array: IntArray) -> IntArray:
    array = np.ascontiguousarray(array)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def volume(prompt: IntArray, output: IntArray) -> IntArray:
    """v = s·o + o(o+1)/2, the memory-time of a request in token-steps (docs/math.md §5.1); arrays of one shape."""
    return prompt * output + output * (output + 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Requests j = 0..n-1 (docs/math.md §1).

    Parameters
    ----------
    prompt
        s_j ≥ 0, prompt (prefill) tokens, shape (n,).
    output
        o_j ≥ 1, output (decode) tokens, shape (n,). Truth: policies that predict never read it.
    arrival
        a_j ≥ 0, first step at whose end the request may start; default all 0 (a backlog).
    predicted_low, predicted_high
        Interval [l_j, u_j] of output lengths that a policy may see, or None when lengths are known.
    predicted
        One value within the interval for policies that want one, or None: then it is the middle (`point`).

    Raises
    ------
    InputError
        A value is negative, fractional, not finite or beyond `MAX_TOKENS` / `MAX_ARRIVAL`; lengths differ.
    """

    prompt: IntArray
    output: IntArray
    arrival: IntArray = field(default=None)  # type: ignore[arg-type]  # filled in __post_init__
    predicted_low: IntArray | None = None
    predicted_high: IntArray | None = None
    predicted: IntArray | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "prompt", integer_array(self.prompt, "prompt", 0, MAX_TOKENS))
        put(self, "output", integer_array(self.output, "output", 1, MAX_TOKENS))
        arrival = np.zeros(len(self.prompt), np.int64) if self.arrival is None else self.arrival
        put(self, "arrival", integer_array(arrival, "arrival", 0, MAX_ARRIVAL))
        if (self.predicted_low is None) != (self.predicted_high is None):
            raise InputError("predictions need both ends of the interval, predicted_low and predicted_high")
        if self.predicted is not None and self.predicted_low is None:
            raise InputError("predicted needs an interval around it; give predicted_low and predicted_high, too")
        for name in ("predicted_low", "predicted_high", "predicted"):
            if getattr(self, name) is not None:
                put(self, name, integer_array(getattr(self, name), name, 1, MAX_TOKENS))
        for name in ("output", "arrival", "predicted_low", "predicted_high", "predicted"):
            value = getattr(self, name)
            if value is not None and len(value) != len(self.prompt):
                raise InputError(f"{len(self.prompt)} prompts but {len(value)} values of {name}")
        if self.predicted_low is not None and self.predicted_high is not None:
            crossed = np.flatnonzero(self.predicted_low > self.predicted_high)
            if crossed.size:
                raise InputError(f"request {crossed[0]}: predicted_low exceeds predicted_high")
            if self.predicted is not None:
                out = np.flatnonzero((self.predicted < self.predicted_low) | (self.predicted > self.predicted_high))
                if out.size:
                    raise InputError(f"request {out[0]}: predicted lies outside predicted_low and predicted_high")

    def __len__(self) -> int:
        return len(self.prompt)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Requests):
            return NotImplemented
        names = ("prompt", "output", "arrival", "predicted_low", "predicted_high", "predicted")
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((self.prompt.tobytes(), self.output.tobytes(), self.arrival.tobytes()))

    @property
    def peak(self) -> IntArray:
        """p_j = s_j + o_j, the tokens held in the last active step; shape (n,)."""
        return self.prompt + self.output

    @property
    def volume(self) -> IntArray:
        """v_j = s_j·o_j + o_j(o_j+1)/2, memory-time in token-steps (docs/math.md §5.1); shape (n,)."""
        return volume(self.prompt, self.output)

    @property
    def point(self) -> IntArray | None:
        """The predicted value: `predicted`, or the middle of the interval, rounded up; None when lengths are known."""
        if self.predicted is not None or self.predicted_low is None or self.predicted_high is None:
            return self.predicted
        return (self.predicted_low + self.predicted_high + 1) // 2

    def take(self, index: npt.ArrayLike) -> Requests:
        """Return the requests at `index` (positions or a boolean mask), in that order."""
        pick = np.asarray(index)
        predictions = (self.predicted_low, self.predicted_high, self.predicted)
        return Requests(
            self.prompt[pick],
            self.output[pick],
            self.arrival[pick],
            *(None if values is None else values[pick] for values in predictions),
        )


def _same(a: IntArray | None, b: IntArray | None) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)
