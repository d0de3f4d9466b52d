"""The search as a whole: beam search, annealing and exact windows inside one budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvbound.models.errors import OptionError
from kvbound.models.fleet import Fleet
from kvbound.models.problem import Problem
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.policies.list_scheduling import list_schedule
from kvbound.solvers.progress import ProgressCallback
from kvbound.solvers.search.anneal import Annealing
from kvbound.solvers.search.incumbent import Budget, Incumbent, Step
from kvbound.solvers.search.rounds import Rounds
from kvbound.solvers.search.windows import Windows

#: Fewer requests than this at once (memory over mean peak): annealing gets most of the time, see docs/search.md.
_FEW = 6.0
_BEAM_FEW, _BEAM_MANY = 0.25, 1.0
#: Moves without a limit of moves or time.
_DEFAULT_MOVES = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Improvement:
    """Outcome of a search.

    Parameters
    ----------
    schedule, tel
        The best schedule found, checked, and its TEL.
    moves
        Moves tried: starts judged by beam search, sequences decoded by annealing.
    seconds
        Wall time, in seconds.
    steps
        Every improvement with its time and its stage; the first entry is the schedule that was given.
    """

    schedule: Schedule
    tel: int
    moves: int
    seconds: float
    steps: tuple[Step, ...] = ()


def improve(
    problem: Problem,
    schedule: Schedule,
    *,
    deadline: Deadline,
    seed: int,
    moves: int | None = None,
    target: int | None = None,
    threads: int = 1,
    windows: float = 0.0,
    progress: ProgressCallback | None = None,
) -> Improvement:
    """Search for a better schedule than `schedule`.

    Beam search and annealing take turns (docs/search.md). With `moves` and no time limit the answer depends on `seed`
    only. Stops at `target` (a proven bound), when time or moves are spent, or on Ctrl-C, always with the best
    checked schedule.

    Parameters
    ----------
    moves
        Most moves to try, or None for as many as the deadline allows. The last beam search may exceed it.
    target
        A lower bound on the optimum; meeting it ends the search.
    threads
        1 or 2; with `moves` alone the answer is the same for both.
    windows
        Share of the budget, from 0 to 1, for CP-SAT on windows of the schedule, before the other stages. It did not
        pay on what we measured (docs/search.md §4), so it is 0 unless asked for.

    Raises
    ------
    ScheduleError
        `schedule` breaks a rule.
    OptionError
        `windows` lies outside 0..1.
    """
    if not 0.0 <= windows <= 1.0:
        raise OptionError(f"windows is {windows}; it is a share of the budget, from 0 to 1")
    rng = np.random.default_rng(seed)
    if moves is None and deadline.seconds is None:
        moves = _DEFAULT_MOVES
    best = Incumbent(problem, schedule, deadline, target, progress)
    try:
        budget = Budget(best, deadline, moves)
        rounds, annealing = Rounds(problem, rng, threads), Annealing(problem, rng)
        if problem.n > 1:
            if windows > 0.0:
                Windows(problem, rng).run(best, budget.share(windows))
            rounds.sweep(best, budget.share(beam_share(problem)))
            annealing.run(best, budget)
    except KeyboardInterrupt:
        pass
    return Improvement(best.schedule, best.tel, best.moves, deadline.elapsed, tuple(best.steps))


def beam_share(problem: Problem) -> float:
    """Part of the budget for beam search: most of it when many requests run at once, less when few do."""
    at_once = problem.fleet.largest / float(problem.requests.peak.mean())
    return _BEAM_FEW if at_once < _FEW else _BEAM_MANY


def prepare() -> None:
    """Load the kernels, or compile them once after installation, so that no time limit pays for it."""
    problem = Problem(Requests(np.array([1, 1, 1]), np.array([2, 3, 4])), Fleet.uniform(6))
    schedule = list_schedule(problem, np.arange(3))
    improve(problem, schedule, deadline=Deadline(), seed=0, moves=100)
