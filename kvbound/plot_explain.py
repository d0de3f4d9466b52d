"""Two schedules of one instance side by side: Gantts on the same lanes and axes, memory below, the reason in words."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from kvbound.explain import Explanation
from kvbound.plot import figure_of_size, require_format, save_figure
from kvbound.plot_gantt import LABELLED, draw_gantt
from kvbound.plot_memory import draw_memory

_WRAP = 190


def plot_explanation(found: Explanation, path: str | Path) -> None:
    """Draw policy (left) and better schedule (right); lanes in the policy's order of start."""
    kind = require_format(path)
    problem = found.problem
    requests = problem.requests
    text = "\n".join(line for told in found.lines() for line in textwrap.wrap(told, _WRAP))
    figure = figure_of_size(15.0, 7.6 + 0.19 * (text.count("\n") + 1))
    parts = np.asarray(figure.subfigures(2, 1, height_ratios=(7.2, 0.3 + 0.19 * (text.count("\n") + 1))))
    pictures, words = parts.tolist()
    axes = pictures.subplots(2, 2, sharex=True, sharey="row", height_ratios=(1.45, 1.0))
    order = np.lexsort((found.policy.completion(requests), found.policy.start))
    sides = ((found.policy, found.name, found.policy_tel), (found.better, found.better_name, found.better_tel))
    for column, (schedule, name, tel) in enumerate(sides):
        gantt, memory = axes[0, column], axes[1, column]
        draw_gantt(gantt, problem, schedule, name, order=order, legend=column == 1)
        gantt.set_title(f"{name}: TEL {tel:,}", loc="left", fontsize=12, fontweight="bold")
        if len(problem.fleet) > 1 and problem.n <= LABELLED:
            for row, j in enumerate(reversed(order.tolist())):
                end = int(schedule.start[j] + requests.output[j])
                gantt.text(end, row + 0.3, f" worker {schedule.worker[j]}", fontsize=7, color="#555")
        draw_memory(memory, problem, schedule)
        if found.diverge is not None and found.diverge > 0:
            for axis in (gantt, memory):
                axis.axvline(found.diverge, color="#c1121f", linewidth=0.9, linestyle=":", zorder=6)
    axes[0, 0].set_ylabel(axes[0, 0].get_ylabel().replace("in order of start", f"in {found.name}'s order of start"))
    axes[0, 1].set_ylabel("")
    axes[1, 1].set_ylabel("")
    ends = (s.completion(requests).max() for s in (found.policy, found.better))
    axes[0, 0].set_xlim(0, float(max(ends)) * 1.01)
    words.text(0.012, 0.98, text, va="top", ha="left", fontsize=10, linespacing=1.35)
    save_figure(figure, path, kind)
