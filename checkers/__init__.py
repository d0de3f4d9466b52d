"""Whether an answer is true: schedule rules, bound certificates, gaps. Imports no solver and fails closed."""

from kvbound.checkers.certificate import Certificate, PriceTerm, verify
from kvbound.checkers.execution import check_execution, require_valid_execution
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
    "check_execution",
    "gap",
    "require_valid",
    "require_valid_execution",
    "verify",
]
