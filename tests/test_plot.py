"""Pictures: the series behind them is exact, every kind of instance can be drawn in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kvbound import (
    Fleet,
    OptionError,
    Problem,
    Requests,
    Schedule,
    compare,
    load,
    plot_comparison,
    plot_schedule,
    run_policy,
)
from kvbound.models.footprint import usage
from kvbound.plot_memory import memory_series
from kvbound.solvers.policies import POLICIES

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def _svf(source: str, **options: int) -> tuple[Problem, Schedule]:
    problem = load(source, **options).problem  # type: ignore[arg-type]
    schedule = run_policy(problem, POLICIES["svf"]).schedule
    assert schedule is not None
    return problem, schedule


def test_the_memory_line_is_exact_between_its_points() -> None:
    problem, schedule = _svf("jaillet:seed=0")
    steps, held = memory_series(problem, schedule, 0)
    every = np.arange(1, steps[-1] + 1)
    exact, _ = usage(problem.requests.prompt, schedule.start, schedule.completion(problem.requests), every)
    assert np.array_equal(np.interp(every, steps, held), exact)
    assert held.max() <= problem.fleet.memory[0]
    assert held[-1] == 0


@pytest.mark.parametrize("kind", STARTS)
def test_every_format(kind: str, tmp_path: Path) -> None:
    problem, schedule = _svf("tiny:n=8,seed=0")
    file = tmp_path / f"picture.{kind}"
    plot_schedule(problem, schedule, file, name="svf")
    assert file.read_bytes().startswith(STARTS[kind])
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("tiny:n=1,seed=0", {}),
        ("mix:n=170,seed=0,arrivals=poisson,rate=0.1", {"batch": 20, "workers": 3}),
        ("mix:n=90,seed=0", {"workers": 8}),
    ],
)
def test_every_kind_of_instance(source: str, options: dict[str, int], tmp_path: Path) -> None:
    result = compare(load(source, **options).problem, ["fcfs", "svf"], bound=None)  # type: ignore[arg-type]
    plot_comparison(result, tmp_path / "gap.png")
    assert (tmp_path / "gap.png").stat().st_size > 10_000


def test_a_long_output_is_drawn_without_a_point_per_step(tmp_path: Path) -> None:
    problem = Problem(Requests(np.array([5, 5]), np.array([10**6, 10])), Fleet((2 * 10**6,)))
    plot_schedule(problem, Schedule(np.array([0, 0])), tmp_path / "long.png")
    assert (tmp_path / "long.png").exists()


def test_nothing_to_draw_and_unknown_endings_are_refused(tmp_path: Path) -> None:
    problem, schedule = _svf("tiny:n=8,seed=0")
    with pytest.raises(OptionError, match="nothing to draw"):
        plot_comparison(compare(problem, [], bound=None), tmp_path / "gap.png")
    with pytest.raises(OptionError, match=r"cannot draw \.gif; use one of \.png, \.svg, \.pdf"):
        plot_schedule(problem, schedule, tmp_path / "gap.gif")
    assert list(tmp_path.iterdir()) == []
