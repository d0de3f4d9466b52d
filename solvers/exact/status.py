"""Native status maps: total, so that no solver can say something that we do not understand.

A test walks each native enum. The maps are functions, since the solvers are imported only when used.
"""

from __future__ import annotations

from typing import Any

from kvbound.models.errors import SolverError
from kvbound.solvers.exact.outcome import Termination

HIGHS: dict[str, Termination] = {
    "kNotset": Termination.ERROR,
    "kLoadError": Termination.ERROR,
    "kModelError": Termination.ERROR,
    "kPresolveError": Termination.ERROR,
    "kSolveError": Termination.ERROR,
    "kPostsolveError": Termination.ERROR,
    "kModelEmpty": Termination.ERROR,
    "kOptimal": Termination.OPTIMAL,
    "kInfeasible": Termination.INFEASIBLE,
    # Our models are bounded (binary variables), so of the two only "infeasible" can be meant.
    "kUnboundedOrInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.ERROR,
    "kObjectiveBound": Termination.OTHER_LIMIT,
    "kObjectiveTarget": Termination.OTHER_LIMIT,
    "kTimeLimit": Termination.TIME_LIMIT,
    "kIterationLimit": Termination.OTHER_LIMIT,
    "kUnknown": Termination.UNKNOWN,
    "kSolutionLimit": Termination.OTHER_LIMIT,
    "kInterrupt": Termination.INTERRUPTED,
    "kHighsInterrupt": Termination.INTERRUPTED,
    "kMemoryLimit": Termination.MEMORY_LIMIT,
}

#: FEASIBLE and UNKNOWN say only that CP-SAT stopped early; the adapter refines them by clock and signal.
CP_SAT: dict[str, Termination] = {
    "OPTIMAL": Termination.OPTIMAL,
    "FEASIBLE": Termination.UNKNOWN,
    "UNKNOWN": Termination.UNKNOWN,
    "INFEASIBLE": Termination.INFEASIBLE,
    "MODEL_INVALID": Termination.ERROR,
}

PYOMO: dict[str, Termination] = {
    "convergenceCriteriaSatisfied": Termination.OPTIMAL,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "iterationLimit": Termination.OTHER_LIMIT,
    "objectiveLimit": Termination.OTHER_LIMIT,
    "minStepLength": Termination.UNKNOWN,
    "unbounded": Termination.ERROR,
    "provenInfeasible": Termination.INFEASIBLE,
    "locallyInfeasible": Termination.UNKNOWN,
    "infeasibleOrUnbounded": Termination.INFEASIBLE,
    "error": Termination.ERROR,
    "interrupted": Termination.INTERRUPTED,
    "licensingProblems": Termination.ERROR,
    "emptyModel": Termination.ERROR,
    "unknown": Termination.UNKNOWN,
}


def translate(table: dict[str, Termination], native: Any) -> Termination:
    """Translate a native status; one that the table does not know raises `SolverError`."""
    name = str(getattr(native, "name", native))
    if name not in table:
        raise SolverError(f"the solver ended with the status {name}, which kvbound does not know")
    return table[name]
