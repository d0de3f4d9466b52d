"""The front of the exact methods: outcomes, limits, warm starts, refusals, known optima."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from pathlib import Path

import highspy
import numpy as np
import pytest
from ortools.sat.python import cp_model
from pyomo.contrib.solver.common.results import TerminationCondition
from reference import brute_force

from kvbound.checkers import require_valid, verify
from kvbound.models import Fleet, InputError, OptionError, Problem, Requests, Schedule
from kvbound.models.errors import ScheduleError, SizeError, SolverError
from kvbound.models.formulations import PLAIN, Cuts, build_time_indexed
from kvbound.models.formulations.unit_outputs import bins_needed, last_step, positional_bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import (
    METHODS,
    Result,
    SolutionStatus,
    SolveConfig,
    Termination,
    export_model,
    prepare,
    solve,
)
from kvbound.solvers.exact.finish import finish, integer_bound, merge
from kvbound.solvers.exact.fixing import fix_starts
from kvbound.solvers.exact.highs import column_values, load, read_schedule, set_option
from kvbound.solvers.exact.known import Answer, Known
from kvbound.solvers.exact.patterns import PatternLp, best_of_patterns, dearest_patterns, dive, generate, priced_bound
from kvbound.solvers.exact.size import estimate
from kvbound.solvers.exact.status import CP_SAT, HIGHS, PYOMO, translate
from kvbound.solvers.progress import Progress

QUICK = SolveConfig(time_limit=20.0, threads=2)


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    """Limits are the solver's, not the compiler's: kernels are there before a clock starts, whatever runs first."""
    prepare("auto")
    prepare("search")


def tiny(n: int, seed: int, memory: int = 40) -> Problem:
    """The instances of docs/math.md §9."""
    rng = np.random.default_rng(seed)
    prompt = rng.integers(1, 6, n)
    output = np.array([rng.integers(1, memory + 1 - s) for s in prompt])
    return Problem(Requests(prompt, output), Fleet((memory,)), name=f"tiny:n={n},seed={seed}")


def small() -> Problem:
    return Problem(Requests([2, 0, 3], [4, 6, 1]), Fleet((9,)))


def test_native_status_maps_are_total() -> None:
    assert set(HIGHS) >= {k for k in dir(highspy.HighsModelStatus) if k.startswith("k")}
    numbers = range(-1, 30)
    names = {cp_model.CpSolver().status_name(cp_model.CpSolverStatus(i)) for i in numbers if 0 <= i <= 4}
    assert set(CP_SAT) == names
    assert set(PYOMO) == {member.name for member in TerminationCondition}
    for table in (HIGHS, CP_SAT, PYOMO):
        for name in table:
            assert isinstance(translate(table, name), Termination)
    with pytest.raises(SolverError, match="kBrandNew"):
        translate(HIGHS, "kBrandNew")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_proves_the_optimum(method: str) -> None:
    result = solve(small(), method=method, config=QUICK)
    assert (result.tel, result.bound, result.gap) == (12, 12, 0)
    assert (result.termination, result.status) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)
    assert result.schedule is not None
    assert require_valid(small(), result.schedule) == 12
    assert result.config is QUICK
    assert result.seconds >= result.build_seconds + result.solve_seconds - 0.1


@pytest.mark.parametrize(("n", "seed", "optimum"), [(8, 0, 507), (8, 1, 226)])
@pytest.mark.parametrize("method", ["search", "cp-sat"])
def test_known_optima(n: int, seed: int, optimum: int, method: str) -> None:
    result = solve(tiny(n, seed), method=method, config=SolveConfig(time_limit=120))
    assert (result.tel, result.bound) == (optimum, optimum)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "seed", "optimum"), [(10, 0, 823), (12, 0, 830), (12, 1, 589), (14, 0, 976), (16, 0, 1190)]
)
@pytest.mark.parametrize("method", ["auto", "cp-sat"])
def test_known_optima_of_larger_instances(n: int, seed: int, optimum: int, method: str) -> None:
    problem = tiny(n, seed)
    known = None
    if method == "cp-sat":  # the second prover gets the first one's schedule, not its bound
        known = solve(problem, method="search", config=SolveConfig(time_limit=600)).schedule
    result = solve(problem, method=method, config=SolveConfig(time_limit=1800), incumbent=known)
    assert (result.tel, result.bound) == (optimum, optimum)


@pytest.mark.parametrize("method", ["highs", "cp-sat", "end-event", "pyomo", "search", "auto"])
def test_no_time_at_all_keeps_what_is_known(method: str) -> None:
    problem = tiny(10, 3)
    serial = Schedule(np.cumsum(problem.requests.output) - problem.requests.output)
    given = solve(problem, method=method, config=SolveConfig(time_limit=0.0), incumbent=serial, bound=17)
    assert given.status is SolutionStatus.FEASIBLE
    assert given.termination is Termination.TIME_LIMIT
    assert given.bound is not None
    assert given.bound >= 17
    assert given.tel is not None
    assert given.gap == pytest.approx(given.tel / given.bound - 1)


@pytest.mark.parametrize("method", ["highs", "cp-sat", "end-event", "pyomo"])
def test_no_solution_is_none_and_no_bound_is_none(method: str) -> None:
    result = solve(tiny(10, 3), method=method, config=SolveConfig(time_limit=0.0))
    assert (result.schedule, result.tel, result.bound, result.gap) == (None, None, None, None)
    assert (result.status, result.proved_by) == (SolutionStatus.NONE, "")


@pytest.mark.parametrize("method", ["cp-sat", "auto"])
def test_the_time_limit_keeps_schedule_and_bound(method: str) -> None:
    problem = Problem(tiny(40, 1).requests, Fleet((40, 40)))
    result = solve(problem, method=method, config=SolveConfig(time_limit=10.0, threads=2))
    assert result.termination is Termination.TIME_LIMIT
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound is not None
    assert result.tel is not None
    assert result.bound <= result.tel
    if result.certificate is not None:
        assert verify(problem, result.certificate) == result.bound


@pytest.mark.parametrize(("method", "module"), [("cp-sat", "cpsat"), ("highs", "highs"), ("pyomo", "pyomo_highs")])
def test_ctrl_c_while_a_model_is_built_keeps_what_was_handed_over(
    method: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    name = {"cpsat": "build_staircase", "highs": "build_time_indexed", "pyomo_highs": "build_pyomo"}[module]
    monkeypatch.setattr(f"kvbound.solvers.exact.{module}.{name}", interrupted)
    problem = tiny(8, 2)
    serial = Schedule(np.cumsum(problem.requests.output) - problem.requests.output)
    result = solve(problem, method=method, config=SolveConfig(threads=1), incumbent=serial, bound=11)
    assert (result.termination, result.status) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert result.bound == 11


@pytest.mark.parametrize("method", ["cp-sat", "highs", "auto"])
def test_ctrl_c_returns_what_there_is(method: str) -> None:
    problem = Problem(tiny(30, 2).requests, Fleet((40, 40)))
    serial = Schedule(np.cumsum(problem.requests.output) - problem.requests.output)
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = solve(problem, method=method, config=SolveConfig(time_limit=60.0, threads=2), incumbent=serial, bound=11)
    timer.join()
    assert result.termination is Termination.INTERRUPTED
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound is not None


@pytest.mark.parametrize("method", ["highs", "cp-sat", "end-event"])
def test_gap_asked_for(method: str) -> None:
    result = solve(tiny(6, 0), method=method, config=dataclasses.replace(QUICK, gap=0.5))
    assert result.gap is not None
    assert result.gap <= 0.5
    assert result.termination in (Termination.OPTIMAL, Termination.GAP_REACHED)


def test_incumbents_are_checked_and_bounds_compared() -> None:
    with pytest.raises(ScheduleError, match="memory"):
        solve(small(), method="cp-sat", config=QUICK, incumbent=Schedule([0, 0, 0]))
    with pytest.raises(SolverError, match="lies above"):
        solve(small(), method="cp-sat", config=QUICK, incumbent=Schedule([0, 4, 10]), bound=1000)


def test_a_claim_above_a_checked_schedule_raises() -> None:
    problem, good = small(), Schedule([0, 4, 10])
    known = Known().with_schedule(problem, good)
    claim = Answer(Termination.OPTIMAL, None, 10**6, "kOptimal", 0.0, 0.0)
    with pytest.raises(SolverError, match="above a checked schedule"):
        merge(problem, "highs", known, claim)
    with pytest.raises(SolverError, match="no schedule"):
        merge(problem, "highs", known, dataclasses.replace(claim, termination=Termination.INFEASIBLE))
    broken = dataclasses.replace(claim, schedule=Schedule([0, 0, 0]), bound=None)
    with pytest.raises(ScheduleError):
        merge(problem, "highs", known, broken)


def test_restricted_models_prove_no_more_than_their_cutoff() -> None:
    problem = small()
    known = dataclasses.replace(Known().with_schedule(problem, Schedule([0, 4, 10])), cutoff=25)
    empty = Answer(Termination.INFEASIBLE, None, None, "INFEASIBLE", 0.0, 0.0)
    assert merge(problem, "cp-sat", known, empty).bound == 25
    high = Answer(Termination.TIME_LIMIT, None, 99, "UNKNOWN", 0.0, 0.0)
    with pytest.raises(SolverError):
        merge(problem, "cp-sat", dataclasses.replace(known, cutoff=None), high)
    assert merge(problem, "cp-sat", known, high).bound == 25


def test_a_solver_cannot_declare_optimality_by_tolerance() -> None:
    problem = small()
    known = Known().with_schedule(problem, Schedule([0, 4, 10])).with_bound(14, "x")
    answer = Answer(Termination.OPTIMAL, None, 14, "kOptimal", 0.0, 0.0)
    result = finish(problem, "highs", QUICK, Deadline(1.0), known, answer)
    assert (result.termination, result.status) == (Termination.UNKNOWN, SolutionStatus.FEASIBLE)


def test_float_bounds_round_up_only_beyond_the_tolerance() -> None:
    assert [integer_bound(x) for x in (8.999999, 9.0000001, 9.1, -0.5)] == [9, 9, 10, 0]
    assert integer_bound(float("-inf")) is None
    assert integer_bound(float("nan")) is None


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="did you mean 'cp-sat'"):
        solve(small(), method="cpsat")
    for wrong in ({"time_limit": -1}, {"threads": 0}, {"seed": -1}, {"gap": float("nan")}, {"memory_limit": 0}):
        with pytest.raises(OptionError):
            SolveConfig(**wrong)
    with pytest.raises(OptionError, match="no_such_option"):
        set_option(load(build_time_indexed(small())), "no_such_option", 1)


def test_size_guard_names_numbers_and_a_way_out() -> None:
    problem = tiny(30, 0)
    with pytest.raises(SizeError, match=r"variables .* entries.* needs about") as caught:
        solve(problem, method="pyomo", config=SolveConfig(time_limit=5, memory_limit=50_000_000))
    assert "tiny:n=30" in str(caught.value)
    with pytest.raises(SizeError, match="no exact formulation fits"):
        solve(problem, method="highs", config=SolveConfig(time_limit=5, memory_limit=1000))


@pytest.mark.parametrize("cuts", [PLAIN, Cuts(symmetry=True)])
def test_size_estimate_counts_variables_exactly_and_entries_nearly(cuts: Cuts) -> None:
    problem = Problem(Requests([1, 2, 1], [3, 4, 3], [0, 1, 0]), Fleet((9, 9), (2, 2)))
    model, size = build_time_indexed(problem, cuts=cuts), estimate(problem, "highs", Known(cuts=cuts))
    assert size.variables == model.columns
    assert size.nonzeros <= model.nonzeros <= 1.4 * size.nonzeros


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_export_can_be_solved_elsewhere(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    export_model(small(), path)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.readModel(str(path))
    other.run()
    assert round(other.getInfo().objective_function_value) == 12
    assert "x0_0_0" in path.read_text()
    with pytest.raises(InputError, match=r"\.mps or \.lp"):
        export_model(small(), tmp_path / "model.txt")


def test_warm_start_vector_is_complete_or_refused() -> None:
    problem = small()
    model = build_time_indexed(problem)
    schedule = Schedule([0, 4, 10])
    values = column_values(model, schedule)
    assert values is not None
    assert read_schedule(model, values) == schedule
    restricted = build_time_indexed(problem, allowed=[np.array([1, 2]), None, None])
    assert column_values(restricted, schedule) is None


def test_unit_outputs_are_recognised_and_solved() -> None:
    rng = np.random.default_rng(3)
    problem = Problem(Requests(rng.integers(1, 60, 14), np.ones(14, int)), Fleet((100,)))
    seen: list[Progress] = []
    result = solve(problem, config=QUICK, progress=seen.append)
    assert result.status is SolutionStatus.OPTIMAL
    assert any("bin packing" in event.stage for event in seen)
    other = solve(problem, method="cp-sat", config=SolveConfig(time_limit=60, threads=2))
    assert other.tel == result.tel


def test_bin_counts_by_hand() -> None:
    size = np.array([6, 6, 6, 4, 4])
    assert bins_needed(size, 10, None) == 3
    assert bins_needed(size, 9, None) == 4
    assert bins_needed(size, 100, 2) == 3
    problem = Problem(Requests(size - 1, np.ones(5, int)), Fleet((10,)))
    assert positional_bound(problem) == 1 + 1 + 2 + 2 + 3
    assert last_step(problem, positional_bound(problem)) == 3


def test_screens_say_what_they_saw() -> None:
    seen: list[Progress] = []
    roomy = Problem(Requests([1, 1, 1], [4, 4, 2]), Fleet((100,)))
    result = solve(roomy, config=QUICK, progress=seen.append)
    assert result.method == "presolve"
    assert (result.tel, result.bound) == (10, 10)
    assert "everything fits at once" in seen[0].stage
    assert "2 kinds" in seen[0].stage


def test_fixing_keeps_every_better_schedule() -> None:
    from kvbound.solvers.bounds import bound

    problem = tiny(7, 1)
    best: Result = solve(problem, method="cp-sat", config=SolveConfig(time_limit=60))
    assert best.schedule is not None
    assert best.tel is not None
    proof = bound(problem, "lagrangian", deadline=Deadline(2.0), seed=0)
    serial = Schedule(np.cumsum(problem.requests.output) - problem.requests.output)
    known = Known().with_schedule(problem, serial).with_bound(proof.value, "prices", proof.certificate)
    fixed = fix_starts(problem, known)
    assert fixed.allowed is not None
    assert fixed.cutoff == known.tel
    for starts, chosen in zip(fixed.allowed, best.schedule.start, strict=True):
        assert starts is not None
        assert chosen in starts
    answer = solve(problem, method="highs", config=SolveConfig(time_limit=60, threads=2))
    assert answer.tel == best.tel


@pytest.mark.parametrize("workers", [1, 2])
def test_pattern_prices_bound_and_their_schedules_hold(workers: int) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        problem = Problem(Requests(rng.integers(0, 11, 6), np.ones(6, int)), Fleet.uniform(12, workers, batch=3))
        optimum = brute_force(problem.requests.prompt.tolist(), [1] * 6, [12] * workers, None, [3] * workers)
        serial = Schedule(np.arange(6))
        program = PatternLp.of(problem, last_step(problem, 21), Deadline(30.0))
        program.add_schedule(serial)
        bound = generate(program, Deadline(30.0))
        assert bound is not None
        assert optimum - 1 <= bound <= optimum
        dived = dive(program, np.random.default_rng(0), 1, Deadline(30.0))
        assert dived is not None
        chosen = best_of_patterns(program, serial, Deadline(30.0))
        assert chosen is not None
        assert min(require_valid(problem, dived), require_valid(problem, chosen)) >= optimum
        assert require_valid(problem, chosen) <= optimum + 1


def test_any_prices_give_a_valid_bound() -> None:
    problem = Problem(Requests([5, 5, 3, 2, 9], [1] * 5), Fleet((12,)))
    optimum = brute_force([5, 5, 3, 2, 9], [1] * 5, [12])
    rng = np.random.default_rng(0)
    for _ in range(50):
        price = rng.integers(0, 6 << 20, 5)
        best, chosen = dearest_patterns(problem.requests.peak, price, 12, 3)
        assert priced_bound(problem, price, best) <= optimum
        for c in np.flatnonzero(best >= 0):
            assert price[chosen[c]].sum() == best[c]
            assert problem.requests.peak[chosen[c]].sum() <= 12
            assert chosen[c].sum() == c
