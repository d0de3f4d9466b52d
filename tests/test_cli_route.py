"""`kvbound route` end to end: JSON shape, figures against the library, one broken input per option."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli import answer, inline, refusal

from kvbound.checkers.execution import check_execution
from kvbound.instances import load, write_instance
from kvbound.models import Fleet, Problem, Requests, Reward
from kvbound.routing import default_horizon, parse_weights, route, seeded
from kvbound.solvers.routers.metrics import Limits, measure

SOURCE = "uniform:n=60,prompt=1-20,output=1-30,memory=90,seed=1"
FLEET = ("--workers", "3", "--batch", "4", "--rate", "0.3")
NAMES = [f"{rule}{when}" for when in ("", ":central") for rule in
         ("round-robin", "random", "lor", "power-of-2", "least-kv")]  # fmt: skip


@pytest.fixture(scope="module")
def everything() -> dict:  # type: ignore[type-arg]  # a JSON document
    return answer("route", SOURCE, *FLEET, "--noise", "point=0.2", "--seeds", "3", "--time-limit", "2")


def test_json_has_the_promised_shape(everything: dict) -> None:  # type: ignore[type-arg]
    assert everything["bounds"].keys() == {"reward", "mean_eel"}
    assert [row["name"] for row in everything["routers"]] == [*NAMES, "bid-price"]
    promised = {"name", "mean_eel", "p95_eel", "p99_eel", "mean_ttft", "throughput", "slo_violations", "reward", "gap"}
    for row in everything["routers"]:
        assert promised | {"p99_ttft", "qps", "kv_utilisation", "batch_utilisation", "evictions", "ci"} <= row.keys()
        assert 0 <= row["gap"] < 1
        assert row["eel_gap"] >= 0
        assert row["reward"] <= everything["bounds"]["reward"]
        assert row["mean_eel"] >= everything["bounds"]["mean_eel"]
        assert row["ci"]["mean_eel"] >= 0  # 0 for a router under which nobody ever waits
        assert 0 < row["kv_utilisation"] <= 1
        assert 0 < row["batch_utilisation"] <= 1
    assert sum(row["ci"]["mean_eel"] > 0 for row in everything["routers"]) >= len(NAMES)
    assert everything["seeds"] == 3


def test_the_figures_are_recomputed_from_the_executions() -> None:
    """Plain recomputation of EEL, TTFT, SLO, utilisation and reward from the attempts of one run."""
    problem = seeded(load(SOURCE, workers=3, batch=4).problem, 0, 0.3, "point=0.3")
    limits = Limits(40, 10)
    result = route(problem, ["lor", "bid-price"], limits=limits, bounds=False)
    r = problem.requests
    for row in result.rows:
        trial = row.trials[0]
        assert check_execution(problem, trial.execution).ok
        e = trial.execution
        attempts = list(zip(e.request.tolist(), e.start.tolist(), e.end.tolist(), strict=True))
        done = {j: end for j, k, end in attempts if end - k == r.output[j]}
        first = {j: min(k for i, k, _ in attempts if i == j) for j in done}
        eel = [done[j] - int(r.arrival[j]) for j in range(problem.n)]
        ttft = [first[j] + 1 - int(r.arrival[j]) for j in range(problem.n)]
        m = trial.metrics
        assert m.mean_eel == pytest.approx(sum(eel) / problem.n)
        assert m.p99_ttft == pytest.approx(float(np.percentile(ttft, 99)))
        late = sum(a >= 40 or b >= 10 for a, b in zip(eel, ttft, strict=True))
        assert m.slo_violations == pytest.approx(late / problem.n)
        span = max(done.values()) - int(r.arrival.min())
        held = sum(int(r.prompt[j]) + t - k for j, k, end in attempts for t in range(k + 1, end + 1))
        assert m.kv_utilisation == pytest.approx(held / (3 * 90 * span))
        assert m.throughput == pytest.approx(int(r.output.sum()) / span)
        horizon = result.reward.horizon
        saved = sum(max(0, horizon - end) + max(0, horizon - (end - int(r.output[j])) - 1) for j, end in done.items())
        assert trial.reward == saved
        assert measure(problem, e, limits) == m


def test_same_seed_same_answer() -> None:
    def figures(seed: str) -> list:  # type: ignore[type-arg]
        options = ("--routers", "random,bid-price", "--no-bounds", "--noise", "0.3", "--seed", seed)
        rows = answer("route", SOURCE, *FLEET, *options)["routers"]
        return [{k: v for k, v in row.items() if k not in ("seconds", "decision_ms", "decision_ms_p99", "ci")}
                for row in rows]  # fmt: skip

    assert figures("4") == figures("4")
    assert figures("4") != figures("5")


def test_table_and_plot(tmp_path: Path) -> None:
    picture = tmp_path / "route.png"
    done = inline("route", SOURCE, *FLEET, "--routers", "lor,bid-price", "--time-limit", "1", "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert "no schedule earns more than" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_weights_by_name_and_by_numbers() -> None:
    limits = Limits(7, 3)
    assert parse_weights("average", 50, limits) == parse_weights("0,1,1", 50, limits)
    tail = parse_weights("tail", 50, limits)
    assert (tail.eel_tail, tail.ttft_tail, tail.eel_limit, tail.ttft_limit) == (1, 1, 7, 3)
    half = parse_weights("1/2,0.5", 50, limits)
    assert half == Reward(50, half.token, half.token, eel_limit=7, ttft_limit=3)
    assert half.denominator == 2


def test_arrivals_of_the_source_are_kept_with_rate_trace(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    rows = "".join(f"{i},{i + 1},3\n" for i in range(9))
    trace.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows)
    options = ("--memory", "50", "--workers", "2", "--rate", "trace", "--step-seconds", "0.5", "--routers", "lor")
    found = answer("route", trace, *options, "--no-bounds")
    assert found["routers"][0]["makespan"] == 16 + 3  # the ninth arrives 8 s = 16 steps after the first
    assert found["bounds"] == {"reward": None, "mean_eel": None}
    assert found["routers"][0]["gap"] is None


def test_the_default_horizon_is_beyond_the_last_arrival() -> None:
    problem = seeded(load(SOURCE, workers=3, batch=4).problem, 0, 0.3, None)
    assert default_horizon(problem) > problem.requests.arrival.max() + problem.requests.output.max()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--routers", "roundrobin"), "did you mean 'round-robin'"),
        (("--rate", "0"), "must be above 0"),
        (("--rate", "fast"), "requests per step"),
        (("--rate", "trace"), "--step-seconds"),
        (("--weights", "mean"), "average, tail, throughput"),
        (("--weights", "1,1,1,1,1,1,1"), "six weights"),
        (("--weights", "0,-1"), "from 0 to"),
        (("--noise", "loud"), "noise"),
        (("--memory", "20"), "--drop-too-large"),
        (("--plot", "x.jpg"), "cannot draw"),
    ],
)
def test_one_broken_input_per_option(options: tuple[str, ...], words: str) -> None:
    assert words in refusal("route", SOURCE, "--workers", "2", *options)


def test_numbers_below_one_are_refused_by_name() -> None:
    for option in ("--seeds", "--horizon", "--slo-eel", "--slo-ttft", "--workers", "--batch", "--memory"):
        done = inline("route", SOURCE, option, "0")
        assert done.returncode == 2
        assert option in done.stderr


def test_pareto_sweeps_the_weights_and_marks_the_front(tmp_path: Path) -> None:
    picture = tmp_path / "front.png"
    options = ("--points", "3", "--routers", "lor", "--noise", "point=0.2", "--plot", picture)
    found = answer("pareto", SOURCE, *FLEET, *options)
    assert [p["share"] for p in found["points"]] == [0, 0.5, 1]
    values = [(p["mean_eel"], p["slo_violations"]) for p in found["points"]]
    for p, value in zip(found["points"], values, strict=True):
        beaten = any(o != value and o[0] <= value[0] and o[1] <= value[1] for o in values)
        assert p["on_front"] is not beaten
    assert found["points"][0]["weights"] == ["0", "1", "1", "0", "0", "0"]
    assert [row["name"] for row in found["routers"]] == ["lor"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "✓" in inline("pareto", SOURCE, *FLEET, "--points", "2", "--routers", "lor").stdout


def test_prices_say_what_binds(tmp_path: Path) -> None:
    """With room for everything nothing binds; a batch size of 1 makes slots bind, a small memory tokens."""
    base, free = "uniform:n=150,prompt=5-10,output=5-20", ("--workers", "2", "--rate", "0.4")
    picture = tmp_path / "prices.png"
    idle = answer("prices", base, "--memory", "9000", "--batch", "500", *free)["kinds"][0]["binds"]
    assert idle["none"] > 0.9
    slots = answer("prices", base, "--memory", "9000", "--batch", "2", *free, "--plot", picture)["kinds"][0]["binds"]
    assert slots["batch"] > 0.5 > slots["memory"]
    tokens = answer("prices", base, "--memory", "45", "--batch", "500", *free)["kinds"][0]["binds"]
    assert tokens["memory"] > 0.5 > tokens["batch"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "memory binds in" in inline("prices", base, "--memory", "45", *free).stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("pareto", "--between", "average"), "two names"),
        (("pareto", "--between", "average,nothing"), "average, tail, throughput"),
        (("pareto", "--axes", "mean_eel,beauty"), "unknown axis 'beauty'"),
        (("pareto", "--plot", "x.gif"), "cannot draw"),
        (("prices", "--router", "lor"), "has no prices"),
        (("prices", "--weights", "x"), "average, tail, throughput"),
        (("prices", "--plot", "x.gif"), "cannot draw"),
    ],
)
def test_one_broken_input_per_option_of_pareto_and_prices(options: tuple[str, ...], words: str) -> None:
    command, *rest = options
    assert words in refusal(command, SOURCE, "--workers", "2", *rest)


def test_certificates_of_both_bounds_are_verified_again_and_a_tampered_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "both.json"
    options = ("--workers", "3", "--batch", "4")
    drawn = ("--rate", "0.3", "--seed", "5")
    found = answer("route", SOURCE, *options, *drawn, "--routers", "lor", "--time-limit", "2", "--certificate",
                   str(file))  # fmt: skip
    again = answer("verify", SOURCE, str(file), *options, *drawn)
    reward, eel = again["certificates"]
    assert reward["reward"] == found["bounds"]["reward"]
    assert eel["value"] / 60 == found["bounds"]["mean_eel"]
    other = inline("verify", SOURCE, str(file), *options)  # other arrivals
    assert (other.returncode, "for another problem" in other.stderr) == (1, True)
    document = json.loads(file.read_text())
    document["certificates"][0]["value"] -= 1  # claims more than the prices prove
    file.write_text(json.dumps(document))
    tampered = inline("verify", SOURCE, str(file), *options, *drawn)
    assert (tampered.returncode, "prove" in tampered.stderr) == (1, True)
    document["certificates"] = []
    file.write_text(json.dumps(document))
    assert "not empty" in refusal("verify", SOURCE, str(file), *options, *drawn)
    assert "--seeds 1" in refusal("route", SOURCE, *FLEET, "--seeds", "2", "--certificate", str(file))


def test_requests_that_fit_nowhere_are_named_all_of_them(tmp_path: Path) -> None:
    def source(prompt: list[int], output: list[int]) -> str:
        file = tmp_path / f"of-{len(prompt)}.json"
        write_instance(file, Problem(Requests(prompt, output), Fleet((100, 100))))
        return str(file)

    few = source([40, 1, 50, 60], [10, 2, 10, 10])
    text = refusal("route", few, "--memory", "20", "--workers", "2")
    assert "3 of 4 requests are larger than memory (requests 0, 2, 3)" in text
    found = answer("route", few, "--memory", "20", "--workers", "2", "--drop-too-large", "--routers", "lor")
    assert found["instance"]["too_large"] == [0, 2, 3]
    many = source([30] * 12 + [1], [1] * 13)
    assert "requests 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more" in refusal("route", many, "--memory", "20")
