"""Exact optima: one entry for every method, one configuration, one result (docs/exact.md)."""

from kvbound.solvers.exact.config import SolveConfig
from kvbound.solvers.exact.front import METHODS, export_model, solve
from kvbound.solvers.exact.outcome import Result, SolutionStatus, Termination
from kvbound.solvers.exact.prepare import prepare

__all__ = ["METHODS", "Result", "SolutionStatus", "SolveConfig", "Termination", "export_model", "prepare", "solve"]
