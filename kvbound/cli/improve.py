"""`kvbound improve`: search for a better schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kvbound.cli.options import Output, SourceOptions, TimeLimit, takes_source


@takes_source
def improve(
    options: SourceOptions,
    time_limit: TimeLimit = 30.0,
    policy: Annotated[str, typer.Option("--from", "--policy", metavar="P", help="Policy to start from.")] = "svf",
    schedule: Annotated[
        Path | None, typer.Option("--schedule", metavar="FILE", help="Start from this schedule instead.")
    ] = None,
    bound: Annotated[
        str, typer.Option("--bound", metavar="METHOD", help="Bound that the search is measured against, or none.")
    ] = "lagrangian",
    windows: Annotated[
        float, typer.Option("--windows", metavar="SHARE", min=0.0, max=1.0, help="Share of the search for CP-SAT.")
    ] = 0.0,
    output: Output = None,
) -> None:
    """Search for a better schedule, from a policy's or your own; Ctrl-C keeps the best one found.

    The bound comes first and takes at most a quarter of the time limit; the search has the rest.
    """
    from kvbound.cli.gap import bound_json, bound_lines
    from kvbound.cli.output import (
        decimal,
        instance_json,
        new_table,
        notes,
        print_json,
        print_lines,
        print_table,
        title,
        whole,
    )
    from kvbound.cli.progress import reporting
    from kvbound.comparison import Comparison, best_known_row, judged_row, policy_row, prove_bound, require_method
    from kvbound.custom import policies
    from kvbound.files import require_writable
    from kvbound.instances import read_schedule, write_schedule
    from kvbound.models.errors import InputError, OptionError

    require_writable(output)
    method = None if bound == "none" else bound
    require_method(method)
    chosen = policies([policy], ())
    with reporting("loading") as progress:
        loaded = options.load()
        problem = loaded.problem
        if schedule is None:
            first = policy_row(problem, chosen[0], options.seed)
        else:
            first = judged_row(problem, str(schedule), read_schedule(schedule, problem))
        if first.declined is not None:
            raise OptionError(f"{first.name} declined: {first.declined}")
        if first.report is not None and not first.report.ok:
            raise InputError(f"{schedule}: the schedule breaks a rule: {first.report.summary(1)}")
        proved, left = None, time_limit
        try:
            if method is not None:
                share = 0.25 * time_limit
                proved, _ = prove_bound(
                    problem, method, time_limit=share, seed=options.seed, incumbent=first, progress=progress
                )
                stopped = proved.termination == "interrupted"
                left = 0.0 if stopped else max(0.0, time_limit - proved.seconds)
        except KeyboardInterrupt:
            left = 0.0
        target = proved.value if proved is not None and proved.verified else None
        found = best_known_row(problem, first, left, options.seed, progress, target, windows)
        assert found.schedule is not None
        if output is not None:
            write_schedule(output, problem, found.schedule, policy=f"improved {first.name}")
    rows = (first, found)
    if options.json:
        figures = [
            {key: getattr(row, key) for key in ("name", "tel", "mean_eel", "makespan", "seconds")} for row in rows
        ]
        starts = {"start": found.schedule.start.tolist(), "worker": found.schedule.worker.tolist()}
        answer: dict[str, Any] = {
            "instance": instance_json(loaded),
            "from": figures[0],
            "best": figures[1],
            "schedule": starts,
        }
        answer["bound"] = None if proved is None else bound_json(proved)
        print_json({**answer, "file": None if output is None else str(output), "notes": list(loaded.notes)})
        return
    result = Comparison(problem, rows, proved)
    table = new_table(title(problem), ["schedule"], ["TEL", "mean EEL", "makespan", "ratio ≤", "seconds"])
    for row in rows:
        shown = (whole(row.tel), decimal(row.mean_eel, 1), whole(row.makespan), decimal(result.ratio(row), 4))
        figures_shown = (*shown, decimal(row.seconds, 3))
        table.add_row(row.name, *figures_shown)
    print_table(table)
    print_lines(
        [*bound_lines(proved), *notes(loaded.notes), *([f"schedule written to {output}"] if output is not None else [])]
    )
