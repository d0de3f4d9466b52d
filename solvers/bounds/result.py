"""What a bound method hands back."""

from __future__ import annotations

from dataclasses import dataclass

from kvbound.checkers.certificate import Certificate


@dataclass(frozen=True, slots=True, eq=False)
class BoundResult:
    """A lower bound on TEL with its proof.

    Parameters
    ----------
    method
        The method that was asked for; `certificate.method` names the one that won under ``best``.
    value
        ⌈L⌉ in steps, recomputed in exact integers from the certificate; None when nothing was proved.
    raw
        What the method's floating-point arithmetic believed before rounding; None when it has no such number.
    certificate
        The proof, claiming exactly `value`; None when there is none.
    verified
        Whether exact arithmetic confirmed `value`; False marks a solver's claim.
    seconds
        Wall-clock time of the whole call.
    iterations
        Evaluations of the Lagrangian, or simplex iterations of the LP.
    """

    method: str
    value: int | None
    raw: float | None
    certificate: Certificate | None
    verified: bool
    seconds: float
    iterations: int
