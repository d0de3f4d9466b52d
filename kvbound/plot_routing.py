"""Pictures of routing: latencies and gaps of routers, the front of weights, prices over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kvbound.pareto_front import Front
from kvbound.plot import figure_of_size, require_format, save_figure
from kvbound.routing import Routing
from kvbound.solvers.routers.explain import RESOURCES, PriceHistory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]
_MARKS = (("P50", "p50_eel", "|"), ("P95", "p95_eel", "d"), ("P99", "p99_eel", ">"))
_BAR, _RULE, _MARK = "#9fb8c8", "#c1121f", "#2a6f97"


def plot_routing(result: Routing, path: str | Path) -> None:
    """Draw mean EEL with its interval and percentiles, the bound as a line, and the gap of the reward."""
    kind = require_format(path)
    rows = [(row.name, row.figures()) for row in result.rows]
    figure = figure_of_size(11.0, 1.8 + 0.34 * len(rows))
    latency, gaps = figure.subplots(1, 2, sharey=True, width_ratios=(2.2, 1.0))
    for i, (_, figures) in enumerate(rows):
        mean = figures["mean_eel"]
        assert mean is not None
        latency.barh(i, mean.mean, color=_BAR, height=0.7, xerr=mean.half, ecolor="#444444", capsize=2)
        for label, key, marker in _MARKS:
            at = figures[key]
            if at is not None:
                latency.plot(at.mean, i, marker, color=_MARK, markersize=6, label=label if i == 0 else None)
        gap = figures["gap"]
        if gap is not None:
            gaps.barh(i, 100 * gap.mean, color=_BAR, height=0.7, xerr=None if gap.half is None else 100 * gap.half)
    lower = [pair.total_eel for pair in result.bounds if pair.total_eel is not None]
    if lower:
        bound = sum(lower) / len(lower) / result.problems[0].n
        latency.axvline(bound, color=_RULE, linewidth=1.3, label="certified bound on the mean")
    latency.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    latency.invert_yaxis()
    latency.set_xlabel("EEL (steps): mean as a bar, percentiles as marks")
    gaps.set_xlabel("gap of the reward to its bound (%)")
    latency.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    for axes in (latency, gaps):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(left=0)
    save_figure(figure, path, kind)


_AXES = {
    "mean_eel": "mean EEL (steps)",
    "p95_eel": "P95 of EEL (steps)",
    "p99_eel": "P99 of EEL (steps)",
    "mean_ttft": "mean TTFT (steps)",
    "p99_ttft": "P99 of TTFT (steps)",
    "slo_violations": "share of requests that miss their SLO",
    "throughput": "tokens per step",
}


def plot_front(front: Front, path: str | Path) -> None:
    """Draw the points of the sweep, the front through those that no other beats, and the baselines."""
    kind = require_format(path)
    figure = figure_of_size(8.5, 5.5)
    draw_front(figure.subplots(), front)
    save_figure(figure, path, kind)


def draw_front(axes: Axes, front: Front) -> None:
    """What `plot_front` draws, on axes; an inset enlarges the mixtures where baselines far away crowd them."""
    x, y = front.axes
    for i, (name, figures) in enumerate(front.baselines.items()):
        axes.plot(figures[x], figures[y], "x", color=_RULE, markersize=6)
        axes.annotate(name, (figures[x], figures[y]), (5, -10 - 9 * (i % 3)), textcoords="offset points", fontsize=7)
    crowded = _crowded(front)
    _mixtures(axes, front, labels=not crowded)
    if axes.get_ylim()[0] < 0:  # no figure is negative; where all are 0 the picture says so
        axes.set_ylim(-0.04 * axes.get_ylim()[1], axes.get_ylim()[1])
    axes.set_xlabel(_AXES[x])
    axes.set_ylabel(_AXES[y])
    axes.spines[["top", "right"]].set_visible(False)
    if crowded:
        inset = axes.inset_axes((0.36, 0.3, 0.6, 0.42))
        _mixtures(inset, front, labels=True)
        inset.margins(0.12, 0.18)
        inset.tick_params(labelsize=7)
        axes.indicate_inset_zoom(inset, edgecolor="#888888")
    axes.legend(fontsize=8, frameon=False, loc="upper left")


def _mixtures(axes: Axes, front: Front, *, labels: bool) -> None:
    """The mixtures of weights as points, labelled by their share, and the line through the best of them."""
    x, y = front.axes
    shares: dict[tuple[float, float], list[str]] = {}  # mixtures that end at one point share a label
    for point in front.points:
        color = _MARK if point.on_front else _BAR
        axes.plot(point.figures[x], point.figures[y], "o", color=color, markersize=6, zorder=3)
        shares.setdefault((point.figures[x], point.figures[y]), []).append(f"{point.share:.2g}")
    for at, names in shares.items() if labels else ():
        axes.annotate(", ".join(names), at, (4, 6), textcoords="offset points", fontsize=7)
    best = sorted((p for p in front.points if p.on_front), key=lambda p: p.figures[x])
    axes.plot([p.figures[x] for p in best], [p.figures[y] for p in best], color=_MARK, linewidth=1.2,
              label=f"bid-price: share of {front.ends[1]} against {front.ends[0]}")  # fmt: skip


def _crowded(front: Front) -> bool:
    """Whether the mixtures take less than half of the picture both ways, and are more than one point."""
    if not front.baselines:
        return False
    shares = []
    for key in front.axes:
        mine = [p.figures[key] for p in front.points]
        all_of_them = mine + [figures[key] for figures in front.baselines.values()]
        shares.append((max(mine) - min(mine)) / max(1e-12, max(all_of_them) - min(all_of_them)))
    return 0 < max(shares) < 0.5


def plot_prices(history: PriceHistory, path: str | Path, *, kinds: int, name: str = "") -> None:
    """Draw the prices of memory and batch over time (across) and steps ahead (up), and the nearer half as lines."""
    kind = require_format(path)
    figure = figure_of_size(11.0, 1.8 + 4.4 * kinds + 1.6)
    relative = history.price / history.unit[:, None, None, None]
    draw_prices(figure, history.step, history.ahead, relative, history.waiting)
    figure.suptitle(name, fontsize=10)
    save_figure(figure, path, kind)


def draw_prices(figure: Figure, step: FloatArray, ahead: FloatArray, relative: FloatArray, waiting: FloatArray) -> None:
    """What `plot_prices` draws; `relative` is [snapshot, kind, resource, ahead], 1 is the mean reward per step."""
    kinds = relative.shape[1]
    panels = figure.subplots(2 * kinds + 1, 1, sharex=True, height_ratios=[1.0] * (2 * kinds) + [0.9])
    positive = relative[relative > 0]
    top = float(np.quantile(positive, 0.995)) if positive.size else 1.0
    for y in range(kinds):
        for r, what in enumerate(RESOURCES):
            axes = panels[2 * y + r]
            mesh = axes.pcolormesh(step, ahead, relative[:, y, r].T, vmin=0.0, vmax=top,
                                   cmap="magma_r", shading="nearest")  # fmt: skip
            axes.set_ylabel("steps ahead")
            axes.set_title(f"price of {what}" + (f", kind {y} of workers" if kinds > 1 else ""), fontsize=9, loc="left")
            figure.colorbar(mesh, ax=axes, pad=0.01, fraction=0.04)
    near, axes = relative[..., : max(1, len(ahead) // 2)].mean(axis=-1), panels[-1]
    for y in range(kinds):
        for r, (what, color) in enumerate(zip(RESOURCES, (_MARK, _RULE), strict=True)):
            label = what + (f", kind {y}" if kinds > 1 else "")
            axes.plot(step, near[:, y, r], color=color, linewidth=1.1, alpha=1.0 / (1 + y), label=label)
    axes.set_ylabel("mean, nearer half")
    axes.set_xlabel("step; prices in mean reward of a request per step of its output (memory: its mean tokens)")
    twin = axes.twinx()
    twin.fill_between(step, waiting, color="#bbbbbb", alpha=0.35, linewidth=0, label="waiting")
    twin.set_ylabel("waiting")
    axes.set_zorder(twin.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="upper right")
