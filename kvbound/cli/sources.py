"""`kvbound sources`: the generators and the families of bad instances, with their parameters."""

from __future__ import annotations

from typing import Annotated

import typer


def sources(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the generators and families that a SOURCE may name, with parameters."""
    from kvbound.cli.output import print_json, print_lines
    from kvbound.instances import family_sources
    from kvbound.instances import sources as generators

    known = [*generators(), *family_sources()]
    if json:
        print_json({"sources": [{"name": n, "parameters": p, "summary": s} for n, p, s in known]})
        return
    for name, parameters, summary in known:
        print_lines([f"{name}: {summary}", *(f"    {parameter}" for parameter in parameters.split(", ")), ""])
    print_lines(
        [
            "Write NAME:parameter=value,parameter=value, such as mix:n=2000,long=0.2,seed=0 "
            "(families: family:fcfs,memory=196)."
        ]
    )
