"""`kvbound report`: results of sweeps and commands as one self-contained page."""

from kvbound.report.page import write_report
from kvbound.report.read import read_results

__all__ = ["read_results", "write_report"]
