"""The upper bound on REWARD that prices prove (docs/math.md §6), in exact integers.

Workers of equal memory and batch size form a kind. For prices ℓ/D ≥ 0 per kind, resource and step

    D·REWARD* ≤ Σ ℓ·capacity of the kind + Σ_j max(0, max over kinds that j fits and starts k of [ D·r_jk − Σ ℓ·use ]) ,

an integer made of integers. A request may stay unserved, hence the 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kvbound.models.errors import CertificateError
from kvbound.models.pricing import Layout
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.reward import Reward
from kvbound.models.reward_pricing import raise_margins
from kvbound.models.weights import BatchWeight, MemoryWeight, Weight

if TYPE_CHECKING:
    from kvbound.checkers.certificate import PriceTerm

_INT64_SAFE = 1 << 62
_WEIGHTS: dict[str, Weight] = {"memory": MemoryWeight(), "batch": BatchWeight()}


def reward_bound(problem: Problem, denominator: int, terms: Sequence[PriceTerm]) -> int:
    """Return the bound ⌊U⌋ in units of 1 / denominator of the weights.

    Parameters
    ----------
    terms
        ``memory`` or ``batch`` with one parameter, the first worker of the kind that is priced: ticks are steps
        1..H, prices numerators over `denominator`.

    Raises
    ------
    CertificateError
        Another objective, unknown rows, a worker that is not the first of its kind, a batch price without a batch
        size, a step behind the horizon, or integers beyond 64 bits.
    """
    reward = problem.objective
    if not isinstance(reward, Reward):
        raise CertificateError(f"a reward certificate bounds REWARD, not {reward.name}")
    r = problem.requests
    groups, count = np.unique(np.stack((r.prompt, r.output, r.arrival)), axis=1, return_counts=True)
    prompt, output, arrival = (np.ascontiguousarray(row) for row in groups)
    best, start = np.zeros(len(count), np.int64), np.zeros(len(count), np.int64)
    by_worker = _by_worker(problem, terms, reward.horizon)
    paid = 0
    for kind in problem.fleet.kinds:
        memory, batch = problem.fleet.memory[kind[0]], problem.fleet.batch[kind[0]]
        mine = by_worker.pop(kind[0], [])
        paid += sum(len(kind) * _WEIGHTS[t.kind].capacity(memory, batch) * sum(t.prices.tolist()) for t in mine)
        fits = np.flatnonzero(prompt + output <= memory)
        if fits.size:
            found, at = best[fits], start[fits]
            _raise(reward, denominator, prompt[fits], output[fits], arrival[fits], memory, mine, found, at)
            best[fits] = found
    if by_worker:
        raise CertificateError(f"worker {min(by_worker)} is not the first of its kind: prices stand with that one")
    total = sum(v * c for v, c in zip(best.tolist(), count.tolist(), strict=True)) + paid
    return total // denominator


def _by_worker(problem: Problem, terms: Sequence[PriceTerm], horizon: int) -> dict[int, list[PriceTerm]]:
    """Terms by worker; refuses what the theorem does not know."""
    found: dict[int, list[PriceTerm]] = {}
    seen = set()
    for term in terms:
        if term.kind not in _WEIGHTS or len(term.parameters) != 1:
            raise CertificateError(f"unknown reward row {term.kind!r} with the parameters {term.parameters!r}")
        g = term.parameters[0]
        if type(g) is not int or not 0 <= g < len(problem.fleet):
            raise CertificateError(f"there is no worker {g!r}; the fleet has {len(problem.fleet)}")
        if (term.kind, g) in seen:
            raise CertificateError(f"{term.kind} of worker {g} is priced twice")
        if term.kind == "batch" and problem.fleet.batch[g] is None:
            raise CertificateError(f"worker {g} has no batch size, so its slots have no price")
        if term.ticks.size and term.ticks[-1] > horizon:
            raise CertificateError(
                f"{term.kind} of worker {g}: step {term.ticks[-1]} lies behind the horizon {horizon}"
            )
        seen.add((term.kind, g))
        found.setdefault(g, []).append(term)
    return found


def _raise(
    reward: Reward,
    denominator: int,
    prompt: IntArray,
    output: IntArray,
    arrival: IntArray,
    memory: int,
    terms: Sequence[PriceTerm],
    value: IntArray,
    start: IntArray,
) -> None:
    """Raise `value` by the margins on one kind of workers, after making sure that nothing can overflow."""
    # Two weights always, priced or not: a layout of none would have no segments.
    last = max((int(term.ticks[-1]) for term in terms if term.ticks.size), default=0)
    prices = {name: np.zeros(last + 1, np.int64) for name in _WEIGHTS}
    for term in terms:
        prices[term.kind][term.ticks] = term.prices
    layout = Layout.build(prompt, output, memory, list(_WEIGHTS.values()), [last] * len(_WEIGHTS))
    totals = [sum(prices[name].tolist()) for name in _WEIGHTS]
    largest = layout.magnitude([1] * len(totals), totals, [last] * len(totals), reward.horizon + int(output.max()))
    most = denominator * sum(int(w * reward.denominator) for w in reward.weights) * (reward.horizon + 1)
    if largest + most >= _INT64_SAFE:
        raise CertificateError(
            f"the denominator {denominator} needs integers beyond 64 bits; write the certificate with a smaller one"
        )
    lam, the = layout.prefix(list(prices.values()), np.int64)
    raise_margins(layout, reward, output, arrival, denominator, lam, the, value, start)
