"""Gantt of staircases: one lane per request, its height growing with the tokens it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this many requests a lane is high enough to label it.
LABELLED = 40
#: Up to this many requests heights show tokens.
RIDGES = 160
#: Lanes beyond which staircases start to overlap their neighbours.
_LANES = 20


def draw_gantt(
    axes: Axes,
    problem: Problem,
    schedule: Schedule,
    name: str,
    *,
    order: IntArray | None = None,
    legend: bool = True,
) -> None:
    """Draw waiting (grey) and staircases (coloured by output length), lanes in order of start (or in `order`).

    Heights compare across lanes. With more requests than fit as full lanes the largest peak reaches over
    several lanes, as in a ridgeline plot; with many (more than `RIDGES`) each request is a bar.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.colors import Normalize

    requests = problem.requests
    output, peak = requests.output, requests.peak
    completion = schedule.completion(requests)
    lanes = np.lexsort((completion, schedule.start)) if order is None else order
    lanes = lanes[schedule.served[lanes]]
    many = len(lanes) > RIDGES
    scale = 0.92 * max(1.0, len(lanes) / _LANES) / float(peak.max())
    shapes: list[list[tuple[float, float]]] = []
    waits: list[list[tuple[float, float]]] = []
    ground: list[list[tuple[float, float]]] = []
    for rank, j in enumerate(lanes.tolist()):
        row = len(lanes) - 1 - rank  # the first start on top, every staircase standing on its lane
        start, end = int(schedule.start[j]), int(completion[j])
        low, high = float(requests.prompt[j] + 1) * scale, float(peak[j]) * scale
        # Step t is drawn as [t−1, t]; the straight edge over many steps is the staircase seen from afar.
        top: list[tuple[float, float]]
        if many:
            top = [(start, row + 1), (end, row + 1)]
        elif len(lanes) <= _LANES and end <= 4000:
            levels = (requests.prompt[j] + np.arange(1, output[j] + 1)) * scale
            top = [(start + i + side, row + levels[i]) for i in range(int(output[j])) for side in (0, 1)]
        else:
            top = [(start, row + low), (end, row + high)]
        shapes.append([(start, row), *top, (end, row)])
        ground.append([(start, row + 0.04), (end, row + 0.04)])
        if start > requests.arrival[j]:
            waits.append([(int(requests.arrival[j]), row + 0.04), (start, row + 0.04)])
    # A few very long outputs must not turn all the others into one colour.
    colour = Normalize(0, float(np.quantile(output, 0.98)))
    axes.add_collection(LineCollection(waits, colors="#c9ced6", linewidths=0.25 if many else 0.7, zorder=1))
    shades = colormaps["viridis"](colour(output[lanes].astype(float)), alpha=1.0 if many else 0.92)
    if not many:  # a chat beside a document is too flat to be seen as a staircase: it gets at least a line
        axes.add_collection(LineCollection(ground, colors=shades, linewidths=1.6, capstyle="butt", zorder=3))
    axes.add_collection(
        PolyCollection(
            shapes,
            facecolors=shades,
            edgecolors="face" if many else "white",
            linewidths=0.6 if many else 0.4,
            zorder=2,
        )
    )
    axes.set_xlim(0, float(completion.max()) * 1.01)
    axes.set_ylim(0, len(lanes))
    _lane_labels(axes, lanes.tolist())
    title = f"{problem.name}" + (f" – schedule of {name}" if name else "")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    if not legend:
        return
    extend = "max" if output.max() > (colour.vmax or 0) else "neither"
    bar = axes.figure.colorbar(ScalarMappable(colour, "viridis"), ax=axes, pad=0.01, fraction=0.03, extend=extend)
    bar.set_label("output length o (tokens)", fontsize=8)
    bar.ax.tick_params(labelsize=8)


def _lane_labels(axes: Axes, lanes: list[int]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    if len(lanes) <= LABELLED:
        axes.set_yticks([row + 0.5 for row in range(len(lanes))], [str(j) for j in reversed(lanes)], fontsize=8)
        axes.set_ylabel("request (in order of start)")
        axes.tick_params(axis="y", length=0)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(lanes):,} requests in order of start")
