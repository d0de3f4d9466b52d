"""Pictures of routing: latencies and gaps of routers, the front of weights, prices over time."""

from __future__ import annotations

from pathlib import Path

from kvbound.plot import figure_of_size, require_format, save_figure
from kvbound.routing import Routing

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
    latency.legend(fontsize=8, frameon=False, loc="best")
    for axes in (latency, gaps):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(left=0)
    save_figure(figure, path, kind)
