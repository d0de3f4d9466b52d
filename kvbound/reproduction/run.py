"""Run experiments, one after the other or in processes; Ctrl-C keeps every row that was measured."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import queue
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import kvbound
from kvbound.models.errors import KvboundError, SolverError
from kvbound.reproduction.conclusions import conclude
from kvbound.reproduction.context import Context
from kvbound.reproduction.findings import Outcome, Row
from kvbound.reproduction.registry import EXPERIMENTS, Experiment
from kvbound.solvers.progress import Progress, ProgressCallback

#: Called with every finished (or interrupted) experiment.
Finished = Callable[[Outcome], None]


class Interrupted(Exception):
    """Ctrl-C ended an experiment; `outcome` holds the rows that were measured, if any."""

    def __init__(self, outcome: Outcome | None) -> None:
        super().__init__("interrupted")
        self.outcome = outcome


def reproduce(
    experiments: Sequence[Experiment],
    *,
    scale: str = "full",
    seeds: int | None = None,
    jobs: int = 1,
    traces: Path | None = None,
    progress: ProgressCallback | None = None,
    finished: Finished | None = None,
) -> tuple[tuple[Outcome, ...], bool]:
    """Run experiments; return what they found and whether Ctrl-C ended the work.

    Parameters
    ----------
    scale
        `full`, `quick` (smaller n, fewer seeds) or `tiny` (for tests).
    seeds
        Number of seeds of every experiment in place of its own.
    jobs
        Experiments at a time, each in a process of its own.
    traces
        Folder of trace files, or None.
    progress, finished
        Called while it runs, and with every outcome as it comes.
    """
    outcomes: list[Outcome] = []

    def keep(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if finished is not None:
            finished(outcome)

    interrupted = False
    try:
        if jobs > 1 and len(experiments) > 1:
            for outcome in _in_processes(experiments, scale, seeds, jobs, traces, progress):
                keep(outcome)
        else:
            for experiment in experiments:
                keep(run_one(experiment, scale, seeds, traces, progress))
    except Interrupted as end:
        interrupted = True
        if end.outcome is not None:
            keep(end.outcome)
    except KeyboardInterrupt:
        interrupted = True
    order = list(EXPERIMENTS)
    return tuple(sorted(outcomes, key=lambda o: order.index(o.name))), interrupted


def run_one(
    experiment: Experiment,
    scale: str,
    seeds: int | None,
    traces: Path | None,
    progress: ProgressCallback | None,
) -> Outcome:
    """Run one experiment here; `Interrupted` carries what it had."""
    ctx = Context(scale, seeds, traces=traces, progress=progress)
    rows: list[Row] = []
    wall, cpu = time.perf_counter(), time.process_time()

    def outcome(complete: bool) -> Outcome:
        return Outcome(
            experiment.name,
            experiment.title,
            experiment.paper,
            tuple(rows),
            tuple(conclude(rows)),
            tuple(ctx.skipped),
            scale != "full",
            complete,
            round(time.perf_counter() - wall, 1),
            round(time.process_time() - cpu, 1),
            ctx.schedules,
            ctx.certificates,
            datetime.datetime.now(datetime.UTC).date().isoformat(),
            kvbound.__version__,
            os.cpu_count() or 1,
        )

    stop, before = _watched()
    ctx.stop = stop
    try:
        for row in experiment.rows(ctx):
            if stop:  # a search that swallowed Ctrl-C returned early: this row has less behind it than it says
                raise KeyboardInterrupt
            rows.append(row)
    except KeyboardInterrupt:
        raise Interrupted(outcome(False) if rows else None) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    return outcome(True)


def _watched() -> tuple[list[int], Any]:
    """Remember Ctrl-C also when a search swallows it; outside the main thread signals belong to somebody else."""
    seen: list[int] = []

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        return seen, signal.signal(signal.SIGINT, note)
    except ValueError:
        return seen, None


def _in_processes(
    experiments: Sequence[Experiment],
    scale: str,
    seeds: int | None,
    jobs: int,
    traces: Path | None,
    progress: ProgressCallback | None,
) -> Iterator[Outcome]:
    """Outcomes as they come from at most `jobs` processes, the longest experiments first; Ctrl-C stops them all."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    waiting = sorted(experiments, key=lambda e: e.quick_seconds if scale != "full" else e.full_seconds)
    running: dict[str, Any] = {}
    begin = time.perf_counter()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop().name
                process = context.Process(target=_work, args=(name, scale, seeds, traces, results), daemon=True)
                process.start()
                running[name] = process
            try:
                name, kind, value = results.get(timeout=0.5)
            except queue.Empty:
                dead = [name for name, process in running.items() if not process.is_alive() and results.empty()]
                if dead:
                    raise SolverError(f"{dead[0]}: its process ended without an answer") from None
                continue
            if kind == "stage" and progress is not None:
                progress(Progress(f"{name}: {value}", time.perf_counter() - begin, None, None))
            elif kind == "done":
                running.pop(name).join()
                yield value
            elif kind == "error":
                raise value
    except KeyboardInterrupt:
        yield from _last(running, results)
        raise
    finally:
        for process in running.values():
            process.terminate()


def _last(running: dict[str, Any], results: Any) -> Iterator[Outcome]:
    """Pass Ctrl-C on and take what the processes have by then."""
    for process in running.values():
        if process.is_alive():
            os.kill(process.pid, signal.SIGINT)
    end = time.monotonic() + 10
    while running and time.monotonic() < end:
        try:
            name, kind, value = results.get(timeout=0.5)
        except queue.Empty:
            continue
        if kind in ("done", "partial", "none", "error"):
            running.pop(name, None)
            if kind in ("done", "partial"):
                yield value


def _work(name: str, scale: str, seeds: int | None, traces: Path | None, results: Any) -> None:
    """One experiment in a process of its own."""
    try:
        outcome = run_one(
            EXPERIMENTS[name], scale, seeds, traces, lambda event: results.put((name, "stage", event.stage))
        )
        results.put((name, "done", outcome))
    except Interrupted as end:
        results.put((name, "none" if end.outcome is None else "partial", end.outcome))
    except KeyboardInterrupt:
        results.put((name, "none", None))
    except KvboundError as error:
        results.put((name, "error", error))
