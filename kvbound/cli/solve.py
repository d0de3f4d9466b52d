"""`kvbound solve`: the exact optimum, or schedule, bound and gap when time runs out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import INTERRUPTED
from kvbound.cli.options import Output, SourceOptions, Threads, TimeLimit, takes_source

if TYPE_CHECKING:
    from kvbound.solvers.exact import Result


@takes_source
def solve(
    options: SourceOptions,
    method: Annotated[
        str, typer.Option("--method", metavar="METHOD", help="auto, search, cp-sat, end-event, highs or pyomo.")
    ] = "auto",
    time_limit: TimeLimit = 60.0,
    threads: Threads = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the model, .mps or .lp, instead of solving.")
    ] = None,
    output: Output = None,
) -> None:
    """Find an optimal schedule and prove it; at the time limit or Ctrl-C: best schedule, bound, gap."""
    from kvbound.cli.output import instance_json, notes, print_json, print_lines
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.instances import write_schedule
    from kvbound.solvers.exact import SolveConfig, export_model, prepare
    from kvbound.solvers.exact import solve as run
    from kvbound.solvers.progress import Progress

    require_writable(output, export)
    loaded = options.load()
    if export is not None:
        export_model(loaded.problem, export)
        if options.json:
            print_json({"instance": instance_json(loaded), "file": str(export), "notes": list(loaded.notes)})
        else:
            print_lines([f"model written to {export}", *notes(loaded.notes)])
        return
    config = SolveConfig(time_limit=time_limit, threads=threads, seed=options.seed)
    with reporting(f"solve {method}") as progress:
        if progress is not None:
            progress(Progress("preparing (compiles once after installation)", 0.0, None, None))
        prepare(method)
        result = run(loaded.problem, method=method, config=config, progress=progress)
    if output is not None and result.schedule is not None:
        write_schedule(output, loaded.problem, result.schedule, policy=result.method)
    if options.json:
        print_json({**result_json(result), "instance": instance_json(loaded), "notes": list(loaded.notes)})
    else:
        print_lines([*result_lines(result, loaded.problem.n), *notes(loaded.notes)])
        if output is not None:
            done = result.schedule is not None
            print_lines([f"schedule written to {output}" if done else f"no schedule found, {output} not written"])
    if "interrupt" in _word(result.termination):
        raise typer.Exit(INTERRUPTED)


def result_json(result: Result) -> dict[str, Any]:
    """The JSON answer."""
    schedule = result.schedule
    starts = None if schedule is None else {"start": schedule.start.tolist(), "worker": schedule.worker.tolist()}
    return {
        "termination": _word(result.termination),
        "status": _word(result.status),
        "tel": result.tel,
        "bound": result.bound,
        "gap": result.gap,
        "method": result.method,
        "seconds": result.seconds,
        "proved_by": result.proved_by,
        "verified": result.certificate is not None,
        "schedule": starts,
    }


def result_lines(result: Result, n: int) -> list[str]:
    """The answer for people."""
    status, why = _word(result.status), _word(result.termination)
    stopped = why if why == "interrupted" else f"stopped by {why}"
    what = status if status == why else f"{'no schedule' if status == 'none' else status}, {stopped},"
    lines = [f"{what} after {result.seconds:.2f} s by {result.method}"]
    if result.tel is not None:
        lines.append(f"TEL {result.tel:,}, mean EEL {result.tel / n:,.1f}")
    if result.bound is not None:
        gap = "" if result.gap is None else f", gap {100 * result.gap:.2f} %"
        how = "certificate verified in exact integers" if result.certificate is not None else "the solver's claim"
        lines.append(f"bound {result.bound:,}{gap} (proved by {result.proved_by}: {how})")
    return lines


def _word(value: Any) -> str:
    """The value of an enum, in words."""
    return str(getattr(value, "value", value))
