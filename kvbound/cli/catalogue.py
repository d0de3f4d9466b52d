"""`kvbound catalogue`: named instances with the best schedules and bounds known; `--verify` recomputes all of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import CHECK_FAILED, INTERRUPTED

if TYPE_CHECKING:
    from kvbound.instances.catalogue import Entry, Verdict


def catalogue(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Names, groups or patterns such as jaillet, azure-conv, 'tiny:n=8,*'; default: all.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Make each instance anew, check its schedule, recompute its bound.")
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="DIR", help="Folder of the trace files (default: KVBOUND_TRACES)."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Another catalogue: a folder of group files.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="DIR", help="Write schedules and certificates there, as JSON files."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List named instances: best schedule, certified bound, who found them; with --verify exit code 1 on any failure.

    NAME is also a SOURCE of the other commands: `kvbound gap catalogue:NAME`.
    """
    from kvbound.cli.output import print_json, print_lines, print_table
    from kvbound.instances.catalogue import catalogue as read

    chosen = _select(read(folder), names or [])
    files = _written(chosen, write, traces) if write is not None else []
    verdicts, interrupted = _verdicts(chosen, traces) if verify else ([], False)
    failures = [failure for verdict in verdicts for failure in verdict.failures]
    skipped = [verdict.skipped for verdict in verdicts if verdict.skipped is not None]
    if json:
        by_name = {verdict.name: verdict for verdict in verdicts}
        print_json(
            {
                "entries": [_entry_json(entry, by_name.get(entry.name)) for entry in chosen],
                "verified": sum(verdict.ok for verdict in verdicts) if verify else None,
                "skipped": len(skipped) if verify else None,
                "failed": sum(bool(verdict.failures) for verdict in verdicts) if verify else None,
                "files": [str(path) for path in files],
                "interrupted": interrupted,
            }
        )
    else:
        print_table(_table(chosen, verdicts, verify))
        print_lines(_closing(verdicts, len(chosen), files) if verify else [f"{path}" for path in files])
    if failures:
        raise typer.Exit(CHECK_FAILED)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _select(entries: tuple[Entry, ...], names: list[str]) -> list[Entry]:
    """The entries asked for, in the order of the catalogue; every name has to match something."""
    import fnmatch

    from kvbound.instances.parameters import nearest
    from kvbound.models.errors import InputError

    def matches(entry: Entry, name: str) -> bool:
        return (
            entry.name.startswith((name + ":", name + "-"))
            or fnmatch.fnmatchcase(entry.name, name)
            or (name == "traces" and entry.recipe.trace)
        )

    for name in names:
        if not any(matches(entry, name) for entry in entries):
            known = [entry.name for entry in entries]
            raise InputError(
                f"the catalogue has no instance {name!r}{nearest(name, known)}; `kvbound catalogue` lists all"
            )
    return [entry for entry in entries if not names or any(matches(entry, name) for name in names)]


def _verdicts(entries: list[Entry], traces: Path | None) -> tuple[list[Verdict], bool]:
    """Verdicts in order, and whether Ctrl-C ended the work before the last."""
    from kvbound.cli.progress import reporting
    from kvbound.instances.catalogue import verify_entry
    from kvbound.solvers.progress import Progress

    verdicts: list[Verdict] = []
    with reporting("verifying") as progress:
        try:
            for at, entry in enumerate(entries, 1):
                if progress is not None:
                    progress(Progress(f"verifying {entry.name} ({at} of {len(entries)})", 0.0, None, None))
                verdicts.append(verify_entry(entry, traces))
        except KeyboardInterrupt:
            return verdicts, True
    return verdicts, False


def _table(entries: list[Entry], verdicts: list[Verdict], verify: bool) -> Any:
    from kvbound.cli.output import decimal, new_table, whole

    by_name = {verdict.name: verdict for verdict in verdicts}
    table = new_table(f"{len(entries)} instances", ["instance"], ["n", "M", "best known", "bound", "gap %", "optimal"])
    for heading in ("found by", "bound by", *(["verified"] if verify else [])):
        table.add_column(heading, overflow="fold")
    for entry in entries:
        table.add_row(
            entry.name,
            whole(entry.n),
            whole(entry.memory),
            whole(entry.schedule.tel),
            whole(entry.bound.value),
            decimal(100 * entry.gap, 2),
            entry.optimal or "",
            entry.schedule.work.how,
            entry.bound.work.how,
            *([_word(by_name.get(entry.name))] if verify else []),
        )
    return table


def _word(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not reached"
    if verdict.failures:
        return "FAILED"
    return "skipped" if verdict.skipped is not None else "✓"


def _closing(verdicts: list[Verdict], entries: int, files: list[Path]) -> list[str]:
    good = sum(verdict.ok for verdict in verdicts)
    seconds = sum(verdict.seconds for verdict in verdicts)
    lines = [f"FAILED {failure}" for verdict in verdicts for failure in verdict.failures]
    lines += [f"skipped {verdict.skipped}" for verdict in verdicts if verdict.skipped is not None]
    lines += [
        f"{good} of {entries} verified in {seconds:.1f} s: instance, schedule and certificate, in exact integers. "
        f'"claimed" optima rest on their prover\'s word'
    ]
    return lines + [str(path) for path in files]


def _entry_json(entry: Entry, verdict: Verdict | None) -> dict[str, Any]:
    return {
        "name": entry.name,
        "source": asdict(entry.recipe),
        "fingerprint": entry.fingerprint,
        "n": entry.n,
        "memory": entry.memory,
        "tel": entry.schedule.tel,
        "tel_by": asdict(entry.schedule.work),
        "bound": entry.bound.value,
        "bound_by": asdict(entry.bound.work),
        "gap": entry.gap,
        "optimal": entry.optimal,
        "claim": None if entry.claim is None else asdict(entry.claim),
        "verified": None if verdict is None or verdict.skipped is not None else verdict.ok,
        "skipped": None if verdict is None else verdict.skipped,
        "failures": [] if verdict is None else list(verdict.failures),
    }


def _written(entries: list[Entry], folder: Path, traces: Path | None) -> list[Path]:
    """Write schedule and certificate of each entry; a missing trace file is an error."""
    from kvbound.checkers.certificate_file import certificate_to_json
    from kvbound.instances import write_atomic, write_schedule
    from kvbound.instances.catalogue import build
    from kvbound.instances.catalogue.packing import unpack_certificate, unpack_starts

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for entry in entries:
        problem = build(entry.name, entry.recipe, traces).problem
        stem = "".join(c if c.isalnum() or c in "-=" else "_" for c in entry.name)
        for kind in ("schedule", "certificate"):
            path = folder / f"{stem}.{kind}.json"
            if kind == "schedule":
                write_schedule(path, problem, unpack_starts(entry.schedule.starts, entry.name), entry.schedule.work.how)
            else:
                write_atomic(path, certificate_to_json(unpack_certificate(entry.bound.certificate, entry.name)))
            files.append(path)
    return files
