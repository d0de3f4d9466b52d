"""The pictures of a report; schedules, memory, fronts and prices are drawn by the modules of `--plot`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.pareto_front import FIGURES, Front, Point
from kvbound.report.data import FrontData, Line, PriceData, Proof, Results, ratio_of
from kvbound.report.svg import inline_svg, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR, _RULE, _MARK, _INK = "#9fb8c8", "#c1121f", "#2a6f97", "#3d4852"
#: Distinct for most readers, in this order (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b", "#8c564b")
_MARKERS = "osD^vPX*"
#: Methods that get a line of their own; the rest is in the tables.
MOST_METHODS = 8
#: Instances that the ladder shows one by one.
MOST_LADDERS = 6


def ratio_chart(results: Results) -> str | None:
    """Ratio against n: means over the instances of each size, or bars where there is only one size."""
    best = results.best_proofs()
    points: dict[str, dict[int, list[float]]] = {}
    for line in results.lines:
        ratio = ratio_of(line, best)
        n = results.instances[line.instance].n
        if ratio is not None and n:
            points.setdefault(line.label, {}).setdefault(n, []).append(ratio)
    if not points:
        return None
    ranked = sorted(points, key=lambda name: fmean(r for rs in points[name].values() for r in rs))
    sizes = sorted({n for by_size in points.values() for n in by_size})
    if len(sizes) == 1:
        return _ratio_bars({name: points[name][sizes[0]] for name in ranked if sizes[0] in points[name]}, sizes[0])
    shown = sorted(ranked, key=lambda name: -len(points[name]))[:MOST_METHODS]  # those seen at most sizes
    figure = new_figure(3.7)
    axes = figure.subplots()
    for i, name in enumerate(shown):
        xs = sorted(points[name])
        means = [fmean(points[name][n]) for n in xs]
        colour = _COLOURS[i % len(_COLOURS)]
        for n in xs:
            axes.plot([n] * len(points[name][n]), points[name][n], ".", color=colour, alpha=0.35, markersize=4)
        axes.plot(xs, means, color=colour, marker=_MARKERS[i % 8], markersize=5, linewidth=1.5, label=name)
    if sizes[-1] >= 8 * sizes[0]:
        axes.set_xscale("log")
        axes.minorticks_off()
    ticks = sizes if len(sizes) <= 8 else [sizes[i] for i in np.linspace(0, len(sizes) - 1, 8).astype(int)]
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axes.set_xlabel("requests n")
    _ratio_axis(axes.set_ylabel)
    axes.axhline(1.0, color=_RULE, linewidth=1.2)
    _tidy(axes)
    figure.legend(loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    return inline_svg(figure, "ratio", f"Ratio to the bound against n of {', '.join(shown)}")


def _ratio_bars(ratios: dict[str, list[float]], n: int) -> str:
    names = list(ratios)[:24]
    figure = new_figure(0.8 + 0.26 * len(names))
    axes = figure.subplots()
    means = [fmean(ratios[name]) for name in names]
    axes.barh(range(len(names)), means, color=[_MARK if i == 0 else _BAR for i in range(len(names))], height=0.68)
    for i, name in enumerate(names):
        low, high = min(ratios[name]), max(ratios[name])
        if high > low:
            axes.plot([low, high], [i, i], color=_INK, linewidth=1.2, marker="|")
        axes.annotate(f"  {means[i]:.3f}", (max(high, means[i]), i), va="center", fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.invert_yaxis()
    axes.axvline(1.0, color=_RULE, linewidth=1.2)
    axes.set_xlim(0, max(max(r) for r in ratios.values()) * 1.12)
    _ratio_axis(axes.set_xlabel, f" (n = {n:,})")
    _tidy(axes)
    return inline_svg(figure, "ratio", f"Ratio to the bound of {', '.join(names)}")


def _ratio_axis(put: Callable[[str], object], more: str = "") -> None:
    put("TEL (mean EEL) / lower bound" + more)


def ladder_chart(results: Results) -> str | None:
    """Bounds as rungs below the best schedule known, per instance, or their means over many instances."""
    tops = _least_tel(results)
    rungs: dict[str, dict[str, Proof]] = {}
    for proof in results.proofs:
        if proof.unit == "TEL" and proof.value and proof.instance in tops:
            held = rungs.setdefault(proof.instance, {}).get(proof.method)
            if held is None or (held.value or 0) < proof.value:
                rungs[proof.instance][proof.method] = proof
    if not rungs:
        return None
    panels: list[tuple[str, list[tuple[str, float, bool]], str]] = []
    if len(rungs) <= MOST_LADDERS:
        for key, found in rungs.items():
            rows = [(m, 100 * (p.value or 0) / tops[key], p.verified) for m, p in found.items()]
            panels.append((results.instances[key].name, rows, f"best schedule known: TEL {tops[key]:,}"))
    else:
        by_method: dict[str, list[tuple[float, bool]]] = {}
        for key, found in rungs.items():
            for m, p in found.items():
                by_method.setdefault(m, []).append((100 * (p.value or 0) / tops[key], p.verified))
        means = [(m, fmean(v for v, _ in vs), all(ok for _, ok in vs)) for m, vs in by_method.items()]
        panels.append((f"mean over {len(rungs):,} instances", means, "best schedule known on each instance"))
    heights = [0.95 + 0.3 * len(rows) for _, rows, _ in panels]
    figure = new_figure(sum(heights) + 0.2)
    for axes, (name, rows, top) in zip(figure.subplots(len(panels), 1, squeeze=False,
                                                       height_ratios=heights)[:, 0], panels, strict=True):  # fmt: skip
        _ladder(axes, name, sorted(rows, key=lambda r: r[1]), top)
    return inline_svg(figure, "ladder", "Lower bounds as a share of the best schedule known")


def _ladder(axes: Axes, name: str, rows: list[tuple[str, float, bool]], top: str) -> None:
    for i, (_, share, verified) in enumerate(rows):
        fill, hatch = (_BAR, None) if verified else ("white", "///")
        axes.barh(i, share, height=0.62, color=fill, edgecolor=_BAR, hatch=hatch)
        words = f"{share:.1f} %" + ("" if verified else "  (claim)")
        axes.annotate(words, (share, i), (-5, 0), ha="right", va="center",
                      textcoords="offset points", fontsize=9, color=_INK)  # fmt: skip
    axes.axvline(100, color=_RULE, linewidth=1.4)
    axes.set_yticks(range(len(rows)), [m for m, *_ in rows], fontsize=9)
    axes.set_xlim(0, 104)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel(f"% of the {top}", fontsize=9)
    axes.set_title(name, loc="left", fontsize=10)
    _tidy(axes)


def _least_tel(results: Results) -> dict[str, int]:
    tops: dict[str, int] = {}
    for line in results.lines:
        if line.tel is not None:
            tops[line.instance] = min(line.tel, tops.get(line.instance, line.tel))
    return tops


def front_charts(results: Results) -> list[tuple[str, str]]:
    """Fronts of `kvbound pareto`, as (title, picture)."""
    from kvbound.plot_routing import draw_front

    charts = []
    for i, data in enumerate(results.fronts):
        figure = new_figure(4.2)
        draw_front(figure.subplots(), _front(data))
        charts.append((data.title, inline_svg(figure, f"front{i}", f"Pareto front on {data.title}")))
    return charts


def _front(data: FrontData) -> Front:
    points = tuple(
        Point(p["share"], tuple(p["weights"]), {f: p[f] for f in FIGURES}, bool(p["on_front"])) for p in data.points
    )
    return Front(data.ends, data.axes, points, {row["name"]: row for row in data.baselines})


#: Pairs of figures that routers trade, better when smaller.
_TRADES = (("p99_eel", "mean EEL (steps)", "P99 of EEL (steps)"),
           ("slo_violations", "mean EEL (steps)", "share of requests that miss their SLO"))  # fmt: skip


def trade_charts(results: Results) -> list[tuple[str, str]]:
    """Routers by two figures, those that no other beats joined by a line; the instance with most routers."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in results.lines:
        if line.kind == "router" and line.status == "done" and "p99_eel" in line.figures:
            groups.setdefault((line.instance, line.options), []).append(line)
    if not groups:
        return []
    (instance, options), lines = max(groups.items(), key=lambda item: len(item[1]))
    charts = []
    for number, (y, across, up) in enumerate(_TRADES):
        points = [(line.label, line.mean_eel, line.figures.get(y)) for line in lines]
        known = [(name, a, b) for name, a, b in points if a is not None and b is not None]
        if len(known) < 2:
            continue
        figure = new_figure(3.7)
        _trade(figure.subplots(), known, across, up)
        name = results.instances[instance].name
        title = f"{name}" + (f", {options}" if options else "")
        charts.append((title, inline_svg(figure, f"trade{number}", f"{up} against {across} of routers on {name}")))
    return charts


def _trade(axes: Axes, points: Sequence[tuple[str, float, float]], across: str, up: str) -> None:
    beaten = [any(c <= a and d <= b and (c, d) != (a, b) for _, c, d in points) for _, a, b in points]
    front = sorted((a, b) for (_, a, b), lost in zip(points, beaten, strict=True) if not lost)
    axes.step([a for a, _ in front], [b for _, b in front], where="post", color=_MARK, linewidth=1.2)
    for (_, a, b), lost in zip(points, beaten, strict=True):
        axes.plot(a, b, "o", color=_BAR if lost else _MARK, markersize=6, zorder=3)
    for names, a, b in _clusters(points):
        words = (
            names[0] if len(names) == 1 else ", ".join(names[:2]) + (f" + {len(names) - 2}" if len(names) > 2 else "")
        )
        axes.annotate(words, (a, b), (6, 4), textcoords="offset points", fontsize=8, color=_INK)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.margins(0.12)
    _tidy(axes)


def _clusters(points: Sequence[tuple[str, float, float]]) -> list[tuple[list[str], float, float]]:
    """Points so close that names would cover each other, as (names, x, y) with the place of the upper right one."""
    xs, ys = [a for _, a, _ in points], [b for _, _, b in points]
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    found: list[tuple[list[str], float, float]] = []
    for name, a, b in sorted(points, key=lambda p: (-p[1], -p[2])):
        near = next((c for c in found if abs(c[1] - a) < 0.12 * wide and abs(c[2] - b) < 0.05 * high), None)
        if near is None:
            found.append(([name], a, b))
        else:
            near[0].append(name)
    return found


def schedule_chart(problem: Problem, schedule: Schedule, name: str, label: str) -> str:
    """Gantt of staircases above, memory line below."""
    from kvbound.plot_gantt import draw_gantt
    from kvbound.plot_memory import draw_memory

    figure = new_figure(5.8)
    gantt, memory = figure.subplots(2, 1, sharex=True, height_ratios=(1.35, 1.0))
    draw_gantt(gantt, problem, schedule, label)
    draw_memory(memory, problem, schedule)
    return inline_svg(figure, name, f"Schedule of {label} on {problem.name}: starts, lengths and memory over time")


def price_charts(results: Results) -> list[tuple[str, str]]:
    """Heat maps of prices, as (title, picture)."""
    from kvbound.plot_routing import draw_prices

    charts = []
    for i, data in enumerate(results.prices):
        kinds = len(data.price)
        figure = new_figure(1.2 + 3.4 * kinds + 1.2)
        price = np.array(data.price).transpose(2, 0, 1, 3)  # to [snapshot, kind, resource, ahead]
        draw_prices(figure, np.array(data.step), np.array(data.ahead), price, np.array(data.waiting))
        described = f"Prices of memory and batch slots over time on {data.title}"
        charts.append((_price_title(data), inline_svg(figure, f"price{i}", described)))
    return charts


def _price_title(data: PriceData) -> str:
    shares = [
        f"memory binds in {100 * b['memory']:.0f} % of the decisions looked at, batch in {100 * b['batch']:.0f} %"
        for b in data.binds
    ]
    return f"{data.router} on {data.title}: " + "; ".join(shares)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both", color="#e6e9ed", linewidth=0.6)
    axes.set_axisbelow(True)
