"""The graph draws itself: as lines of text, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvbound.models.errors import InputError
from kvbound.reductions.graph import PROBLEMS, graph


def as_text() -> list[str]:
    """Every problem with its question, and below it the reductions that leave it."""
    built = graph()
    lines = []
    for name, data in built.nodes(data=True):
        lines.append(f"{name}: {data['question']}")
        leaving = list(built.out_edges(name, keys=True, data="reduction"))
        for i, (_, target, key, reduction) in enumerate(leaving):
            branch = "└─" if i == len(leaving) - 1 else "├─"
            lines.append(f"  {branch} {key} ─→ {target}: {reduction().statement.split(': ', 1)[1]}")
        lines.append("")
    return lines[:-1]


#: Where each problem stands: x to the right, y upwards, in one unit. A test holds this list complete.
PLACES = {
    "three-partition": (0.0, 1.6),
    "partition": (0.0, -1.6),
    "bin-packing": (3.2, 0.0),
    "reward": (3.2, 1.6),
    "unit-tel": (6.4, 0.0),
    "level-packing": (6.4, -1.3),
    "tel": (9.6, 0.0),
}
#: How far an arrow bends to its left (negative: right) so that it passes what stands between; 0 is straight.
BENDS = {
    "equal-outputs": 0.40,
    "varied-outputs": 0.25,
    "two-workers": -0.36,
    "steps-as-levels": 0.95,
    "levels-as-steps": 0.95,
}


def draw(path: str | Path) -> None:
    """Draw the graph into a file (.png, .svg, .pdf): a box per problem, an arrow per reduction.

    Raises
    ------
    InputError
        The suffix is none that matplotlib writes, or the file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    built = graph()
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-1.0, 10.7)
    axes.set_ylim(-2.9, 3.1)
    boxes = {}
    for name in built.nodes:
        boxes[name] = axes.text(
            *PLACES[name],
            PROBLEMS[name].title,
            ha="center",
            va="center",
            fontsize=11,
            zorder=3,
            bbox={"boxstyle": "round,pad=0.5", "facecolor": "#eef3fa", "edgecolor": "#34568b"},
        )
    figure.draw_without_rendering()  # only then do the boxes know how large they are
    for source, target, key in built.edges(keys=True):
        _arrow(axes, boxes[source], boxes[target], PLACES[source], PLACES[target], key)
    target_file = Path(path)
    if not target_file.parent.is_dir():
        raise InputError(f"{path}: cannot be written, the folder {target_file.parent} does not exist")
    try:
        figure.savefig(target_file, dpi=150)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be drawn ({error})") from None


def _arrow(axes: Any, tail: Any, head: Any, start: tuple[float, float], end: tuple[float, float], label: str) -> None:
    """An arrow from box to box, bent as `BENDS` says, with its name at the middle of the bow."""
    bend = BENDS.get(label, 0.0)
    axes.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": "#555555",
            "patchA": tail.get_bbox_patch(),
            "patchB": head.get_bbox_patch(),
            "shrinkA": 1,
            "shrinkB": 2,
            "connectionstyle": f"arc3,rad={-bend}",
        },
        zorder=1,
    )
    dx, dy = end[0] - start[0], end[1] - start[1]
    x, y = (start[0] + end[0]) / 2 - bend * dy / 2, (start[1] + end[1]) / 2 + bend * dx / 2
    axes.text(
        x,
        y,
        label,
        ha="center",
        va="center",
        fontsize=8.5,
        zorder=2,
        bbox={"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"},
    )
