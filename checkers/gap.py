"""A gap statement: a checked schedule against a bound, and who proved the bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvbound.models.errors import SolverError


@dataclass(frozen=True, slots=True)
class Gap:
    """How far a schedule is from the best possible, at most.

    Parameters
    ----------
    tel
        Objective of a checked schedule, in steps.
    bound
        Lower bound on the optimum, in steps, or None when there is none.
    verified
        True: exact integer arithmetic verified a certificate. False: the bound is its prover's claim.
    proved_by
        Who proved the bound.
    """

    tel: int
    bound: int | None
    verified: bool
    proved_by: str

    @property
    def exact_ratio(self) -> Fraction | None:
        """tel / bound as a fraction; None without a positive bound."""
        return Fraction(self.tel, self.bound) if self.bound else None

    @property
    def ratio(self) -> float | None:
        """tel / bound: the schedule costs at most this many times the optimum."""
        exact = self.exact_ratio
        return None if exact is None else float(exact)

    @property
    def relative(self) -> float | None:
        """(tel − bound) / bound, or None."""
        exact = self.exact_ratio
        return None if exact is None else float(exact - 1)


def gap(tel: int, bound: int | None, *, verified: bool, proved_by: str) -> Gap:
    """State the gap; a bound above a checked schedule is a contradiction and raises `SolverError`."""
    if bound is not None and bound > tel:
        raise SolverError(
            f"the bound {bound} ({proved_by}) lies above a checked schedule of {tel}: one of them is wrong"
        )
    return Gap(tel, bound, verified, proved_by)
