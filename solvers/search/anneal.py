"""Simulated annealing over sequences: insert, swap, block and delay moves, list-scheduled and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from kvbound.checkers.schedule import require_valid
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray, Requests
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies.list_scheduling import list_schedule
from kvbound.solvers.progress import Progress, ProgressCallback
from kvbound.solvers.search.sequence import Checkpoints, Instance, decode, most_active, save_checkpoints

_NO_LIMIT = np.int64(1) << 61


@dataclass(frozen=True, slots=True, eq=False)
class Improvement:
    """Outcome of a search.

    Parameters
    ----------
    schedule, tel
        The best schedule found, checked, and its TEL.
    moves
        Moves tried.
    seconds
        Wall time, in seconds.
    """

    schedule: Schedule
    tel: int
    moves: int
    seconds: float


@njit(cache=True)
def _move_block(sequence, trial, low, high, size, rightwards):  # type: ignore[no-untyped-def]
    """Write to `trial` the positions low..high of `sequence` with a block of `size` moved from one end to the other."""
    if rightwards:
        trial[low : high + 1 - size] = sequence[low + size : high + 1]
        trial[high + 1 - size : high + 1] = sequence[low : low + size]
    else:
        trial[low + size : high + 1] = sequence[low : high + 1 - size]
        trial[low : low + size] = sequence[high + 1 - size : high + 1]


@njit(cache=True)
def _rounds(  # type: ignore[no-untyped-def]
    moves,
    reach,
    temperature,
    rng,
    sequence,
    delay,
    tel,
    inst,
    points,
    rest,
    start,
    worker,
    best_sequence,
    best_delay,
    best,
):
    """Try `moves` moves at one temperature; change `sequence` and `delay` in place; return (tel, best)."""
    n, spare = len(sequence), len(points.now) - 1
    trial = sequence.copy()
    for _ in range(moves):
        kind = rng.random()
        i = int(rng.random() * n)
        limit = tel
        if temperature > 0:
            limit += int(-temperature * math.log(1.0 - rng.random()))
        low = high = i
        delayed, old = sequence[i], delay[sequence[i]]
        if kind < 0.08:  # delay one request, or no longer
            delay[delayed] = 0 if old > 0 and rng.random() < 0.7 else 1 + int(rng.exponential(4.0))
        else:
            distance = 1 + int(rng.exponential(reach))
            j = i + distance if rng.random() < 0.5 else i - distance
            j = min(max(j, 0), n - 1)
            if i == j:
                continue
            low, high = min(i, j), max(i, j)
            if kind < 0.4:  # swap
                trial[i], trial[j] = sequence[j], sequence[i]
            else:  # insert a block of 1 to 3 requests
                size = 1 if kind < 0.8 else 2 + int(rng.random() * 2)
                _move_block(sequence, trial, low, high, min(size, high - low), i < j)
        value = decode(trial, delay, low, inst, points, spare, limit, rest, start, worker)
        if value < 0:
            trial[low : high + 1] = sequence[low : high + 1]
            delay[delayed] = old
            continue
        sequence[low : high + 1] = trial[low : high + 1]
        tel = value
        save_checkpoints(sequence, low, inst, points, start, worker)
        if tel < best:
            best = tel
            best_sequence[:] = sequence
            best_delay[:] = delay
    return tel, best


def improve(
    problem: Problem,
    schedule: Schedule,
    *,
    deadline: Deadline,
    seed: int,
    moves: int | None = None,
    target: int | None = None,
    progress: ProgressCallback | None = None,
) -> Improvement:
    """Search for a better schedule than `schedule`, from its order of starts.

    Annealing restarts from the best sequence with a lower temperature each time. With `moves` and no time limit
    the answer depends on `seed` only. Stops at `target` (a proven bound), at the deadline, or on Ctrl-C, always
    with the best checked schedule.

    Parameters
    ----------
    moves
        Most moves to try, or None for as many as the deadline allows.
    target
        A lower bound on the optimum; meeting it ends the search.
    """
    best_schedule, best_tel = schedule, require_valid(problem, schedule)
    rng = np.random.default_rng(seed)
    if moves is None and deadline.seconds is None:
        moves = 200_000
    instance = Instance.of(problem)
    sequence: IntArray = np.lexsort((problem.requests.output, schedule.start)).astype(np.int64)
    points = Checkpoints.empty(problem.n, len(problem.fleet), most_active(problem))
    start, worker, delay = (np.zeros(problem.n, np.int64) for _ in range(3))
    rest = int((problem.requests.output - problem.requests.arrival).sum())
    spare = len(points.now) - 1
    tel = int(decode(sequence, delay, 0, instance, points, spare, _NO_LIMIT, rest, start, worker))
    save_checkpoints(sequence, 0, instance, points, start, worker)
    best_sequence, best_delay, found, tried, stage = sequence.copy(), delay.copy(), tel, 0, 0
    rounds_per_descent, chunk = 40, max(50, min(4000, 400_000 // problem.n))
    try:
        while problem.n > 1 and not deadline.passed and (moves is None or tried < moves):
            if target is not None and min(found, best_tel) <= target:
                break
            descent, step = divmod(stage, rounds_per_descent)
            if step == 0 and descent:
                sequence[:], delay[:] = best_sequence, best_delay
                tel = int(decode(sequence, delay, 0, instance, points, spare, _NO_LIMIT, rest, start, worker))
                save_checkpoints(sequence, 0, instance, points, start, worker)
            # Mean latency per request sets the scale; every other descent starts cooler.
            hot = 0.5 * tel / problem.n / (1 + descent % 4)
            temperature = hot * 0.85**step if step < rounds_per_descent - 3 else 0.0
            reach = max(1.0, problem.n / (3 + step))
            size = chunk if moves is None else min(chunk, moves - tried)
            tel, found = _rounds(
                size,
                reach,
                temperature,
                rng,
                sequence,
                delay,
                tel,
                instance,
                points,
                rest,
                start,
                worker,
                best_sequence,
                best_delay,
                found,
            )
            tried += size
            stage += 1
            if progress is not None:
                progress(Progress("improving", deadline.elapsed, int(min(found, best_tel)), target))
    except KeyboardInterrupt:
        pass
    if found < best_tel:
        decode(
            best_sequence,
            best_delay,
            0,
            instance,
            Checkpoints.empty(problem.n, len(problem.fleet), most_active(problem)),
            0,
            _NO_LIMIT,
            rest,
            start,
            worker,
        )
        best_schedule = Schedule(start.copy(), worker.copy())
        best_tel = require_valid(problem, best_schedule)
    return Improvement(best_schedule, best_tel, tried, deadline.elapsed)


def prepare() -> None:
    """Load the kernels, or compile them once after installation, so that no time limit pays for it."""
    problem = Problem(Requests(np.array([1, 1, 1]), np.array([2, 3, 4])), Fleet.uniform(6))
    schedule = list_schedule(problem, np.arange(3))
    improve(problem, schedule, deadline=Deadline(), seed=0, moves=20)
