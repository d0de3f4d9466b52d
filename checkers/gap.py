"""A gap statement: a checked schedule against a bound, and who proved the bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvbound.models.errors import SolverError


@dataclass(frozen=True, slots=True)
class Gap:
    """How far a schedule is from the best possible, at most.

    For REWARD both numbers count minus the reward, so that the bound is still from below.

    Parameters
    ----------
    tel
        Objective of a checked schedule, in steps (REWARD: minus the reward in units of 1 / denominator).
    bound
        Lower bound on the optimum, in the same units, or None when there is none.
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
        """tel / bound as a fraction; None without a bound or when it is 0."""
        return Fraction(self.tel, self.bound) if self.bound else None

    @property
    def ratio(self) -> float | None:
        """tel / bound: at most this many times the optimum (REWARD: at least this share of it)."""
        exact = self.exact_ratio
        return None if exact is None else float(exact)

    @property
    def relative(self) -> float | None:
        """(tel − bound) / |bound|, or None."""
        exact = self.exact_ratio
        return None if exact is None else float(abs(exact - 1))  # the bound is never above


def gap(tel: int, bound: int | None, *, verified: bool, proved_by: str) -> Gap:
    """State the gap; a bound above a checked schedule is a contradiction and raises `SolverError`."""
    if bound is not None and bound > tel:
        raise SolverError(
            f"the bound {bound} ({proved_by}) lies above a checked schedule of {tel}: one of them is wrong"
        )
    return Gap(tel, bound, verified, proved_by)
