"""Interfaces in the conventions of others: modelling languages, SciPy, scikit-learn, ArviZ, functions of bits.

Each module here uses the public API of the engine only. ``PUBLIC`` lists what ``engine.<name>`` offers of them; a
module is imported when one of its names is first used, because its package may be optional.
"""

from ..base.solver import LazyImport

_STATISTICS = "Quintet's extra statistics has it"
_OPTIMIZERS = "Quintet's extra optimizers has it"

PUBLIC: dict[str, LazyImport] = {
    "linprog": LazyImport(f"{__name__}.scipy_linprog", "linprog"),
    "scipy_result": LazyImport(f"{__name__}.scipy_linprog", "scipy_result"),
    "QUINTET": LazyImport(f"{__name__}.cvxpy_solver", "QUINTET", "cvxpy", "pip install cvxpy"),
    "PulpSolver": LazyImport(f"{__name__}.pulp_solver", "PulpSolver", "pulp", "pip install 'pulp<4'"),
    "PyomoSolver": LazyImport(f"{__name__}.pyomo_solver", "PyomoSolver", "pyomo", "pip install pyomo"),
    "solve_linopy": LazyImport(f"{__name__}.linopy_model", "solve_linopy", "linopy", "pip install linopy"),
    "solve_many": LazyImport(f"{__name__}.linprog_batches", "solve_many"),
    "HorseshoeClassifier": LazyImport(f"{__name__}.sklearn_probit", "HorseshoeClassifier", "sklearn", _STATISTICS),
    "HorseshoeProbitClassifier": LazyImport(
        f"{__name__}.sklearn_probit", "HorseshoeProbitClassifier", "sklearn", _STATISTICS
    ),
    "HorseshoeRegressor": LazyImport(f"{__name__}.sklearn_regressor", "HorseshoeRegressor", "sklearn", _STATISTICS),
    "minimize_bits": LazyImport(f"{__name__}.minimize_bits", "minimize_bits"),
    "maximize_bits": LazyImport(f"{__name__}.minimize_bits", "maximize_bits"),
    "IOHAlgorithm": LazyImport(f"{__name__}.ioh_suite", "IOHAlgorithm"),
    "NevergradOptimizer": LazyImport(f"{__name__}.nevergrad_optimizer", "NevergradOptimizer", "nevergrad", _OPTIMIZERS),
    "PymooAlgorithm": LazyImport(f"{__name__}.pymoo_algorithm", "PymooAlgorithm", "pymoo", _OPTIMIZERS),
    "to_arviz": LazyImport(f"{__name__}.arviz_export", "to_arviz"),
}
