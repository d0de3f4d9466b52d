"""`kvbound reproduce`: every experiment on tiny sizes, the file, the page, Ctrl-C, processes."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cli import answer, inline, kvbound, refusal

from kvbound.models import InputError, OptionError
from kvbound.reproduction import EXPERIMENTS, Estimate, Experiment, Outcome, Published, Row, choose, reproduce
from kvbound.reproduction.conclusions import conclude, explained, gives
from kvbound.reproduction.context import Context
from kvbound.reproduction.page import page
from kvbound.reproduction.results_file import as_json, read_results, results, schema, write_results
from kvbound.reproduction.workloads import fleet, mixture, small, small_online, with_load

SCHEMA = Path(__file__).parent.parent / "docs" / "schemas" / "kvbound-reproduction.schema.json"


@functools.cache
def tiny(name: str) -> Outcome:
    """One experiment at its smallest."""
    (outcome,), interrupted = reproduce(choose([name]), scale="tiny")
    assert not interrupted
    assert outcome.complete
    return outcome


def row(ours: list[float], published: Published | None = None, **other: object) -> Row:
    """A row of a made-up experiment."""
    fields = {"series": "it", "figure": "ratio", "unit": "", "setting": "a", "why": "because", "role": "stated"} | other
    return Row(published=published, ours=Estimate.of(ours), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_runs_at_its_smallest(name: str) -> None:
    outcome = tiny(name)
    assert outcome.name == name
    assert outcome.rows
    assert outcome.schedules > 0
    assert all(r.setting and r.why and math.isfinite(r.ours.value) for r in outcome.rows)
    keys = [(r.series, r.role, r.setting, r.figure) for r in outcome.rows]
    assert len(set(keys)) == len(keys), "two rows state the same"
    lines = page([outcome]).splitlines()
    assert f"## {name}" in lines
    cells = [line.replace("\\|", "").count("|") for line in lines if line.startswith("| ") and "*as " in line]
    assert len(set(cells)) <= 1, "a table with rows of unequal length"


def test_same_seed_same_figures() -> None:
    (again,), _ = reproduce(choose(["sorted-f"]), scale="tiny")
    assert [r.ours for r in tiny("sorted-f").rows] == [r.ours for r in again.rows]


def test_ratios_are_those_of_the_policies() -> None:
    from kvbound.solvers.policies import POLICIES, run_policy

    found = tiny("sorted-f").rows[0]
    expected = []
    for seed in range(2):
        problem = mixture(60, 0.2, seed)
        fcfs, swap = (run_policy(problem, POLICIES[p]).tel or 0 for p in ("fcfs", "sorted-f:swap"))
        expected.append(fcfs / swap)
    assert found.ours.values == tuple(expected)
    assert found.ours.value == pytest.approx(np.mean(expected))
    assert found.published == Published.of(4.87)


def test_mc_sf_is_enclosed_by_a_schedule_and_a_certificate() -> None:
    best, bound = (r for r in tiny("mc-sf").rows if r.role == "stated" and r.figure == "MC-SF / it, mean")
    assert 1 < best.ours.values[0] <= bound.ours.values[0]


def test_no_router_beats_the_certified_floor() -> None:
    rows = tiny("routing").rows
    for floor in (r for r in rows if r.series.startswith("any router")):
        first = [r for r in rows if r.setting == floor.setting and r.figure == "mean EEL" and r is not floor]
        assert first
        assert all(r.ours.values[0] >= floor.ours.values[0] - 1e-9 for r in first)


def test_what_gives_a_published_figure() -> None:
    assert gives(row([1.0, 1.2], Published.of(1.1)))
    assert gives(row([1.05], Published.of(1.03, 1.09)))
    assert gives(row([1.102], Published.of(1.1)))  # within 5 % of the effect
    assert not gives(row([1.2], Published.of(1.1)))
    assert not gives(row([1.2]))
    assert gives(row([-44.0], Published.of(-45.75), unit="%"))
    assert not gives(row([44.0], Published.of(-45.75), unit="%"))


def test_a_stated_row_names_the_readings_that_give_the_figure() -> None:
    stated, other = row([3.0], Published.of(2.0)), row([2.0], Published.of(2.0), role="reading", setting="b")
    assert "comes out with: b" in explained([stated, other])[0].why
    assert "No reading" in explained([stated, row([4.0], Published.of(2.0), role="reading")])[0].why
    second = row([1.0], Published.of(1.0), figure="other", role="reading", setting="b")
    assert any("come out for it: b" in line for line in conclude([stated, other, second]))
    assert any("No setting" in line for line in conclude([stated, row([9.0], Published.of(1.0), figure="other")]))


def test_an_interval_is_students() -> None:
    found = Estimate.of([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.half == pytest.approx(4.303 / math.sqrt(3))
    assert Estimate.of([1.0, 3.0], "max") == Estimate("max", 3.0, None, (1.0, 3.0))


def test_workloads_are_what_they_say() -> None:
    problem = small(3, 5, 12)
    limit = problem.fleet.memory[0] // 12
    assert problem.n == 5
    assert 30 <= limit <= 50
    assert int(problem.requests.peak.max()) <= limit
    arrivals = small_online(1).requests.arrival
    assert (np.diff(arrivals) >= 0).all()
    assert int(arrivals.max()) < 60
    loaded = with_load(mixture(300, 0.2, 0), 5)
    assert loaded.requests.peak.sum() / loaded.fleet.memory[0] == pytest.approx(5, rel=0.01)
    routed = fleet("mix:n=4000,long=0", (0.5,), 0, memory=4000, batch=48, workers=4)
    r = routed.requests
    busy = max(r.volume.sum() / (4 * 4000), r.output.sum() / (4 * 48)) / int(r.arrival.max())
    assert busy == pytest.approx(0.5, rel=0.05)


def test_unknown_names_are_refused_with_the_list() -> None:
    with pytest.raises(OptionError, match="did you mean 'routing'"):
        choose(["routng"])
    message = refusal("reproduce", "nonsense")
    assert all(name in message for name in EXPERIMENTS)
    assert "no such folder" in refusal("reproduce", "--traces", "missing-folder", "sorted-f")
    assert "does not exist" in refusal("reproduce", "sorted-f", "-o", "no/folder/x.json")


def test_file_and_page_from_the_command(tmp_path: Path) -> None:
    out, md = tmp_path / "r.json", tmp_path / "r.md"
    document = answer("reproduce", "sorted-f-load", "--quick", "--seeds", "1", "-o", out, "--write", md)
    assert document == json.loads(out.read_text())
    assert document == as_json(read_results(out))
    assert document["interrupted"] is False
    (experiment,) = document["experiments"]
    assert experiment["quick"]
    assert all(len(r["ours"]["values"]) == 1 for r in experiment["rows"])
    again = answer("reproduce", "--from", out, "--write", tmp_path / "again.md")
    assert again == document
    assert (tmp_path / "again.md").read_text() == md.read_text()
    shown = inline("reproduce", "--from", out)
    assert "published" in shown.stdout
    assert "schedules checked" in shown.stdout


def test_the_announcement_names_the_time() -> None:
    done = inline("reproduce", "sorted-f-load", "--quick", "--seeds", "1", "--json")
    assert "about" in done.stderr
    listed = inline("reproduce", "--list").stdout
    assert all(name in listed for name in EXPERIMENTS)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_results(path, results([tiny("sorted-f-online")]))
    text = path.read_text()
    path.write_text(text.replace('"complete": true', '"complete": "yes"'))
    with pytest.raises(InputError, match=r"experiments\.0\.complete"):
        read_results(path)
    path.write_text(text[:100])
    with pytest.raises(InputError, match="reproduce -o"):
        read_results(path)


def test_the_schema_is_the_one_in_docs() -> None:
    assert json.loads(SCHEMA.read_text()) == schema()


def test_ctrl_c_keeps_the_rows_that_were_measured() -> None:
    def rows(ctx: Context) -> Iterator[Row]:
        yield row([1.0])
        raise KeyboardInterrupt

    experiment = Experiment("sorted-f", "made up", "nobody", "nothing", rows, 1, 1)
    later = Experiment("mc-sf", "made up", "nobody", "nothing", rows, 1, 1)
    kept: list[Outcome] = []
    outcomes, interrupted = reproduce([experiment, later], scale="tiny", finished=kept.append)
    assert interrupted
    assert [o.name for o in outcomes] == ["sorted-f"]
    assert outcomes[0].rows == (row([1.0]),)
    assert not outcomes[0].complete
    assert kept == list(outcomes)
    assert "stopped by Ctrl-C" in page(outcomes)


def test_missing_traces_are_said() -> None:
    assert any("KVBOUND_TRACES" in note for note in tiny("sorted-f").skipped)


@pytest.mark.slow
def test_processes_give_the_same_figures() -> None:
    names = ["sorted-f-load", "sorted-f-mix"]
    apart, _ = reproduce(choose(names), scale="tiny", jobs=2)
    here, _ = reproduce(choose(names), scale="tiny")
    assert [o.rows for o in apart] == [o.rows for o in here]


@pytest.mark.slow
def test_a_signal_to_the_command_keeps_what_it_has(tmp_path: Path) -> None:
    import signal
    import subprocess
    import time

    from cli import COMMAND

    out = tmp_path / "r.json"
    command = [COMMAND, "reproduce", "sorted-f-load", "mc-sf-online", "-o", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not out.exists() and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    document = as_json(read_results(out))
    assert document["interrupted"]
    assert document["experiments"][0]["name"] == "sorted-f-load"
    assert document["experiments"][0]["complete"]


@pytest.mark.slow
def test_quick_end_to_end(tmp_path: Path) -> None:
    done = kvbound(
        "reproduce", "--quick", "--seeds", "2", "-o", tmp_path / "r.json", "--write", tmp_path / "r.md", "--json"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [e["name"] for e in document["experiments"]] == list(EXPERIMENTS)
    assert all(e["complete"] for e in document["experiments"])
    text = (tmp_path / "r.md").read_text()
    assert all(f"## {name}" in text for name in EXPERIMENTS)
