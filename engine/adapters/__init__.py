"""Interfaces in the conventions of others: SciPy, CVXPY, scikit-learn, ArviZ, and functions of bits with a budget.

Each module here uses the public API of the engine only. ``PUBLIC`` lists what ``engine.<name>`` offers of them; a
module is imported when one of its names is first used, because its package may be optional.
"""

from __future__ import annotations

from ..solver import LazyImport

__all__ = ["PUBLIC"]

_STATISTICS = "Quintet's extra statistics has it"

PUBLIC: dict[str, LazyImport] = {
    "linprog": LazyImport("engine.adapters.scipy_linprog", "linprog"),
    "scipy_result": LazyImport("engine.adapters.scipy_linprog", "scipy_result"),
    "QUINTET": LazyImport("engine.adapters.cvxpy_solver", "QUINTET", "cvxpy", "pip install cvxpy"),
    "solve_many": LazyImport("engine.adapters.linprog_batches", "solve_many"),
    "HorseshoeClassifier": LazyImport("engine.adapters.sklearn_probit", "HorseshoeClassifier", "sklearn", _STATISTICS),
    "HorseshoeProbitClassifier": LazyImport(
        "engine.adapters.sklearn_probit", "HorseshoeProbitClassifier", "sklearn", _STATISTICS
    ),
    "HorseshoeRegressor": LazyImport("engine.adapters.sklearn_regressor", "HorseshoeRegressor", "sklearn", _STATISTICS),
    "minimize_bits": LazyImport("engine.adapters.minimize_bits", "minimize_bits"),
    "maximize_bits": LazyImport("engine.adapters.minimize_bits", "maximize_bits"),
    "IOHAlgorithm": LazyImport("engine.adapters.ioh_suite", "IOHAlgorithm"),
    "to_arviz": LazyImport("engine.adapters.arviz_export", "to_arviz"),
}
