"""What commands print: tables for people, one JSON document for machines."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kvbound import __version__

if TYPE_CHECKING:
    from rich.table import Table

    from kvbound.checkers import Report
    from kvbound.instances import Loaded
    from kvbound.models.problem import Problem

#: Most violations that a table lists; --json lists all.
MOST_VIOLATIONS = 50


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document, with its version, and nothing else; NaN and infinities are bugs and raise."""
    document = {**document, "version": document.get("version", __version__)}
    sys.stdout.write(json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n")


def print_table(table: Table) -> None:
    """Print a table; coloured and cut to the window on a terminal, plain and as wide as it is otherwise."""
    from rich.console import Console

    # Drawn into a string: rich ends the process by itself when a pipe closes, and pads lines with blanks.
    terminal = sys.stdout.isatty()
    width = None if terminal else 160
    # Names hold brackets and colons (`trace[0:200]`, `tiny:n=8`), which rich would take for markup and emoji.
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=width, markup=False, emoji=False, highlight=False
    )
    with console.capture() as drawn:
        if table.title:  # above the table, where a long one is not folded to the table's width
            console.print(table.title, style="bold", soft_wrap=True)
            table.title = None
        console.print(table)
    text = drawn.get()
    sys.stdout.write(text if terminal else "\n".join(line.rstrip() for line in text.split("\n")))


def print_lines(lines: Iterable[str]) -> None:
    """Print plain lines."""
    for line in lines:
        sys.stdout.write(line + "\n")


def notes(lines: Sequence[str]) -> list[str]:
    """Notes as lines for people."""
    return [f"note: {line}" for line in lines]


def instance_json(loaded: Loaded) -> dict[str, Any]:
    """The `instance` object of every JSON answer."""
    problem = loaded.problem
    return {
        "name": problem.name,
        "n": problem.n,
        "memory": problem.fleet.memory[0] if problem.fleet.identical else list(problem.fleet.memory),
        "workers": len(problem.fleet),
        "batch": problem.fleet.batch[0] if problem.fleet.identical else list(problem.fleet.batch),
        "origin": problem.origin,
        "dropped": loaded.dropped,
        "too_large": list(loaded.too_large),
        "fingerprint": problem.fingerprint(),
    }


def requests_json(problem: Problem) -> dict[str, list[int]]:
    """The lengths and arrivals."""
    return {name: getattr(problem.requests, name).tolist() for name in ("prompt", "output", "arrival")}


def title(problem: Problem) -> str:
    """The problem in one line."""
    fleet = problem.fleet
    memory = f"M = {fleet.memory[0]:,}" if fleet.identical else f"M = {', '.join(f'{m:,}' for m in fleet.memory)}"
    workers = "" if len(fleet) == 1 else f", {len(fleet)} workers"
    caps = {cap for cap in fleet.batch if cap is not None}
    batch = f", batch {', '.join(map(str, sorted(caps)))}" if caps else ""
    return f"{problem.name}: n = {problem.n:,}, {memory}{workers}{batch}"


def report_json(report: Report) -> list[dict[str, Any]]:
    """All violations."""
    keys = ("rule", "request", "step", "amount", "worker", "message")
    return [{key: getattr(violation, key) for key in keys} for violation in report.violations]


def violations_table(report: Report, heading: str) -> Table:
    """The violations, the first `MOST_VIOLATIONS` of them."""
    table = new_table(heading, ["rule"], ["request", "step", "worker", "by"])
    table.add_column("what", overflow="fold")
    for violation in report.violations[:MOST_VIOLATIONS]:
        numbers = (violation.request, violation.step, violation.worker, violation.amount)
        table.add_row(violation.rule, *("–" if x is None else f"{x:,}" for x in numbers), violation.message)
    if len(report.violations) > MOST_VIOLATIONS:
        table.caption = f"… and {len(report.violations) - MOST_VIOLATIONS:,} more; --json lists all"
    return table


def new_table(heading: str, left: Sequence[str], right: Sequence[str]) -> Table:
    """A table with left- and right-aligned columns."""
    from rich import box
    from rich.table import Table

    table = Table(title=heading, box=box.SIMPLE_HEAD, pad_edge=False)
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def whole(value: int | None) -> str:
    """An integer with thousands separators, or a dash."""
    return "–" if value is None else f"{value:,}"


def decimal(value: float | None, digits: int) -> str:
    """A number with fixed digits, or a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"
