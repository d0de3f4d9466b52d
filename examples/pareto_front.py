"""What does a better tail cost in the mean? The front of the bid-price router between two weightings.

    python examples/pareto_front.py [FOLDER]

Prints every point, and writes front.svg into FOLDER (default: the current one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import kvbound
from kvbound.plot_routing import plot_front
from kvbound.routing import seeded

WORKERS, BATCH, RATE = 2, 6, 0.1  # requests per step


def main(folder: Path) -> None:
    """Sweep the weights from `average` (mean latency) to `tail` (service levels), beside two plain routers."""
    requests = kvbound.load("mix:n=150,seed=0", workers=WORKERS, batch=BATCH).problem
    problem = seeded(requests, seed=0, rate=RATE, noise=None)  # Poisson arrivals
    front = kvbound.pareto([problem], ends=("average", "tail"), axes=("mean_eel", "slo_violations"), points=6,
                   baselines=("round-robin", "lor:central"))  # fmt: skip
    print(f"{problem.n} requests on {WORKERS} workers, {RATE} a step")
    print(f"{'weights':28} {'mean EEL':>9} {'SLO missed':>11}")
    for point in front.points:
        name = f"{1 - point.share:.1f} average + {point.share:.1f} tail"
        mark = "  on the front" if point.on_front else ""
        print(f"{name:28} {point.figures['mean_eel']:9.1f} {100 * point.figures['slo_violations']:9.1f} %{mark}")
    for name, figures in front.baselines.items():
        print(f"{name:28} {figures['mean_eel']:9.1f} {100 * figures['slo_violations']:9.1f} %")

    bound = kvbound.mean_eel_bound(problem, deadline=kvbound.Deadline(5))
    print(f"certified: no router that serves all has a mean EEL below {float(bound.mean):.1f}")
    plot_front(front, folder / "front.svg")
    print(f"picture written to {folder / 'front.svg'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
