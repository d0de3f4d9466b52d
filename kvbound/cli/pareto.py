"""`kvbound pareto`: the front that the bid-price router reaches when its weights are swept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvbound.cli.options import SourceOptions, takes_source
from kvbound.cli.route_options import EelLimit, Horizon, Rate, Seeds, TtftLimit, limits_of, parse_rate


@takes_source
def pareto(
    options: SourceOptions,
    rate: Rate = None,
    between: Annotated[
        str, typer.Option("--between", metavar="A,B", help="Weights by name at both ends: average, tail, throughput.")
    ] = "average,tail",
    axes: Annotated[
        str, typer.Option("--axes", metavar="X,Y", help="Figures to trade, such as mean_eel,slo_violations.")
    ] = "mean_eel,slo_violations",
    points: Annotated[int, typer.Option("--points", metavar="P", min=2, help="Mixtures of the two.")] = 7,
    routers: Annotated[
        str, typer.Option("--routers", metavar="A,B", help="Baselines to show beside the front.")
    ] = "round-robin,lor,lor:central",
    seeds: Seeds = 1,
    horizon: Horizon = None,
    slo_eel: EelLimit = None,
    slo_ttft: TtftLimit = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the front: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Sweep the weights of the bid-price router from A to B and show what one figure costs in the other."""
    from dataclasses import replace

    from kvbound.cli.output import decimal, instance_json, new_table, notes, print_json, print_lines, print_table, title
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.pareto_front import FIGURES
    from kvbound.pareto_front import pareto as sweep
    from kvbound.plot import require_format
    from kvbound.routing import seeded

    if plot is not None:
        require_format(plot)
        require_writable(plot)
    with reporting("loading") as progress:
        loaded = replace(options, noise=None).load()
        wanted = parse_rate(rate, loaded.problem)
        front = sweep(
            [seeded(loaded.problem, options.seed + i, wanted, options.noise) for i in range(seeds)],
            ends=_pair("--between", between),
            axes=_pair("--axes", axes),
            points=points,
            baselines=[name.strip() for name in routers.split(",") if name.strip()],
            horizon=horizon,
            limits=limits_of(loaded.problem, slo_eel, slo_ttft),
            seed=options.seed,
            progress=progress,
        )
        if plot is not None:
            from kvbound.plot_routing import plot_front

            plot_front(front, plot)
    if options.json:
        print_json(
            {
                "instance": instance_json(loaded),
                "between": list(front.ends),
                "axes": list(front.axes),
                "points": [
                    {"share": p.share, "weights": [str(w) for w in p.weights], "on_front": p.on_front, **p.figures}
                    for p in front.points
                ],
                "routers": [{"name": name, **figures} for name, figures in front.baselines.items()],
                "notes": list(loaded.notes),
                "seed": options.seed,
                "seeds": seeds,
            }
        )
        return
    table = new_table(title(loaded.problem), ["weights", "front"], [name.replace("_", " ") for name in FIGURES])
    for p in front.points:
        name = f"{1 - p.share:.2f} {front.ends[0]} + {p.share:.2f} {front.ends[1]}"
        table.add_row(name, "✓" if p.on_front else "", *(decimal(p.figures[f], 3) for f in FIGURES))
    for name, figures in front.baselines.items():
        table.add_row(name, "", *(decimal(figures[f], 3) for f in FIGURES))
    print_table(table)
    print_lines([*notes(loaded.notes), *([f"plot written to {plot}"] if plot is not None else [])])


def _pair(option: str, text: str) -> tuple[str, str]:
    from kvbound.models.errors import OptionError

    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise OptionError(f"{option} {text!r}: give two names with a comma between them")
    return parts[0], parts[1]
