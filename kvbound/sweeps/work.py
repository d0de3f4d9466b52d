"""What a cell does: run its method on its instance and return figures that have passed the checkers.

Everything but the times depends on the cell alone, wherever it runs; only a method that is stopped by its
`time_limit` gives what it has by then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from kvbound.comparison import prove_bound
from kvbound.custom import policies, policy_from_code
from kvbound.models.errors import OptionError
from kvbound.models.execution import Execution
from kvbound.models.problem import Problem
from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule
from kvbound.routing import default_horizon, parse_weights
from kvbound.solvers.bounds.reward import mean_eel_bound, reward_bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolveConfig, solve
from kvbound.solvers.policies import Policy, run_policy
from kvbound.solvers.routers import resolve_routers, run_router
from kvbound.solvers.routers.metrics import Limits, measure
from kvbound.solvers.search import improve
from kvbound.sweeps.cell import Cell, Kind, Outcome
from kvbound.sweeps.content import pack_certificate, pack_execution, pack_schedule

#: Bound methods beside those of `kvbound.bound`: on the mean EEL of a fleet, and on REWARD from above.
FLEET_BOUNDS = ("mean-eel", "reward")


class Interrupted(Exception):
    """Ctrl-C reached the process of a cell: what it has is no result."""


def run_cell(problem: Problem, cell: Cell, code: str | None = None) -> Outcome:
    """Run one cell; `code` is the text of the policy file that the method stands for.

    Raises
    ------
    KvboundError
        The method does not exist, refuses the instance, or its answer did not pass a checker.
    Interrupted
        Ctrl-C ended a method early.
    """
    return _RUN[cell.kind](problem, cell, code)


def code_hash(code: str) -> str:
    """What stands for a policy file in the options of a cell, and so in its key."""
    return hashlib.sha256(code.encode()).hexdigest()


def objective_of(problem: Problem, options: dict[str, Any]) -> tuple[Reward, Limits]:
    """REWARD with the weights, the horizon and the thresholds of a cell; defaults as for `kvbound route`."""
    default = Limits.default(problem.requests)
    limits = Limits(options.get("slo_eel") or default.eel, options.get("slo_ttft") or default.ttft)
    horizon = options.get("horizon") or default_horizon(problem)
    return parse_weights(options.get("weights", "average"), horizon, limits), limits


def figures(
    problem: Problem, schedule: Schedule, execution: Execution | None, options: dict[str, Any]
) -> dict[str, Any]:
    """All figures of a checked schedule: latencies, throughput, SLOs, use of the fleet, reward (docs/routing.md)."""
    objective, limits = objective_of(problem, options)
    if execution is None:
        end = schedule.completion(problem.requests)
        execution = Execution(np.arange(problem.n), schedule.worker, schedule.start, end, 0, 0, 0)
    earned = sum(objective.reward(problem.requests, np.arange(problem.n), schedule.start).tolist())
    return asdict(measure(problem, execution, limits)) | {
        "reward": earned,
        "reward_denominator": objective.denominator,
        "objective": objective.identity,
    }


def _policy(problem: Problem, cell: Cell, code: str | None) -> Outcome:
    run = run_policy(problem, _named(cell.method, code), seed=cell.seed)
    if run.schedule is None:
        return Outcome("declined", error=run.declined)
    return _scheduled(problem, cell, run.schedule, run.tel, run.execution)


def _router(problem: Problem, cell: Cell, code: str | None) -> Outcome:
    objective, _ = objective_of(problem, cell.options)
    (router,) = resolve_routers([cell.method])
    run = run_router(problem, router, objective=objective, seed=cell.seed)
    schedule = run.execution.schedule(problem.requests)
    return _scheduled(problem, cell, schedule, None, run.execution)


def _bound(problem: Problem, cell: Cell, code: str | None) -> Outcome:
    limit = cell.options.get("time_limit")
    if cell.method == "reward":
        objective, _ = objective_of(problem, cell.options)
        above = reward_bound(replace(problem, objective=objective), deadline=Deadline(limit))
        metrics = {
            "reward_bound": above.value,
            "reward_denominator": above.denominator,
            "objective": objective.identity,
            "iterations": above.iterations,
        }
        return Outcome("done", verified=True, metrics=metrics, certificate=pack_certificate(above.certificate))
    if cell.method == "mean-eel":
        eel = mean_eel_bound(problem, deadline=Deadline(limit))
        proof = pack_certificate(eel.certificate)
        return Outcome("done", bound=eel.tel, verified=True, metrics=_evidence(eel.certificate), certificate=proof)
    found, _ = prove_bound(problem, cell.method, time_limit=limit, seed=cell.seed, threads=1)
    if found.termination == "interrupted":
        raise Interrupted
    stored = None if found.certificate is None else pack_certificate(found.certificate)
    metrics = {"proved_by": found.proved_by} | _evidence(found.certificate)
    return Outcome("done", bound=found.value, verified=found.verified, metrics=metrics, certificate=stored)


def _exact(problem: Problem, cell: Cell, code: str | None) -> Outcome:
    config = SolveConfig(time_limit=cell.options.get("time_limit"), threads=1, seed=cell.seed)
    found = solve(problem, method=cell.method, config=config)
    if found.termination.value == "interrupted":
        raise Interrupted
    metrics = {
        "termination": found.termination.value,
        "solution": found.status.value,
        "gap": found.gap,
        "proved_by": found.proved_by,
    } | _evidence(found.certificate)
    stored = None if found.certificate is None else pack_certificate(found.certificate)
    verified = None if found.bound is None else stored is not None
    done = Outcome("done") if found.schedule is None else _scheduled(problem, cell, found.schedule, found.tel, None)
    return replace(
        done, bound=found.bound, verified=verified, certificate=stored, metrics=(done.metrics or {}) | metrics
    )


def _search(problem: Problem, cell: Cell, code: str | None) -> Outcome:
    first = run_policy(problem, _named(cell.method, code), seed=cell.seed)
    if first.schedule is None:
        return Outcome("declined", error=first.declined)
    moves = cell.options.get("moves")
    limit = None if moves is not None else cell.options.get("time_limit")
    found = improve(problem, first.schedule, deadline=Deadline(limit), seed=cell.seed, moves=moves)
    done = _scheduled(problem, cell, found.schedule, found.tel, None)
    return replace(done, metrics=(done.metrics or {}) | {"start_tel": first.tel, "moves": found.moves})


_RUN: dict[Kind, Callable[[Problem, Cell, str | None], Outcome]] = {
    "policy": _policy,
    "router": _router,
    "bound": _bound,
    "exact": _exact,
    "search": _search,
}


def _named(method: str, code: str | None) -> Policy:
    if code is not None:
        return policy_from_code(code, Path(f"{method}.py"))
    chosen = policies([method])
    if len(chosen) != 1:
        raise OptionError(f"{method} names {len(chosen)} policies; a cell runs exactly one")
    return chosen[0]


def _scheduled(
    problem: Problem, cell: Cell, schedule: Schedule, tel: int | None, execution: Execution | None
) -> Outcome:
    """An outcome with a schedule, checked once more here: nothing else is stored."""
    from kvbound.checkers import require_valid, require_valid_execution
    from kvbound.models.errors import SolverError

    checked = require_valid(problem, schedule)
    if tel is not None and tel != checked:
        raise SolverError(f"{cell.label}: TEL {tel} was claimed, the schedule has {checked}")
    if execution is not None and require_valid_execution(problem, execution) != checked:
        raise SolverError(f"{cell.label}: an execution and its serving attempts differ in TEL")
    return Outcome(
        "done",
        tel=checked,
        metrics=figures(problem, schedule, execution, cell.options),
        schedule=pack_schedule(schedule),
        execution=None if execution is None else pack_execution(execution),
    )


def _evidence(certificate: Any) -> dict[str, Any]:
    """How a bound was proved, for tables."""
    return {} if certificate is None else {"rule": certificate.rule, "proof_method": certificate.method}
