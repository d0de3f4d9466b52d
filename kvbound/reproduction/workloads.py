"""Instances of the experiments: mixtures of look-alike or traced lengths, Jaillet's draws, loads of a fleet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kvbound.instances import load, read_trace, with_predictions
from kvbound.instances.generators import DEFAULT_MEMORY
from kvbound.instances.lookalike import lookalike
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests

Pair = tuple[IntArray, IntArray]


def mixture(n: int, long: float, seed: int, memory: int = DEFAULT_MEMORY, stretch: float = 1.0) -> Problem:
    """The generator `mix`; `stretch` tokens per word of the chats, whose published lengths are words."""
    if stretch == 1.0:
        return load(f"mix:n={n},long={long},seed={seed}", memory=memory).problem
    rng = np.random.default_rng(seed)
    documents = round(n * long)
    long_pair = lookalike("arxiv").draw(documents, rng)
    prompt, output = lookalike("lmsys_words").draw(n - documents, rng)
    chats = tuple(np.maximum(1, np.rint(stretch * x)).astype(np.int64) for x in (prompt, output))
    return _shuffled(long_pair, (chats[0], chats[1]), rng, memory, f"mix, {stretch:g} tokens per word, seed {seed}")


def traced_mixture(n: int, long: float, seed: int, documents: Path, chats: Path | None) -> Problem:
    """Rows of two trace files without replacement; chats None: the look-alike of LMSYS."""
    rng = np.random.default_rng(seed)
    most = round(n * long)
    long_pair = _rows(documents, most, rng)
    if chats is None:
        prompt, output = lookalike("lmsys_words").draw(n - most, rng)
    else:
        prompt, output = _rows(chats, n - most, rng)
    return _shuffled(long_pair, (prompt, output), rng, DEFAULT_MEMORY, f"traces, seed {seed}")


def _rows(path: Path, count: int, rng: np.random.Generator) -> Pair:
    trace = read_trace(path)
    fits = np.flatnonzero(trace.prompt + trace.output <= DEFAULT_MEMORY)
    pick = rng.choice(fits, count, replace=False)
    return trace.prompt[pick], trace.output[pick]


def _shuffled(first: Pair, second: Pair, rng: np.random.Generator, memory: int, name: str) -> Problem:
    order = rng.permutation(len(first[0]) + len(second[0]))
    prompt, output = (np.concatenate(column)[order] for column in zip(first, second, strict=True))
    return Problem(Requests(prompt, output), Fleet.uniform(memory), name=name)


def with_load(problem: Problem, pressure: float) -> Problem:
    """The same requests with M such that Σp/M is `pressure` (M at least the largest peak)."""
    peak = problem.requests.peak
    memory = max(int(peak.max()), round(int(peak.sum()) / pressure))
    return replace(problem, fleet=Fleet.uniform(memory))


def small(seed: int, n: int | None = None, multiple: int = 1) -> Problem:
    """Jaillet et al., all at time 0: M ~ U{30..50}, n ~ U{40..60} or as given, s ~ U{1..5}, o ~ U{1..M−s}.

    With `n` None and `multiple` 1 it is the generator `jaillet`; the memory used is `multiple`·M.
    """
    if n is None and multiple == 1:
        return load(f"jaillet:seed={seed}").problem
    rng = np.random.default_rng(seed)
    memory = int(rng.integers(30, 51))
    drawn = int(rng.integers(40, 61))
    requests = _short(rng, drawn if n is None else n, memory, None)
    return Problem(requests, Fleet.uniform(memory * multiple), name=f"jaillet n={n}, M×{multiple}, seed {seed}")


def small_online(seed: int, rate: float = 1.0) -> Problem:
    """Jaillet et al., second model: horizon T ~ U{40..60}, Poisson rate λ ~ U[0.5, 1.5] times `rate`, lengths as above.

    The number of requests is Poisson(λT), at least 1, their times uniform on [0, T), rounded down to steps.
    """
    rng = np.random.default_rng([seed, 2])
    memory, horizon = int(rng.integers(30, 51)), int(rng.integers(40, 61))
    n = max(1, int(rng.poisson(rate * rng.uniform(0.5, 1.5) * horizon)))
    arrival = np.sort(np.floor(rng.uniform(0, horizon, n)).astype(np.int64))
    return Problem(
        _short(rng, n, memory, arrival), Fleet.uniform(memory), name=f"jaillet online ×{rate:g}, seed {seed}"
    )


def _short(rng: np.random.Generator, n: int, memory: int, arrival: IntArray | None) -> Requests:
    prompt = rng.integers(1, 6, n).astype(np.int64)
    output = np.array([int(rng.integers(1, memory + 1 - s)) for s in prompt], dtype=np.int64)
    return Requests(prompt, output) if arrival is None else Requests(prompt, output, arrival)


def poisson_mixture(n: int, pressure: float, seed: int) -> Problem:
    """The 80/20 mixture with Poisson arrivals that bring `pressure` times the memory-time there is."""
    problem = mixture(n, 0.2, seed)
    return _arriving(problem, (pressure,), seed)


def fleet(source: str, loads: tuple[float, ...], seed: int, *, memory: int, batch: int | None, workers: int) -> Problem:
    """Requests for a fleet: Poisson arrivals at a share of what the fleet can do, predictions ô ~ U(0.8, 1.2)·o.

    A load of 1 is full use of the scarcer of memory-time and batch slots; each of `loads` holds for an equal part
    of the requests.
    """
    lengths = load(f"{source},seed={seed}", memory=memory, workers=workers, batch=batch, drop_too_large=True).problem
    return with_predictions(_arriving(lengths, loads, seed), "point=0.2", seed)


def _arriving(problem: Problem, loads: tuple[float, ...], seed: int) -> Problem:
    r, n = problem.requests, problem.n
    most = problem.fleet.pooled_memory / r.volume.mean()
    if problem.fleet.pooled_batch is not None:
        most = min(most, problem.fleet.pooled_batch / r.output.mean())
    rate = np.repeat(np.array(loads) * most, -(-n // len(loads)))[:n]
    gaps = np.random.default_rng([seed, 1]).exponential(1.0, n)
    return replace(problem, requests=Requests(r.prompt, r.output, np.floor(np.cumsum(gaps / rate)).astype(np.int64)))
