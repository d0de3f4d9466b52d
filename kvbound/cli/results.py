"""`kvbound results`: what a results file holds, as a table, CSV, Parquet or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table


def results(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written by `kvbound sweep`.", show_default=False)],
    csv: Annotated[Path | None, typer.Option("--csv", metavar="OUT", help="Write all cells as CSV.")] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", metavar="OUT", help="… as Parquet (pyarrow).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all cells as one JSON document.")] = False,
) -> None:
    """Summarise a results file by method, or export every cell of it."""
    from kvbound.cli.output import print_json, print_lines, print_table
    from kvbound.files import require_writable
    from kvbound.sweeps.export import require_parquet, rows, write_csv, write_parquet
    from kvbound.sweeps.store import ResultStore

    require_writable(csv, parquet)
    if parquet is not None:
        require_parquet()
    with ResultStore(file) as store:
        table, sweeps = rows(store), store.sweeps()
    if csv is not None:
        write_csv(csv, table)
    if parquet is not None:
        write_parquet(parquet, table)
    if json:
        print_json({"file": str(file), "cells": table, "sweeps": sweeps})
        return
    print_table(_summary(table, f"{file}: {len(table):,} cells of {len({r['instance'] for r in table}):,} instances"))
    print_lines(_errors(table))
    print_lines(f"{len(table):,} cells written to {path}" for path in (csv, parquet) if path is not None)


def _summary(table: list[dict[str, Any]], heading: str) -> Table:
    from kvbound.cli.output import decimal, new_table, whole

    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in table:
        options = ", ".join(
            f"{k.removeprefix('option_')}={v}"
            for k, v in row.items()
            if k.startswith("option_") and v is not None and k != "option_code"
        )
        groups.setdefault((row["kind"], row["method"], options), []).append(row)
    right = ["cells", "done", "declined", "failed", "mean TEL", "mean ratio ≤", "worst", "seconds"]
    shown = new_table(heading, ["kind", "method", "options"], right)
    for name, members in groups.items():
        counts = [sum(r["status"] in states for r in members) for states in (("done",), ("declined",))]
        tels = [r["tel"] for r in members if r["tel"] is not None]
        ratios = [r["ratio"] for r in members if r["ratio"] is not None]
        shown.add_row(
            *name,
            whole(len(members)),
            *map(whole, counts),
            whole(len(members) - sum(counts)),
            decimal(sum(tels) / len(tels) if tels else None, 1),
            decimal(sum(ratios) / len(ratios) if ratios else None, 4),
            decimal(max(ratios, default=None), 4),
            decimal(sum(r["seconds"] for r in members), 2),
        )
    return shown


def _errors(table: list[dict[str, Any]]) -> list[str]:
    """The first of the cells that failed, with why."""
    bad = [r for r in table if r["status"] not in ("done", "declined")]
    lines = [f"{r['status']}: {r['kind']} {r['method']} on {r['source']}, seed {r['seed']}: {r['error']}" for r in bad]
    return [*lines[:10], *([f"… and {len(bad) - 10:,} more; --csv or --json lists all"] if len(bad) > 10 else [])]
