"""Generators: how many requests of which lengths, from a seed. Arrivals and predictions are added elsewhere.

`tiny` and `jaillet` draw exactly as docs/math.md §9 says, so that values can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvbound.instances.lookalike import lookalike
from kvbound.instances.parameters import Parameter, Range
from kvbound.models.errors import OptionError
from kvbound.models.fleet import MAX_MEMORY
from kvbound.models.requests import MAX_TOKENS, IntArray

#: KV tokens of Llama-2-70B on two A100 (Jaillet et al., arXiv 2502.07115): the default elsewhere.
DEFAULT_MEMORY = 16492
_MOST = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """What a generator draws: prompt and output in tokens, shape (n,), and the memory they are meant for."""

    prompt: IntArray
    output: IntArray
    memory: int


@dataclass(frozen=True, slots=True)
class Generator:
    """A named generator.

    Parameters
    ----------
    name, summary
        For the command line.
    parameters
        Accepted parameters besides those that every generator takes (arrivals, predictions).
    draw
        Function of the parameter values, by name.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    draw: Callable[[Mapping[str, Any]], Lengths]


def tiny(n: int, seed: int) -> Lengths:
    """Small instances whose optima are known, M = 40 (docs/math.md §9)."""
    return _one_by_one(np.random.default_rng(seed), n, 40)


def jaillet(seed: int) -> Lengths:
    """Random instances of Jaillet et al. (arXiv 2502.07115), all at time 0 (docs/math.md §9)."""
    rng = np.random.default_rng(seed)
    memory = int(rng.integers(30, 51))
    n = int(rng.integers(40, 61))
    return _one_by_one(rng, n, memory)


def _one_by_one(rng: np.random.Generator, n: int, memory: int) -> Lengths:
    prompt = rng.integers(1, 6, n)
    output = np.array([int(rng.integers(1, memory + 1 - s)) for s in prompt], dtype=np.int64)
    return Lengths(prompt.astype(np.int64), output, memory)


def mix(n: int, long: float, memory: int, seed: int) -> Lengths:
    """Short chats and long documents in random order: round(n·long) documents, the rest chats."""
    rng = np.random.default_rng(seed)
    documents = round(n * long)
    parts = [lookalike("arxiv").draw(documents, rng), lookalike("lmsys_words").draw(n - documents, rng)]
    order = rng.permutation(n)
    prompt, output = (np.concatenate(column)[order] for column in zip(*parts, strict=True))
    return Lengths(prompt, output, memory)


def azure(n: int, kind: str, memory: int, seed: int) -> Lengths:
    """Requests like those of the Azure trace, conversation or code."""
    prompt, output = lookalike(f"azure_{kind}").draw(n, np.random.default_rng(seed))
    return Lengths(prompt, output, memory)


def uniform(n: int, prompt: Range, output: Range, memory: int, seed: int) -> Lengths:
    """Independent uniform lengths, both ends of the ranges included."""
    for name, (low, high), least in (("prompt", prompt, 0), ("output", output, 1)):
        if not least <= low <= high <= MAX_TOKENS:
            raise OptionError(f"{name}={low}-{high}: give a range within {least}-{MAX_TOKENS}, smaller end first")
    rng = np.random.default_rng(seed)
    return Lengths(rng.integers(prompt[0], prompt[1] + 1, n), rng.integers(output[0], output[1] + 1, n), memory)


def identical(n: int, prompt: int, output: int, memory: int) -> Lengths:
    """n times the same request."""
    return Lengths(np.full(n, prompt, np.int64), np.full(n, output, np.int64), memory)


def _n(default: int) -> Parameter:
    return Parameter("n", "int", default, "number of requests", 1, _MOST)


_SEED = Parameter("seed", "int", 0, "seed of the random numbers", 0, 2**63 - 1)
_MEMORY = Parameter("memory", "int", DEFAULT_MEMORY, "KV memory in tokens", 1, MAX_MEMORY)

GENERATORS: dict[str, Generator] = {
    g.name: g
    for g in (
        Generator("tiny", "small instances with known optima, memory 40", (_n(8), _SEED), lambda p: tiny(**p)),
        Generator(
            "jaillet",
            "random instances of Jaillet et al., memory 30 to 50, n 40 to 60",
            (_SEED,),
            lambda p: jaillet(**p),
        ),
        Generator(
            "mix",
            "short chats and long documents, by published quantiles",
            (_n(2000), Parameter("long", "float", 0.2, "share of long documents", 0, 1), _MEMORY, _SEED),
            lambda p: mix(**p),
        ),
        Generator(
            "azure",
            "like the Azure trace, by published quantiles",
            (
                _n(2000),
                Parameter("kind", "choice", "conv", "conversation or code", choices=("conv", "code")),
                _MEMORY,
                _SEED,
            ),
            lambda p: azure(**p),
        ),
        Generator(
            "uniform",
            "independent uniform lengths",
            (
                _n(200),
                Parameter("prompt", "range", (1, 1000), "range of prompts"),
                Parameter("output", "range", (1, 500), "range of outputs"),
                _MEMORY,
                _SEED,
            ),
            lambda p: uniform(**p),
        ),
        Generator(
            "identical",
            "n times the same request",
            (
                _n(100),
                Parameter("prompt", "int", 100, "prompt of every request", 0, MAX_TOKENS),
                Parameter("output", "int", 100, "output of every request", 1, MAX_TOKENS),
                _MEMORY,
            ),
            lambda p: identical(**p),
        ),
    )
}
