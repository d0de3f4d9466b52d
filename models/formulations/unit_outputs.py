"""All outputs are one token: bin packing in levels.

A request with o_j = 1 occupies s_j + 1 tokens in the single step k + 1, so a step of a worker is a bin and TEL counts
the bins from the first on. Requests with equal prompt and arrival are interchangeable: the model counts, per step and
worker, how many of each class start there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule


def is_unit(problem: Problem) -> bool:
    """Whether every output is one token."""
    return bool((problem.requests.output == 1).all())


def bins_needed(size: IntArray, memory: int, cap: int | None) -> int:
    """Lower bound on the bins of capacity `memory`, at most `cap` items each, that hold all of `size`.

    Martello and Toth's L2: for a threshold τ ≤ M/2, items above M − τ are alone among those of at least τ, items above
    M/2 have a bin each, and the items from τ to M/2 that do not fit beside them need bins of their own.
    """
    best = -(-int(size.sum()) // memory)
    if cap is not None:
        best = max(best, -(-len(size) // cap))
    big = size[2 * size > memory]
    for threshold in np.unique(size[2 * size <= memory]).tolist() or [0]:
        beside = big[big <= memory - threshold]
        small = size[(size >= threshold) & (2 * size <= memory)]
        rest = int(small.sum()) - (len(beside) * memory - int(beside.sum()))
        best = max(best, len(big) + max(0, -(-rest // memory)))
    return best


def positional_bound(problem: Problem) -> int:
    """Lower bound on TEL for unit outputs without arrivals: Σ_N ⌈bins(N smallest)/G⌉.

    The N-th completion is no earlier than the step by which some N requests are packed; the N smallest need the
    fewest bins, and G bins open per step (the largest worker's size for all of them).
    """
    if problem.requests.arrival.any():
        return problem.n
    return int(sum(_steps(problem, count) for count in range(1, problem.n + 1)))


def last_step(problem: Problem, upper: int) -> int:
    """A number of steps that no schedule with TEL ≤ `upper` needs to exceed.

    An empty step after the last arrival can be closed, so with K steps the N-th completion is at least
    K − (n − N), besides its positional bound.
    """
    n = problem.n
    if problem.requests.arrival.any():
        return min(problem.horizon, int(problem.requests.arrival.max()) + upper - (n - 1))
    floor = np.array([_steps(problem, count) for count in range(1, n + 1)])
    steps = int(floor[-1])
    while steps < n and int(np.maximum(floor, steps + 1 - np.arange(n - 1, -1, -1)).sum()) <= upper:
        steps += 1
    return steps


def _steps(problem: Problem, count: int) -> int:
    fleet = problem.fleet
    smallest = np.sort(problem.requests.peak)[:count]
    cap = None if None in fleet.batch else max(c for c in fleet.batch if c is not None)
    return -(-bins_needed(smallest, fleet.largest, cap) // len(fleet))


@dataclass(frozen=True, slots=True, eq=False)
class UnitModel:
    """CP-SAT model of unit outputs: `count[c, g, k]` requests of class c start on worker g at step k.

    The objective is TEL; `members[c]` are the requests of class c.
    """

    problem: Problem
    model: Any
    members: list[list[int]]
    count: dict[tuple[int, int, int], Any]

    def schedule(self, value: Any) -> Schedule:
        """Read a schedule through `value`."""
        start, worker = np.zeros(self.problem.n, np.int64), np.zeros(self.problem.n, np.int64)
        left = [list(m) for m in self.members]
        for (c, g, k), variable in self.count.items():
            for _ in range(value(variable)):
                j = left[c].pop()
                start[j], worker[j] = k, g
        return Schedule(start, worker)

    def hint(self, schedule: Schedule) -> None:
        """Hand over a complete, checked schedule."""
        for (c, g, k), variable in self.count.items():
            mine = self.members[c]
            self.model.add_hint(variable, int(np.sum((schedule.start[mine] == k) & (schedule.worker[mine] == g))))


def build_unit_outputs(
    problem: Problem, *, horizon: int, upper: int | None = None, lower: int | None = None
) -> UnitModel:
    """Build the counting model over starts 0 .. horizon − 1.

    Rows say, besides capacities: the first k steps hold at most as many requests as the smallest ones that
    `bins_needed` lets into k·G bins.
    """
    if not is_unit(problem):
        raise OptionError("the bin-packing formulation needs every output to be one token")
    from ortools.sat.python import cp_model  # a second of imports that most users of this module never need

    r, fleet, model = problem.requests, problem.fleet, cp_model.CpModel()
    classes: dict[tuple[int, int], list[int]] = {}
    for j, key in enumerate(zip(r.peak.tolist(), r.arrival.tolist(), strict=True)):
        classes.setdefault(key, []).append(j)
    keys, members = list(classes), list(classes.values())
    count: dict[tuple[int, int, int], Any] = {}
    for c, (size, arrival) in enumerate(keys):
        for g, memory in enumerate(fleet.memory):
            for k in range(arrival, horizon) if size <= memory else ():
                count[c, g, k] = model.new_int_var(0, min(len(members[c]), memory // size), "")
        model.add(sum(v for (d, _, _), v in count.items() if d == c) == len(members[c]))
    step_total: list[Any] = [0] * horizon
    for k in range(horizon):
        for g, memory in enumerate(fleet.memory):
            mine = [(keys[c][0], v) for (c, h, at), v in count.items() if at == k and h == g]
            if mine:
                model.add(sum(size * v for size, v in mine) <= memory)
                cap = fleet.batch[g]
                if cap is not None:
                    model.add(sum(v for _, v in mine) <= cap)
                step_total[k] = step_total[k] + sum(v for _, v in mine)
    if not r.arrival.any():
        most, done = [0] * (horizon + 1), 0
        for k in range(1, horizon + 1):
            while done < problem.n and _steps(problem, done + 1) <= k:
                done += 1
            most[k] = done
            if done < problem.n:
                model.add(sum(step_total[:k]) <= done)
        if fleet.identical and len(fleet) == 1:
            for k in range(1, horizon):  # fuller steps first: swapping whole steps changes nothing else
                model.add(step_total[k] <= step_total[k - 1])
    total = sum((k + 1 - keys[c][1]) * v for (c, _, k), v in count.items())
    model.minimize(total)
    if upper is not None:
        model.add(total <= upper)
    if lower is not None:
        model.add(total >= lower)
    return UnitModel(problem, model, members, count)
