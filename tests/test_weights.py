"""Weights: segments against docs/math.md §4 in fractions, and validity on feasible schedules."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from brute import levels_value, linear_value, positional_holds, sep_holds

from kvbound.models import OptionError
from kvbound.models.weights import BatchWeight, LevelsWeight, LinearWeight, MemoryWeight, Segments, weight_from

LEVELS = [LevelsWeight(m, delay) for m, delay in product((1, 2, 3, 4, 7), (0, 1, 2, 3, 5, 9))]
LINEAR = [
    LinearWeight(*e, delay)
    for e, delay in product(((1, 10), (1, 5), (3, 10), (1, 3), (2, 5), (1, 2)), (0, 1, 2, 3, 5, 9))
]


def ints(values) -> np.ndarray:
    return np.array(values, np.int64)


def dense(segments: Segments, request: int, offsets: np.ndarray) -> np.ndarray:
    """Values of one request at tick offsets from completion; segments must not overlap."""
    out, hits = np.zeros(len(offsets), np.int64), np.zeros(len(offsets), np.int64)
    for e in range(segments.ptr[request], segments.ptr[request + 1]):
        inside = (offsets >= segments.lo[e]) & (offsets <= segments.hi[e])
        out[inside] += segments.a[e] + segments.b[e] * offsets[inside]
        hits[inside] += 1
    assert hits.max(initial=0) <= 1, "two segments of one request overlap"
    return out


def all_requests(memory: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(s, o) for s in range(memory) for o in range(1, memory - s + 1)]
    return ints([s for s, _ in pairs]), ints([o for _, o in pairs])


@pytest.mark.parametrize("memory", [1, 5, 7, 12])
def test_levels_are_what_the_text_says_for_every_request_that_fits(memory: int) -> None:
    prompt, output = all_requests(memory)
    for weight in LEVELS:
        c = weight.scale
        segments = weight.segments(prompt, output, memory)
        offsets = np.arange(-c * memory - 3, c * (weight.delay + memory) + 3)
        assert weight.capacity(memory, None) == weight.levels
        for j, (s, o) in enumerate(zip(prompt.tolist(), output.tolist(), strict=True)):
            if memory == 12 and (3 * s + o + weight.delay) % 7:
                continue  # a part of the larger table keeps this fast
            expected = [levels_value(s, o, memory, weight.levels, weight.delay, Fraction(int(d), c)) for d in offsets]
            assert dense(segments, j, offsets).tolist() == expected, (weight, s, o)


@pytest.mark.parametrize("memory", [1, 5, 7, 12])
def test_linear_is_what_the_text_says_for_every_request_that_fits(memory: int) -> None:
    prompt, output = all_requests(memory)
    for weight in LINEAR:
        c, capacity = weight.scale, weight.capacity(memory, None)
        segments = weight.segments(prompt, output, memory)
        offsets = np.arange(-c * memory - 3, c * (weight.delay + memory) + 3)
        epsilon = Fraction(weight.top, weight.bottom)
        for j, (s, o) in enumerate(zip(prompt.tolist(), output.tolist(), strict=True)):
            if memory == 12 and (3 * s + o + weight.delay) % 7:
                continue
            values = [linear_value(s, o, memory, epsilon, weight.delay, Fraction(int(d), c)) for d in offsets]
            assert dense(segments, j, offsets).tolist() == [capacity * v for v in values], (weight, s, o)


def test_memory_and_batch_are_the_footprint() -> None:
    prompt, output = ints([3, 0]), ints([4, 1])
    offsets = np.arange(-6, 4)
    memory, batch = (w.segments(prompt, output, 9) for w in (MemoryWeight(), BatchWeight()))
    assert dense(memory, 0, offsets).tolist() == [0, 0, 0, 4, 5, 6, 7, 0, 0, 0]
    assert dense(memory, 1, offsets).tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert dense(batch, 0, offsets).tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert MemoryWeight().capacity(9, None) == 9
    assert BatchWeight().capacity(9, 2) == 2
    with pytest.raises(OptionError, match="no batch cap"):
        BatchWeight().capacity(9, None)


def test_linear_values_stay_exact_for_the_largest_memory_and_a_razor_thin_room() -> None:
    """εM − δ can be 1/(c·bottom): the number of others is then 10^16 and must not overflow on its way to 0."""
    memory, bottom = 1_000_249_000, 999_999  # 4·memory = 4001·bottom + 1
    delta = Fraction(memory, bottom)
    weight = LinearWeight(1, bottom, int(delta) + 2)
    prompt, output = ints([5 * 10**7, 10**8, 10**8, 99_999_991]), ints([10**8, 10**8, 10**7, 10**8])
    segments = weight.segments(prompt, output, memory)
    last = int(weight.scale * delta)
    offsets = np.arange(last - 40, last + 4)
    for j in range(4):
        values = [
            linear_value(
                int(prompt[j]),
                int(output[j]),
                memory,
                Fraction(1, bottom),
                weight.delay,
                Fraction(int(d), weight.scale),
            )
            for d in offsets
        ]
        assert dense(segments, j, offsets).tolist() == [weight.scale * memory * v for v in values]


def test_every_value_is_at_most_the_capacity_even_for_extreme_parameters() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        bottom = int(rng.integers(2, 10**6))
        memory = int(rng.integers(1, 10**10))
        small = int(min(memory, 60 * bottom))  # keeps εM, and with it the number of segments, small
        top = 1
        weight = LinearWeight(top, bottom, int(rng.integers(0, 100)))
        peak = rng.integers(1, min(small, 2 * 10**8) + 1, 5)
        output = np.minimum(np.array([int(rng.integers(1, p + 1)) for p in peak]), 10**8)
        segments = weight.segments(np.minimum(peak - output, 10**8), output, small)
        ends = np.concatenate((segments.a + segments.b * segments.lo, segments.a + segments.b * segments.hi))
        assert ((ends > 0) & (ends <= weight.capacity(small, None))).all()


@pytest.mark.parametrize(
    "build",
    [
        lambda: LevelsWeight(0, 1),
        lambda: LevelsWeight(1001, 1),
        lambda: LevelsWeight(1, -1),
        lambda: LinearWeight(0, 3, 1),
        lambda: LinearWeight(2, 3, 1),
        lambda: LinearWeight(1, 10**7, 1),
        lambda: LinearWeight(1, 3, -1),
        lambda: weight_from("memory", (1,)),
        lambda: weight_from("levels", (1,)),
        lambda: weight_from("nonsense", ()),
        lambda: weight_from("levels", (1.5, 2)),
        lambda: weight_from("levels", (True, 2)),
        lambda: weight_from("linear", (1, 3, 0.5)),
    ],
)
def test_parameters_outside_the_theorems_are_refused(build) -> None:
    with pytest.raises(OptionError):
        build()


@pytest.mark.parametrize("weight", [MemoryWeight(), BatchWeight(), LevelsWeight(2, 5), LinearWeight(2, 5, 3)])
def test_a_weight_comes_back_from_its_name_and_parameters(weight) -> None:
    assert weight_from(weight.kind, weight.parameters) == weight


# Validity: the sum over any feasible schedule stays within the capacity at every tick.


def random_schedule(rng: np.random.Generator, memory: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A feasible schedule of one worker, packed greedily in random order; often tight, often in lockstep."""
    n = int(rng.integers(2, 11))
    style = rng.integers(0, 4)
    if style == 0:
        output = rng.integers(1, memory + 1, n)
    elif style == 1:  # peaks close to a simple fraction of the memory
        output = np.maximum(1, memory // rng.integers(1, 6, n) - rng.integers(-1, 2, n))
    elif style == 2:  # long prompts, short outputs
        output = rng.integers(1, max(2, memory // 4), n)
    else:  # identical requests
        output = np.full(n, rng.integers(1, memory + 1))
    output = np.minimum(output, memory)
    prompt = np.array([rng.integers(0, memory - o + 1) for o in output]) if style != 1 else np.zeros(n, np.int64)
    if style == 3:
        prompt[:] = prompt[0]
    held = np.zeros(int(output.sum()) + 3 * memory + 20, np.int64)
    start = np.zeros(n, np.int64)
    for j in rng.permutation(n):
        k = int(rng.integers(0, 6)) if rng.random() < 0.4 else 0
        grow = prompt[j] + np.arange(1, output[j] + 1)
        while (held[k + 1 : k + 1 + output[j]] + grow).max() > memory:
            k += 1
        held[k + 1 : k + 1 + output[j]] += grow
        start[j] = k
    return prompt, output, start


def schedules(memory: int, count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [random_schedule(rng, memory) for _ in range(count)]


def largest_sums(weight, memory: int, batch: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Largest sum of the values at any tick, per schedule."""
    prompt, output, start = (np.concatenate([b[i] for b in batch]) for i in range(3))
    owner = np.repeat(np.arange(len(batch)), [len(b[0]) for b in batch])
    segments = weight.segments(prompt, output, memory)
    c = weight.scale
    span = c * (int((start + output).max()) + memory + getattr(weight, "delay", 0) + 4)
    row = np.repeat(np.arange(len(prompt)), np.diff(segments.ptr))
    length = segments.hi - segments.lo + 1
    offset = np.repeat(segments.lo - np.concatenate(([0], np.cumsum(length)[:-1])), length) + np.arange(length.sum())
    value = np.repeat(segments.a, length) + np.repeat(segments.b, length) * offset
    tick = np.repeat(c * (start + output)[row], length) + offset
    assert tick.min(initial=1) > 0  # nothing counts before time 0
    assert tick.max(initial=0) < span
    total = np.bincount(np.repeat(owner[row], length) * span + tick, value, len(batch) * span)
    return total.reshape(len(batch), span).max(axis=1)


@pytest.mark.parametrize("memory", [7, 12, 20, 31, 40, 57])
def test_weights_are_valid_on_random_feasible_schedules(memory: int) -> None:
    batch = schedules(memory, 350, memory)
    rng = np.random.default_rng(memory)
    more = [LevelsWeight(int(rng.integers(1, 9)), int(rng.integers(0, memory + 1))) for _ in range(10)]
    for _ in range(10):
        bottom = int(rng.integers(2, 60))
        more.append(LinearWeight(int(rng.integers(1, bottom // 2 + 1)), bottom, int(rng.integers(0, memory + 1))))
    tight = 0
    for weight in [MemoryWeight(), *LEVELS[::6], *LINEAR[::6], *more]:
        sums = largest_sums(weight, memory, batch)
        assert sums.max() <= weight.capacity(memory, None), (weight, batch[int(sums.argmax())])
        tight += int((sums == weight.capacity(memory, None)).sum())
    assert tight > 1000  # the bound is met, again and again: the rows are not slack by accident


def test_weights_are_valid_on_every_schedule_of_three_small_requests() -> None:
    """Exhaustive for M = 4: all triples of requests, all feasible relative starts."""
    memory = 4
    pairs = [(s, o) for s in range(memory) for o in range(1, memory - s + 1)]
    batch = []
    for i, j, k in product(range(len(pairs)), repeat=3):
        if not i <= j <= k:
            continue
        rows = [pairs[i], pairs[j], pairs[k]]
        starts = np.array(list(product(range(10, 11), range(6, 15), range(6, 15))))
        step = np.arange(1, 20)
        held = np.zeros((len(starts), len(step)), np.int64)
        for (s, o), column in zip(rows, starts.T, strict=True):
            age = step[None, :] - column[:, None]
            held += np.where((age > 0) & (age <= o), s + age, 0)
        prompt, output = ints([s for s, _ in rows]), ints([o for _, o in rows])
        batch += [(prompt, output, st) for st in starts[(held <= memory).all(axis=1)]]
    assert len(batch) > 8_000
    for weight in [
        LevelsWeight(1, 1),
        LevelsWeight(1, 4),
        LevelsWeight(2, 2),
        LevelsWeight(3, 5),
        LevelsWeight(5, 3),
        LinearWeight(1, 5, 2),
        LinearWeight(2, 5, 3),
        LinearWeight(1, 3, 4),
        LinearWeight(1, 2, 5),
    ]:
        assert largest_sums(weight, memory, batch).max() <= weight.capacity(memory, None), weight


def test_a_weight_for_the_largest_memory_is_valid_on_a_smaller_worker() -> None:
    batch = schedules(18, 300, 1)
    for weight in [*LEVELS[::2], *LINEAR[::2]]:
        assert largest_sums(weight, 25, batch).max() <= weight.capacity(25, None)


def test_level_windows_of_one_worker_do_not_overlap_for_one_level() -> None:
    """m = 1 hides a single machine (docs/math.md §4)."""
    for prompt, output, start in schedules(20, 200, 2):
        segments = LevelsWeight(1, 4).segments(prompt, output, 20)
        row = np.repeat(np.arange(len(prompt)), np.diff(segments.ptr))
        begin = segments.lo + 4 * (start + output)[row]
        end = segments.hi + 4 * (start + output)[row]
        order = np.argsort(begin)
        assert (end[order][:-1] < begin[order][1:]).all()


def test_pairwise_separation_and_positional_rows_hold() -> None:
    for memory in (9, 20, 40):
        for prompt, output, start in schedules(memory, 250, 3 * memory):
            rows = list(zip(prompt.tolist(), output.tolist(), start.tolist(), strict=True))
            assert all(sep_holds(x, y, memory) for i, x in enumerate(rows) for y in rows[:i])
            assert positional_holds(rows, memory)
