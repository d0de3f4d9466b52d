"""Instance and schedule files: exact round trips, published schemas, one broken file per error, atomic writes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvbound.instances import (
    instance_to_json,
    load,
    read_instance,
    read_schedule,
    write_atomic,
    write_instance,
    write_schedule,
)
from kvbound.instances.schema import SCHEMAS, schema_text
from kvbound.models import Fleet, InputError, KvboundError, Problem, Requests, Schedule
from kvbound.models.errors import ScheduleError
from kvbound.models.fleet import MAX_MEMORY
from kvbound.models.requests import MAX_ARRIVAL, MAX_TOKENS

ROOT = Path(__file__).resolve().parent.parent


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n = draw(st.integers(1, 6))

    def column(low: int, high: int) -> st.SearchStrategy[list[int]]:
        return st.lists(st.integers(low, high), min_size=n, max_size=n)

    pairs = draw(st.none() | st.lists(st.tuples(*[st.integers(1, MAX_TOKENS)] * 2), min_size=n, max_size=n))
    requests = Requests(
        draw(column(0, MAX_TOKENS)),
        draw(column(1, MAX_TOKENS)),
        draw(column(0, MAX_ARRIVAL)),
        None if pairs is None else [min(p) for p in pairs],
        None if pairs is None else [max(p) for p in pairs],
    )
    memory = draw(st.lists(st.integers(2 * MAX_TOKENS, MAX_MEMORY), min_size=1, max_size=3))
    batch = draw(st.lists(st.none() | st.integers(1, 10**6), min_size=len(memory), max_size=len(memory)))
    words = st.text(st.characters(codec="utf-8"), max_size=20)
    return Problem(requests, Fleet(tuple(memory), tuple(batch)), name=draw(words), origin=draw(st.none() | words))


@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_instance_round_trip_is_exact(tmp_path_factory: pytest.TempPathFactory, problem: Problem) -> None:
    path = tmp_path_factory.mktemp("round") / "i.json"
    write_instance(path, problem)
    for back in (read_instance(path), load(str(path)).problem):
        assert back == problem
        assert back.fingerprint() == problem.fingerprint()
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))  # as an editor would save it
    assert load(str(path)).problem == problem


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schema_is_that_of_the_model(name: str) -> None:
    assert (ROOT / "docs" / "schemas" / name).read_text(encoding="utf-8") == schema_text(SCHEMAS[name])


def test_no_other_schema_is_published() -> None:
    found = {p.name for p in (ROOT / "docs" / "schemas").glob("kvbound-*.json")}
    assert set(SCHEMAS) <= found


@pytest.fixture
def problem() -> Problem:
    return Problem(Requests(np.array([1, 2, 3]), np.array([4, 5, 6])), Fleet((100,)), name="three")


def edited(problem: Problem, **changes: object) -> str:
    document = json.loads(instance_to_json(problem))
    for key, value in changes.items():
        inside, _, leaf = key.partition("__")
        if leaf:
            document[inside][leaf] = value
        else:
            document[key] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema_version": 2}, r"schema_version \(2\)"),
        ({"extra": 1}, "extra"),
        ({"memory": []}, "memory"),
        ({"memory": [0]}, r"memory\.0 \(0\)"),
        ({"memory": ["100"]}, r"memory\.0 \('100'\)"),
        ({"batch": [1, 2]}, "1 values of memory but 2 of batch"),
        ({"objective": "speed"}, "objective"),
        ({"requests__prompt": [1, 2]}, "requests: 2 prompts but 3 values of output"),
        ({"requests__prompt": [1, -2, 3]}, r"requests\.prompt\.1 \(-2\)"),
        ({"requests__prompt": [1, 2.5, 3]}, r"requests\.prompt\.1 \(2\.5\)"),
        ({"requests__prompt": [1, float("nan"), 3]}, "not valid JSON|requests.prompt.1"),
        ({"requests__output": [1, 0, 3]}, r"requests\.output\.1 \(0\)"),
        ({"requests__output": [1, 10**30, 3]}, r"requests\.output\.1"),
        ({"requests__output": [1, True, 3]}, r"requests\.output\.1"),
        ({"requests__arrival": []}, "requests"),
        ({"requests__predicted_low": [1, 1, 1]}, "both ends"),
        ({"requests__output": [4, 5, 600]}, "request 2 .*603.*memory"),
    ],
)
def test_bad_instance(tmp_path: Path, problem: Problem, changes: dict, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(edited(problem, **changes))
    for read in (read_instance, lambda p: load(str(p))):
        with pytest.raises(InputError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_every_truncation_of_an_instance_is_refused(tmp_path: Path, problem: Problem) -> None:
    text = edited(problem)
    path = tmp_path / "cut.json"
    for length in range(len(text)):
        path.write_text(text[:length])
        with pytest.raises(InputError):
            load(str(path))


def test_schedule_round_trip_json_and_csv(tmp_path: Path) -> None:
    problem = Problem(Requests(np.array([1, 2]), np.array([4, 5])), Fleet((7, 7)))
    schedule = Schedule(np.array([3, 0]), np.array([1, 0]))
    path = tmp_path / "s.json"
    write_schedule(path, problem, schedule, policy="by hand")
    assert read_schedule(path, problem) == schedule
    document = json.loads(path.read_text())
    assert (document["policy"], document["tel"], document["fingerprint"]) == ("by hand", 12, problem.fingerprint())
    path.write_text("worker,start,request\r\n0,0,1\r\n1,3,0")
    assert read_schedule(path, problem) == schedule


def test_an_invalid_schedule_is_not_written(tmp_path: Path, problem: Problem) -> None:
    tight = Problem(problem.requests, Fleet((9,)))
    with pytest.raises(ScheduleError):
        write_schedule(tmp_path / "s.json", tight, Schedule(np.array([0, 0, 0])))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("request,begin\n0,0\n", "missing column 'start'"),
        ("request,start\n0,0\n1,4\n1,9\n2,0\n", r"line 4: request 1 stands twice \(first on line 3\)"),
        ("request,start\n0,0\n1,4\n", r"1 of 3 request\(s\) have no start: 2"),
        ("request,start\n0,0\n1,4\n3,9\n", "line 4: request is '3'.*from 0 to 2"),
        ("request,start\n0,0\n1,4\n2,-9\n", "line 4: start is '-9'"),
        ("request,start\n0,0\n1,4\n2,1.5\n", "line 4: start is '1.5'"),
        ("request,start\n0,0\n1\n2,0\n", r"line 3 has 1 field\(s\)"),
        ("request,start,worker\n0,0,0\n1,4,1\n2,0,0\n", "line 3: worker is 1.*workers 0 to 0"),
        ('{"format": "kvbound-sch', "not valid JSON"),
        ("[]", "the document"),
    ],
)
def test_bad_schedule(tmp_path: Path, problem: Problem, text: str, message: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_schedule(path, problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fingerprint": "0" * 64}, "another instance"),
        ({"starts": [0, 0]}, "2 starts for 3 requests"),
        ({"workers": [0, 0]}, "2 workers for 3 requests"),
        ({"workers": [0, 0, 5]}, "request 2: worker is 5"),
        ({"workers": [0, 0, None]}, "request 2 has a start without a worker"),
        ({"starts": [0, 0, None], "workers": None}, "have no start: 2"),
        ({"tel": 14}, "tel is 14, but the starts give 15"),
        ({"starts": [0, 0, -1]}, r"starts\.2"),
    ],
)
def test_bad_schedule_json(tmp_path: Path, problem: Problem, changes: dict, message: str) -> None:
    path = tmp_path / "s.json"
    write_schedule(path, problem, Schedule(np.array([0, 0, 0])))
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=message):
        read_schedule(path, problem)


def test_a_schedule_for_a_fleet_names_its_workers(tmp_path: Path, problem: Problem) -> None:
    path = tmp_path / "s.csv"
    path.write_text("request,start\n0,0\n1,0\n2,0\n")
    with pytest.raises(InputError, match="missing column 'worker'"):
        read_schedule(path, Problem(problem.requests, Fleet((100, 100))))


def test_atomic_write_replaces_follows_links_and_respects_the_umask(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    write_atomic(link, "new")
    assert (real.read_text(), link.is_symlink()) == ("new", True)
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    write_atomic(tmp_path / "fresh.txt", b"x")
    assert (tmp_path / "fresh.txt").stat().st_mode == plain.stat().st_mode
    write_atomic(os.devnull, "nothing")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("target", ["missing/x.json", ".", "file/x.json", "nul\0l", "n" * 300])
def test_unwritable_output(tmp_path: Path, problem: Problem, target: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"cannot be written|is a directory"):
        write_instance(f"{tmp_path}/{target}", problem)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KvboundError, match="No space left"):
        write_atomic(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
    assert path.read_text() == "old"
