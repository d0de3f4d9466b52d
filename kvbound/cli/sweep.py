"""`kvbound sweep`: a grid of cells over days, on one machine or a cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import CHECK_FAILED, INTERRUPTED

if TYPE_CHECKING:
    from kvbound.sweeps.run import Summary, SweepProgress
    from kvbound.sweeps.verify import Verdict

#: Seconds between two lines of progress where there is no terminal.
_LINE = 60.0


def sweep(
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN.toml", help="The grid; docs/sweeps.md.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Results file. [default: PLAN.sqlite beside the plan]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="J", min=1, help="Cells at once. [default: one per core]")
    ] = None,
    backend: Annotated[str, typer.Option("--backend", metavar="B", help="loky (this machine), dask or ray.")] = "loky",
    address: Annotated[
        str | None, typer.Option("--address", metavar="URL", help="Cluster of --backend dask or ray.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run cells again that failed or went over a limit.")] = False,
    verify: Annotated[
        Path | None, typer.Option("--verify", metavar="FILE", help="Check stored schedules and certificates anew.")
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=0, help="With --verify: cells to check; 0 is all of them.")
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", metavar="K", min=0, help="With --verify: seed of the sample.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run every cell of a plan that the results file does not have yet; results are stored as they come.

    Killed at any moment and started again, it goes on where it was. Exit code 1 when a cell failed.
    """
    from kvbound.models.errors import OptionError

    if (plan is None) == (verify is None):
        raise OptionError("give a PLAN.toml to run, or --verify FILE to check results; not both")
    if verify is not None:
        _verify(verify, sample or None, seed, json)
        return
    assert plan is not None
    from kvbound.cli.output import print_json, print_lines
    from kvbound.sweeps.plan import read_plan
    from kvbound.sweeps.run import sweep as run
    from kvbound.sweeps.store import ResultStore

    parsed, text = read_plan(plan)
    file = plan.with_suffix(".sqlite") if output is None else output
    with ResultStore(file, create=True) as store, _watching() as progress:
        done = run(
            parsed, store, text=text, backend=backend, address=address, jobs=jobs, retry=retry, progress=progress
        )
    if json:
        print_json({"plan": str(plan), "file": str(file), **summary_json(done)})
    else:
        print_lines(summary_lines(done, plan, file))
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)
    if done.statuses.get("failed"):
        raise typer.Exit(CHECK_FAILED)


def summary_json(done: Summary) -> dict[str, Any]:
    """The JSON answer."""
    from kvbound.sweeps.cell import STATUSES

    return {
        "cells": done.cells,
        "skipped": done.skipped,
        "ran": done.ran,
        **{status: done.statuses.get(status, 0) for status in STATUSES},
        "left": done.left,
        "seconds": done.seconds,
        "interrupted": done.interrupted,
    }


def summary_lines(done: Summary, plan: Path, file: Path) -> list[str]:
    """The answer for people."""
    from kvbound.sweeps.cell import STATUSES

    states = ", ".join(f"{done.statuses[s]:,} {s}" for s in STATUSES if s in done.statuses) or "none stored"
    lines = [
        f"{done.cells:,} cells: {states}; {done.skipped:,} were there before, {done.ran:,} run in {done.seconds:.1f} s"
    ]
    if done.interrupted:
        lines.append(f"interrupted, {done.left:,} cells left; the same command goes on with them")
    if sum(done.statuses.get(s, 0) for s in ("failed", "timeout", "memory")):
        lines.append(f"why cells failed: kvbound results {file} --csv FILE, column error; --retry runs them again")
    return [*lines, f"results in {file}"]


def _verify(file: Path, sample: int | None, seed: int, json: bool) -> None:
    from kvbound.cli.output import new_table, print_json, print_lines, print_table
    from kvbound.cli.progress import reporting
    from kvbound.solvers.progress import Progress
    from kvbound.sweeps.store import ResultStore
    from kvbound.sweeps.verify import verify_store

    begin = time.monotonic()
    with ResultStore(file) as store, reporting("verifying") as report:

        def tell(done: int, total: int) -> None:
            if report is not None:
                report(Progress(f"verifying cell {done:,} of {total:,}", time.monotonic() - begin, None, None))

        found = verify_store(store, sample, seed=seed, progress=tell)
    if json:
        keys = ("checkable", "cells", "schedules", "certificates", "claims")
        faults = [{"key": f.key, "cell": f.label, "what": f.what} for f in found.faults]
        print_json({"file": str(file), "ok": not faults, **{k: getattr(found, k) for k in keys}, "faults": faults})
    else:
        print_lines([verdict_line(found)])
        if found.faults:
            table = new_table(f"{file}: rows that are not true", ["key", "cell"], [])
            table.add_column("what", overflow="fold")
            for fault in found.faults:
                table.add_row(fault.key[:12], fault.label, fault.what)
            print_table(table)
    if found.faults:
        raise typer.Exit(CHECK_FAILED)


def verdict_line(found: Verdict) -> str:
    """What a verification found, in one line."""
    what = (
        f"{found.cells:,} of {found.checkable:,} cells checked: {found.schedules:,} schedules by every rule, their "
        f"figures recomputed, {found.certificates:,} certificates in exact integers"
    )
    claims = f", {found.claims:,} bounds have no certificate and stay their solver's claim" if found.claims else ""
    return f"{what}{claims}; {len(found.faults):,} faults"


@contextmanager
def _watching() -> Iterator[Callable[[SweepProgress], None]]:
    """A bar with the time left on a terminal; elsewhere a line a minute on stderr."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def show(event: SweepProgress) -> None:
            text = f"{event.stage}: {event.failed:,} failed, {event.skipped:,} skipped"
            bar.update(task, description=text, total=event.total, completed=event.ended)

        yield show


def _lines() -> Callable[[SweepProgress], None]:
    begin = last = time.monotonic()

    def show(event: SweepProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _LINE:
            return
        last = now
        left = "?" if not event.ended else f"{(now - begin) / event.ended * (event.total - event.ended):,.0f} s"
        counts = f"{event.ended:,} of {event.total:,} cells, {event.failed:,} failed, {event.skipped:,} skipped"
        sys.stderr.write(f"{event.stage}: {counts}, about {left} left\n")
        sys.stderr.flush()

    return show
