"""`kvbound gap` end to end: JSON shape, table, own schedules, own policies, plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import answer, inline, kvbound, refusal

from kvbound import load, run_policy
from kvbound.solvers.policies import POLICIES

SOURCE = "tiny:n=8,seed=0"
OPTIMUM = 507  # docs/math.md §9
FIGURES = {"name", "tel", "mean_eel", "makespan", "ratio", "seconds"}


@pytest.fixture(scope="module")
def everything() -> dict:  # type: ignore[type-arg]  # a JSON document
    return answer("gap", SOURCE)


def test_json_has_the_promised_shape(everything: dict) -> None:  # type: ignore[type-arg]
    assert {"name": SOURCE, "n": 8, "memory": 40}.items() <= everything["instance"].items()
    bound = everything["bound"]
    assert {"value", "method", "verified", "seconds"} <= bound.keys()
    assert bound["method"] == "lagrangian"
    assert bound["verified"] is True
    assert 0 < bound["value"] <= OPTIMUM
    assert [row["name"] for row in everything["policies"]] == list(POLICIES)
    for row in everything["policies"]:
        assert row.keys() == FIGURES
        assert row["tel"] >= OPTIMUM
        assert row["mean_eel"] == row["tel"] / 8
        assert row["ratio"] == row["tel"] / bound["value"]


def test_figures_are_those_of_the_library(everything: dict) -> None:  # type: ignore[type-arg]
    problem = load(SOURCE).problem
    for row in everything["policies"]:
        run = run_policy(problem, POLICIES[row["name"]])
        assert run.tel == row["tel"]
        assert run.schedule is not None
        assert run.schedule.completion(problem.requests).max() == row["makespan"]


def test_table_bound_and_evidence_for_people() -> None:
    done = kvbound("gap", SOURCE, "--policies", "fcfs,svf", "--bound", "volume")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("tiny:n=8,seed=0: n = 8, M = 40")
    header, fcfs, svf = (
        next(line.split() for line in lines if line.strip().startswith(s)) for s in ("policy", "fcfs", "svf")
    )
    assert header[:2] == ["policy", "TEL"]
    assert (fcfs[1], svf[1]) == ("662", "521")
    assert any("no schedule has a TEL below" in line and "exact integer arithmetic" in line for line in lines)


def test_a_policy_that_declines_gives_its_reason_and_no_figures() -> None:
    row = answer("gap", "mix:n=2000,seed=0", "--policies", "sorted-f:exact", "--bound", "volume")["policies"][0]
    assert row.keys() == {"name", "declined"}
    assert "table updates" in row["declined"]


def test_own_schedule_gets_its_certified_ratio(tmp_path: Path) -> None:
    mine, csv = tmp_path / "mine.json", tmp_path / "mine.csv"
    written = answer("schedule", SOURCE, "--policy", "mc-sf", "-o", mine)
    starts = written["schedule"]["start"]
    csv.write_text("request,start\n" + "".join(f"{j},{k}\n" for j, k in enumerate(starts)))
    found = answer("gap", SOURCE, "--policies", "fcfs", "--bound", "volume", "--schedule", mine, "--schedule", csv)
    assert [row["name"] for row in found["policies"]] == ["fcfs", str(mine), str(csv)]
    for row in found["policies"][1:]:
        assert row["tel"] == written["tel"]
        assert row["ratio"] == written["tel"] / found["bound"]["value"]


def test_an_invalid_schedule_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    csv = tmp_path / "mine.csv"
    csv.write_text("request,start\n" + "".join(f"{j},0\n" for j in range(8)))
    found = answer("gap", SOURCE, "--policies", "svf", "--bound", "volume", "--schedule", csv, code=1)
    row = found["policies"][1]
    assert row["valid"] is False
    assert {v["rule"] for v in row["violations"]} == {"memory"}
    done = inline("gap", SOURCE, "--policies", "svf", "--bound", "none", "--schedule", csv)
    assert done.returncode == 1
    assert "breaks 7 rule(s)" in done.stdout


def test_own_policy_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "shortest.py"
    rule = "sorted(range(len(view)), key=view.output.tolist().__getitem__)"
    file.write_text(f"def order(view):\n    print('noise')\n    return {rule}\n")
    found = answer("gap", SOURCE, "--policies", "mc-sf", "--policy-file", file, "--bound", "none")
    assert found["bound"] is None
    assert [row["name"] for row in found["policies"]] == ["mc-sf", "shortest"]
    assert len({row["tel"] for row in found["policies"]}) == 1


BROKEN = {
    "raises": ("def order(view):\n    return 1 / 0\n", ":2: ZeroDivisionError"),
    "short": ("def order(view):\n    return [0, 1]\n", ":1: order(view): the order leaves out request 2"),
    "twice": ("def order(view):\n    return [0] * 8\n", ":1: order(view): the order leaves out request 1"),
    "none": ("def order(view):\n    pass\n", ":1: order(view): an order must be"),
    "syntax": ("def order(view:\n", ":1: SyntaxError"),
    "nothing": ("x = 1\n", "defines no function order(view)"),
    "exits": ("import sys\nsys.exit(0)\n", ":2: SystemExit"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_policy_is_refused_naming_file_and_line(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kvbound.custom import policies
    from kvbound.models import InputError

    code, expected = BROKEN[kind]
    file = tmp_path / "mine.py"
    file.write_text(code)
    with pytest.raises(InputError) as caught:
        run_policy(load(SOURCE).problem, policies([], [file])[0])
    assert f"{file}{expected}".replace(f"{file}defines", f"{file}: defines") in str(caught.value)


def test_a_broken_policy_ends_the_command_with_2(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BROKEN["raises"][0])
    assert f"{file}:2: ZeroDivisionError: division by zero" in refusal("gap", SOURCE, "--policy-file", file)


def test_plot_is_written_and_a_wrong_ending_refused_first(tmp_path: Path) -> None:
    picture = tmp_path / "gap.png"
    found = answer("gap", SOURCE, "--policies", "svf", "--bound", "volume", "--plot", picture)
    assert found["policies"][0]["tel"] == 521
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "cannot draw .jpg" in refusal("gap", SOURCE, "--plot", tmp_path / "gap.jpg")
    assert sorted(tmp_path.iterdir()) == [picture]


def test_exact_bound_proves_the_optimum() -> None:
    found = answer("gap", SOURCE, "--policies", "svf", "--bound", "exact", "--time-limit", "300")
    assert (found["bound"]["method"], found["bound"]["value"]) == ("exact", OPTIMUM)
    assert found["exact"]["tel"] == OPTIMUM


def test_workers_batch_limit_and_arrivals_reach_the_problem(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(f"{i},{i + 1},3\n" for i in range(9))
    )
    options = (
        "--memory",
        "50",
        "--workers",
        "2",
        "--batch",
        "3",
        "--limit",
        "5",
        "--offset",
        "2",
        "--step-seconds",
        "0.5",
    )
    found = answer("gap", trace, *options, "--policies", "fcfs", "--bound", "volume")
    assert {"n": 5, "memory": 50, "workers": 2, "batch": 3}.items() <= found["instance"].items()
    assert found["policies"][0]["makespan"] == 8 + 3  # the fifth arrives 4 s = 8 steps after the first
    assert json.dumps(found["notes"])


def test_stdout_is_one_document_whatever_solvers_print() -> None:
    done = kvbound("gap", SOURCE, "--policies", "svf", "--bound", "lp", "--json")
    assert json.loads(done.stdout)["bound"]["method"] == "lp"


def test_best_adds_a_searched_schedule_that_no_policy_beats() -> None:
    found = answer("gap", SOURCE, "--policies", "svf", "--best", "--time-limit", "2", "--bound", "best")
    assert [row["name"] for row in found["policies"]] == ["svf", "best known"]
    assert found["policies"][1]["tel"] == OPTIMUM
    assert found["bound"]["value"] <= OPTIMUM
    assert "multipliers" in found["bound"]["proved_by"]


def test_improve_writes_a_schedule_that_checks(tmp_path: Path) -> None:
    file = tmp_path / "better.json"
    found = answer("improve", SOURCE, "--policy", "fcfs", "--time-limit", "1", "-o", file)
    assert found["from"]["name"] == "fcfs"
    assert found["best"]["tel"] == OPTIMUM < found["from"]["tel"]
    assert inline("check", SOURCE, file).returncode == 0
    assert "unknown policy" in refusal("improve", SOURCE, "--policy", "nobody").lower()
