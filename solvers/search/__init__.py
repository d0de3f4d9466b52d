"""Better schedules: seeded, anytime search over orders."""

from kvbound.solvers.search.anneal import Improvement, improve, prepare

__all__ = ["Improvement", "improve", "prepare"]
