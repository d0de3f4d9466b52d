"""The objective REWARD against the formula of docs/math.md §1, and what its horizon means to the checker."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kvbound.checkers import check
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests, Reward, Schedule


def plain(r: Reward, s: int, o: int, a: int, k: int) -> Fraction:
    """r_jk as it stands in docs/math.md §1, in fractions."""
    h = r.horizon
    value = Fraction(r.served) + r.token * min(o, h - k) + r.eel * max(0, h - (k + o)) + r.ttft * max(0, h - (k + 1))
    return value + r.eel_tail * (k + o - a < r.eel_limit) + r.ttft_tail * (k + 1 - a < r.ttft_limit)


def test_reward_equals_the_formula() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        weights = [Fraction(int(rng.integers(0, 7)), int(rng.integers(1, 5))) for _ in range(6)]
        r = Reward(int(rng.integers(1, 12)), *weights, eel_limit=int(rng.integers(0, 9)), ttft_limit=3)
        requests = Requests(rng.integers(0, 5, 6), rng.integers(1, 9, 6), rng.integers(0, 4, 6))
        for j in range(6):
            for k in range(r.horizon):
                found = int(r.reward(requests, j, k))
                expected = plain(r, int(requests.prompt[j]), int(requests.output[j]), int(requests.arrival[j]), k)
                assert Fraction(found, r.denominator) == expected
                assert int(r.start_cost(requests, j, k)) == -found
        assert int(r.reward(requests, 0, r.horizon)) == 0


def test_presets_and_fractions() -> None:
    assert Reward.preset("average", 9).weights == (0, 1, 1, 0, 0, 0)
    assert Reward.preset("tail", 9, eel_limit=4).weights == (0, 0, 0, 0, 1, 1)
    assert Reward.preset("throughput", 9).weights == (1, 0, 0, 0, 0, 0)
    assert Reward(3, token=Fraction(1, 6), served=Fraction(3, 4)).denominator == 12
    with pytest.raises(OptionError, match="average, tail, throughput"):
        Reward.preset("best", 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 4, "token": 0.5}, "weight token is 0.5; give an integer or a fraction"),
        ({"horizon": 4, "eel": -1}, "weight eel is -1"),
        ({"horizon": 4, "served": True}, "weight served is True"),
        ({"horizon": 4, "eel_limit": -2}, "eel_limit is -2"),
        ({"horizon": 10**11, "token": 10**4, "eel": Fraction(1, 9999)}, "leave 64 bits"),
    ],
)
def test_bad_weights_are_refused(arguments, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        Reward(**arguments)


def test_the_checker_cuts_at_the_horizon_and_ends_starts_there() -> None:
    problem = Problem(Requests([2, 2], [4, 4]), Fleet((8,)), Reward(2, served=1))
    both = check(problem, Schedule([0, 0]))
    assert both.objective == -2  # 4 tokens each in step 2; uncut they would hold 12 in step 4
    assert check(Problem(Requests([2, 2], [4, 4]), Fleet((8,))), Schedule([0, 0])).objective is None
    assert check(problem, Schedule([0, -1])).objective == -1  # nobody has to be served
    late = check(problem, Schedule([0, 2]))
    assert [v.rule for v in late.violations] == ["horizon"]
    tight = Problem(Requests([2, 2], [4, 4]), Fleet((7,)), Reward(2, served=1))
    assert [(v.rule, v.step, v.amount) for v in check(tight, Schedule([0, 0])).violations] == [("memory", 2, 1)]


def test_the_fingerprint_knows_the_weights() -> None:
    requests, fleet = Requests([1], [1]), Fleet((5,))
    prints = {Problem(requests, fleet, o).fingerprint() for o in (Reward(2), Reward(3), Reward(2, token=1))}
    assert len(prints | {Problem(requests, fleet).fingerprint()}) == 4
