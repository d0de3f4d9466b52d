"""`kvbound route`: routers on a fleet against one another and against certified bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import INTERRUPTED
from kvbound.cli.options import SourceOptions, TimeLimit, takes_source
from kvbound.cli.route_options import EelLimit, Horizon, Rate, Seeds, TtftLimit, Weights, limits_of, parse_rate

if TYPE_CHECKING:
    from rich.table import Table

    from kvbound.instances import Loaded
    from kvbound.routing import Routing
    from kvbound.statistics import Interval

_COLUMNS = (
    ("mean EEL", "mean_eel", 1, 1.0),
    ("EEL P95", "p95_eel", 0, 1.0),
    ("EEL P99", "p99_eel", 0, 1.0),
    ("mean TTFT", "mean_ttft", 1, 1.0),
    ("TTFT P99", "p99_ttft", 0, 1.0),
    ("tokens/step", "throughput", 2, 1.0),
    ("SLO %", "slo_violations", 2, 100.0),
    ("KV %", "kv_utilisation", 1, 100.0),
    ("batch %", "batch_utilisation", 1, 100.0),
    ("evictions", "evictions", 0, 1.0),
    ("reward", "reward", 0, 1.0),
    ("gap %", "gap", 2, 100.0),
    ("EEL gap %", "eel_gap", 1, 100.0),
)


@takes_source
def route(
    options: SourceOptions,
    routers: Annotated[
        str, typer.Option("--routers", metavar="A,B|all", help="Routers by name; `:central` holds, `:svf` reorders.")
    ] = "all",
    rate: Rate = None,
    weights: Weights = "average",
    seeds: Seeds = 1,
    horizon: Horizon = None,
    slo_eel: EelLimit = None,
    slo_ttft: TtftLimit = None,
    bounds: Annotated[bool, typer.Option("--bounds/--no-bounds", help="Prove bounds on reward and mean EEL.")] = True,
    time_limit: TimeLimit = 30.0,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Write the proofs of both bounds, for `kvbound verify`."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw latencies and gaps: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Routers on a fleet: latency, throughput, SLOs, reward, and the gap of each to what is possible at best.

    With --seeds N every figure is a mean over seeds with its 95 % confidence interval (in the JSON under `ci`).
    """
    from dataclasses import replace

    from kvbound.cli.output import notes, print_json, print_lines, print_table, title
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable, write_certificates
    from kvbound.models.errors import OptionError
    from kvbound.plot import require_format
    from kvbound.routing import route as run

    if plot is not None:
        require_format(plot)
        require_writable(plot)
    require_writable(certificate)
    if certificate is not None and (seeds > 1 or not bounds):
        raise OptionError("--certificate needs bounds and --seeds 1: a certificate is for one set of arrivals")
    with reporting("loading") as progress:
        loaded = replace(options, noise=None).load()
        result = run(
            loaded.problem,
            [name.strip() for name in routers.split(",") if name.strip()],
            weights=weights,
            rate=parse_rate(rate, loaded.problem),
            noise=options.noise,
            seeds=seeds,
            seed=options.seed,
            horizon=horizon,
            limits=limits_of(loaded.problem, slo_eel, slo_ttft),
            bounds=bounds,
            time_limit=time_limit,
            progress=progress,
        )
        if plot is not None:
            from kvbound.plot_routing import plot_routing

            plot_routing(result, plot)
    proofs = result.bounds[0].certificates if result.bounds else ()
    if certificate is not None and proofs:
        write_certificates(certificate, proofs)
    remarks = (*loaded.notes, *result.notes)
    if options.json:
        print_json(document(loaded, result, options, remarks))
    else:
        print_table(table(result, title(loaded.problem)))
        print_lines([*bound_lines(result), *notes(remarks)])
        if certificate is not None and proofs:
            again = f" --rate {rate} --seed {options.seed}" if rate not in (None, "trace") else ""
            print_lines([f"certificates written to {certificate}; check them with: kvbound verify SOURCE "
                         f"{certificate}{again} and the same fleet"])  # fmt: skip
        if plot is not None:
            print_lines([f"plot written to {plot}"])
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def document(loaded: Loaded, result: Routing, options: SourceOptions, remarks: tuple[str, ...]) -> dict[str, Any]:
    """The JSON answer."""
    from kvbound.cli.output import instance_json
    from kvbound.routing import mean_bounds

    reward = result.reward
    return {
        "instance": instance_json(loaded),
        "objective": {
            "weights": [str(w) for w in reward.weights],
            "horizon": reward.horizon,
            "slo_eel": reward.eel_limit,
            "slo_ttft": reward.ttft_limit,
        },
        "noise": options.noise,
        "seeds": len(result.bounds),
        "bounds": mean_bounds(result),
        "routers": [row_json(row.name, row.figures()) for row in result.rows],
        "notes": list(remarks),
        "interrupted": result.interrupted,
        "seed": options.seed,
    }


def row_json(name: str, figures: dict[str, Interval | None]) -> dict[str, Any]:
    """One router: means over the seeds, and half widths of their confidence intervals under `ci`."""
    means = {key: None if found is None else found.mean for key, found in figures.items()}
    halves = {key: None if found is None else found.half for key, found in figures.items()}
    return {"name": name, **means, "ci": halves}


def table(result: Routing, heading: str) -> Table:
    """The table for people; the router of least mean EEL is marked."""
    from kvbound.cli.output import decimal, new_table

    rows = [(row.name, row.figures()) for row in result.rows]
    shown = new_table(heading, ["router"], [title for title, *_ in _COLUMNS])
    best = min((f["mean_eel"].mean for _, f in rows if f["mean_eel"] is not None), default=None)
    for name, figures in rows:
        cells = []
        for _, key, digits, factor in _COLUMNS:
            found = figures[key]
            text = "–" if found is None else decimal(found.mean * factor, digits)
            if found is not None and found.half is not None and key == "mean_eel":
                text += f" ±{decimal(found.half * factor, digits)}"
            cells.append(text)
        mine = figures["mean_eel"]
        shown.add_row(name, *cells, style="bold" if mine is not None and mine.mean == best else None)
    return shown


def bound_lines(result: Routing) -> list[str]:
    """What the gaps are measured against."""
    from kvbound.routing import mean_bounds

    found = mean_bounds(result)
    r = result.reward
    weights = ", ".join(str(w) for w in r.weights)
    lines = [f"reward: (α,β,γ,σ,ζ1,ζ2) = ({weights}), horizon {r.horizon:,}, τ1 = {r.eel_limit}, τ2 = {r.ttft_limit}"]
    if found["reward"] is None or found["mean_eel"] is None:
        return [*lines, "bounds: none, so there are no gaps"]
    over = f", means over {len(result.bounds)} seeds" if len(result.bounds) > 1 else ""
    return [
        *lines,
        f"bounds: no schedule earns more than {found['reward']:,.0f}, and none that serves all has a mean EEL below "
        f"{found['mean_eel']:,.2f}  (✓ certificates of prices, verified in exact integer arithmetic{over})",
    ]
