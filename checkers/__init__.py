"""Whether an answer is true: schedule rules, bound certificates, gaps. Imports no solver and fails closed."""

from kvbound.checkers.certificate import Certificate, PriceTerm, verify
from kvbound.checkers.gap import Gap, gap
from kvbound.checkers.report import Report, Violation
from kvbound.checkers.schedule import check, require_valid

__all__ = [
    "Certificate",
    "Gap",
    "PriceTerm",
    "Report",
    "Violation",
    "check",
    "gap",
    "require_valid",
    "verify",
]
