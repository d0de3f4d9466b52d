"""Bounds on REWARD: certificates in exact integers, LP and prices against each other and against brute force."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cli import answer
from reward_cases import draw, optimum

from kvbound.checkers import Certificate, PriceTerm, require_valid, verify
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json
from kvbound.instances import load
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests, Reward
from kvbound.models.errors import CertificateError, SizeError
from kvbound.models.objective import TEL
from kvbound.solvers.bounds import bound, mean_eel_bound, reward_bound
from kvbound.solvers.bounds.reward import RewardLp, RewardPrices, prepare, solve_reward_lp
from kvbound.solvers.bounds.reward.dual import RewardDual
from kvbound.solvers.bounds.reward.linear_program import lp_nonzeros
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolveConfig, solve

LONG = Deadline(None)


def middling(seed: int, fleet: Fleet, preset: str, n: int = 18, horizon: int = 24) -> Problem:
    rng = np.random.default_rng(seed)
    requests = Requests(rng.integers(0, 9, n), rng.integers(1, 9, n), np.sort(rng.integers(0, horizon - 4, n)))
    return Problem(requests, fleet, Reward.preset(preset, horizon, eel_limit=9, ttft_limit=4))


MIXED = Fleet((20, 20, 28), (2, 2, None))


def plain_value(problem: Problem, certificate: Certificate) -> Fraction:
    """The bound of docs/math.md §6 as it stands there, in fractions, step by step."""
    r, w, fleet = problem.requests, problem.objective, problem.fleet
    assert isinstance(w, Reward)
    price = {
        (t.kind, t.parameters[0]): {
            int(q): Fraction(int(p), certificate.denominator) for q, p in zip(t.ticks, t.prices, strict=True)
        }
        for t in certificate.terms
    }
    total = Fraction(0)
    for kind in fleet.kinds:
        memory, batch = fleet.memory[kind[0]], fleet.batch[kind[0]]
        total += len(kind) * memory * sum(price.get(("memory", kind[0]), {}).values())
        total += len(kind) * (batch or 0) * sum(price.get(("batch", kind[0]), {}).values())
    for j, (s, o, a) in enumerate(zip(r.prompt.tolist(), r.output.tolist(), r.arrival.tolist(), strict=True)):
        best = Fraction(0)
        for kind in fleet.kinds:
            if s + o > fleet.memory[kind[0]]:
                continue
            token, slot = (price.get((name, kind[0]), {}) for name in ("memory", "batch"))
            for k in range(a, w.horizon):
                steps = range(k + 1, min(k + o, w.horizon) + 1)
                paid = sum(slot.get(t, 0) + (s + t - k) * token.get(t, 0) for t in steps)
                best = max(best, int(w.reward(r, j, k)) - paid)
        total += best
    return total


def test_the_checker_computes_the_formula() -> None:
    rng = random.Random(5)
    for _ in range(40):
        problem = draw(rng)
        reward = problem.objective
        assert isinstance(reward, Reward)
        denominator = rng.choice([1, 3, 1024])
        terms = []
        for kind in problem.fleet.kinds:
            for name in ("memory", "batch"):
                if name == "batch" and problem.fleet.batch[kind[0]] is None:
                    continue
                ticks = sorted(rng.sample(range(reward.horizon + 1), rng.randint(0, reward.horizon)))
                prices = [rng.randint(0, 3 * denominator) for _ in ticks]
                terms.append(PriceTerm(name, (kind[0],), np.array(ticks, np.int64), np.array(prices, np.int64)))
        print_ = problem.fingerprint()
        proof = Certificate("reward", "drawn", print_, denominator, tuple(terms), None, objective=reward.identity)
        value = verify(problem, proof)
        assert value == plain_value(problem, proof) // 1
        assert Fraction(value, reward.denominator) >= optimum(problem)
        assert verify(problem, replace(proof, value=value)) == verify(problem, replace(proof, value=value + 1)) == value
        with pytest.raises(CertificateError, match="prove only"):
            verify(problem, replace(proof, value=value - 1))


def test_what_the_checker_refuses() -> None:
    problem = middling(1, MIXED, "average")
    reward = problem.objective
    assert isinstance(reward, Reward)

    def proof(*terms: PriceTerm, denominator: int = 1) -> Certificate:
        return Certificate("reward", "x", problem.fingerprint(), denominator, terms, None, objective=reward.identity)

    def term(kind: str, worker: int, tick: int = 1, price: int = 1) -> PriceTerm:
        return PriceTerm(kind, (worker,), np.array([tick]), np.array([price]))

    assert verify(problem, proof(term("memory", 0), term("memory", 2), term("batch", 0))) > 0
    for bad, message in (
        (proof(term("memory", 1)), "worker 1 is not the first of its kind"),
        (proof(term("batch", 2)), "worker 2 has no batch size"),
        (proof(term("memory", 9)), "there is no worker 9"),
        (proof(term("memory", 0, 25)), "step 25 lies behind the horizon 24"),
        (proof(term("memory", 0), term("memory", 0)), "priced twice"),
        (proof(term("levels", 0)), "unknown reward row 'levels'"),
        (proof(term("memory", 0), denominator=1 << 60), "beyond 64 bits"),
    ):
        with pytest.raises(CertificateError, match=message):
            verify(problem, bad)
    with pytest.raises(CertificateError, match="negative"):
        term("memory", 0, 1, -1)
    good = proof(term("memory", 0))
    with pytest.raises(CertificateError, match="another problem"):
        verify(replace(problem, objective=Reward(24)), good)
    with pytest.raises(CertificateError, match="names its objective"):
        replace(good, objective=None)
    tel = replace(problem, objective=TEL)
    with pytest.raises(CertificateError, match="bounds REWARD, not tel"):
        verify(tel, replace(good, fingerprint=tel.fingerprint()))
    lower = bound(tel, "volume", deadline=LONG).certificate
    assert lower is not None
    with pytest.raises(CertificateError, match="bounds TEL, not reward"):
        verify(problem, replace(lower, fingerprint=problem.fingerprint()))


def require_dual(problem: Problem, lp: RewardLp) -> None:
    """Prices ≥ 0 with the margin "reward − price × footprint" prove the optimum: complementary slackness."""
    r, w = problem.requests, problem.objective
    assert isinstance(w, Reward)
    used = {name: np.zeros_like(lp.prices.memory) for name in ("memory", "batch")}
    for j, g, k, x in zip(lp.request.tolist(), lp.worker.tolist(), lp.start.tolist(), lp.share.tolist(), strict=True):
        at = lp.prices.workers.index(g)
        steps = np.arange(k + 1, min(k + int(r.output[j]), w.horizon) + 1)
        held = int(r.prompt[j]) + steps - k
        used["memory"][at, steps] += x * held
        used["batch"][at, steps] += x
        margin = int(w.reward(r, j, k)) - float((lp.prices.memory[at, steps] * held).sum())
        margin -= float(lp.prices.batch[at, steps].sum())
        assert margin >= -1e-6 * max(1.0, lp.value)  # only starts that pay are used
    assert (lp.prices.memory >= 0).all()
    assert (lp.prices.batch >= 0).all()
    for at, kind in enumerate(problem.fleet.kinds):
        memory, batch = problem.fleet.memory[kind[0]], problem.fleet.batch[kind[0]]
        for name, cap, price in (("memory", memory, lp.prices.memory), ("batch", batch, lp.prices.batch)):
            if cap is None:
                assert not price[at].any()
                continue
            room = len(kind) * cap - used[name][at]
            assert room.min() > -1e-6 * len(kind) * cap
            assert float(abs(room * price[at]).max()) < 1e-5 * max(1.0, lp.value)  # what has a price is full


@pytest.mark.parametrize("preset", ["average", "tail", "throughput"])
@pytest.mark.parametrize("fleet", [Fleet.uniform(20, 3, 2), MIXED, Fleet((40,))], ids=["equal", "mixed", "one"])
def test_pooled_lp_equals_the_lp_per_worker(preset: str, fleet: Fleet) -> None:
    problem = middling(2, fleet, preset)
    pooled, each = solve_reward_lp(problem), solve_reward_lp(problem, pooled=False)
    assert pooled.value == pytest.approx(each.value, rel=1e-7)
    assert len(each.prices.workers) == len(fleet)
    require_dual(problem, pooled)
    proved = reward_bound(problem, "lp", deadline=LONG)
    assert proved.value == np.floor(pooled.value + 1e-4)
    assert verify(problem, proved.certificate) == proved.value
    prices = reward_bound(problem, "lagrangian", deadline=LONG)
    assert proved.value <= prices.value <= 1.005 * pooled.value + 1
    assert proved.reward == Fraction(proved.value, proved.denominator)


def compare(seed: int, number: int) -> None:
    rng = random.Random(seed)
    for _ in range(number):
        problem = draw(rng, 5)
        best = optimum(problem)
        fleet = problem.fleet
        pooled, each = solve_reward_lp(problem), solve_reward_lp(problem, pooled=False)
        assert pooled.value == pytest.approx(each.value, abs=1e-6)
        for method in ("lp", "lagrangian"):
            found = reward_bound(problem, method, deadline=LONG)
            assert best <= found.reward
            assert verify(problem, found.certificate) == found.value
        more = replace(problem, fleet=Fleet(tuple(m + 2 for m in fleet.memory), fleet.batch))
        assert optimum(more) >= best
        assert solve_reward_lp(more).value >= pooled.value - 1e-6


def test_a_few_random_bounds() -> None:
    compare(1, 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
def test_many_random_bounds(seed: int) -> None:
    compare(seed, 80)


def test_bound_optimum_schedule_in_this_order() -> None:
    problem = middling(3, MIXED, "average", n=9, horizon=16)
    result = solve(problem, config=SolveConfig(time_limit=60.0, threads=1))
    assert result.reward is not None
    assert result.schedule is not None
    fewer = replace(result.schedule, start=np.where(np.arange(9) == 4, -1, result.schedule.start),
                    worker=np.where(np.arange(9) == 4, -1, result.schedule.worker))  # fmt: skip
    assert -require_valid(problem, fewer) <= result.reward
    for method in ("lp", "lagrangian"):
        assert reward_bound(problem, method, deadline=LONG).reward >= result.reward


def test_what_others_hold_is_missing() -> None:
    problem = Problem(Requests([2, 2], [1, 1]), Fleet.uniform(3, 2, 2), Reward(1, served=1))
    held = np.array([[0.0, 3.0]])
    assert solve_reward_lp(problem).value == pytest.approx(2.0)
    assert solve_reward_lp(problem, held_memory=held).value == pytest.approx(1.0)
    assert solve_reward_lp(problem, held_batch=held + np.array([[0.0, 0.5]])).value == pytest.approx(0.5)


def test_samples_and_grids_change_no_price() -> None:
    prepare()
    problem = middling(4, MIXED, "average", n=40)
    dual = RewardDual(problem, 4)
    rng = np.random.default_rng(0)
    prices = rng.random(dual.size) * 20
    fine = RewardDual(problem, 2)
    spread = np.concatenate([np.repeat(part, 2)[: fine.blocks] for part in np.split(prices, len(dual.rows))])
    assert dual.evaluate(prices, 0.0, gradient=False).hard == pytest.approx(
        fine.evaluate(spread, 0.0, gradient=False).hard
    )
    # The gradient is that of the smoothed value.
    at, step = dual.evaluate(prices, 0.5), 1e-5
    for i in rng.choice(dual.size, 6, replace=False):
        up = prices.copy()
        up[i] += step
        assert (dual.evaluate(up, 0.5).soft - at.soft) / step == pytest.approx(at.gradient[i], rel=1e-3, abs=1e-3)


def test_too_large_or_wrong() -> None:
    problem = middling(1, MIXED, "average")
    with pytest.raises(OptionError, match="known: lp, lagrangian"):
        reward_bound(problem, "best", deadline=LONG)
    with pytest.raises(OptionError, match="the objective is tel"):
        reward_bound(replace(problem, objective=TEL), deadline=LONG)
    many = Requests(np.ones(9000, int), np.full(9000, 90), np.arange(9000))
    huge = Problem(many, Fleet.uniform(1000, 4), Reward(9000, eel=1))
    assert lp_nonzeros(huge, 1) > 1e9
    with pytest.raises(SizeError, match="use the method lagrangian"):
        reward_bound(huge, "lp", deadline=LONG)
    prices = RewardPrices((0, 2), np.zeros((2, 3)), np.ones((2, 3)))
    assert prices.of_worker(problem, 1)[1].tolist() == [1, 1, 1]
    with pytest.raises(OptionError, match="there is no worker 3"):
        prices.of_worker(problem, 3)


def test_no_time_still_proves_something() -> None:
    problem = middling(6, MIXED, "average", n=40)
    found = reward_bound(problem, deadline=Deadline(0.0))
    assert verify(problem, found.certificate) == found.value >= reward_bound(problem, "lp", deadline=LONG).value


def test_files_and_the_command(tmp_path) -> None:  # type: ignore[no-untyped-def]
    source = "mix:n=30,seed=3"
    loaded = load(source, workers=2, memory=20000, batch=3).problem
    problem = replace(loaded, objective=Reward(400, eel=Fraction(1, 3), ttft=1))
    found = reward_bound(problem, deadline=LONG)
    text = certificate_to_json(found.certificate)
    again = certificate_from_json(text, "here")
    assert verify(problem, again) == found.value
    assert again.objective == "reward:400:0,1/3,1,0,0,0:0:0"
    file = tmp_path / "reward.json"
    file.write_text(text)
    fleet = ("--workers", "2", "--memory", "20000", "--batch", "3")
    said = answer("verify", source, str(file), *fleet)
    assert (said["ok"], said["value"], said["reward"]) == (True, found.value, found.value / 3)
    document = json.loads(text)
    for change, code in (({"value": found.value - 1}, 1), ({"objective": "reward:400:1:2:3"}, 1)):
        file.write_text(json.dumps(document | change))
        assert answer("verify", source, str(file), *fleet, code=code)["ok"] is False


def test_identities_make_objectives() -> None:
    reward = Reward(7, Fraction(1, 2), 2, 0, 3, 0, 1, eel_limit=4, ttft_limit=5)
    assert Reward.from_identity(reward.identity) == reward
    for bad in ("tel", "reward:7:1/2,2,0,3,0,1:4", "reward:7:2/4,2,0,3,0,1:4:5", "reward:7:1/0,2,0,3,0,1:4:5"):
        with pytest.raises(InputError, match=r"names no reward|the weight"):
            Reward.from_identity(bad)


def test_mean_eel_of_a_fleet() -> None:
    rng = random.Random(8)
    for _ in range(6):
        problem = draw(rng, 5)
        tel = solve(replace(problem, objective=TEL), method="cp-sat", config=SolveConfig(threads=1)).tel
        found = mean_eel_bound(problem, deadline=LONG)
        assert tel is not None
        assert found.mean == Fraction(found.tel, problem.n)
        assert int(problem.requests.output.sum()) <= found.tel <= tel
        assert verify(replace(problem, objective=TEL), found.certificate) == found.tel
    crowded = Problem(Requests([4] * 12, [6] * 12, [3] * 12), Fleet((20, 24), (2, 1)), Reward(9, eel=1))
    assert mean_eel_bound(crowded, deadline=LONG).mean > 12  # four rounds of three: 15 on average
