"""Better schedules: seeded, anytime search over orders."""

from kvbound.solvers.search.anneal import Improvement, improve

__all__ = ["Improvement", "improve"]
