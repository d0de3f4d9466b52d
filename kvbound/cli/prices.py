"""`kvbound prices`: the shadow prices of a run, and which resource binds when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvbound.cli.options import SourceOptions, takes_source
from kvbound.cli.route_options import EelLimit, Horizon, Rate, TtftLimit, Weights, limits_of, parse_rate

#: Phases that the table lists; --json lists all.
_MOST_PHASES = 12


@takes_source
def prices(
    options: SourceOptions,
    router: Annotated[str, typer.Option("--router", metavar="R", help="A bid-price router.")] = "bid-price",
    rate: Rate = None,
    weights: Weights = "average",
    horizon: Horizon = None,
    slo_eel: EelLimit = None,
    slo_ttft: TtftLimit = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the heat map: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Run the bid-price router and say which resource binds when: memory, batch slots, or neither.

    A price of 1 is the mean reward of a request per step of its output: at that price serving it gains nothing.
    """
    from dataclasses import replace

    from kvbound.cli.output import instance_json, new_table, notes, print_json, print_lines, print_table, title
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.models.errors import OptionError
    from kvbound.plot import require_format
    from kvbound.routing import default_horizon, parse_weights, seeded
    from kvbound.solvers.routers import resolve_routers
    from kvbound.solvers.routers.explain import price_history

    if plot is not None:
        require_format(plot)
        require_writable(plot)
    (chosen,) = resolve_routers([router])
    if chosen.config is None:
        raise OptionError(f"{router} has no prices; name a bid-price router")
    with reporting("loading"):
        loaded = replace(options, noise=None).load()
        problem = seeded(loaded.problem, options.seed, parse_rate(rate, loaded.problem), options.noise)
        limits = limits_of(problem, slo_eel, slo_ttft)
        objective = parse_weights(weights, horizon or default_horizon(problem), limits)
        history = price_history(problem, chosen, objective, seed=options.seed)
        kinds = history.price.shape[1]
        if plot is not None:
            from kvbound.plot_routing import plot_prices

            plot_prices(history, plot, kinds=kinds, name=title(problem))
    near = history.near()
    if options.json:
        answer = [
            {
                "workers": list(problem.fleet.kinds[y]),
                "binds": history.shares(y),
                "mean_price": {"memory": float(near[:, y, 0].mean()), "batch": float(near[:, y, 1].mean())},
                "phases": [{"from": a, "to": b, "resource": what} for a, b, what in history.phases(y)],
            }
            for y in range(kinds)
        ]
        print_json({"instance": instance_json(loaded), "router": chosen.name, "kinds": answer,
                    "history": history.thinned(), "notes": list(loaded.notes), "seed": options.seed})  # fmt: skip
        return
    lines = []
    for y in range(kinds):
        share = history.shares(y)
        table = new_table(f"{title(problem)}; workers {_span(problem.fleet.kinds[y])}", ["binds"], ["from", "to"])
        phases = history.phases(y)
        for first, last, what in phases[:_MOST_PHASES]:
            table.add_row(what, f"{first:,}", f"{last:,}")
        if len(phases) > _MOST_PHASES:
            table.caption = f"… and {len(phases) - _MOST_PHASES:,} more; --json lists all"
        print_table(table)
        lines.append(
            f"workers {_span(problem.fleet.kinds[y])}: memory binds in {100 * share['memory']:.0f} % of the decisions "
            f"looked at, batch in {100 * share['batch']:.0f} %, neither in {100 * share['none']:.0f} %"
        )
    print_lines([*lines, *notes(loaded.notes), *([f"plot written to {plot}"] if plot is not None else [])])


def _span(workers: tuple[int, ...]) -> str:
    return f"{workers[0]}" if len(workers) == 1 else f"{workers[0]}…{workers[-1]} ({len(workers)})"
