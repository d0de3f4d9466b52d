"""The sequence relaxation: equal to a plain recursion, never above an optimum, certified in exact integers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import brute_force

from kvbound.checkers import Certificate, verify
from kvbound.checkers.certificate import evaluate as proven
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json
from kvbound.models import Fleet, OptionError, Problem, Requests
from kvbound.models.errors import CertificateError, SizeError
from kvbound.models.sequence import AbandonedError, Relaxation, evaluate
from kvbound.solvers.bounds import bound, sequence
from kvbound.solvers.bounds.sequence import declines
from kvbound.solvers.deadline import Deadline

pytestmark = pytest.mark.usefixtures("compiled_bounds")


def random_problem(rng: np.random.Generator, most: int = 5, longest: int = 7) -> Problem:
    memory = int(rng.integers(3, 20))
    n = int(rng.integers(1, most + 1))
    prompt = rng.integers(0, memory, n)
    output = np.array([rng.integers(1, min(longest, memory - s) + 1) for s in prompt])
    arrival = rng.integers(0, 6, n) if rng.random() < 0.4 else np.zeros(n, np.int64)
    batch = int(rng.integers(1, 4)) if rng.random() < 0.3 else None
    return Problem(Requests(prompt, output, arrival), Fleet.uniform(memory, 1, batch))


def optimum(problem: Problem) -> int:
    r, fleet = problem.requests, problem.fleet
    return brute_force(r.prompt.tolist(), r.output.tolist(), fleet.memory, r.arrival.tolist(), fleet.batch)


def plain(space: Relaxation, level: int, memory: int, scale: int, price: list[int]) -> int:
    """The recursion of docs/bounds.md §1 word for word: no ranks, no pairs, no skipped gaps."""
    peak, output, n = space.peak.tolist(), space.output.tolist(), int(space.number.sum())

    @cache
    def value(m: int, t: int, kept: tuple[tuple[int, int], ...]) -> float:
        """kept: (hold, left) of the remembered ones at the completion of the request at position m, of type t."""
        if peak[t] + sum(h for h, _ in kept) > memory:
            return float("inf")
        now = (*kept, (peak[t], output[t]))
        longest = max(left for _, left in now)
        if m == n:
            return scale * n * longest
        best = float("inf")
        for gap in range(longest + 1):
            active = [(h - gap, left - gap) for h, left in now if left > gap]
            room = memory - sum(h for h, _ in active)
            chosen = [tuple(sorted(x)) for x in combinations(active, min(len(active), level - 1))]
            worst = max(
                min((value(m + 1, u, x) - price[u] for u in range(len(peak)) if peak[u] <= room), default=float("inf"))
                for x in chosen
            )
            best = min(best, scale * m * gap + worst)
        return best

    first = min(value(1, t, ()) - price[t] for t in range(len(peak)))
    return int(first + sum(c * p for c, p in zip(space.number.tolist(), price, strict=True)))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_kernel_equals_the_plain_recursion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, most=6, longest=9)
    memory = problem.fleet.largest
    for level in (2, 3, 4):
        space = Relaxation.of(problem.requests, memory, level)
        assert space.entries == Relaxation.size(problem.requests, memory, level)
        assert len(space.offset) <= Relaxation.most_sets(problem.requests, level)
        price = rng.integers(-20, 400, len(space.peak))
        value, visits = evaluate(space, 4, price, visits=True)
        assert value == plain(space, level, memory, 4, price.tolist())
        assert value == evaluate(space, 4, price)[0]
        assert visits is not None
        assert visits.sum() == problem.n
        # count − visits is a supergradient: the value elsewhere lies below the cut.
        other = rng.integers(-20, 400, len(space.peak))
        assert evaluate(space, 4, other)[0] <= value + int(((space.number - visits) * (other - price)).sum())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_multipliers_prove_more_than_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    best = optimum(problem)
    values = []
    for level in (2, 3, 4):
        space = Relaxation.of(problem.requests, problem.fleet.largest, level)
        price = np.random.default_rng(seed).integers(0, 60 * problem.n, len(space.peak))
        certificate = Certificate("sequence", "test", problem.fingerprint(), 8, (), None, level, price)
        values.append(verify(problem, certificate))
        assert values[-1] <= best
        nudged = price.copy()
        nudged[int(rng.integers(len(price)))] += 1
        assert verify(problem, replace(certificate, multipliers=nudged)) <= best
        with pytest.raises(CertificateError, match="prove only"):
            verify(problem, replace(certificate, value=values[-1] + 1))
    assert values[0] <= values[1] <= values[2], "remembering more never proves less"


def test_ascent_comes_close_on_known_optima() -> None:
    rng = np.random.default_rng(0)
    prompt = rng.integers(1, 6, 8)
    problem = Problem(Requests(prompt, [rng.integers(1, 41 - s) for s in prompt]), Fleet.uniform(40))
    result = bound(problem, "sequence", deadline=Deadline(20), upper=507)
    assert result.verified
    assert result.value is not None
    assert 500 <= result.value <= 507  # tiny 8/0; the LP with stagger weights ends at 503.9


def test_a_bound_goes_on_from_a_certificate() -> None:
    rng = np.random.default_rng(3)
    prompt = rng.integers(1, 6, 9)
    problem = Problem(Requests(prompt, [rng.integers(1, 41 - s) for s in prompt]), Fleet.uniform(40))
    poor = np.zeros(len(Relaxation.of(problem.requests, 40, 2).peak), np.int64)
    for level in (2, 3, 4):
        start = Certificate("sequence", "by hand", problem.fingerprint(), 8, (), None, level, poor)
        result = bound(problem, "best", deadline=Deadline(20), start=start)
        assert result.certificate is not None
        assert result.certificate.level == 4
        assert result.value is not None
        assert result.value == verify(problem, result.certificate) > verify(problem, start)
    # The bound never falls behind what was handed in, not even without any time.
    again = bound(problem, "best", deadline=Deadline(0.0), start=result.certificate)
    assert again.value is not None
    assert again.value >= result.value
    stays = bound(problem, "volume", deadline=Deadline(5), start=result.certificate)
    assert stays.value == result.value
    assert stays.certificate is not None
    assert stays.certificate.rule == "sequence"
    other = Problem(problem.requests, Fleet.uniform(41))
    with pytest.raises(CertificateError, match="another problem"):
        bound(other, "best", deadline=Deadline(5), start=result.certificate)


def test_an_evaluation_asks_after_each_position_whether_to_go_on() -> None:
    space, shares = Relaxation.of(Requests([1, 2, 2, 3], [5, 4, 4, 2]), 9, 3), []

    def half(done: float) -> bool:
        shares.append(done)
        return done >= 0.5

    with pytest.raises(AbandonedError):
        evaluate(space, 4, np.array([3, 1, 2]), abandon=half)
    assert shares == [0.25, 0.5]
    never = evaluate(space, 4, np.array([3, 1, 2]), abandon=lambda done: False)
    assert never == evaluate(space, 4, np.array([3, 1, 2]))


@pytest.mark.parametrize("finished", [0, 1, 4])
def test_a_level_that_takes_too_long_leaves_the_one_before(finished: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    prompt = rng.integers(1, 6, 11)
    problem = Problem(Requests(prompt, [rng.integers(1, 41 - s) for s in prompt]), Fleet.uniform(40))
    seen: Counter[int] = Counter()

    def slow(space: Relaxation, *given: Any, **options: Any) -> Any:
        if len(space.peak) == 2:
            return evaluate(space, *given, **options)  # the kernels are only loaded
        seen[space.level] += 1
        if space.level == 4 and seen[4] > finished:
            raise AbandonedError
        return evaluate(space, *given, **options)

    monkeypatch.setattr(sequence, "evaluate", slow)
    result = bound(problem, "sequence", deadline=Deadline(600))
    assert seen[4] == finished + 1, "an abandoned level is not tried again"
    assert result.certificate is not None
    assert result.certificate.level == (4 if finished else 3)
    assert verify(problem, result.certificate) == result.value
    assert result.value is not None
    assert result.value > 570


def test_what_would_not_end_in_time_is_abandoned() -> None:
    """The first evaluation is finished without any time, since there has to be a bound; no other one is."""
    rng = np.random.default_rng(3)
    prompt = rng.integers(1, 6, 9)
    problem = Problem(Requests(prompt, [rng.integers(1, 41 - s) for s in prompt]), Fleet.uniform(40))
    space = Relaxation.of(problem.requests, 40, 2)
    point = np.full(len(space.peak), 30.0)
    search = sequence._Search(space, Deadline(0.0), None, 0, None, -np.inf, must=True)
    assert search._evaluate(point) is not None
    assert search._evaluate(point) is None
    assert sequence._Search(space, Deadline(0.0), None, 0, None, -np.inf, must=False).climb(point, 0.1).evaluations == 0


def test_certificate_round_trip_and_refusals() -> None:
    problem = Problem(Requests([1, 2, 2], [5, 4, 4]), Fleet.uniform(9))
    certificate = Certificate("sequence", "test", problem.fingerprint(), 4, (), None, 3, np.array([10, 30]))
    again = certificate_from_json(certificate_to_json(certificate), "memory")
    assert proven(problem, again) == proven(problem, certificate)
    assert (again.level, again.multipliers.tolist() if again.multipliers is not None else None) == (3, [10, 30])
    with pytest.raises(CertificateError, match="1 multipliers, but there are 2 types"):
        proven(problem, replace(certificate, multipliers=np.array([10])))
    with pytest.raises(CertificateError, match="level 2, 3 or 4"):
        replace(certificate, level=5)
    with pytest.raises(CertificateError, match="integers"):
        replace(certificate, multipliers=np.array([0.5, 1.0]))
    with pytest.raises(CertificateError, match="28 bits"):
        proven(problem, replace(certificate, multipliers=np.array([1 << 29, 0])))
    with pytest.raises(CertificateError, match="smaller scale"):
        proven(problem, replace(certificate, denominator=1 << 27))
    with pytest.raises(CertificateError, match="has no level"):
        replace(certificate, rule="volume")
    with pytest.raises(CertificateError, match="carries no multipliers"):
        replace(certificate, rule="volume", level=None)
    two = Problem(problem.requests, Fleet.uniform(9, 2))
    with pytest.raises(CertificateError, match="one worker"):
        proven(two, certificate)


def test_instances_that_do_not_fit_are_refused_with_the_reason() -> None:
    rng = np.random.default_rng(0)
    large = Problem(Requests(rng.integers(1, 3000, 2000), rng.integers(1, 600, 2000)), Fleet.uniform(16492))
    assert declines(large) is not None
    with pytest.raises(OptionError, match="use stagger or best"):
        bound(large, "sequence", deadline=Deadline(5))
    with pytest.raises(SizeError, match="smaller scale"):
        evaluate(Relaxation.of(Requests([1], [3]), 9, 2), 1 << 27, np.array([0]))
