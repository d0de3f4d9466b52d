"""Predicted output lengths: intervals [l, u] that a policy sees in place of the truth.

Every function returns (low, high), integers of at least 1, each of shape (n,). `interval` and `bins`
always contain the truth (the setting of A_min and A_max); `point` and `lognormal` give one value, which
may be wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kvbound.models.errors import OptionError
from kvbound.models.requests import MAX_TOKENS, IntArray

Intervals = tuple[IntArray, IntArray]


def point(output: IntArray, error: float, rng: np.random.Generator) -> Intervals:
    """Predict ô = o·U(1 − e, 1 + e), rounded; low = high = ô."""
    guess = _tokens(np.rint(output * rng.uniform(1 - _share(error), 1 + error, len(output))))
    return guess, guess


def interval(output: IntArray, error: float, rng: np.random.Generator) -> Intervals:
    """Predict the values that fit a guess g = o·U(1 − e, 1 + e): low = ⌊g/(1 + e)⌋, high = ⌈g/(1 − e)⌉.

    It is the tightest interval known to contain the truth for somebody who sees g and knows e.
    """
    guess = output * rng.uniform(1 - _share(error), 1 + error, len(output))
    # The minimum and maximum repair the last digit of floating point only.
    low = np.minimum(_tokens(np.floor(guess / (1 + error))), output)
    return low, np.maximum(_tokens(np.ceil(guess / (1 - error))), output)


def bins(output: IntArray, width: int) -> Intervals:
    """Predict the bin of `width` tokens that holds the output: 1..w, w+1..2w, …"""
    if not 1 <= width <= MAX_TOKENS:
        raise OptionError(f"bins is {width}; a bin is from 1 to {MAX_TOKENS} tokens wide")
    low = (output - 1) // width * width + 1
    return low, np.minimum(low + width - 1, MAX_TOKENS)


def lognormal(output: IntArray, sigma: float, rng: np.random.Generator) -> Intervals:
    """Predict ô = o·exp(σ·N(0, 1)), rounded; low = high = ô."""
    if not 0 <= sigma <= 10:
        raise OptionError(f"lognormal is {sigma}; sigma goes from 0 to 10")
    guess = _tokens(np.rint(output * np.exp(sigma * rng.standard_normal(len(output)))))
    return guess, guess


def _share(error: float) -> float:
    if not 0 <= error < 1:
        raise OptionError(f"the relative error is {error}; it must be at least 0 and below 1")
    return error


def _tokens(values: npt.NDArray[np.float64]) -> IntArray:
    return np.clip(values, 1, MAX_TOKENS).astype(np.int64)
