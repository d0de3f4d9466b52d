"""Certified bounds for a large fleet: the bound on the reward by prices, and the bound on the mean EEL.

    python benchmarks/routing_bounds.py                         # 10 000 requests, 16 workers, horizon 10 000
    python benchmarks/routing_bounds.py --requests 1000 --weights tail

Requests arrive evenly over the horizon; prompts and outputs are drawn evenly. Two list orders stand beside the bounds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from kvbound.checkers import require_valid, verify
from kvbound.models import Fleet, Problem, Requests, Reward
from kvbound.models.schedule import UNSERVED, Schedule
from kvbound.solvers.bounds import mean_eel_bound, reward_bound
from kvbound.solvers.bounds.reward import prepare
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies.list_scheduling import list_schedule


def draw(options: argparse.Namespace) -> Problem:
    """The instance: about 200 requests are active at once in steady state when there is one arrival per step."""
    rng = np.random.default_rng(options.seed)
    n, horizon = options.requests, options.horizon
    prompt, output = rng.integers(50, 1000, n), rng.integers(20, 380, n)
    arrival = np.sort(rng.integers(0, int(0.97 * horizon), n))
    fleet = Fleet.uniform(options.memory, options.workers, options.batch)
    reward = Reward.preset(options.weights, horizon, eel_limit=250, ttft_limit=50)
    return Problem(Requests(prompt, output, arrival), fleet, reward, f"drawn, seed {options.seed}")


def cut(schedule: Schedule, horizon: int) -> Schedule:
    """Drop what would start behind the horizon."""
    late = schedule.start >= horizon
    return Schedule(*(np.where(late, UNSERVED, part) for part in (schedule.start, schedule.worker)))


def main() -> None:
    """Print one line per bound and per order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("requests", 10_000), ("workers", 16), ("horizon", 10_000), ("memory", 8_000), ("batch", 16)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--weights", default="average", choices=("average", "tail", "throughput"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    problem = draw(options)
    prepare()
    print(f"J = {problem.n:,}, G = {options.workers}, horizon {options.horizon:,}, M = {options.memory:,}, "
          f"B = {options.batch}, weights {options.weights}, limit {options.time_limit:g} s")  # fmt: skip

    cpu = time.process_time()
    reward = reward_bound(problem, "lagrangian", deadline=Deadline(options.time_limit))
    cpu = time.process_time() - cpu
    assert verify(problem, reward.certificate) == reward.value
    print(f"reward ≤ {float(reward.reward):,.0f}   certified; {reward.seconds:.1f} s wall, {cpu:.1f} s of "
          f"processor time, {reward.iterations} evaluations")  # fmt: skip
    eel = mean_eel_bound(problem, deadline=Deadline(options.time_limit))
    print(f"mean EEL ≥ {float(eel.mean):,.2f}   certified; {eel.seconds:.1f} s wall")

    everybody = replace(problem, objective=Problem(problem.requests, problem.fleet).objective)
    r = problem.requests
    at_once = int(problem.objective.start_cost(r, np.arange(problem.n), r.arrival).sum())
    print(f"every request on arrival would earn {-at_once:,}")
    for name, key in (("fcfs", r.arrival), ("svf", r.volume)):
        schedule = list_schedule(everybody, np.argsort(key, kind="stable"))
        earned = -require_valid(problem, cut(schedule, options.horizon))
        mean = require_valid(everybody, schedule) / problem.n
        print(f"{name:5} reward {earned:,} ({earned / reward.value:.2%} of the bound), mean EEL {mean:,.2f} "
              f"({mean / float(eel.mean):.3f} × the bound)")  # fmt: skip


if __name__ == "__main__":
    main()
