"""Predicted output lengths: what a policy sees in place of the truth.

Every function returns (low, high, value), integers of at least 1, each of shape (n,); a value of None is the middle
of the interval. `interval` and `bins` always contain the truth (the setting of A_min and A_max); `point` and
`lognormal` give one value, low = high, which may be wrong.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kvbound.models.errors import InputError, OptionError
from kvbound.models.problem import Problem
from kvbound.models.requests import MAX_TOKENS, IntArray, Requests

Predicted = tuple[IntArray, IntArray, IntArray | None]

#: Noise models by the name they have in source strings and after `--noise`.
NOISE = ("noise", "point", "bins", "lognormal")


def point(output: IntArray, error: float, rng: np.random.Generator) -> Predicted:
    """Predict ô = o·U(1 − e, 1 + e), rounded; low = high = ô."""
    guess = _tokens(np.rint(output * rng.uniform(1 - _share(error), 1 + error, len(output))))
    return guess, guess, None


def interval(output: IntArray, error: float, rng: np.random.Generator) -> Predicted:
    """Predict a guess g = o·U(1 − e, 1 + e) and the values that fit it: low = ⌊g/(1 + e)⌋, high = ⌈g/(1 − e)⌉.

    It is the tightest interval known to contain the truth for somebody who sees g and knows e.
    """
    guess = output * rng.uniform(1 - _share(error), 1 + error, len(output))
    # The minimum and maximum repair the last digit of floating point only.
    low = np.minimum(_tokens(np.floor(guess / (1 + error))), output)
    high = np.maximum(_tokens(np.ceil(guess / (1 - error))), output)
    return low, high, np.clip(_tokens(np.rint(guess)), low, high)


def bins(output: IntArray, width: int) -> Predicted:
    """Predict the bin of `width` tokens that holds the output: 1..w, w+1..2w, …"""
    if not 1 <= width <= MAX_TOKENS:
        raise OptionError(f"bins is {width}; a bin is from 1 to {MAX_TOKENS} tokens wide")
    low = (output - 1) // width * width + 1
    return low, np.minimum(low + width - 1, MAX_TOKENS), None


def lognormal(output: IntArray, sigma: float, rng: np.random.Generator) -> Predicted:
    """Predict ô = o·exp(σ·N(0, 1)), rounded; low = high = ô."""
    if not 0 <= sigma <= 10:
        raise OptionError(f"lognormal is {sigma}; sigma goes from 0 to 10")
    guess = _tokens(np.rint(output * np.exp(sigma * rng.standard_normal(len(output)))))
    return guess, guess, None


def predict(output: IntArray, model: str, value: float, rng: np.random.Generator) -> Predicted:
    """Predictions of the noise model named (`NOISE`) with its parameter."""
    match model:
        case "noise":
            return interval(output, value, rng)
        case "point":
            return point(output, value, rng)
        case "bins":
            return bins(output, int(value))
        case "lognormal":
            return lognormal(output, value, rng)
    raise OptionError(f"unknown noise model {model!r}; known are {', '.join(NOISE)}")


def prediction_stream(seed: int) -> np.random.Generator:
    """Random numbers for predictions, beside those of lengths and arrivals: default_rng(seed) never meets them."""
    return np.random.default_rng([seed, 2])


def with_predictions(problem: Problem, noise: str, seed: int) -> Problem:
    """Return `problem` with predicted output lengths in place of known ones.

    Parameters
    ----------
    noise
        `0.2` or `noise=0.2`, `point=0.2`, `bins=64`, `lognormal=0.5`, as in source strings.
    seed
        Seed of the noise. A generator's own predictions come from its own seed in the same way.

    Raises
    ------
    OptionError
        An unknown model or a value out of its limits.
    """
    model, sign, text = noise.strip().rpartition("=")
    model = model.strip() if sign else "noise"
    number = r"\d{1,9}" if model == "bins" else r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?"
    if model not in NOISE or not re.fullmatch(number, text.strip(), re.ASCII):
        raise OptionError(
            f"noise {noise!r} is not a noise model; write 0.2 or noise=0.2 (a guess off by up to 20 %, its interval), "
            "point=0.2 (the guess alone), bins=64 (the bin of 64 tokens) or lognormal=0.5 (off by a lognormal factor)"
        )
    requests = problem.requests
    predicted = predict(requests.output, model, float(text), prediction_stream(seed))
    try:
        noisy = Requests(requests.prompt, requests.output, requests.arrival, *predicted)
    except InputError as error:
        raise OptionError(f"noise {noise!r}: {error}") from None
    return replace(problem, requests=noisy)


def _share(error: float) -> float:
    if not 0 <= error < 1:
        raise OptionError(f"the relative error is {error}; it must be at least 0 and below 1")
    return error


def _tokens(values: npt.NDArray[np.float64]) -> IntArray:
    return np.clip(values, 1, MAX_TOKENS).astype(np.int64)
