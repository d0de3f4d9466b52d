"""Reductions: composition along paths, size bounds, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from kvbound.checkers import require_valid
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests, Schedule
from kvbound.models.errors import CertificateError, KvboundError
from kvbound.reductions import (
    PROBLEMS,
    BinPacking,
    LevelPacking,
    Partition,
    RewardDecision,
    TelDecision,
    UnitTelDecision,
    planted_yes,
    reduce,
)
from kvbound.reductions.equal_outputs import EqualOutputs
from kvbound.reductions.varied_outputs import VariedOutputs


def test_paths_compose_and_certificates_travel_all_the_way() -> None:
    instance, planted = planted_yes(4, 80, 1)
    for through in ((), ("varied-outputs",), ("padded-bins",)):
        path = reduce("three-partition", "tel", through=through)
        reduced = path(instance)
        assert isinstance(reduced.target, TelDecision)
        schedule = reduced.lift(planted)
        assert require_valid(reduced.target.problem, schedule) <= reduced.threshold
        assert sorted(reduced.back(schedule)) == sorted(planted)
    assert [s.name for s in reduce("three-partition", "level-packing").steps] == [
        "triples-as-bins",
        "padded-bins",
        "steps-as-levels",
    ]
    assert str(reduce("partition", "reward")) == "partition —two-bins→ bin-packing —bins-as-workers→ reward"


def test_sizes_stay_within_their_bounds() -> None:
    rng = np.random.default_rng(9)
    sources = [
        planted_yes(int(m), int(b), int(b))[0] for m, b in zip((1, 2, 3, 5, 9), (15, 41, 60, 100, 999), strict=True)
    ]
    sources += [
        Partition((9, 1)),
        Partition((4,)),
        Partition((3, 1, 2)),
        BinPacking((1,), 1, 1),
        BinPacking((2, 2, 2), 2, 1),
    ]
    sources += [BinPacking(tuple(int(w) for w in rng.integers(1, 20, 7)), 20, 4), LevelPacking((1, 2), 2, 4)]
    for source in sources:
        for target in PROBLEMS:
            try:
                path = reduce(source.name, target)
            except OptionError:
                continue
            reached, bound = path(source).target.size, path.size_bound(source.size)
            assert reached.items <= bound.items, (source, str(path))
            assert reached.largest <= bound.largest, (source, str(path))
    for extras in ((0, 1, 2, 0, 1, 2), (0, 0, 0, 0, 0, 9)):
        edge, instance = VariedOutputs(extras=extras), planted_yes(2, 41, 0)[0]
        size, bound = edge.forward(instance).size, edge.size_bound(instance.size)
        assert (size.items <= bound.items, size.largest <= bound.largest) == (True, True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: reduce("3-partition", "tel"), OptionError, "unknown problem '3-partition': did you mean"),
        (lambda: reduce("tel", "three-partition"), OptionError, "no path from tel to three-partition"),
        (lambda: reduce("three-partition", "tel", through=["two-bins"]), OptionError, "through two-bins"),
        (lambda: reduce("three-partition", "tel", through=["bins"]), OptionError, "unknown reduction 'bins'"),
        (lambda: reduce("three-partition", "reward", length=3), OptionError, r"\(horizon-one\) takes length"),
        (lambda: reduce(7, "tel"), OptionError, "int is no problem of the graph"),
        (lambda: reduce("partition", "tel")(planted_yes(1, 20, 0)[0]), OptionError, "starts at partition"),
        (lambda: EqualOutputs(0), InputError, "length is 0"),
        (lambda: VariedOutputs(0), InputError, "spread is 0"),
        (lambda: VariedOutputs(extras=(1, 2)).forward(planted_yes(1, 20, 0)[0]), InputError, "2 extras for 3 numbers"),
        (lambda: Partition((1, 2)), InputError, "sum is 3, an odd number"),
        (lambda: Partition(()), InputError, "no number"),
        (lambda: BinPacking((3, 9), 8, 2), InputError, "item 1 has size 9, more than the capacity 8"),
        (lambda: BinPacking((3,), 8, 0), InputError, "bins is 0"),
        (lambda: LevelPacking((), 8, 3), InputError, "no item"),
        (
            lambda: UnitTelDecision(Problem(Requests([1], [2]), Fleet((9,))), 3),
            InputError,
            "request 0 has output 2; unit-output TEL needs o = 1",
        ),
        (lambda: UnitTelDecision(Problem(Requests([1], [1], [4]), Fleet((9,))), 3), InputError, "arrives at step 4"),
        (lambda: UnitTelDecision(Problem(Requests([1], [1]), Fleet((9, 9))), 3), InputError, "one worker"),
        (lambda: RewardDecision(Problem(Requests([1], [1]), Fleet((9,))), 3), InputError, "tel, not REWARD"),
        (lambda: reduce(planted_yes(1, 10**9, 0)[0], "tel"), InputError, "multiplies the numbers"),
    ],
)
def test_refusals_name_what_is_wrong(call, error, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=message):
        call()


def test_checkers_of_the_other_certificates_refuse() -> None:
    packing = BinPacking((3, 5, 4), 8, 2)
    for certificate, message in (
        ((0, 1), "2 bins are named"),
        ((0, 0, 2), "item 2 is in bin 2"),
        ((1, 1, 1), "holds 12"),
    ):
        with pytest.raises(CertificateError, match=message):
            packing.verify(certificate)
    with pytest.raises(CertificateError, match="level of at least 1"):
        LevelPacking((3, 5), 8, 3).verify((0, 1))
    with pytest.raises(CertificateError, match="side 0 sums to 1"):
        Partition((1, 3)).verify((0, 1))
    with pytest.raises(CertificateError, match="names the side"):
        Partition((1, 3)).verify((0, 2))
    reward = reduce(planted_yes(1, 20, 0)[0], "reward")
    with pytest.raises(CertificateError, match="reward 2, below the threshold 3"):
        reward.back(Schedule([0, 0, -1]))


def test_recognise_reads_back_what_forward_wrote() -> None:
    instance = planted_yes(3, 77, 0)[0]
    for length in (1, 4):
        edge, again = EqualOutputs.recognise(EqualOutputs(length).forward(instance).problem)
        assert (edge.length, again) == (length, instance)
    with pytest.raises(KvboundError, match="not an instance that 3-Partition reduces to"):
        EqualOutputs.recognise(Problem(Requests([3, 4], [1, 1]), Fleet((9,))))
