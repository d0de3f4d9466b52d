"""`kvbound reproduce`: published figures as named experiments, beside ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvbound.cli.guard import INTERRUPTED

if TYPE_CHECKING:
    from kvbound.reproduction import Experiment, Outcome


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Experiments; default: all. --list shows them.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller n and fewer seeds: minutes for all of them.")] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", min=1, help="Seeds of every experiment, 0 … N−1.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="J", min=1, help="Experiments at a time.")] = 1,
    traces: Annotated[
        Path | None, typer.Option("--traces", metavar="DIR", help="Folder of trace files (default: KVBOUND_TRACES).")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Results as JSON.")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE.md", help="Write the page (docs/reproduction.md) from them.")
    ] = None,
    read: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="FILE", help="Show stored results, run nothing; repeatable, the last wins."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments with the time they take.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run published experiments: published | ours | setting | why they differ.

    The time is estimated before it starts (--list) and stated at the end. Ctrl-C keeps what it has.
    """
    from kvbound.cli.output import print_json
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.models.errors import InputError
    from kvbound.reproduction import choose
    from kvbound.reproduction import reproduce as run
    from kvbound.reproduction.context import find_traces
    from kvbound.reproduction.page import page
    from kvbound.reproduction.results_file import as_json, results, write_results

    chosen = choose(names or [])
    if list_:
        _list(chosen)
        return
    require_writable(output, write)
    if traces is not None and not traces.is_dir():
        raise InputError(f"{traces}: no such folder of trace files")
    if read:
        outcomes, interrupted = _stored(read, {e.name for e in chosen}), False
    else:
        _announce(chosen, quick, seeds, jobs)
        done: list[Outcome] = []

        def keep(outcome: Outcome) -> None:
            done.append(outcome)
            if output is not None:  # after every experiment: a later failure loses nothing
                write_results(output, results(done))
            if not json:
                _show(outcome)

        with reporting("starting") as progress:
            outcomes, interrupted = run(
                chosen,
                scale="quick" if quick else "full",
                seeds=seeds,
                jobs=jobs,
                traces=traces or find_traces(),
                progress=progress,
                finished=keep,
            )
    found = results(outcomes, interrupted)
    if output is not None:
        write_results(output, found)
    if write is not None:
        from kvbound.instances import write_atomic

        write_atomic(write, page(outcomes))
    if json:
        print_json(as_json(found))
    elif read:
        for outcome in outcomes:
            _show(outcome)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _list(chosen: list[Experiment]) -> None:
    from kvbound.cli.output import new_table, print_table

    table = new_table("experiments", ["name"], [])
    for name in ("shows", "published"):
        table.add_column(name, overflow="fold")
    for name in ("quick, s", "full, s"):
        table.add_column(name, justify="right", no_wrap=True)
    for e in chosen:
        table.add_row(e.name, e.title, e.published, f"{e.quick_seconds}", f"{e.full_seconds:,}")
    print_table(table)


def _announce(chosen: list[Experiment], quick: bool, seeds: int | None, jobs: int) -> None:
    """The time it will take, before it starts; on stderr, so that answers stay answers."""
    total = sum(e.quick_seconds if quick else e.full_seconds for e in chosen)
    note = "" if seeds is None else f"; with --seeds {seeds} more or less"
    longest = max(e.quick_seconds if quick else e.full_seconds for e in chosen)
    wall = max(longest, total / min(jobs, len(chosen)))
    sys.stderr.write(
        f"{len(chosen)} experiment(s), {'quick' if quick else 'full'}: about {wall:,.0f} s on an idle machine{note}\n"
    )


def _stored(paths: list[Path], names: set[str]) -> tuple[Outcome, ...]:
    from dataclasses import replace

    from kvbound.reproduction import EXPERIMENTS
    from kvbound.reproduction.conclusions import conclude
    from kvbound.reproduction.results_file import read_results

    found: dict[str, Outcome] = {}
    for path in paths:
        for outcome in read_results(path).experiments:  # sentences as this version would make them of the rows
            found[outcome.name] = replace(outcome, conclusions=tuple(conclude(outcome.rows)))
    return tuple(found[name] for name in EXPERIMENTS if name in found and name in names)


def _show(outcome: Outcome) -> None:
    """Table of one experiment, then what it says."""
    from kvbound.cli.output import new_table, print_lines, print_table
    from kvbound.reproduction.conclusions import explained, figure, ours

    table = new_table(f"{outcome.name}: {outcome.title}", [], [])
    for name in ("figure", "published", "ours", "setting", "why they differ"):
        table.add_column(name, overflow="fold", justify="right" if name in ("published", "ours") else "left")
    for row in explained(outcome.rows):
        table.add_row(f"{row.series}: {row.figure}", figure(row), ours(row), f"{row.role}: {row.setting}", row.why)
    print_table(table)
    what = "quick" if outcome.quick else "full"
    stopped = "" if outcome.complete else ", stopped before its end"
    print_lines(
        [
            *outcome.conclusions,
            *(f"skipped: {note}" for note in outcome.skipped),
            f"{what} run{stopped}: {outcome.seconds:.0f} s ({outcome.cpu_seconds:.0f} s of processor time), "
            f"{outcome.schedules:,} schedules checked, {outcome.certificates:,} certificates verified",
            "",
        ]
    )
