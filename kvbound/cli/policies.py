"""`kvbound policies`: what can be compared."""

from __future__ import annotations

from typing import Annotated

import typer


def policies(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the policies: the order each one serves in, its proven ratio, its cost, its source."""
    from kvbound.cli.output import new_table, print_json, print_lines, print_table
    from kvbound.custom import GROUP, installed
    from kvbound.solvers.policies import POLICIES

    plugins = installed()
    keys = ("name", "key", "guarantee", "cost", "source")
    if json:
        known = [{key: getattr(policy, key) for key in keys} for policy in POLICIES.values()]
        print_json({"policies": known, "installed": [{"name": p.name, "source": p.value} for p in plugins.values()]})
        return
    table = new_table("Policies", ["name", "serves first", "proven ratio", "time", "source"], [])
    for policy in POLICIES.values():
        table.add_row(*(getattr(policy, key) for key in keys))
    for point in plugins.values():
        table.add_row(point.name, "(installed)", "unknown", "unknown", point.value)
    print_table(table)
    print_lines([f"Your own: --policy-file FILE.py with a function order(view), or the entry point group {GROUP}."])
