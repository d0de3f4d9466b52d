"""Predictions on the command line: `--noise` on every source, counters in the answers, notes for readers."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import answer, inline, refusal

from kvbound import load, run_policy
from kvbound.checkers import check
from kvbound.instances import with_predictions
from kvbound.solvers.policies import POLICIES

SOURCE = "mix:n=60,seed=0"
COUNTERS = {"evictions", "lost_tokens", "recomputed_tokens"}
UNCERTAIN = ("a-max", "a-min", "sorted-f:a-min", "sorted-f:online")


def test_gap_counts_losses_when_lengths_are_predicted() -> None:
    found = answer("gap", SOURCE, "--memory", "2000", "--drop-too-large", "--noise", "0.5", "--seed", "3",
                   "--policies", "fcfs,a-max,a-min,sorted-f:a-min", "--bound", "volume")  # fmt: skip
    problem = with_predictions(load(SOURCE, memory=2000, drop_too_large=True).problem, "0.5", 3)
    assert sum(row["evictions"] for row in found["policies"]) > 0
    for row in found["policies"]:
        run = run_policy(problem, POLICIES[row["name"]])
        assert run.execution is not None
        assert row["tel"] == run.tel >= found["bound"]["value"]
        assert {key: getattr(run.execution, key) for key in COUNTERS} == {key: row[key] for key in COUNTERS}
    assert found["policies"][1]["evictions"] == 0  # a-max, and the interval holds the truth
    assert "noise 0.5, seed 3" in " ".join(found["notes"])


def test_all_lists_them_and_known_lengths_make_them_what_they_are_by_definition() -> None:
    rows = {row["name"]: row for row in answer("gap", "tiny:n=8,seed=0", "--bound", "none")["policies"]}
    assert set(UNCERTAIN) <= rows.keys()
    assert rows["a-max"]["tel"] == rows["a-min"]["tel"] == rows["mc-sf"]["tel"]
    assert rows["sorted-f:a-min"]["tel"] == rows["sorted-f:swap"]["tel"]
    assert not COUNTERS & rows["a-min"].keys()


def test_policies_explains_each_in_a_line() -> None:
    listed = {policy["name"]: policy for policy in answer("policies")["policies"]}
    for name in UNCERTAIN:
        assert all(listed[name][key] for key in ("key", "guarantee", "cost", "source"))


def test_schedule_writes_the_serving_attempts(tmp_path: Path) -> None:
    file = tmp_path / "served.json"
    arguments = (SOURCE, "--memory", "2000", "--drop-too-large")
    made = answer("schedule", *arguments, "--policy", "a-min", "--noise", "bins=256", "-o", file)
    assert made["evictions"] > 0
    assert len(made["attempts"]["request"]) == 60 - made["instance"]["dropped"] + made["evictions"]
    judged = answer("check", *arguments, file)
    assert (judged["ok"], judged["tel"]) == (True, made["tel"])


def test_tables_show_the_counters_only_when_there_are_some() -> None:
    head = ("gap", "tiny:n=8,seed=0", "--policies", "a-min", "--bound", "none")
    assert "evictions" not in inline(*head).stdout
    shown = inline(*head, "--noise", "0.8").stdout
    assert all(word in shown for word in ("evictions", "lost tokens", "recomputed"))


def test_a_picture_says_what_it_leaves_out(tmp_path: Path) -> None:
    arguments = ("tiny:n=8,seed=0", "--noise", "0.8", "--plot", tmp_path / "drawn.png")
    found = answer("gap", *arguments, "--policies", "a-min", "--bound", "none")
    assert found["policies"][0]["evictions"] > 0
    assert any("evicted held memory" in note for note in found["notes"])
    assert "evicted held memory" in inline("schedule", *arguments, "--policy", "a-min").stdout


@pytest.mark.parametrize("noise", ["0.2", "noise=0.2", "point=0.2", "bins=4", "lognormal=0.5", "0"])
def test_every_noise_model_on_a_trace(noise: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("num_prefill_tokens,num_decode_tokens\n3,9\n5,2\n1,7\n")
    row = answer("gap", trace, "--memory", "16", "--policies", "a-min", "--bound", "none", "--noise", noise)
    assert row["policies"][0].keys() >= COUNTERS


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ("1.0", "relative error is 1.0"),
        ("-0.1", "is not a noise model; write 0.2"),
        ("bims=3", "is not a noise model"),
        ("bins=0.5", "is not a noise model"),
        ("bins=0", "from 1 to"),
        ("point=", "is not a noise model"),
        ("", "is not a noise model"),
        ("nan", "is not a noise model"),
        ("lognormal=11", "sigma goes from 0 to 10"),
    ],
)
def test_a_wrong_noise_is_refused(noise: str, message: str) -> None:
    assert message in refusal("gap", "tiny:n=4", f"--noise={noise}")


def test_generator_noise_is_the_same_noise() -> None:
    made = load("mix:n=50,seed=4,noise=0.5").problem.requests
    added = with_predictions(load("mix:n=50,seed=4").problem, "0.5", 4).requests
    assert made == added
    assert with_predictions(load("mix:n=50,seed=4").problem, "0.5", 5).requests != added


def test_rows_that_look_ahead_are_named_when_requests_arrive_over_time() -> None:
    source = "tiny:n=8,arrivals=poisson,rate=0.2"
    found = answer("gap", source, "--policies", "svf,sorted-f:swap,sorted-f:online", "--bound", "none")
    assert any("not online" in note and note.endswith(": sorted-f:swap") for note in found["notes"])
    quiet = answer("gap", source, "--policies", "svf,sorted-f:online", "--bound", "none")
    assert not any("not online" in note for note in quiet["notes"])


def test_instance_files_keep_predictions(tmp_path: Path) -> None:
    file = tmp_path / "noisy.json"
    answer("generate", "tiny:n=8,seed=0", "--noise", "0.5", "--seed", "2", "-o", file)
    problem = load(str(file)).problem
    assert problem.requests == with_predictions(load("tiny:n=8,seed=0").problem, "0.5", 2).requests
    run = run_policy(problem, POLICIES["a-min"])
    assert run.schedule is not None
    assert check(problem, run.schedule).objective == run.tel
