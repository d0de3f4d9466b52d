"""The dedicated search for TEL on one worker: relaxation with a short memory, then labels (docs/exact.md)."""

from kvbound.solvers.exact.search.solve import SearchOutcome, solve_tel

__all__ = ["SearchOutcome", "solve_tel"]
