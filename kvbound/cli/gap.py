"""`kvbound gap`: the main job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import CHECK_FAILED, INTERRUPTED
from kvbound.cli.options import PolicyFile, SourceOptions, Threads, TimeLimit, takes_source

if TYPE_CHECKING:
    from rich.table import Table

    from kvbound.comparison import BoundStatement, Comparison, Row
    from kvbound.instances import Loaded


@takes_source
def gap(
    options: SourceOptions,
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            metavar="A,B|all",
            help="Policies by name, with parameters as in svf,wspt,exponent=1 (`kvbound policies`). [default: all]",
        ),
    ] = None,
    policy_file: PolicyFile = None,
    schedule: Annotated[
        list[Path] | None,
        typer.Option(
            "--schedule", metavar="FILE", help="Your schedule: JSON or CSV request,start[,worker]; repeatable."
        ),
    ] = None,
    bound: Annotated[
        str, typer.Option("--bound", metavar="METHOD", help="Bound method (as in `kvbound bound`), exact, or none.")
    ] = "lagrangian",
    time_limit: TimeLimit = 30.0,
    best: Annotated[
        bool, typer.Option("--best", help="Also search, for the time limit, for a better schedule: row `best known`.")
    ] = False,
    threads: Threads = None,
    with_schedules: Annotated[
        bool, typer.Option("--with-schedules", help="With --json: requests and starts, too, for `kvbound report`.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw schedule, memory, ratios: .png, .svg, .pdf.")
    ] = None,
) -> None:
    """Policies and schedules against a certified lower bound: TEL, mean latency, ratio.

    A ratio of 1.05 says: at most 5 % above the best possible schedule, proved.
    """
    from kvbound.cli.output import notes, print_json, print_lines, print_table, title, violations_table
    from kvbound.cli.progress import reporting
    from kvbound.comparison import compare, require_method
    from kvbound.custom import policies as choose
    from kvbound.files import require_writable
    from kvbound.instances import read_schedule
    from kvbound.plot import plot_comparison, require_format

    method = None if bound == "none" else bound
    require_method(method)
    if plot is not None:
        require_format(plot)
        require_writable(plot)
    chosen = choose(_names(policies, policy_file, schedule), policy_file or ())
    with reporting("loading") as progress:
        loaded = options.load()
        schedules = {str(path): read_schedule(path, loaded.problem) for path in schedule or ()}
        result = compare(
            loaded.problem,
            chosen,
            schedules=schedules,
            bound=method,
            time_limit=time_limit,
            seed=options.seed,
            threads=threads,
            search=time_limit if best else None,
            progress=progress,
        )
        if plot is not None:
            plot_comparison(result, plot)
    remarks = (*loaded.notes, *result.notes, *not_drawn(result.rows, plot))
    if options.json:
        print_json(document(loaded, result, remarks, options.seed, with_schedules))
    else:
        print_table(table(result, title(loaded.problem)))
        print_lines([*bound_lines(result.bound), *_declined(result), *notes(remarks)])
        if plot is not None:
            print_lines([f"plot written to {plot}"])
        for row in result.rows:
            if row.report is not None and not row.report.ok:
                print_table(violations_table(row.report, f"{row.name} breaks {len(row.report.violations):,} rule(s)"))
    if any(row.report is not None and not row.report.ok for row in result.rows):
        raise typer.Exit(CHECK_FAILED)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _names(policies: str | None, files: list[Path] | None, schedules: list[Path] | None) -> list[str]:
    """The policies asked for by name: all, when nothing is asked for."""
    if policies is None:
        return ["all"]
    from kvbound.solvers.policies.parameters import split_names

    names = split_names(policies)
    return [] if names == ["none"] and (files or schedules) else names or ["all"]


def document(
    loaded: Loaded, result: Comparison, remarks: tuple[str, ...], seed: int, with_schedules: bool = False
) -> dict[str, Any]:
    """The JSON answer; `with_schedules` adds the lengths and the starts and workers of every row that has them."""
    from kvbound.cli.output import instance_json, requests_json

    answer: dict[str, Any] = {
        "instance": instance_json(loaded),
        "bound": None if result.bound is None else bound_json(result.bound),
        "policies": [row_json(result, row) for row in result.rows],
        "notes": list(remarks),
        "interrupted": result.interrupted,
        "seed": seed,
    }
    shown = list(zip(answer["policies"], result.rows, strict=True))
    if result.exact is not None:
        answer["exact"] = row_json(result, result.exact)
        shown.append((answer["exact"], result.exact))
    if with_schedules:
        answer["requests"] = requests_json(loaded.problem)
        for found, row in shown:
            if row.schedule is not None and row.tel is not None:
                found |= {"starts": row.schedule.start.tolist(), "workers": row.schedule.worker.tolist()}
    return answer


def bound_json(bound: BoundStatement) -> dict[str, Any]:
    """The `bound` object."""
    keys = ("value", "method", "verified", "seconds", "proved_by")
    return {key: getattr(bound, key) for key in keys}


def row_json(result: Comparison, row: Row) -> dict[str, Any]:
    """One policy or schedule; a declined policy has its reason and no figures."""
    from kvbound.cli.output import report_json

    if row.declined is not None:
        return {"name": row.name, "declined": row.declined}
    if row.report is not None and not row.report.ok:
        return {"name": row.name, "valid": False, "violations": report_json(row.report)}
    figures = {
        "name": row.name,
        "tel": row.tel,
        "mean_eel": row.mean_eel,
        "makespan": row.makespan,
        "ratio": result.ratio(row),
        "seconds": row.seconds,
    }
    return figures | losses(row)


def losses(row: Row) -> dict[str, int]:
    """Evictions, lost and recomputed tokens of a row; nothing when output lengths were known."""
    if row.execution is None:
        return {}
    return {key: getattr(row.execution, key) for key in ("evictions", "lost_tokens", "recomputed_tokens")}


def not_drawn(rows: Sequence[Row], plot: Path | None) -> list[str]:
    """What a picture leaves out: the attempts that were evicted."""
    lost = plot is not None and any(row.execution is not None and row.execution.evictions for row in rows)
    return ["the plot shows the attempts that served; those that were evicted held memory, too"] if lost else []


def table(result: Comparison, heading: str) -> Table:
    """The table for people; the best row is marked."""
    from kvbound.cli.output import decimal, new_table, whole

    rows = (*result.rows, *([] if result.exact is None else [result.exact]))
    uncertain = any(row.execution is not None for row in rows)
    names = ["evictions", "lost tokens", "recomputed"] if uncertain else []
    shown = new_table(heading, ["policy"], ["TEL", "mean EEL", "makespan", "ratio ≤", *names, "seconds"])
    best = result.best
    for row in rows:
        if row.tel is None:
            what = "invalid" if row.declined is None else "declined"
            shown.add_row(row.name, what, *["–"] * (4 + len(names)))
            continue
        figures = (whole(row.tel), decimal(row.mean_eel, 1), whole(row.makespan), decimal(result.ratio(row), 4))
        lost = [whole(value) for value in losses(row).values()] or ["–"] * len(names)
        style = "bold" if best is not None and row.tel == best.tel else None
        shown.add_row(row.name, *figures, *lost, decimal(row.seconds, 3), style=style)
    return shown


def bound_lines(bound: BoundStatement | None) -> list[str]:
    """What the ratio is measured against, who proved it and how that was verified."""
    if bound is None:
        return ["bound: none was asked for, so there are no ratios"]
    if bound.value is None:
        return [f"bound: none found in {bound.seconds:.1f} s ({bound.proved_by})"]
    sign = "✓" if bound.verified else "unverified:"
    return [f"bound: no schedule has a TEL below {bound.value:,}  ({sign} {bound.proved_by}; {bound.seconds:.1f} s)"]


def _declined(result: Comparison) -> list[str]:
    return [f"{row.name} declined: {row.declined}" for row in result.rows if row.declined is not None]
