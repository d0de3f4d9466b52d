"""Run a plan: cells go to workers through joblib, results into the file as they come."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kvbound.models.errors import InputError, KvboundError
from kvbound.sweeps.backends import Pool, broke, pool
from kvbound.sweeps.cell import ANSWERS, Cell, Outcome, Status
from kvbound.sweeps.plan import Plan, read_codes
from kvbound.sweeps.store import ResultStore
from kvbound.sweeps.task import Instance, Task

#: Seconds between two signs of life in the file.
_BEAT = 15.0
#: Seconds between two looks at cells that another sweep is working on.
_LOOK = 0.5


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """Where a sweep is: `ended` of `total` cells to run, `failed` of them without an answer, `skipped` at the start."""

    stage: str
    total: int
    ended: int
    failed: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What a sweep did.

    Parameters
    ----------
    cells
        Cells of the plan.
    skipped
        Of these, those that had a row when the sweep began.
    ran
        Cells that this sweep ran and stored.
    statuses
        Status -> number of cells of the plan, as the file says now; cells without a row are missing.
    seconds
        Wall time.
    interrupted
        Whether Ctrl-C ended it early.
    """

    cells: int
    skipped: int
    ran: int
    statuses: dict[Status, int]
    seconds: float
    interrupted: bool = False

    @property
    def left(self) -> int:
        """Cells of the plan that have no row yet."""
        return self.cells - sum(self.statuses.values())


ProgressCall = Callable[[SweepProgress], None]


def sweep(
    plan: Plan,
    store: ResultStore,
    *,
    text: str = "",
    backend: str = "loky",
    address: str | None = None,
    jobs: int | None = None,
    retry: bool = False,
    progress: ProgressCall | None = None,
) -> Summary:
    """Run every cell of `plan` that `store` has no row for.

    Parameters
    ----------
    plan, text
        The plan (`kvbound.sweeps.plan.read_plan`) and its text, kept in the file.
    store
        An open results file. Other sweeps may use it at the same time: a cell that one of them has begun is left to
        it, and taken over when it dies.
    backend, address
        `loky` (processes here), `dask` or `ray`; address of a cluster, without one a local one is started.
    jobs
        Cells at once; default: one per core, or all that the cluster has.
    retry
        Run cells again that failed or went over a limit.
    progress
        Called after each cell.

    Raises
    ------
    InputError
        The file cannot be written, the backend is not installed or not reachable, workers die again and again.
    """
    run = _Run(plan, store, retry, progress)
    begin = time.monotonic()
    with pool(backend, address, jobs) as workers:
        store.begin(plan.name, text, backend, workers.jobs)
        with _beating(store):
            try:
                run.expand()
                run.through(workers)
            except KeyboardInterrupt:
                run.interrupted = True
    return run.summary(time.monotonic() - begin)


def cells_of(plan: Plan, store: ResultStore) -> Iterator[tuple[Cell, str | None]]:
    """Every cell of a plan, once each, with why its instance could not be loaded (else None); stores the instances."""
    methods = plan.methods(read_codes(plan))
    seen: set[str] = set()
    for setting in plan.settings():
        error: str | None = None
        try:
            instance = store.put_instance(setting.problem())
            store.forget_unloaded(setting.source, setting.seed, setting.changes)
        except KvboundError as reason:
            instance, error = "", str(reason)
        for cell in plan.cells(setting, instance, methods):
            if cell.key not in seen:
                seen.add(cell.key)
                yield cell, error


class _Run:
    """The state of a sweep while it runs."""

    def __init__(self, plan: Plan, store: ResultStore, retry: bool, progress: ProgressCall | None) -> None:
        self.store, self.retry, self.progress = store, retry, progress
        self.plan, self.codes = plan, read_codes(plan)
        self.cells: dict[str, Cell] = {}
        self.pending: list[Cell] = []
        self.skipped = self.ended = self.failed = self.ran = 0
        self.interrupted = False
        self._flying: dict[str, Cell] = {}
        self._taken: set[str] = set()
        self._settled: set[str] = set()
        self._apart: set[str] = set()
        self._error: BaseException | None = None

    def expand(self) -> None:
        """Find out what there is to do; a source that cannot be loaded makes failed cells at once."""
        statuses = self.store.statuses()
        for cell, error in cells_of(self.plan, self.store):
            self.cells[cell.key] = cell
            status = statuses.get(cell.key)
            if status is not None and (status in ANSWERS or not self.retry):
                self.skipped += 1
            elif error is not None:
                self._ended(cell, Outcome("failed", error=f"the source could not be loaded: {error}"), 1)
            else:
                self.pending.append(cell)
            if len(self.cells) % 50 == 0:
                self._tell("loading")
        self._tell("running")

    def through(self, workers: Pool) -> None:
        """Run all pending cells; those of dead workers once more, apart; those of other sweeps when these die."""
        todo, breaks = self.pending, 0
        while todo:
            before = self.ran
            self._taken.clear()
            self._flying.clear()
            try:
                self._once(workers, todo)
            except Exception as error:  # joblib's backends have no common class for a worker that died
                if not broke(error):
                    raise
                # One of these killed it: each gets a process of its own, whose end is that cell's alone.
                self._apart.update(self._flying)
                breaks = 0 if self.ran > before else breaks + 1
                if breaks > 2:
                    raise InputError(
                        f"workers end again and again ({type(error).__name__}: {error}); fewer of them with --jobs, or "
                        "limits.megabytes in the plan, may help. What is stored stays: the same command goes on"
                    ) from None
            todo = [cell for cell in todo if cell.key not in self._settled]
            if todo and self._taken.issuperset(cell.key for cell in todo):
                self._tell(f"waiting for {len(todo)} cells of another sweep")
                time.sleep(_LOOK)

    def _once(self, workers: Pool, cells: Sequence[Cell]) -> None:
        done = workers.run(self._tasks(cells))
        try:
            for finished in done:
                self._flying.pop(finished.cell.key, None)
                if finished.outcome is None:
                    raise KeyboardInterrupt
                self._ended(finished.cell, finished.outcome, finished.attempts)
        finally:
            done.close()  # ends the workers' cells when we leave early
        if self._error is not None:
            raise self._error

    def _tasks(self, cells: Sequence[Cell]) -> Iterator[Task]:
        """Claim cells one by one, as workers become free. Runs in a thread of joblib's, which would swallow errors."""
        try:
            for cell in cells:
                claim = self.store.claim(cell.key, self.retry)
                if claim == "stored":  # another sweep was faster
                    self._settled.add(cell.key)
                    self._count_elsewhere()
                elif claim == "taken":
                    self._taken.add(cell.key)
                else:
                    self._flying[cell.key] = cell
                    yield self._task(cell, int(claim))
        except Exception as error:  # handed to the thread that waits for results
            self._error = error

    def _task(self, cell: Cell, attempts: int) -> Task:
        name, origin, n, requests, fleet = self.store.instance_row(cell.instance)
        return Task(
            cell,
            attempts,
            Instance(n, requests, fleet, name, origin),
            self.codes.get(cell.method) if "code" in cell.options else None,
            self.plan.limits.seconds,
            self.plan.limits.megabytes,
            cell.key in self._apart,
            os.getpid(),
        )

    def _ended(self, cell: Cell, outcome: Outcome, attempts: int) -> None:
        self.store.put(cell, outcome, attempts)
        self._settled.add(cell.key)
        self.ran += 1
        self.ended += 1
        self.failed += outcome.status not in ANSWERS
        self._tell("running")

    def _count_elsewhere(self) -> None:
        self.ended += 1

    def _tell(self, stage: str) -> None:
        if self.progress is not None:
            total = len(self.cells) - self.skipped
            self.progress(SweepProgress(stage, total, self.ended, self.failed, self.skipped))

    def summary(self, seconds: float) -> Summary:
        """What was done, with the states of the plan's cells as the file says now."""
        stored = self.store.statuses()
        counts = Counter(stored[key] for key in self.cells if key in stored)
        return Summary(len(self.cells), self.skipped, self.ran, dict(counts), seconds, self.interrupted)


@contextlib.contextmanager
def _beating(store: ResultStore) -> Iterator[None]:
    """Say in the file, now and then, that this sweep is alive."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(_BEAT):
            with contextlib.suppress(InputError):  # a locked file: the next beat will do
                store.beat()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
