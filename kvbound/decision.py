"""Deciding an instance through its reduction: solve the scheduling problem, map the answer back, check both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from kvbound.models.errors import OptionError, SizeError
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.reductions import Reduced, RewardDecision, TelDecision, ThreePartition, three_partition
from kvbound.reductions.equal_outputs import EqualOutputs
from kvbound.reductions.generators import certified_no, near_miss, planted_yes
from kvbound.reductions.problems import Triples
from kvbound.reductions.three_partition_search import MOST_TRIPLES
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import Result, SolveConfig, solve
from kvbound.solvers.exact.known import Known
from kvbound.solvers.exact.outcome import Termination
from kvbound.solvers.exact.presolve import heuristics
from kvbound.solvers.exact.three_partition import solve_three_partition
from kvbound.solvers.progress import ProgressCallback

Word = Literal["yes", "no", "unknown"]
#: Up to so many requests the exact search of the schedule comes first; beyond, the numbers are asked first.
FEW_REQUESTS = 18
#: Share of the time, and most seconds, for heuristics on the schedule.
QUICK_SHARE, QUICK_SECONDS = 0.1, 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """An answer.

    Parameters
    ----------
    answer
        "yes", "no", or "unknown" when a limit came first.
    certificate
        For yes: the source's certificate (triples, bins, sides), accepted by its checker; else None.
    schedule, value
        The best schedule in hand, checked, and its TEL (or reward), exact; None without one.
    bound
        No schedule is below it (for a reward: above it), or None.
    decided_by
        Who decided: the exact solver of the schedule, or a solver of the numbers; "" when nobody did.
    interrupted
        Whether Ctrl-C ended the work.
    seconds
        Wall time.
    """

    reduced: Reduced
    answer: Word
    certificate: Any
    schedule: Schedule | None
    value: int | None
    bound: int | None
    decided_by: str
    interrupted: bool
    seconds: float


def decide(reduced: Reduced, *, config: SolveConfig | None = None, progress: ProgressCallback | None = None) -> Decided:
    """Decide the first instance of `reduced` by solving the last one (TEL or REWARD).

    A yes is a schedule that meets the threshold, mapped back and accepted by the checkers of all problems on the
    path. A no is a lower bound above the threshold, proved by an exact solver of TEL or REWARD. Where that solver
    would take too long on TEL (more than 18 requests), or comes to no end, 3-Partition is solved itself, by
    exhaustive search or CP-SAT; its triples are then lifted to a schedule, and its no is reported as that solver's.

    Raises
    ------
    OptionError
        The last problem is neither TEL nor REWARD.
    """
    config = SolveConfig() if config is None else config
    deadline = Deadline(config.time_limit)
    if isinstance(reduced.target, RewardDecision):
        return _reward(reduced, config, deadline, progress)
    if not isinstance(reduced.target, TelDecision):
        raise OptionError(f"{reduced.target.name} has no solver here; reduce on to tel or reward")
    return _tel(reduced, config, deadline, progress)


def _tel(reduced: Reduced, config: SolveConfig, deadline: Deadline, progress: ProgressCallback | None) -> Decided:
    problem: Problem = reduced.target.problem
    known = _proved_threshold(reduced)
    interrupted = False
    try:
        quick = deadline.share(QUICK_SHARE, QUICK_SECONDS)
        known = heuristics(problem, known, quick, config.seed, progress)
        if known.tel is not None and known.tel < reduced.if_no:
            return _answer(reduced, known, "heuristics on the schedule", deadline)
        numbers_first = problem.n > FEW_REQUESTS and isinstance(reduced.source, ThreePartition)
        for ask in (_ask_numbers, _ask_schedule) if numbers_first else (_ask_schedule, _ask_numbers):
            if deadline.passed or interrupted:
                break
            known, word, who, interrupted = ask(reduced, known, config, deadline, progress)
            if word != "unknown":
                return _answer(reduced, known, who, deadline, no=word == "no", interrupted=interrupted)
    except KeyboardInterrupt:
        interrupted = True
    return _answer(reduced, known, "", deadline, interrupted=interrupted)


_Asked = tuple[Known, Word, str, bool]


def _ask_schedule(
    reduced: Reduced, known: Known, config: SolveConfig, deadline: Deadline, progress: ProgressCallback | None
) -> _Asked:
    """The exact solver of TEL; when the numbers can be asked afterwards, with half of the time."""
    limit = deadline.remaining
    if limit is not None and isinstance(reduced.source, ThreePartition) and reduced.target.problem.n <= FEW_REQUESTS:
        limit /= 2
    result: Result = solve(
        reduced.target.problem,
        config=replace(config, time_limit=limit),
        progress=progress,
        incumbent=known.incumbent,
        bound=known.bound,
    )
    if result.schedule is not None:
        known = known.with_schedule(reduced.target.problem, result.schedule)
    known = known.with_bound(result.bound, result.proved_by)
    interrupted = result.termination is Termination.INTERRUPTED
    word: Word = "unknown"
    if known.tel is not None and known.tel < reduced.if_no:
        word = "yes"
    elif known.bound is not None and known.bound > reduced.threshold:
        word = "no"
    return known, word, f"exact solver of the schedule ({result.method})", interrupted


def _ask_numbers(
    reduced: Reduced, known: Known, config: SolveConfig, deadline: Deadline, progress: ProgressCallback | None
) -> _Asked:
    """3-Partition itself; other problems have no solver here."""
    instance = reduced.source
    if not isinstance(instance, ThreePartition):
        return known, "unknown", "", False
    if instance.m <= MOST_TRIPLES:
        who, triples, ended = "exhaustive search for triples", three_partition(instance), Termination.INFEASIBLE
    else:
        who = "CP-SAT on the numbers"
        ended, found = solve_three_partition(
            instance.numbers, instance.target, deadline=deadline, threads=config.cores, seed=config.seed
        )
        triples = None if found is None else tuple(found)
    if triples is not None:
        return known.with_schedule(reduced.target.problem, reduced.lift(triples)), "yes", who, False
    word: Word = "no" if ended is Termination.INFEASIBLE else "unknown"
    return known, word, who, ended is Termination.INTERRUPTED


def _proved_threshold(reduced: Reduced) -> Known:
    """What is known beforehand: where the edge proves "no schedule below the threshold", its verified certificate."""
    step = reduced.path.steps[-1]
    if isinstance(step, EqualOutputs):
        certificate = step.proof_of_threshold(reduced.stages[-2])
        return Known().with_bound(certificate.value, "certificate of the reduction", certificate)
    return Known()


def _answer(
    reduced: Reduced, known: Known, who: str, deadline: Deadline, *, no: bool = False, interrupted: bool = False
) -> Decided:
    """Map a yes back (every checker on the way has to accept it) and put everything together."""
    word: Word = "no" if no else "unknown"
    certificate = None
    if known.incumbent is not None and known.tel is not None and known.tel < reduced.if_no:
        word, certificate = "yes", reduced.back(known.incumbent)
    bound = max(known.bound or 0, reduced.if_no) if no else known.bound
    return Decided(reduced, word, certificate, known.incumbent, known.tel, bound, who, interrupted, deadline.elapsed)


def _reward(reduced: Reduced, config: SolveConfig, deadline: Deadline, progress: ProgressCallback | None) -> Decided:
    """The exact solver of REWARD; these edges have integer weights, so rewards and bounds are integers."""
    result = solve(reduced.target.problem, config=config, progress=progress)
    reward = None if result.reward is None else int(result.reward)
    bound = None if result.reward_bound is None else int(result.reward_bound)
    word: Word = "unknown"
    certificate = None
    if result.schedule is not None and reward is not None and reward >= reduced.threshold:
        word, certificate = "yes", reduced.back(result.schedule)
    elif bound is not None and bound < reduced.threshold:
        word = "no"
    return Decided(
        reduced,
        word,
        certificate,
        result.schedule,
        reward,
        bound,
        "" if word == "unknown" else f"exact solver of the schedule ({result.method})",
        result.termination is Termination.INTERRUPTED,
        deadline.elapsed,
    )


#: Kinds of generated 3-Partition instances.
KINDS = ("yes", "no", "near-miss")


def hard_instance(
    kind: str, m: int, target: int, seed: int, *, time_limit: float | None = 60.0
) -> tuple[ThreePartition, Triples | None]:
    """A 3-Partition instance with a known answer, and its triples when it is a planted yes.

    A no and a near miss (one step away from a yes) are certified: exhaustively for m ≤ 6, by CP-SAT beyond.

    Raises
    ------
    OptionError, SizeError
        Unknown kind; nothing could be certified in time.
    """
    if kind not in KINDS:
        raise OptionError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
    if kind == "yes":
        return planted_yes(m, target, seed)
    deadline = Deadline(time_limit)

    def by_cp_sat(instance: ThreePartition) -> Triples | None:
        ended, found = solve_three_partition(instance.numbers, instance.target, deadline=deadline, seed=seed)
        if ended is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        if ended not in (Termination.OPTIMAL, Termination.INFEASIBLE):
            raise SizeError(f"no certificate for m = {m}, B = {target} within {time_limit} s; try another size or seed")
        return None if found is None else tuple(found)

    make = certified_no if kind == "no" else near_miss
    return make(m, target, seed, three_partition if m <= MOST_TRIPLES else by_cp_sat), None
