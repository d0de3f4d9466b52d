"""`kvbound report`: results as one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...",
            help="Files of `kvbound sweep`, or what gap, bound, route, pareto, prices printed with --json.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Page to write.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Heading of the page.")
    ] = "How far from optimal?",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a line.")] = False,
) -> None:
    """Write results as one HTML page that needs no network: tables, ratios, bounds, schedules, certificates, seeds."""
    from kvbound.cli.output import print_json, print_lines
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.report import read_results, write_report

    require_writable(output)
    with reporting("drawing"):
        found = read_results(results)
        write_report(found, output, title=title, sources=results)
    counts = {"instances": len(found.instances), "results": len(found.lines), "bounds": len(found.proofs)}
    if json:
        print_json({"file": str(output), **counts})
    else:
        said = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        print_lines(
            [f"report written to {output}: {said}; one file of {output.stat().st_size / 1e6:.1f} MB, no network needed"]
        )
