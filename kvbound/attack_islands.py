"""Islands of a search: independent, each with its own seed, in this process or over several; stored and resumed."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from kvbound.attack_sides import Target, sides
from kvbound.instances.adversarial.groups import Space
from kvbound.instances.adversarial.search import Found, Island, Sides
from kvbound.instances.files import read_text, write_atomic
from kvbound.models.errors import InputError, OptionError

#: Seconds between two reports of a search, and between two writings of its state.
CHUNK, STORE = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a stored search may be resumed with; everything has to be the same.

    Parameters
    ----------
    kind, name, policy_seed, file
        The target.
    space, against, seed, islands
        Where, against what, with which seed and how many islands are searched.
    """

    kind: str
    name: str
    policy_seed: int
    file: str | None
    space: Space
    against: str
    seed: int
    islands: int

    def target(self) -> Target:
        """The target, made anew: for processes that cannot be handed a function."""
        file = None if self.file is None else Path(self.file)
        return Target.named(self.name, router=self.kind == "router", file=file, seed=self.policy_seed)

    def fresh(self) -> list[Island]:
        """Islands at the start of a search."""
        return [Island(self.space, (self.seed, i)) for i in range(self.islands)]


def write_state(path: Path, plan: Plan, islands: Sequence[Island]) -> None:
    """Write the state of a search, whole or not at all."""
    document = {"format": "kvbound-attack", "schema_version": 1, "plan": asdict(plan)}
    write_atomic(path, json.dumps({**document, "islands": [island.state() for island in islands]}) + "\n")


def read_state(path: Path, plan: Plan) -> list[Island]:
    """The islands of a stored search.

    Raises
    ------
    InputError, OptionError
        The file is damaged; it belongs to a search with other settings.
    """
    try:
        document = json.loads(read_text(path))
        stored, islands = document["plan"], document["islands"]
        if document["format"] != "kvbound-attack" or document["schema_version"] != 1:
            raise InputError(f"{path}: is no state of `kvbound attack`, version 1")
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: is no state of `kvbound attack`; start anew with another file") from None
    for key, value in json.loads(json.dumps(asdict(plan))).items():
        if stored.get(key) != value:
            raise OptionError(
                f"{path}: belongs to another search: {key} is {stored.get(key)!r} there and {value!r} here; "
                "give the same options or another file"
            )
    try:
        return [Island.of_state(plan.space, state) for state in islands]
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def run_islands(
    plan: Plan,
    target: Target,
    islands: list[Island],
    *,
    evaluations: int | None,
    stop: Callable[[], bool],
    jobs: int,
    report: Callable[[Sequence[Island]], None],
) -> list[Island]:
    """Advance all islands until `stop`, or until each has made its share of `evaluations`.

    `report` is called about once a second. Ctrl-C has to set `stop`: processes never see it.
    """
    share = 1 << 62 if evaluations is None else -(-evaluations // len(islands))
    if jobs == 1:
        compare = sides(target, plan.against)
        while not stop() and any(island.evaluations < share for island in islands):
            for island in islands:
                until = time.monotonic() + CHUNK / len(islands)
                island.advance(compare, share, partial(_either, stop, until))
            report(islands)
        return islands
    return _over_processes(plan, islands, share, stop, jobs, report)


def _either(stop: Callable[[], bool], until: float) -> bool:
    """Whether to stop at all, or to let the next island go on (`until`: a monotonic clock's seconds)."""
    return stop() or time.monotonic() > until


def _over_processes(
    plan: Plan,
    islands: list[Island],
    share: int,
    stop: Callable[[], bool],
    jobs: int,
    report: Callable[[Sequence[Island]], None],
) -> list[Island]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(islands)), mp_context=context, initializer=_ignore_interrupts) as pool:
        running: dict[Future[dict[str, Any]], int] = {}
        idle = [i for i, island in enumerate(islands) if island.evaluations < share]
        while True:
            while idle and not stop():
                i = idle.pop(0)
                running[pool.submit(_advance, plan, islands[i].state(), share, CHUNK)] = i
            if not running:
                return islands
            for done in wait(running, timeout=CHUNK, return_when=FIRST_COMPLETED).done:
                i = running.pop(done)
                islands[i] = Island.of_state(plan.space, done.result())
                if islands[i].evaluations < share:
                    idle.append(i)
            report(islands)


def _ignore_interrupts() -> None:
    """The parent process decides when to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@lru_cache(maxsize=4)
def _sides(plan: Plan) -> Sides:
    return sides(plan.target(), plan.against)


def _advance(plan: Plan, state: dict[str, Any], share: int, seconds: float) -> dict[str, Any]:
    """One chunk of one island, in a process of its own."""
    compare = _sides(plan)
    island = Island.of_state(plan.space, state)
    until = time.monotonic() + seconds
    island.advance(compare, share, lambda: time.monotonic() > until)
    return island.state()


def ranked(islands: Sequence[Island]) -> list[Found]:
    """The best instances of all islands, no two the same, highest ratio first; ties: fewer requests."""
    found = {f.groups: f for island in islands for f in (*island.elites, *island.population)}
    found.update({island.best.groups: island.best for island in islands if island.best is not None})
    return sorted(found.values(), key=lambda f: (-f.ratio, sum(g.count for g in f.groups), f.groups))
