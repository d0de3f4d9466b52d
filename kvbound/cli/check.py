"""`kvbound check`: judge a schedule by every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvbound.cli.guard import CHECK_FAILED
from kvbound.cli.options import SourceOptions, takes_source


@takes_source
def check(
    options: SourceOptions,
    schedule: Annotated[
        Path, typer.Argument(metavar="SCHEDULE", help="JSON, or CSV request,start[,worker].", show_default=False)
    ],
) -> None:
    """Check a schedule: all violations, or its exact TEL. Exit code 1 when a rule is broken."""
    from kvbound.checkers import check as judge
    from kvbound.cli.output import (
        instance_json,
        notes,
        print_json,
        print_lines,
        print_table,
        report_json,
        title,
        violations_table,
    )
    from kvbound.instances import read_schedule

    loaded = options.load()
    report = judge(loaded.problem, read_schedule(schedule, loaded.problem))
    if options.json:
        print_json(
            {
                "instance": instance_json(loaded),
                "ok": report.ok,
                "tel": report.objective,
                "violations": report_json(report),
                "notes": list(loaded.notes),
            }
        )
    elif report.ok:
        mean = (report.objective or 0) / loaded.problem.n
        rules = "every request served once, start ≥ arrival, peak, memory and batch in every step"
        print_lines([title(loaded.problem), f"valid: TEL {report.objective:,}, mean EEL {mean:,.1f} ({rules})"])
        print_lines(notes(loaded.notes))
    else:
        heading = f"{schedule} breaks {len(report.violations):,} rule(s) of {title(loaded.problem)}"
        print_table(violations_table(report, heading))
        print_lines(notes(loaded.notes))
    if not report.ok:
        raise typer.Exit(CHECK_FAILED)
