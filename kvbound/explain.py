"""Why a policy loses on an instance: the first difference, who waits for it, and for whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.checkers import require_valid
from kvbound.models.footprint import usage
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Kind:
    """All requests of one prompt, output and arrival under two schedules.

    Parameters
    ----------
    count, prompt, output, arrival
        What they are.
    policy, better
        Mean completion under each, in steps.
    loss
        Σ (completion under the policy − completion under the better schedule), in steps; it sums up to the difference
        of the TELs over all kinds.
    """

    count: int
    prompt: int
    output: int
    arrival: int
    policy: float
    better: float
    loss: int

    @property
    def shown(self) -> str:
        """For people: `51 × (1, 1)`."""
        at = f", at {self.arrival}" if self.arrival else ""
        return f"{self.count} × ({self.prompt}, {self.output}{at})"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Two schedules of one instance, compared.

    Parameters
    ----------
    problem, name
        The instance, the policy's name.
    policy, better
        The schedules, checked.
    policy_tel, better_tel
        Their TELs, in steps.
    better_name
        What the better one is: `optimum`, `best schedule found`.
    kinds
        Requests by kind, largest loss first.
    diverge
        First step at which they start different requests; None: they are the same.
    policy_starts, better_starts
        What each starts in that step: kinds with their numbers, in words.
    """

    problem: Problem
    name: str
    policy: Schedule
    better: Schedule
    policy_tel: int
    better_tel: int
    better_name: str
    kinds: tuple[Kind, ...]
    diverge: int | None
    policy_starts: str
    better_starts: str

    @property
    def ratio(self) -> float:
        """TEL(policy) / TEL(better)."""
        return self.policy_tel / self.better_tel

    def lines(self) -> list[str]:
        """What makes the policy lose, in a few sentences."""
        told = [
            f"{self.name} has TEL {self.policy_tel:,}, the {self.better_name} {self.better_tel:,}: "
            f"ratio {self.ratio:.4f}, {self.policy_tel - self.better_tel:,} steps lost."
        ]
        if self.diverge is None:
            return [*told, "Both schedules are the same."]
        told.append(
            f"They part at step {self.diverge}: {self.name} starts {self.policy_starts}; the {self.better_name} "
            f"starts {self.better_starts}."
        )
        losers = [kind for kind in self.kinds if kind.loss > 0]
        lost = sum(kind.loss for kind in losers)
        for kind in losers[:2]:
            told.append(
                f"{kind.shown} complete at {kind.policy:,.1f} on average instead of {kind.better:,.1f}: "
                f"{100 * kind.loss / lost:.0f} % of what is lost."
            )
        if losers and (holder := self._holder(losers[0])):
            told.append(holder)
        gained = sum(-kind.loss for kind in self.kinds if kind.loss < 0)
        if gained:
            best = self.kinds[-1]
            told.append(
                f"In return {best.shown} complete at {best.policy:,.1f} instead of {best.better:,.1f}; "
                f"all gains together are {gained:,} steps against {lost:,} lost."
            )
        end = int(self.better.completion(self.problem.requests).max())
        uses = [self._use(schedule, end) for schedule in (self.policy, self.better)]
        if abs(uses[0] - uses[1]) >= 1:
            told.append(
                f"Until step {end:,}, when the {self.better_name} is done, {self.name} uses {uses[0]:.0f} % of the "
                f"memory-time and the other {uses[1]:.0f} %."
            )
        return told

    def _holder(self, loser: Kind) -> str | None:
        """Who holds the memory while the losers wait."""
        requests = self.problem.requests
        mine = (
            (requests.prompt == loser.prompt) & (requests.output == loser.output) & (requests.arrival == loser.arrival)
        )
        until = int(np.median(self.policy.start[mine]))
        if until <= loser.arrival:
            return None
        held: dict[tuple[int, int], int] = {}
        for j in np.flatnonzero(~mine & (self.policy.start < until)).tolist():
            steps = min(int(requests.output[j]), until - int(self.policy.start[j]))
            key = (int(requests.prompt[j]), int(requests.output[j]))
            held[key] = held.get(key, 0) + key[0] * steps + steps * (steps + 1) // 2
        if not held:
            return None
        (prompt, output), tokens = max(held.items(), key=lambda item: item[1])
        share = 100 * tokens / (self.problem.fleet.pooled_memory * until)
        return (
            f"Half of the {loser.shown} still wait at step {until:,} under {self.name}; until then requests "
            f"({prompt}, {output}) take {share:.0f} % of the memory-time; "
            f"{self._use(self.policy, until):.0f} % is used in all."
        )

    def _use(self, schedule: Schedule, until: int) -> float:
        """Percent of the memory-time of the fleet that is used up to step `until`."""
        requests = self.problem.requests
        steps = np.clip(until - schedule.start, 0, requests.output)
        tokens = requests.prompt * steps + steps * (steps + 1) // 2
        return 100 * sum(tokens.tolist()) / (self.problem.fleet.pooled_memory * until)


def explain(problem: Problem, name: str, policy: Schedule, better: Schedule, better_name: str) -> Explanation:
    """Compare a policy's schedule with a better one; both are checked (`ScheduleError`)."""
    tels = require_valid(problem, policy), require_valid(problem, better)
    requests = problem.requests
    rows = np.stack((requests.prompt, requests.output, requests.arrival), axis=1)
    found, kind_of = np.unique(rows, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)
    better = _aligned(kind_of, policy, better)
    ends = policy.completion(requests), better.completion(requests)
    kinds = []
    for k, (prompt, output, arrival) in enumerate(found.tolist()):
        mine = kind_of == k
        before, after = (float(end[mine].mean()) for end in ends)
        loss = int((ends[0] - ends[1])[mine].sum())
        kinds.append(Kind(int(mine.sum()), prompt, output, arrival, before, after, loss))
    kinds.sort(key=lambda kind: -kind.loss)
    step = _first_difference(kind_of, policy, better)
    words = ["", ""]
    if step is not None:
        words = [_started(problem, s, step) for s in (policy, better)]
    return Explanation(problem, name, policy, better, *tels, better_name, tuple(kinds), step, words[0], words[1])


def _aligned(kind_of: IntArray, policy: Schedule, better: Schedule) -> Schedule:
    """`better` with identical requests exchanged so that they start in the same order as under the policy."""
    start, worker = better.start.copy(), better.worker.copy()
    mine, other = (np.lexsort((s.worker, s.start, kind_of)) for s in (policy, better))
    start[mine], worker[mine] = better.start[other], better.worker[other]
    return Schedule(start, worker)


def _first_difference(kind_of: IntArray, first: Schedule, second: Schedule) -> int | None:
    """First step at which the kinds started differ: identical requests may change places."""
    keys = []
    for schedule in (first, second):
        order = np.lexsort((schedule.worker, kind_of, schedule.start))
        keys.append(np.stack((schedule.start[order], kind_of[order], schedule.worker[order]), axis=1))
    differ = np.flatnonzero((keys[0] != keys[1]).any(axis=1))
    return int(min(keys[0][differ[0], 0], keys[1][differ[0], 0])) if differ.size else None


def _started(problem: Problem, schedule: Schedule, step: int) -> str:
    """The requests that start at `step`, by kind."""
    requests = problem.requests
    mine = np.flatnonzero(schedule.start == step)
    if not mine.size:
        held, active = usage(
            requests.prompt, schedule.start, schedule.completion(requests), np.array([step + 1], np.int64)
        )
        return f"nothing there ({active[0]} run and hold {held[0]:,} tokens in the next step)"
    pairs: dict[tuple[int, int], int] = {}
    for j in mine.tolist():
        key = (int(requests.prompt[j]), int(requests.output[j]))
        pairs[key] = pairs.get(key, 0) + 1
    most = sorted(pairs.items(), key=lambda item: -item[1])
    shown = [f"{count} × ({prompt}, {output})" for (prompt, output), count in most[:3]]
    return ", ".join(shown) + (f" and {sum(c for _, c in most[3:])} more" if len(most) > 3 else "")
