"""Fleet, problem, fingerprint, objective."""

from __future__ import annotations

import re

import numpy as np
import pytest
from brute import optimum

from kvbound.models import TEL, Fleet, InputError, Problem, Requests, drop_too_large
from kvbound.models.fleet import MAX_MEMORY, NO_CAP


def test_uniform_fleet_and_pooled_capacities() -> None:
    fleet = Fleet.uniform(10, 3, 4)
    assert len(fleet) == 3
    assert fleet.identical
    assert (fleet.largest, fleet.pooled_memory, fleet.pooled_batch, fleet.caps) == (10, 30, 12, (4, 4, 4))


def test_mixed_fleet() -> None:
    fleet = Fleet((10, 20), (None, 4))
    assert not fleet.identical
    assert (fleet.largest, fleet.pooled_memory, fleet.pooled_batch, fleet.caps) == (20, 30, None, (NO_CAP, 4))
    assert Fleet((5, 5)).batch == (None, None)


@pytest.mark.parametrize(
    ("memory", "batch", "words"),
    [
        ((), (), "at least one worker"),
        ((0,), (), "memory of worker 0 is 0"),
        ((5, MAX_MEMORY + 1), (), "memory of worker 1"),
        ((5.0,), (), "memory of worker 0 is 5.0"),
        ((True,), (), "memory of worker 0 is True"),
        ((5, 5), (1,), "2 workers but 1 batch sizes"),
        ((5,), (0,), "batch of worker 0 is 0"),
        ((5,), (NO_CAP,), "batch of worker 0"),
        ((5,), (1.5,), "batch of worker 0 is 1.5"),
    ],
)
def test_bad_fleets_are_refused(memory, batch, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        Fleet(memory, batch)


def test_no_worker_is_refused() -> None:
    with pytest.raises(InputError, match="workers is 0"):
        Fleet.uniform(5, 0)


def test_a_request_that_fits_nowhere_is_named() -> None:
    with pytest.raises(InputError) as error:
        Problem(Requests([1, 9, 9], [1, 2, 3]), Fleet((5, 10)), name="mine")
    text = str(error.value)
    for words in (
        "mine: request 1 needs 11 tokens",
        "prompt 9 + output 2",
        "memory is 10",
        "2 of 3",
        "--drop-too-large",
    ):
        assert words in text
    assert Problem(Requests([1, 8], [1, 2]), Fleet((5, 10))).n == 2


def test_empty_problem_is_refused() -> None:
    with pytest.raises(InputError, match="no request"):
        Problem(Requests([], []), Fleet((5,)))


def test_drop_too_large() -> None:
    kept, dropped = drop_too_large(Requests([1, 9, 2], [1, 2, 3]), Fleet((5, 10)))
    assert kept == Requests([1, 2], [1, 3])
    assert dropped.tolist() == [1]


def test_fingerprint_sees_everything_that_matters_and_no_name() -> None:
    base = Problem(Requests([1, 2], [3, 4]), Fleet((9,)), name="a", origin="b")
    assert base.fingerprint() == Problem(Requests([1, 2], [3, 4]), Fleet((9,))).fingerprint()
    others = [
        Problem(Requests([1, 2], [3, 5]), Fleet((9,))),
        Problem(Requests([2, 1], [3, 4]), Fleet((9,))),
        Problem(Requests([1, 2], [3, 4], [0, 1]), Fleet((9,))),
        Problem(Requests([1, 2], [3, 4]), Fleet((10,))),
        Problem(Requests([1, 2], [3, 4]), Fleet((9,), (2,))),
        Problem(Requests([1, 2], [3, 4]), Fleet((9, 9))),
        Problem(Requests([1], [2], [3]), Fleet((9,))),
    ]
    prints = {p.fingerprint() for p in [base, *others]}
    assert len(prints) == len(others) + 1


def test_start_cost_broadcasts() -> None:
    requests = Requests([1, 2], [3, 4], [0, 5])
    assert TEL.start_cost(requests, np.array([0, 1]), np.array([0, 5])).tolist() == [3, 4]
    assert TEL.start_cost(requests, 1, np.arange(5, 8)).tolist() == [4, 5, 6]
    assert TEL.start_cost(requests, 1, 6) == 5
    assert TEL.serve_all
    assert repr(TEL) == "TEL"


def test_some_optimal_schedule_ends_within_the_horizon() -> None:
    """No idle time (docs/math.md §1): a longer horizon finds nothing better."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        memory = int(rng.integers(3, 9))
        output = rng.integers(1, memory + 1, 4)
        rows = [(int(rng.integers(0, memory - o + 1)), int(o), int(rng.integers(0, 6))) for o in output]
        problem = Problem(Requests(*map(list, zip(*rows, strict=True))), Fleet((memory,)))
        assert problem.horizon == max(a for _, _, a in rows) + int(output.sum())
        assert optimum(rows, (memory,), (None,)) == optimum(rows, (memory,), (None,), slack=problem.horizon)
