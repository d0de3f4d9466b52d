"""`kvbound records`: the worst instance known of every policy; `--verify` checks all of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import CHECK_FAILED, INTERRUPTED

if TYPE_CHECKING:
    from kvbound.instances.adversarial.record import Record
    from kvbound.records import Verdict


def records(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[POLICY]...", help="Policies or routers; default: all.", show_default=False),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run every policy anew, check both schedules, recompute ratio and bound.")
    ] = False,
    resolve: Annotated[
        float | None,
        typer.Option("--resolve", metavar="S", min=0.1, help="With --verify: prove optima anew, S seconds for each."),
    ] = None,
    add: Annotated[
        Path | None,
        typer.Option("--add", metavar="FILE", help="Put a record in, if it is verified and higher than what is there."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Another hall: a folder of record files.")
    ] = None,
    policy_file: Annotated[
        list[Path] | None,
        typer.Option("--policy-file", metavar="FILE.py", help="Policies of yours that records name; repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the worst certified ratio known of every policy; with --verify exit code 1 on any failure."""
    from kvbound.cli.output import print_json, print_lines, print_table
    from kvbound.instances.adversarial.record import read_record
    from kvbound.records import add as put
    from kvbound.records import records as read

    files = tuple(policy_file or ())
    if add is not None:
        path, old = put(read_record(add), files, folder)
        after = "the first of its kind" if old is None else f"instead of {float(old.value):.6f}"
        if json:
            print_json({"file": str(path), "replaced": None if old is None else float(old.value)})
        else:
            print_lines([f"{path}: {after}"])
        return
    chosen = _select(read(folder), names or [])
    verdicts, interrupted = _verdicts(chosen, files, resolve) if verify or resolve else ([], False)
    failures = [failure for verdict in verdicts for failure in verdict.failures]
    if json:
        by_slot = {verdict.slot: verdict for verdict in verdicts}
        print_json(
            {
                "records": [_json(record, by_slot.get(record.slot)) for record in chosen],
                "verified": sum(v.ok for v in verdicts) if verdicts else None,
                "failures": failures,
                "interrupted": interrupted,
            }
        )
    else:
        print_table(_table(chosen, verdicts))
        seconds = sum(verdict.seconds for verdict in verdicts)
        closing = [f"FAILED {failure}" for failure in failures]
        if verdicts:
            closing.append(
                f"{sum(v.ok for v in verdicts)} of {len(chosen)} verified in {seconds:.1f} s: policies run anew, both "
                "schedules checked, ratios and certificates recomputed in exact integers"
            )
        print_lines(closing)
    if failures:
        raise typer.Exit(CHECK_FAILED)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _select(found: tuple[Record, ...], names: list[str]) -> list[Record]:
    from kvbound.instances.parameters import nearest
    from kvbound.models.errors import InputError

    known = sorted({record.attacked.name for record in found})
    for name in names:
        if name not in known:
            raise InputError(f"there is no record of {name!r}{nearest(name, known)}; `kvbound records` lists all")
    return [record for record in found if not names or record.attacked.name in names]


def _verdicts(chosen: list[Record], files: tuple[Path, ...], resolve: float | None) -> tuple[list[Verdict], bool]:
    from kvbound.cli.progress import reporting
    from kvbound.records import verify_record
    from kvbound.solvers.progress import Progress

    verdicts: list[Verdict] = []
    with reporting("verifying") as progress:
        try:
            for at, record in enumerate(chosen, 1):
                if progress is not None:
                    progress(Progress(f"verifying {record.slot} ({at} of {len(chosen)})", 0.0, None, None))
                verdicts.append(verify_record(record, files, resolve=resolve))
        except KeyboardInterrupt:
            return verdicts, True
    return verdicts, False


def _table(chosen: list[Record], verdicts: list[Verdict]) -> Any:
    from kvbound.cli.output import new_table, whole

    by_slot = {verdict.slot: verdict for verdict in verdicts}
    right = ["ratio", "n", "M", "workers", "TEL", "reference"]
    table = new_table(f"{len(chosen)} records", ["policy"], right)
    for heading in ("against", "found by", *(["verified"] if verdicts else [])):
        table.add_column(heading, overflow="fold")
    for record in chosen:
        sign = {"bound": "≤ ", "best-known": "≥ ", "optimum": ""}[record.reference.kind]
        proof = {"optimum": ", claimed" if record.certificate is None else ", certified"}.get(record.reference.kind, "")
        by = "" if record.reference.kind == "best-known" else f"{(record.reference.proved_by or '').partition(' (')[0]}"
        verdict = by_slot.get(record.slot)
        word = "not reached" if verdict is None else "✓" if verdict.ok else "FAILED"
        table.add_row(
            record.attacked.name,
            f"{sign}{float(record.value):.4f}",
            whole(record.n),
            whole(max(record.memory)),
            whole(len(record.memory)),
            whole(record.policy_tel),
            whole(record.reference.value),
            record.reference.kind + proof + (f" by {by}" if by else ""),
            _source(record),
            *([word] if verdicts else []),
        )
    return table


def _source(record: Record) -> str:
    """How it was found, in a few words; --json has all of them."""
    how = record.found.how
    return f"search, seed {record.found.seed}" if "search" in how or "attack" in how else how.rpartition(": ")[2]


def _json(record: Record, verdict: Verdict | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "slot": record.slot,
        "policy": record.attacked.name,
        "kind": record.attacked.kind,
        "ratio": float(record.value),
        "ratio_exact": record.ratio,
        "n": record.n,
        "memory": record.memory,
        "batch": record.batch,
        "policy_tel": record.policy_tel,
        "reference": record.reference.kind,
        "reference_tel": record.reference.value,
        "proved_by": record.reference.proved_by,
        "found": asdict(record.found),
        "requests": [list(row) for row in record.requests],
        "verified": None if verdict is None else verdict.ok,
        "failures": [] if verdict is None else list(verdict.failures),
    }
