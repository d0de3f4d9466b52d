"""Reductions: every edge against plain exhaustive answers, certificates both ways, refusals."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from reference import brute_force

from kvbound.checkers import Certificate, require_valid, verify
from kvbound.models import InputError, Problem, Schedule
from kvbound.models.errors import CertificateError, ScheduleError, SizeError
from kvbound.reductions import (
    PROBLEMS,
    REDUCTIONS,
    BinPacking,
    LevelPacking,
    Partition,
    RewardDecision,
    ThreePartition,
    certified_no,
    graph,
    near_miss,
    planted_yes,
    reduce,
    three_partition,
)
from kvbound.reductions.equal_outputs import EqualOutputs
from kvbound.reductions.generators import _random
from kvbound.reductions.varied_outputs import VariedOutputs


def plain_triples(numbers, target):  # type: ignore[no-untyped-def]
    """Triples by plain recursion over indices: shares nothing with the solver of the project."""

    def cut(left):  # type: ignore[no-untyped-def]
        if not left:
            return ()
        for i, j in combinations(left[1:], 2):
            if numbers[left[0]] + numbers[i] + numbers[j] == target:
                rest = cut(tuple(x for x in left if x not in (left[0], i, j)))
                if rest is not None:
                    return ((left[0], i, j), *rest)
        return None

    return cut(tuple(range(len(numbers))))


def plain_bins(sizes, capacity, bins):  # type: ignore[no-untyped-def]
    """A packing by trying every assignment."""
    for choice in product(range(bins), repeat=len(sizes)):
        if all(sum(w for w, b in zip(sizes, choice, strict=True) if b == x) <= capacity for x in range(bins)):
            return choice
    return None


def plain_tel(problem: Problem) -> int:
    r = problem.requests
    return brute_force(r.prompt.tolist(), r.output.tolist(), problem.fleet.memory, r.arrival.tolist())


def plain_levels(sizes, capacity):  # type: ignore[no-untyped-def]
    """(least level sum, levels) by trying every assignment."""
    best = None
    for choice in product(range(1, len(sizes) + 1), repeat=len(sizes)):
        fits = all(
            sum(w for w, b in zip(sizes, choice, strict=True) if b == x) <= capacity for x in range(1, len(sizes) + 1)
        )
        if fits and (best is None or sum(choice) < best[0]):
            best = (sum(choice), choice)
    return best


def some_three_partitions(count: int, m: int, targets=(20, 30, 41)):  # type: ignore[no-untyped-def]
    """Random instances, about half of them planted."""
    rng = np.random.default_rng(11)
    for i in range(count):
        target = targets[i % len(targets)]
        numbers = planted_yes(m, target, i)[0].numbers if i % 2 else _random(m, target, rng)
        yield ThreePartition(tuple(numbers), target)


# --- 3-Partition itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "target", "message"),
    [
        ((26, 33, 41, 30), 0, "count is 4; 3-Partition needs 3m numbers"),
        ((), 0, "count is 0"),
        ((26, 33, 41, 30, 35, 36), 0, "sum is 201, not mB"),
        ((26, 33, 41, 30, 35, 35), 99, r"sum is 200, not mB = 2·99 = 198"),
        ((25, 34, 41, 30, 35, 35), 0, r"number 0 is 25, outside \(B/4, B/2\) = \(25, 50\)"),
        ((26, 24, 50), 0, r"number 1 is 24, outside \(B/4, B/2\)"),
        ((26, 50, 26, 30, 35, 33), 100, r"number 1 is 50, outside"),
        ((26, 0, 41), 0, "number 1 is 0; it has to be at least 1"),
        ((26, 2.5, 41), 0, "number 1 is 2.5, not an integer"),
    ],
)
def test_broken_three_partitions_are_refused_by_name(numbers, target, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        ThreePartition(numbers, target)


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (((0, 1, 2),), "1 triples; there have to be m = 2"),
        (((0, 1, 2), (3, 4)), "has 2 members"),
        (((0, 1, 2), (2, 4, 5)), "number 2 does not exist or stands in two"),
        (((0, 1, 2), (3, 4, 6)), "number 6 does not exist"),
        (((0, 1, 3), (2, 4, 5)), "sums to 89, not B = 100"),
    ],
)
def test_the_checker_of_triples_refuses(triples, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CertificateError, match=message):
        ThreePartition((26, 33, 41, 30, 35, 35)).verify(triples)


def test_our_search_agrees_with_plain_recursion() -> None:
    answers = set()
    for m in (1, 2, 3, 4):
        for instance in some_three_partitions(60, m):
            found, plain = three_partition(instance), plain_triples(instance.numbers, instance.target)
            assert (found is None) == (plain is None), instance
            if found is not None:
                instance.verify(found)
            answers.add(found is None)
    assert answers == {True, False}
    with pytest.raises(SizeError, match="at most m = 6"):
        three_partition(planted_yes(7, 60, 0)[0])


def test_generators_keep_their_word_and_their_seed() -> None:
    for m in (1, 2, 5, 50):
        instance, planted = planted_yes(m, 1000, 3)
        instance.verify(planted)
        assert planted_yes(m, 1000, 3) == (instance, planted)
    for make in (certified_no, near_miss):
        for m in (2, 4, 6):
            instance = make(m, 300, 1)
            assert plain_triples(instance.numbers, 300) is None
            assert make(m, 300, 1) == instance
            assert make(m, 300, 2) != instance
        with pytest.raises(SizeError, match="up to m = 6, not 7"):
            make(7, 300, 1)
    with pytest.raises(InputError, match="no three numbers strictly between"):
        planted_yes(2, 4, 0)
    with pytest.raises(SizeError, match="nearly"):
        certified_no(3, 9, 0)  # only 3 and 4 are allowed, and with the sum 27 only 3


def test_a_near_miss_is_one_step_away_from_a_yes() -> None:
    for seed in range(5):
        numbers = list(near_miss(3, 200, seed).numbers)
        near = [
            three_partition(ThreePartition(tuple(a + (k == i) - (k == j) for k, a in enumerate(numbers)), 200))
            for i in range(9)
            for j in range(9)
            if i != j and numbers[j] - 1 > 50 and numbers[i] + 1 < 100
        ]
        assert any(found is not None for found in near)


# --- The edges ----------------------------------------------------------------------------------------------------


def test_every_edge_is_tested_here_and_the_graph_is_whole() -> None:
    assert set(REDUCTIONS) == {
        "equal-outputs",
        "varied-outputs",
        "horizon-one",
        "triples-as-bins",
        "two-workers",
        "two-bins",
        "padded-bins",
        "bins-as-workers",
        "unit-is-tel",
        "steps-as-levels",
        "levels-as-steps",
    }
    built = graph()
    assert set(built.nodes) == set(PROBLEMS)
    for name, reduction in REDUCTIONS.items():
        proof = reduction().proof
        assert "*Proof.*" in proof, name
        assert "∎" in proof, name
        assert "*Size.*" in proof, name
        assert "*Certificates.*" in proof, name
        assert built.has_edge(reduction.source.name, reduction.target.name, key=name)


@pytest.mark.parametrize("length", [1, 2])
def test_equal_outputs_on_all_small_instances(length: int) -> None:
    """m = 2, every multiset of numbers for B = 13, against brute force: optimum ≤ T iff yes, ≥ T + L if no."""
    seen = set()
    for numbers in combinations_of_six(4, 6, 26):
        instance = ThreePartition(numbers, 13)
        reduced = reduce(instance, "tel", length=length)
        optimum = plain_tel(reduced.target.problem)
        yes = plain_triples(numbers, 13) is not None
        assert (optimum <= reduced.threshold) == yes
        assert yes or optimum >= reduced.threshold + length == reduced.if_no
        seen.add(yes)
    assert True in seen


def combinations_of_six(low, high, total):  # type: ignore[no-untyped-def]
    values = range(low, high + 1)
    return [t for t in product(values, repeat=6) if sum(t) == total and list(t) == sorted(t)]


@pytest.mark.parametrize("length", [1, 2])
def test_equal_outputs_on_small_no_instances(length: int) -> None:
    for seed in range(4):
        for instance in (certified_no(2, 40, seed), near_miss(2, 60, seed)):
            reduced = reduce(instance, "tel", length=length)
            optimum = best_of_orders(reduced.target.problem)
            assert (seed, length) not in ((0, 1), (0, 2)) or optimum == plain_tel(reduced.target.problem)
            assert optimum >= reduced.if_no == reduced.threshold + length
            certificate = reduced.path.steps[0].proof_of_threshold(instance)
            assert verify(reduced.target.problem, certificate) == reduced.threshold < optimum


def test_threshold_certificates_prove_exactly_the_threshold() -> None:
    for m in (1, 2, 3, 8, 50):
        for length in (1, 2, 7):
            instance = planted_yes(m, 101, m)[0]
            edge = EqualOutputs(length)
            certificate = edge.proof_of_threshold(instance)
            problem = edge.forward(instance).problem
            assert verify(problem, certificate) == edge.threshold(instance) == 3 * length * m * (m + 1) // 2
            assert sum(len(term.ticks) for term in certificate.terms) == m - 1


def test_which_bounds_are_tight_on_yes_instances() -> None:
    """docs/reductions.md §4: the sequence relaxation of level 3 is, without multipliers; level 2 and volume are not."""
    for m, length in ((2, 1), (4, 1), (4, 3), (9, 2)):
        edge, instance = EqualOutputs(length), planted_yes(m, 100, m)[0]
        problem, top = edge.forward(instance).problem, edge.threshold(instance)
        kinds = len(set(zip(problem.requests.peak.tolist(), problem.requests.output.tolist(), strict=True)))
        for level, tight in ((2, False), (3, True)):
            free = np.zeros(kinds, np.int64)
            sequence = Certificate("sequence", "by hand", problem.fingerprint(), 1, (), None, level, free)
            assert (verify(problem, sequence) == top) == tight
        volume = verify(problem, Certificate("volume", "volume", problem.fingerprint(), 1, (), None))
        assert volume <= max(top - length * m, 3 * m * length)


def test_back_takes_any_schedule_below_the_gap_and_none_above() -> None:
    instance, planted = planted_yes(3, 60, 5)
    reduced = reduce(instance, "tel", length=4)
    schedule = reduced.lift(planted)
    assert sorted(reduced.back(schedule)) == sorted(planted)
    late = schedule.start.copy()
    last = np.flatnonzero(late == late.max())[0]
    late[last] += 3  # TEL = T + 3 < T + L: still proves the triples
    assert require_valid(reduced.target.problem, Schedule(late)) == reduced.threshold + 3
    assert sorted(reduced.back(Schedule(late))) == sorted(planted)
    late[last] += 1
    with pytest.raises(CertificateError, match="above the threshold"):
        reduced.back(Schedule(late))
    with pytest.raises(ScheduleError, match="breaks"):
        reduced.back(Schedule(np.zeros(9, np.int64)))
    with pytest.raises(CertificateError, match="triples"):
        reduced.lift(planted[:-1])


@pytest.mark.parametrize("trials", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_varied_outputs_vary_and_separate(trials: int) -> None:
    """m = 2, outputs of every pattern: exhaustive optimum over the starts that matter, ≤ T iff yes."""
    rng = np.random.default_rng(2)
    answers = set()
    for trial in range(trials):
        source = planted_yes(2, 30, trial)[0] if trial % 2 else certified_no(2, 40, trial)
        extras = tuple(int(e) for e in rng.integers(0, 3, 6))
        edge = VariedOutputs(extras=extras) if len(set(extras)) > 1 else VariedOutputs()
        decision = edge.forward(source)
        assert len(set(decision.problem.requests.output.tolist())) > 1
        assert len(set(decision.problem.requests.prompt.tolist())) > 1
        optimum = best_of_orders(decision.problem)
        yes = plain_triples(source.numbers, source.target) is not None
        assert (optimum <= decision.threshold) == yes
        assert yes or optimum >= edge.if_no(source)
        answers.add(yes)
    assert answers == {True, False}


def best_of_orders(problem: Problem) -> int:
    """Least TEL when the memory rule only asks *who* is active together, not at which ages: depth-first search.

    So it is here: three with Σa ≤ B fit at any ages, all other sets of three or more break the rule at any age.
    Starting as early as possible then means starting at 0 or when somebody completes, and these starts are all tried.
    """
    prompt, output = problem.requests.prompt.tolist(), problem.requests.output.tolist()
    memory, n = problem.fleet.memory[0], problem.n
    best = 10**9

    def fits(running, now, j):  # type: ignore[no-untyped-def]
        group = [*[(s, o, k) for s, o, k in running if k + o > now], (prompt[j], output[j], now)]
        return all(
            sum(s + t - k for s, o, k in group if k < t <= k + o) <= memory for t in {k + o for _, o, k in group}
        )

    def place(left, running, now, cost):  # type: ignore[no-untyped-def]
        nonlocal best
        if cost + sum(now + output[j] for j in left) >= best:
            return
        if not left:
            best = cost
            return
        for j in left:
            if fits(running, now, j):
                place(left - {j}, [*running, (prompt[j], output[j], now)], now, cost + now + output[j])
        later = [k + o for _, o, k in running if k + o > now]
        if later:
            place(left, running, min(later), cost)

    place(frozenset(range(n)), [], 0, 0)
    return best


@pytest.mark.slow
def test_varied_outputs_against_brute_force() -> None:
    """Short outputs (L = 4): the same theorem, judged by a simulation that tries every step."""
    short = planted_yes(2, 30, 1)[0]
    edge = VariedOutputs(extras=(0, 0, 0, 0, 0, 1))
    assert plain_tel(edge.forward(short).problem) <= edge.threshold(short)
    hard = certified_no(2, 40, 1)
    assert plain_tel(edge.forward(hard).problem) >= edge.if_no(hard) == edge.threshold(hard) + 1


def test_horizon_one_against_bins() -> None:
    answers = set()
    for m in (1, 2, 3):
        for instance in some_three_partitions(12, m, (20, 30)):
            reduced = reduce(instance, "reward")
            plain = plain_triples(instance.numbers, instance.target)
            best = best_reward(reduced.target)
            assert (best >= reduced.threshold) == (plain is not None)
            if plain is not None:
                assert sorted(reduced.back(reduced.lift(plain))) == sorted(plain)
            answers.add(plain is not None)
    assert answers == {True, False}


def best_reward(decision: RewardDecision) -> int:
    """Most requests that fit at step 0: depth-first over workers, by the tokens of step 1 alone."""
    prompt, memory = decision.problem.requests.prompt.tolist(), decision.problem.fleet.memory
    held = [0] * len(memory)
    best = 0

    def place(j: int, served: int) -> None:
        nonlocal best
        if served + len(prompt) - j <= best:
            return
        if j == len(prompt):
            best = served
            return
        for g in range(len(memory)):
            if held[g] + prompt[j] + 1 <= memory[g]:
                held[g] += prompt[j] + 1
                place(j + 1, served + 1)
                held[g] -= prompt[j] + 1
        place(j + 1, served)

    place(0, 0)
    return best


def test_bin_packing_to_unit_tel_and_to_reward() -> None:
    """Every edge out of bin packing on random instances, also with too many items and more bins than items."""
    rng = np.random.default_rng(3)
    answers, hopeless = set(), 0
    for _ in range(60):
        n, capacity, bins = int(rng.integers(1, 5)), int(rng.integers(3, 9)), int(rng.integers(1, 4))
        instance = BinPacking(tuple(int(w) for w in rng.integers(1, capacity + 1, n)), capacity, bins)
        plain = plain_bins(instance.sizes, capacity, bins)
        unit, reward = reduce(instance, "unit-tel"), reduce(instance, "reward")
        hopeless += unit.target.problem.fleet.memory[0] == 1
        optimum = unit_tel_by_counts(unit.target.problem)
        assert (optimum <= unit.threshold) == (plain is not None)
        assert (best_reward(reward.target) >= reward.threshold) == (plain is not None)
        if plain is not None:
            for reduced in (unit, reward, reduce(instance, "tel"), reduce(instance, "level-packing")):
                instance.verify(reduced.back(reduced.lift(plain)))
        answers.add(plain is not None)
    assert answers == {True, False}
    assert hopeless


def unit_tel_by_counts(problem: Problem) -> int:
    """Optimal TEL with o = 1: subsets of a step by bit mask, each step as full as one likes."""
    size = [int(s) + 1 for s in problem.requests.prompt]
    n, memory = problem.n, problem.fleet.memory[0]
    weight = [sum(size[j] for j in range(n) if mask >> j & 1) for mask in range(1 << n)]
    best = {0: 0}
    for mask in range(1, 1 << n):
        least = 10**9
        part = mask
        while part:
            if weight[part] <= memory:
                least = min(least, best[mask ^ part] + mask.bit_count())  # all of mask wait for the end of this step
            part = (part - 1) & mask
        best[mask] = least
    return best[(1 << n) - 1]


def test_unit_tel_is_level_packing() -> None:
    rng = np.random.default_rng(4)
    for _ in range(25):
        n, capacity = int(rng.integers(1, 6)), int(rng.integers(2, 9))
        sizes = tuple(int(w) for w in rng.integers(1, capacity + 1, n))
        least, levels = plain_levels(sizes, capacity)
        packing = LevelPacking(sizes, capacity, least)
        reduced = reduce(packing, "unit-tel")
        assert plain_tel(reduced.target.problem) == least
        assert reduced.back(reduced.lift(levels)) == levels
        again = reduce(reduced.target, "level-packing")
        assert again.target == packing
        schedule = reduced.lift(levels)
        assert again.back(again.lift(schedule)) == schedule
        tight = LevelPacking(sizes, capacity, least - 1)
        with pytest.raises(CertificateError, match="levels sum to"):
            tight.verify(levels)


def test_partition_to_two_workers_and_two_bins() -> None:
    rng = np.random.default_rng(6)
    answers, giants = set(), 0
    while len(answers) < 2 or giants < 3:
        numbers = tuple(int(a) for a in rng.integers(1, 9, int(rng.integers(2, 5))))
        if sum(numbers) % 2:
            continue
        instance = Partition(numbers)
        plain = next((c for c in product((0, 1), repeat=len(numbers)) if split(numbers, c)), None)
        giants += max(numbers) > instance.half
        for length in (1, 2):
            reduced = reduce(instance, "tel", length=length)
            optimum = plain_tel(reduced.target.problem)
            assert (optimum <= reduced.threshold) == (plain is not None)
            if plain is not None:
                assert reduced.back(reduced.lift(plain)) == plain
        packed = reduce(instance, "bin-packing").target
        assert (plain_bins(packed.sizes, packed.capacity, packed.bins) is not None) == (plain is not None)
        if plain is not None:
            for target in ("bin-packing", "unit-tel", "level-packing", "reward"):
                through = reduce(instance, target)
                instance.verify(through.back(through.lift(plain)))
        answers.add(plain is not None)


def split(numbers, sides) -> bool:  # type: ignore[no-untyped-def]
    return 2 * sum(a for a, side in zip(numbers, sides, strict=True) if side) == sum(numbers)
