"""`kvbound policies`: what can be compared."""

from __future__ import annotations

from typing import Annotated

import typer


def policies(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the policies: the order each one serves in, its proven ratio, its cost, its source; then parameters."""
    from kvbound.cli.output import new_table, print_json, print_lines, print_table
    from kvbound.custom import GROUP, installed
    from kvbound.solvers.policies import POLICIES
    from kvbound.solvers.policies.parameters import listed
    from kvbound.solvers.policies.tunables import TUNABLE

    plugins = installed()
    keys = ("name", "key", "guarantee", "cost", "source")
    if json:
        known = [
            {key: getattr(policy, key) for key in keys}
            | {"parameters": listed(TUNABLE[policy.name].parameters if policy.name in TUNABLE else ())}
            for policy in POLICIES.values()
        ]
        print_json({"policies": known, "installed": [{"name": p.name, "source": p.value} for p in plugins.values()]})
        return
    table = new_table("Policies", ["name", "serves first", "proven ratio", "time", "source"], [])
    for policy in POLICIES.values():
        *rest, source = (getattr(policy, key) for key in keys)
        table.add_row(*rest, source.rpartition(", ")[2])  # authors stand in the JSON and in docs/policies.md
    for point in plugins.values():
        table.add_row(point.name, "(installed)", "unknown", "unknown", point.value)
    print_table(table)
    print_lines(["Proven ratios: one worker, all requests at step 0, no batch cap, known lengths.", ""])
    print_lines(["Parameters, as in --policies svf,sorted-f:quantile,sample=512:"])
    for name, tunable in TUNABLE.items():
        print_lines([f"  {name},{parameter.describe()}" for parameter in tunable.parameters])
    print_lines(["", f"Your own: --policy-file FILE.py with a function order(view), or the entry point group {GROUP}."])
