"""Exact formulations of a problem.

`time_indexed` (arrays), `pyomo_model` (the same, readable), `cp_staircase` and `cp_end_event` (CP-SAT). The builders
that need Pyomo or OR-Tools are imported from their modules, so that reading a problem never waits for them.
"""

from kvbound.models.formulations.cuts import PLAIN, AllowedStarts, Cuts, canonical, usual_cuts
from kvbound.models.formulations.time_indexed import TimeIndexed, build_time_indexed

__all__ = ["PLAIN", "AllowedStarts", "Cuts", "TimeIndexed", "build_time_indexed", "canonical", "usual_cuts"]
