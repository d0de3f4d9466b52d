"""The execution engine: event-driven, any number of workers, true lengths hidden until a request completes."""

from kvbound.solvers.engine.execute import Planner, execute
from kvbound.solvers.engine.rule import POINT, Rule, assumed_length

__all__ = ["POINT", "Planner", "Rule", "assumed_length", "execute"]
