"""The child process of :mod:`engine.solvers.knapsack.mip.process`: one integer program, solved by HiGHS.

The module imports nothing of this package, so that ``python -P child.py`` starts quickly. It reads one pickled question
from standard input and writes pickled messages to standard output: ``("solution", x)`` for every better solution, then
``("end", {"x": ..., "bound": ..., "status": ...})``.
"""

import os
import pickle
import runpy
import sys
from pathlib import Path
from typing import Any

import highspy
import numpy as np

_BANNER = Path(__file__).parents[3] / "util" / "quirks" / "highspy_banner.py"
quiet_highs: Any = runpy.run_path(str(_BANNER))["quiet_highs"]


def solve(question: dict[str, Any], send: Any) -> dict[str, Any]:
    """Maximize ``profits x`` subject to ``weights x <= capacities`` and integers ``0 <= x <= upper``."""
    highs: Any = quiet_highs(mip_rel_gap=0.0, mip_abs_gap=0.99, threads=1, **question["options"])
    weights = np.asarray(question["weights"], np.float64)
    m, n = weights.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.sense_ = n, m, highspy.ObjSense.kMaximize
    lp.col_cost_, lp.col_lower_ = np.asarray(question["profits"], np.float64), np.zeros(n)
    lp.col_upper_ = np.asarray(question["upper"], np.float64)
    lp.row_lower_, lp.row_upper_ = np.full(m, -np.inf), np.asarray(question["capacities"], np.float64)
    columns, rows = np.nonzero(weights.T)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.searchsorted(columns, np.arange(n + 1))
    lp.a_matrix_.index_, lp.a_matrix_.value_ = rows, weights[rows, columns]
    lp.integrality_ = [highspy.HighsVarType.kInteger] * n
    highs.passModel(lp)
    if question["start"] is not None:
        solution = highspy.HighsSolution()
        solution.col_value = question["start"].astype(float).tolist()
        highs.setSolution(solution)
    if hasattr(highs, "cbMipImprovingSolution"):  # not in early versions
        highs.cbMipImprovingSolution += lambda event: send("solution", np.array(event.data_out.mip_solution))
    highs.run()
    info, found = highs.getInfo(), highs.getSolution()
    return {
        "x": np.array(found.col_value) if found.value_valid else None,
        "bound": float(info.mip_dual_bound),
        "status": str(highs.modelStatusToString(highs.getModelStatus())),
    }


def main() -> None:
    """Answer the one question; what HiGHS prints goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def send(*message: Any) -> None:
        pickle.dump(message, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()

    send("end", solve(pickle.load(sys.stdin.buffer), send))


if __name__ == "__main__":
    main()
