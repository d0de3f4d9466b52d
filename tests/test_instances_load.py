"""`load`: what is cut, dropped, scaled and replaced, and what is refused; statistics of the outcome."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kvbound.instances import load, statistics, write_instance
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests

REPLAY = "arrived_at,num_prefill_tokens,num_decode_tokens\n"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "my trace.csv"
    path.write_text(REPLAY + "".join(f"{0.5 * i},{10 * i},{i + 1}\n" for i in range(10)))
    return str(path)


def test_a_trace_is_a_backlog_with_default_memory(trace: str) -> None:
    loaded = load(trace)
    problem = loaded.problem
    assert problem.fleet == Fleet((16492,))
    assert not problem.requests.arrival.any()
    assert (problem.name, problem.origin) == ("my trace", "my trace.csv (vidur replay CSV)")
    assert any("16492" in note for note in loaded.notes)
    assert any("step 0" in note for note in loaded.notes)


def test_offset_limit_and_steps_relative_to_the_first_row_kept(trace: str) -> None:
    loaded = load(trace, offset=3, limit=4, step_seconds=1, memory=500, workers=2, batch=3)
    assert loaded.problem.requests.arrival.tolist() == [0, 0, 1, 1]
    assert loaded.problem.requests.prompt.tolist() == [30, 40, 50, 60]
    assert loaded.problem.name == "my trace[3:7]"
    assert loaded.problem.fleet == Fleet((500, 500), (3, 3))


def test_a_limit_beyond_the_rows_takes_what_is_there_and_says_so(trace: str) -> None:
    loaded = load(trace, limit=3, offset=8, memory=500)
    assert (loaded.problem.n, loaded.problem.name) == (2, "my trace[8:10]")
    assert any("only 2 requests" in note for note in loaded.notes)


def test_too_large_is_named_and_can_be_dropped(trace: str) -> None:
    with pytest.raises(InputError, match=r"line 9 has prompt 70 \+ output 8 = 78.*3 of 10.*--drop-too-large"):
        load(trace, memory=77)
    loaded = load(trace, memory=77, drop_too_large=True)
    assert (loaded.problem.n, loaded.dropped) == (7, 3)
    assert any("3 of 10 requests dropped" in note and "lines 9, " in note for note in loaded.notes)
    with pytest.raises(InputError, match="every request"):
        load(trace, memory=0 + 1, offset=5, drop_too_large=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"offset": 10}, InputError, "offset 10 is beyond its 10 rows"),
        ({"limit": 0}, OptionError, "limit is 0"),
        ({"offset": -1}, OptionError, "offset is -1"),
        ({"step_seconds": 0}, OptionError, "step_seconds is 0"),
        ({"step_seconds": float("nan")}, OptionError, "step_seconds is nan"),
        ({"memory": 0}, OptionError, "memory of worker 0 is 0"),
        ({"memory": 10**12}, OptionError, "memory of worker 0"),
        ({"workers": 0}, OptionError, "workers is 0"),
        ({"batch": 0}, OptionError, "batch of worker 0 is 0"),
    ],
)
def test_refused_options(trace: str, options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(trace, **options)


def test_step_seconds_needs_times(tmp_path: Path) -> None:
    for text in ("prompt,output\n1,1\n", "prompt,output,arrival\n1,1,4\n"):
        path = tmp_path / "x.csv"
        path.write_text(text)
        with pytest.raises(OptionError, match="step-seconds"):
            load(str(path), step_seconds=1)
    with pytest.raises(OptionError, match="step-seconds"):
        load("tiny", step_seconds=1)


def test_an_instance_keeps_its_fleet_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    problem = Problem(Requests(np.array([1, 2]), np.array([3, 4])), Fleet((50, 60), (None, 7)), name="two", origin="me")
    write_instance(path, problem)
    assert load(str(path)).problem == problem
    assert load(str(path), memory=70).problem.fleet == Fleet((70, 70), (None, 7))
    assert load(str(path), batch=2).problem.fleet == Fleet((50, 60), (2, 2))
    assert load(str(path), memory=9, batch=2, workers=3).problem.fleet == Fleet((9,) * 3, (2,) * 3)
    with pytest.raises(OptionError, match="2 different workers"):
        load(str(path), workers=3)
    assert load(str(path), offset=1).problem.requests.prompt.tolist() == [2]
    with pytest.raises(InputError, match=r"request 1 has prompt 2 \+ output 4 = 6 tokens, memory is 5"):
        load(str(path), memory=5)


def test_a_generator_keeps_its_memory_unless_told_otherwise() -> None:
    assert load("tiny").problem.fleet == Fleet((40,))
    assert load("tiny", memory=60, workers=2).problem.fleet == Fleet((60, 60))


def test_a_file_named_like_a_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny").write_text("prompt,output\n1,1\n")
    Path("a:b").write_text("prompt,output\n1,1\n")
    assert load("tiny").problem.n == 8
    assert load("./tiny").problem.n == 1
    assert load("a:b").problem.n == 1


def test_statistics() -> None:
    requests = Requests(np.array([0, 10, 20]), np.array([1, 2, 3]), np.array([5, 5, 9]))
    figures = statistics(Problem(requests, Fleet((30, 40))))
    assert (figures.n, figures.workers, figures.memory) == (3, 2, 70)
    assert (figures.prompt.min, figures.prompt.median, figures.prompt.mean, figures.prompt.max) == (0, 10, 10.0, 20)
    assert figures.total_volume == 1 + 23 + 66
    assert figures.makespan_bound == 2  # ceil(90 / 70)
    assert figures.largest_share == 23 / 40
    assert figures.concurrency == pytest.approx(70 / (90 / 6))
    assert (figures.arrival_span, figures.arrival_rate) == (4, 0.5)
    assert figures.as_dict()["peak"] == {"min": 1, "median": 12, "mean": 12.0, "p95": 23, "max": 23}


def test_statistics_of_a_backlog_and_of_giants() -> None:
    figures = statistics(Problem(Requests(np.full(9, 10**8), np.full(9, 10**8)), Fleet((10**9,))))
    assert figures.total_volume == 9 * (10**16 + 10**8 * (10**8 + 1) // 2)
    assert figures.arrival_rate is None
