"""`kvbound schedule`: run one policy and write its schedule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvbound.cli.options import Output, PolicyFile, SourceOptions, takes_source

if TYPE_CHECKING:
    from kvbound.comparison import Row


@takes_source
def schedule(
    options: SourceOptions,
    policy: Annotated[str | None, typer.Option("--policy", metavar="P", help="Policy by name.")] = None,
    policy_file: PolicyFile = None,
    output: Output = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the schedule: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Run one policy; write its checked schedule as JSON."""
    from kvbound.cli.gap import losses, not_drawn
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
    from kvbound.comparison import policy_row
    from kvbound.custom import policies
    from kvbound.files import require_writable
    from kvbound.instances import write_schedule
    from kvbound.models.errors import OptionError
    from kvbound.plot import plot_schedule, require_format

    require_writable(output, plot)
    if plot is not None:
        require_format(plot)
    chosen = policies([policy] if policy is not None else [], policy_file or ())
    if len(chosen) != 1:
        raise OptionError(f"{len(chosen)} policies chosen; give exactly one, with --policy NAME or --policy-file FILE")
    with reporting(f"policy {chosen[0].name}"):
        loaded = options.load()
        row = policy_row(loaded.problem, chosen[0], options.seed)
        if row.schedule is None:
            raise OptionError(f"{row.name} declined: {row.declined}")
        if output is not None:
            write_schedule(output, loaded.problem, row.schedule, policy=row.name)
        if plot is not None:
            plot_schedule(loaded.problem, row.schedule, plot, name=row.name)
    if options.json:
        figures = {key: getattr(row, key) for key in ("name", "tel", "mean_eel", "makespan", "seconds")}
        starts = {"start": row.schedule.start.tolist(), "worker": row.schedule.worker.tolist()}
        print_json(
            {
                "instance": instance_json(loaded),
                **figures,
                **losses(row),
                "schedule": starts,
                **attempts(row),
                "file": None if output is None else str(output),
                "notes": [*loaded.notes, *not_drawn([row], plot)],
            }
        )
        return
    names = [key.replace("_", " ") for key in losses(row)]
    table = new_table(title(loaded.problem), ["policy"], ["TEL", "mean EEL", "makespan", *names, "seconds"])
    lost = [whole(value) for value in losses(row).values()]
    figures_shown = (whole(row.tel), decimal(row.mean_eel, 1), whole(row.makespan), *lost, decimal(row.seconds, 3))
    table.add_row(row.name, *figures_shown)
    print_table(table)
    written = [f"{what} written to {path}" for what, path in (("schedule", output), ("plot", plot)) if path is not None]
    print_lines([*notes((*loaded.notes, *not_drawn([row], plot))), *written])


def attempts(row: Row) -> dict[str, dict[str, list[int]]]:
    """All attempts in the order in which they began, evicted ones included; nothing when lengths were known."""
    if row.execution is None:
        return {}
    return {"attempts": {key: getattr(row.execution, key).tolist() for key in ("request", "worker", "start", "end")}}
