"""Families of bad instances: their closed forms against the engine, their inequalities at many M, their sources."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from pathlib import Path

import pytest

from kvbound.checkers import require_valid
from kvbound.instances import load
from kvbound.instances.adversarial.families import FAMILIES, Member, make
from kvbound.instances.adversarial.families.base import conveyor, conveyor_starts, triangle, waves
from kvbound.models import Fleet, Problem, Requests, Schedule
from kvbound.models.errors import OptionError
from kvbound.solvers.policies.registry import POLICIES
from kvbound.solvers.policies.run import run_policy
from kvbound.solvers.routers import ROUTERS, run_router
from tests.cli import inline as run

#: Members whose closed forms are held against the engine: small ones, odd ones, those with every parameter set.
MEMBERS = [
    *(("fcfs", {"memory": m}) for m in (4, 5, 36, 37, 99)),
    ("fcfs", {"memory": 20, "long": 4, "short": 333}),
    *(("shortest-prompt", {"memory": m}) for m in (4, 5, 36, 37)),
    ("shortest-prompt", {"memory": 21, "long": 3, "short": 400}),
    *(("total-size", {"memory": m}) for m in (4, 36, 37, 100)),
    ("total-size", {"memory": 50, "long": 5, "large": 3}),
    *(("online", {"memory": m}) for m in (2, 3, 36, 101)),
    *(("mc-sf", {"memory": m}) for m in (9, 10, 11, 36, 37, 38, 98, 197)),
    ("mc-sf", {"memory": 38, "large": 7, "small": 200}),
    *(("a-max", {"memory": m}) for m in (1, 7, 36)),
    *(("a-min", {"levels": q}) for q in (1, 3, 6)),
    ("a-max", {"memory": 7, "n": 40}),
    *(("svf", {"memory": m, "rounds": 9}) for m in (8, 36, 37, 38, 200)),
    ("svf", {"memory": 500, "rounds": 5, "thin": 4, "alpha": 0.8}),
    ("svf", {"memory": 2000, "rounds": 20, "thin": 6, "alpha": 0.5}),
    *(("lockstep", {"memory": 36, "fit": r, "n": n}) for r, n in ((1, 5), (2, 7), (3, 50), (36, 40))),
    ("sorted-f", {"wide": 2, "rounds": 3}),
    ("sorted-f", {"wide": 3, "rounds": 4, "base": 0}),
    ("sorted-f", {"wide": 4, "rounds": 5, "base": 9}),
    ("sorted-f:halves", {"half": 30, "rounds": 4}),
    ("sorted-f:halves", {"half": 101, "rounds": 7}),
    ("sorted-f", {"wide": 2, "rounds": 4, "late": 2, "width": 9}),
    ("sorted-f", {"wide": 3, "rounds": 3, "base": 6, "late": 3, "width": 20}),
    *(("sorted-lp", {"memory": m}) for m in (2, 9, 36, 100)),
    ("sorted-lp", {"memory": 12, "large": 30}),
    *(("lp-swap", {"memory": m}) for m in (8, 9, 37, 100)),
    *(("svf:strict", {"memory": m}) for m in (64, 100, 399, 2000)),
    ("svf:strict", {"memory": 400, "rounds": 3}),
    *((name, {"memory": m}) for name in ("volume-classes", "wspt") for m in (4, 10, 36, 1000, 1024, 5000)),
    ("wspt", {"memory": 200, "fat": 3}),
    ("routers", {"memory": 10, "workers": 2, "rounds": 4}),
    ("routers", {"memory": 9, "workers": 3, "rounds": 5}),
    ("routers", {"memory": 7, "workers": 1, "rounds": 2}),
    ("routers:fifo", {"memory": 20}),
    ("routers:fifo", {"memory": 11, "workers": 3, "long": 3, "short": 40}),
]


def tel(problem: Problem, name: str) -> int:
    if name in ROUTERS:
        return require_valid(problem, run_router(problem, ROUTERS[name], seed=0).execution.schedule(problem.requests))
    done = run_policy(problem, POLICIES[name]).tel
    assert done is not None
    return done


@pytest.mark.parametrize(("name", "values"), MEMBERS, ids=str)
def test_closed_forms_are_what_the_engine_and_the_checker_find(name: str, values: dict[str, int]) -> None:
    member = make(name, **values)
    problem = member.problem(name)
    assert require_valid(problem, member.reference) == member.reference_tel
    for policy in FAMILIES[name].hurts:
        if member.policy_tel is None:
            assert tel(problem, policy) >= member.reference_tel, policy
        elif member.exact:
            assert tel(problem, policy) == member.policy_tel, policy
        else:
            assert tel(problem, policy) >= member.policy_tel, policy


def test_every_family_is_among_the_members_and_hurts_what_exists() -> None:
    assert {name for name, _ in MEMBERS} == set(FAMILIES)
    for family in FAMILIES.values():
        assert set(family.hurts) <= set(POLICIES) | set(ROUTERS)


@pytest.mark.parametrize(
    ("name", "proved"),
    [
        ("fcfs", lambda m: m / 5),
        ("shortest-prompt", lambda m: m / 5),
        ("total-size", lambda m: 0.7 * sqrt(m)),
        ("online", lambda m: sqrt(m / 2)),
        ("mc-sf", lambda m: sqrt(m) / 6),
        ("a-max", lambda m: (m + 1) / 2),
        ("volume-classes", lambda m: 0.7 * m**0.25),
        ("wspt", lambda m: 0.7 * m ** (1 / 3)),
    ],
)
def test_ratios_grow_without_bound(name: str, proved: object) -> None:
    """The closed forms are exact, so growth may be read off them at sizes that no test would run."""
    ratios = [make(name, memory=4**e).ratio for e in range(2, 8)]
    assert all(a < b for a, b in pairwise(ratios))
    for e in range(3, 8):
        assert float(ratios[e - 2]) >= proved(4**e)  # type: ignore[operator]


def test_many_long_requests_come_near_the_limit() -> None:
    """L → ∞: M/√2 for FCFS, √M for total size."""
    m, long = 64, 30
    assert make("fcfs", memory=m, long=long, short=round(long * m / sqrt(2))).ratio > Fraction(9, 10) * m / sqrt(2)
    assert make("total-size", memory=m, long=long, large=round(long * sqrt(m))).ratio > Fraction(9, 10) * 8


@pytest.mark.parametrize("alpha", [0.5, 0.8, 0.9])
def test_svf_comes_near_one_over_one_minus_alpha(alpha: float) -> None:
    small = make("svf", memory=3_000, rounds=20, thin=4, alpha=alpha)
    large = make("svf", memory=400_000, rounds=200, thin=20, alpha=alpha)
    assert float(small.ratio) < float(large.ratio) < 1 / (1 - alpha)
    assert float(large.ratio) > 0.8 / (1 - alpha)
    assert int(large.requests.peak.max()) <= alpha * large.memory
    assert len(set(large.requests.volume.tolist())) == 1


def test_svf_is_unbounded_without_alpha() -> None:
    ratios = [make("svf", memory=m, rounds=round(2 * sqrt(m))).ratio for m in (64, 256, 1024, 4096)]
    assert all(b > Fraction(3, 2) * a for a, b in pairwise(ratios))


def test_identical_requests_are_two_minus_one_over_r() -> None:
    for fit in (2, 4, 8):
        member = make("lockstep", memory=fit * 2520, fit=fit, n=5000)
        assert Fraction(99, 100) * (2 - Fraction(1, fit)) < member.ratio < 2 - Fraction(1, fit)


def test_sorted_f_passes_two() -> None:
    ratios = [make("sorted-f", wide=w, rounds=4 * w, base=20 * w).ratio for w in (4, 8, 16, 32)]
    assert all(a < b for a, b in pairwise(ratios))
    assert Fraction(9, 4) < ratios[-1] < Fraction(8, 3)
    assert make("sorted-f:halves", half=10**6, rounds=300).ratio > Fraction(198, 100)


def test_late_requests_cost_sorted_f_more() -> None:
    """On the way to 3: proved by the closed form at a size whose tables the exact selector would refuse."""
    member = make("sorted-f", wide=10, rounds=44, base=88, late=20, width=2640)
    assert require_valid(member.problem("late"), member.reference) == member.reference_tel
    assert member.ratio > Fraction(247, 100)


def test_sorted_lp_is_unbounded() -> None:
    """What the proof gives, and that the policy does worse: the LP starts the long request at 0."""
    ratios = [make("sorted-lp", memory=4**e).ratio for e in range(4, 9)]
    assert all(a < b for a, b in pairwise(ratios))
    assert float(ratios[-1]) > 0.95 * sqrt(2 * 4**8) / 6
    member = make("sorted-lp", memory=100)
    assert tel(member.problem("relaxed"), "sorted-lp") > 6 * member.reference_tel
    assert tel(member.problem("relaxed"), "lp-swap") == member.reference_tel


def test_lp_swap_is_unbounded() -> None:
    ratios = [make("lp-swap", memory=4**e).ratio for e in range(4, 10)]
    assert all(a < b for a, b in pairwise(ratios))
    assert float(ratios[-1]) > 0.95 * sqrt(2 * 4**9) / 8
    member = make("lp-swap", memory=100)
    assert tel(member.problem("relaxed"), "lp-swap") > 4 * member.reference_tel
    assert tel(member.problem("relaxed"), "sorted-f:swap") == member.reference_tel


@pytest.mark.parametrize("policy", ["a-min", "sorted-f:a-min"])
def test_hidden_lengths_cost_a_min_more_and_more(policy: str) -> None:
    ratios = []
    for levels in (4, 6, 8):
        member = make("a-min", levels=levels)
        ratios.append(tel(member.problem("hidden"), policy) / member.reference_tel)
    assert all(b > 1.5 * a for a, b in pairwise(ratios))


def test_volumes_need_no_ties() -> None:
    """Strictly ascending volumes, and the ratio of SVF and of the quantile greedy grows like √M all the same."""
    members = [make("svf:strict", memory=m) for m in (256, 1024, 4096, 16384)]
    assert all(b.ratio > Fraction(3, 2) * a.ratio for a, b in pairwise(members))
    for member in members:
        volumes = member.requests.volume.tolist()
        assert all(a < b for a, b in pairwise(volumes))


def test_sorted_f_stays_small_where_others_grow() -> None:
    for name in ("fcfs", "total-size", "mc-sf"):
        member = make(name, memory=64)
        assert tel(member.problem(name), "sorted-f:exact") <= 2 * member.reference_tel


def test_routers_tend_to_the_number_of_workers() -> None:
    for workers in (2, 3, 4):
        ratio = make("routers", memory=4000, workers=workers, rounds=400).ratio
        assert Fraction(95, 100) * workers < ratio < workers


def test_conveyor_is_the_best_regular_one() -> None:
    """Every (width, gap) by trial, with the checker as the judge."""
    n, prompt, output, memory = 7, 1, 6, 23
    problem = Problem(Requests([prompt] * n, [output] * n), Fleet((memory,)))

    def cost(width: int, gap: int) -> int | None:
        try:
            return require_valid(problem, Schedule(conveyor_starts(n, width, gap)))
        except Exception:  # a schedule that breaks a rule is no choice
            return None

    costs = [cost(w, g) for w in range(1, 8) for g in range(1, 7)]
    assert cost(*conveyor(n, prompt, output, memory)) == min(c for c in costs if c is not None)


def test_sums() -> None:
    assert [waves(n, 3) for n in range(8)] == [0, 1, 2, 3, 5, 7, 9, 12]
    assert triangle(4) == 10


def test_a_member_is_a_source() -> None:
    loaded = load("family:fcfs,memory=36").problem
    member: Member = make("fcfs", memory=36)
    assert loaded.requests == member.requests
    assert loaded.fleet == Fleet((36,))
    assert load("family:routers,workers=3", memory=196).problem.fleet == Fleet.uniform(196, 3)
    assert load("family:a-max,memory=5").problem.requests.predicted_high is not None


def test_generate_writes_a_member(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    assert run("generate", "family:total-size,memory=36", "-o", str(file)).returncode == 0
    assert load(str(file)).problem.requests == make("total-size", memory=36).requests
    assert json.loads(run("info", "family:svf,memory=36", "--json").stdout)["instance"]["memory"] == 36


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("family:fcf", ("did you mean 'fcfs'", "total-size")),
        ("family:", ("known are", "fcfs")),
        ("family:fcfs,memory=3", ("memory", "4")),
        ("family:fcfs,memori=36", ("did you mean 'memory'",)),
        ("family:lockstep,memory=37,fit=4", ("memory=37", "fit=4")),
        ("family:svf,memory=9,alpha=0.05", ("alpha=0.05", "memory")),
        ("family:sorted-f:halves,half=10,rounds=9", ("rounds=9", "half")),
        ("family:sorted-f,wide=1", ("wide", "2")),
        ("family:svf:strict,rounds=999", ("rounds=999", "fewer")),
        ("family:sorted-f,late=9", ("late=9", "width")),
        ("familly:fcfs", ("did you mean 'family'",)),
    ],
)
def test_what_is_wrong_is_named(source: str, words: tuple[str, ...]) -> None:
    with pytest.raises(OptionError) as error:
        load(source)
    assert all(word in str(error.value) for word in words)


def test_families_stand_in_the_list_of_sources() -> None:
    text = run("sources").stdout
    assert all(f"family:{name}" in text for name in FAMILIES)
