"""Memory over time against M, and how many requests wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from kvbound.models.footprint import usage
from kvbound.models.problem import Problem
from kvbound.models.requests import IntArray
from kvbound.models.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this many requests the memory is shown request by request, stacked.
STACKED = 80
#: Up to this makespan single steps are drawn.
STAIRS = 4000
#: Up to this many workers each gets a line; beyond, the sum is shown.
LINES = 4


def memory_series(problem: Problem, schedule: Schedule, worker: int) -> tuple[IntArray, IntArray]:
    """Steps and tokens held on `worker`: at every start and completion, between which usage is linear.

    Both sides of each jump are there: the first step of a request, its last, and the one after it.
    """
    requests = problem.requests
    mine = np.flatnonzero(schedule.worker == worker)
    start, completion = schedule.start[mine], schedule.completion(requests)[mine]
    steps = np.unique(np.concatenate((start, start + 1, completion, completion + 1)))
    steps = steps[steps >= 1]
    held, _ = usage(requests.prompt[mine], start, completion, steps)
    return steps, held


def draw_memory(axes: Axes, problem: Problem, schedule: Schedule) -> None:
    """Draw tokens held in each step (stacked by request when there are few), the line M, and the waiting count."""
    fleet = problem.fleet
    if problem.n <= STACKED and len(fleet) == 1:
        _stack(axes, problem, schedule)
        capacity, share = fleet.memory[0], _use(problem, schedule)
    elif len(fleet) <= LINES:
        for g in range(len(fleet)):
            steps, held = memory_series(problem, schedule, g)
            axes.plot(steps, held, linewidth=0.8, label=f"worker {g}" if len(fleet) > 1 else None)
            if len(fleet) == 1:
                axes.fill_between(steps, held, alpha=0.25, linewidth=0)
        capacity, share = fleet.largest, _use(problem, schedule)
    else:
        _sum(axes, problem, schedule)
        capacity, share = fleet.pooled_memory, _use(problem, schedule)
    axes.axhline(capacity, color="#c1121f", linewidth=1.3, zorder=5)
    axes.annotate(
        f"M = {capacity:,}", (1.0, capacity), xycoords=("axes fraction", "data"), xytext=(-4, 3),
        textcoords="offset points", ha="right", color="#c1121f", fontsize=9,
    )  # fmt: skip
    axes.set_ylim(0, capacity * 1.14)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("KV tokens held")
    axes.set_xlabel(f"step    (memory-time used until the makespan: {100 * share:.1f} %)")
    axes.spines["top"].set_visible(False)
    if problem.n > STACKED:
        _waiting(axes, problem, schedule)
    else:
        axes.spines["right"].set_visible(False)
    if 1 < len(fleet) <= LINES:
        axes.legend(fontsize=8, frameon=False, ncols=len(fleet), loc="upper left")


def _use(problem: Problem, schedule: Schedule) -> float:
    makespan = int(schedule.completion(problem.requests).max())
    return sum(problem.requests.volume[schedule.served].tolist()) / (problem.fleet.pooled_memory * makespan)


def _stack(axes: Axes, problem: Problem, schedule: Schedule) -> None:
    """One band per request, in order of start, coloured as in the Gantt."""
    from matplotlib import colormaps

    requests = problem.requests
    start, completion = schedule.start, schedule.completion(requests)
    stairs = completion.max() <= STAIRS
    if stairs:
        step = np.arange(1, completion.max() + 2)
    else:  # between these steps every band has straight edges
        step = np.unique(np.concatenate((start + 1, completion, completion + 1)))
    # A step t is the time from t − 1 to t: "post" draws its value to the right of t − 1.
    at = step - 1 if stairs else step
    drawn: Literal["post"] | None = "post" if stairs else None
    colour = requests.output / np.quantile(requests.output, 0.98)
    base = np.zeros(len(step))
    for j in np.lexsort((completion, start)).tolist():
        active = (step > start[j]) & (step <= completion[j])
        top = base + np.where(active, requests.prompt[j] + step - start[j], 0)
        shown = active | np.roll(active, 1) if stairs else active
        look = {"facecolor": colormaps["viridis"](colour[j]), "edgecolor": "white", "linewidth": 0.3}
        axes.fill_between(at, base, top, where=shown, step=drawn, **look)
        base = top


def _sum(axes: Axes, problem: Problem, schedule: Schedule) -> None:
    series = [memory_series(problem, schedule, g) for g in range(len(problem.fleet))]
    steps = np.unique(np.concatenate([s for s, _ in series]))
    total = np.sum([np.interp(steps, s, held, left=0, right=0) for s, held in series if len(s)], axis=0)
    axes.fill_between(steps, total, alpha=0.3, linewidth=0)
    axes.plot(steps, total, linewidth=0.8)


def _waiting(axes: Axes, problem: Problem, schedule: Schedule) -> None:
    """Requests that have arrived and not started, on an axis of its own."""
    from matplotlib.ticker import MaxNLocator

    times = np.unique(np.concatenate((problem.requests.arrival, schedule.start)))
    arrived = np.searchsorted(np.sort(problem.requests.arrival), times, side="right")
    begun = np.searchsorted(np.sort(schedule.start), times, side="right")
    twin = axes.twinx()
    twin.step(times, arrived - begun, where="post", color="#555", linewidth=1.0, linestyle=(0, (4, 2)))
    twin.set_ylabel("requests waiting (dashed)", color="#555")
    twin.set_ylim(0, None)
    twin.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    twin.yaxis.set_major_formatter("{x:,.0f}")
    twin.spines["top"].set_visible(False)
