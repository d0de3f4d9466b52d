"""Better schedules: seeded, anytime search by beams, annealing and exact windows (docs/search.md)."""

from kvbound.solvers.search.incumbent import Step
from kvbound.solvers.search.portfolio import Improvement, improve, prepare

__all__ = ["Improvement", "Step", "improve", "prepare"]
