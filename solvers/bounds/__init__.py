"""Lower bounds on TEL that carry their proof (docs/math.md §5): volume, LP, Lagrangian, stagger prices."""

from kvbound.solvers.bounds.ladder import METHODS, bound
from kvbound.solvers.bounds.reduced import ReducedCosts, reduced_costs
from kvbound.solvers.bounds.result import BoundResult

__all__ = ["METHODS", "BoundResult", "ReducedCosts", "bound", "reduced_costs"]
