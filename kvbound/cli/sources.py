"""`kvbound sources`: the generators and their parameters."""

from __future__ import annotations

from typing import Annotated

import typer


def sources(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the generators that a SOURCE may name, with parameters."""
    from kvbound.cli.output import print_json, print_lines
    from kvbound.instances import sources as known

    if json:
        print_json({"sources": [{"name": n, "parameters": p, "summary": s} for n, p, s in known()]})
        return
    for name, parameters, summary in known():
        print_lines([f"{name}: {summary}", *(f"    {parameter}" for parameter in parameters.split(", ")), ""])
    print_lines(["Write NAME:parameter=value,parameter=value, such as mix:n=2000,long=0.2,seed=0."])
