"""Small problems that a broken solver release gets wrong (1.14.0 of HiGHS answers 15 for the first)."""

from __future__ import annotations

import highspy
import numpy as np
import pytest


def test_highs_solves_the_mixed_integer_problem_that_1_14_0_gets_wrong() -> None:
    """min 2x + 3z, x + z ≥ 4.5, x real, z integer, both in [0, 10]: optimum 9 at x = 4.5."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.addCol(2.0, 0.0, 10.0, 0, np.zeros(0, np.int32), np.zeros(0))
    solver.addCol(3.0, 0.0, 10.0, 0, np.zeros(0, np.int32), np.zeros(0))
    solver.changeColIntegrality(1, highspy.HighsVarType.kInteger)
    solver.addRow(4.5, highspy.kHighsInf, 2, np.array([0, 1], np.int32), np.ones(2))
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert solver.getInfo().objective_function_value == pytest.approx(9.0, abs=1e-5)
