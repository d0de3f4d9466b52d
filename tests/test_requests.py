"""Requests and schedules: what is accepted, what is refused and in which words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kvbound.models import InputError, Requests, Schedule
from kvbound.models.requests import MAX_ARRIVAL, MAX_TOKENS, integer_array
from kvbound.models.schedule import UNSERVED


def test_arrays_are_int64_read_only_and_detached_from_the_caller() -> None:
    prompt = np.array([1, 2, 3])
    requests = Requests(prompt, [4, 5, 6])
    prompt[0] = 99
    assert requests.prompt.tolist() == [1, 2, 3]
    assert requests.arrival.tolist() == [0, 0, 0]
    assert {requests.prompt.dtype, requests.output.dtype, requests.arrival.dtype} == {np.dtype(np.int64)}
    with pytest.raises(ValueError, match="read-only"):
        requests.prompt[0] = 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        requests.prompt = prompt  # type: ignore[misc]


def test_peak_and_volume() -> None:
    requests = Requests([3, 0], [2, 4])
    assert requests.peak.tolist() == [5, 4]
    assert requests.volume.tolist() == [4 + 5, 1 + 2 + 3 + 4]


def test_volume_of_the_longest_request_does_not_overflow() -> None:
    volume = int(Requests([MAX_TOKENS], [MAX_TOKENS]).volume[0])
    assert volume == MAX_TOKENS**2 + MAX_TOKENS * (MAX_TOKENS + 1) // 2


@pytest.mark.parametrize("values", [[1.0, 2.0], np.array([1, 2], np.uint8), (1, 2), np.array([1, 2], object)])
def test_whole_numbers_in_any_clothes_are_accepted(values) -> None:
    assert integer_array(values, "prompt", 0, 10).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("prompt", "output", "words"),
    [
        ([1, -1], [1, 1], "prompt of request 1 is -1"),
        ([1, 1], [1, 0], "output of request 1 is 0"),
        ([1, 1], [1, MAX_TOKENS + 1], f"output of request 1 is {MAX_TOKENS + 1}"),
        ([1, 1], [1, 10**30], "output of request 1 is 1000000"),
        ([1, 1.5], [1, 1], "prompt of request 1 is 1.5"),
        ([float("nan"), 1], [1, 1], "prompt of request 0 is nan"),
        ([1, float("inf")], [1, 1], "prompt of request 1 is inf"),
        (["a", "b"], [1, 1], "prompt: expected integers"),
        ([True, False], [1, 1], "prompt: expected integers"),
        ([None, 1], [1, 1], "prompt: expected integers"),
        ([[1, 2]], [1, 1], "shape"),
        ([1], [1, 1], "1 prompts but 2 values of output"),
    ],
)
def test_bad_lengths_are_refused_with_row_and_value(prompt, output, words: str) -> None:
    with pytest.raises(InputError) as error:
        Requests(prompt, output)
    assert words in str(error.value)


@pytest.mark.parametrize("arrival", [[0, -1], [0, MAX_ARRIVAL + 1], [0], [0, 0.5]])
def test_bad_arrivals_are_refused(arrival) -> None:
    with pytest.raises(InputError, match="arrival"):
        Requests([1, 1], [1, 1], arrival)


def test_predictions_need_both_ends_in_order() -> None:
    assert Requests([1], [5], None, [2], [9]).predicted_high.tolist() == [9]
    with pytest.raises(InputError, match="both ends"):
        Requests([1], [5], None, [2], None)
    with pytest.raises(InputError, match="request 1: predicted_low exceeds predicted_high"):
        Requests([1, 1], [5, 5], None, [2, 4], [2, 3])
    with pytest.raises(InputError, match="predicted_low of request 0 is 0"):
        Requests([1], [5], None, [0], [3])


def test_equality_and_hash_go_by_content() -> None:
    one, same, other = Requests([1, 2], [3, 4]), Requests([1, 2], [3, 4]), Requests([1, 2], [3, 4], [0, 1])
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Requests([1, 2], [3, 4], None, [1, 1], [9, 9])
    assert one != "requests"


def test_take_keeps_order_and_predictions() -> None:
    requests = Requests([1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 2, 3], [4, 5, 6])
    assert requests.take([2, 0]) == Requests([3, 1], [6, 4], [9, 7], [3, 1], [6, 4])
    assert requests.take(np.array([False, True, False])) == Requests([2], [5], [8], [2], [5])


def test_schedule_defaults_to_worker_zero_for_the_served() -> None:
    schedule = Schedule([3, UNSERVED])
    assert schedule.worker.tolist() == [0, UNSERVED]
    assert schedule.served.tolist() == [True, False]
    assert schedule.completion(Requests([0, 0], [4, 4])).tolist() == [7, UNSERVED]
    assert schedule == Schedule([3, -1], [0, -1])
    assert schedule != Schedule([3, -1], [1, -1])


@pytest.mark.parametrize(
    ("start", "worker"), [([-2], None), ([0.5], None), ([0, 1], [0]), ([0], [-2]), ([0], [1 << 40])]
)
def test_impossible_schedules_are_refused(start, worker) -> None:
    with pytest.raises(InputError):
        Schedule(start, worker)
