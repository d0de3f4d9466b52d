"""Pictures: the schedule as a Gantt of staircases, memory over time against M, ratios to the bound.

matplotlib is imported when a picture is drawn, never before, and draws without a display.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from kvbound.comparison import Comparison
from kvbound.instances import write_atomic
from kvbound.models.errors import OptionError
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def require_format(path: str | Path) -> str:
    """Return the format that the ending of `path` names, or raise `OptionError`."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise OptionError(f"{path}: cannot draw {suffix or 'without an ending'}; use one of {', '.join(FORMATS)}")
    return suffix[1:]


def plot_schedule(problem: Problem, schedule: Schedule, path: str | Path, *, name: str = "") -> None:
    """Draw one valid schedule: Gantt of staircases above, memory over time below."""
    from kvbound.plot_gantt import draw_gantt
    from kvbound.plot_memory import draw_memory

    kind = require_format(path)
    figure = figure_of_size(11.0, 7.5)
    gantt, memory = figure.subplots(2, 1, sharex=True, height_ratios=(1.35, 1.0))
    draw_gantt(gantt, problem, schedule, name)
    draw_memory(memory, problem, schedule)
    save_figure(figure, path, kind)


def plot_comparison(comparison: Comparison, path: str | Path) -> None:
    """Draw the schedule of the best row, memory over time, and the ratio of every row to the bound."""
    from kvbound.plot_gantt import draw_gantt
    from kvbound.plot_memory import draw_memory
    from kvbound.plot_ratios import draw_ratios

    kind = require_format(path)
    best = comparison.best
    if best is None or best.schedule is None:
        raise OptionError(f"{path}: nothing to draw, there is no valid schedule")
    rows = len(comparison.rows) + (comparison.exact is not None)
    figure = figure_of_size(11.0, 8.2 + 0.3 * rows)
    gantt, memory, ratios = figure.subplots(3, 1, height_ratios=(4.2, 3.0, 0.9 + 0.3 * rows))
    memory.sharex(gantt)
    gantt.tick_params(labelbottom=False)
    draw_gantt(gantt, comparison.problem, best.schedule, best.name)
    draw_memory(memory, comparison.problem, best.schedule)
    draw_ratios(ratios, comparison)
    save_figure(figure, path, kind)


def figure_of_size(width: float, height: float) -> Figure:
    """An empty figure of that size in inches."""
    # Figure without pyplot: no global state, no window, the Agg canvas whatever MPLBACKEND says.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: str | Path, kind: str) -> None:
    """Write a figure to a file, all or nothing."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=130)
    write_atomic(path, drawn.getvalue())
