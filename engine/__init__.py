"""Quintet: five GPU algorithms behind one engine.

>>> import engine
>>> engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50)).objective
220

Nothing is imported before it is used: ``import engine`` costs milliseconds, and a backend's package (PyCUDA, PyOpenCL)
is imported when one of its devices is used.
"""

from typing import TYPE_CHECKING

# Names of the engine itself, by the module that defines them. The problem classes and the other names a solver or an
# adapter offers are found at run time (see engine.solvers); the imports below tell type checkers and editors about
# them, and a test compares both.
_MODULES = {
    "api.engine": ("Engine",),
    "api.functions": ("available_devices", "available_solvers", "estimate", "load", "map", "resume", "solve"),
    "base.batch": ("Batch", "Failure"),
    "runs.observers": ("ProgressBar",),
    "base.result": ("Result", "Status"),
    "runs.folder.run_folder": ("RunFolder",),
    "runs.run": ("Run",),
    "base.problem": ("Problem",),
    "verification": ("Verification", "verify"),
}
_PACKAGES = ("devices", "errors", "events", "formats", "numerics", "solvers")
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

if TYPE_CHECKING:
    from . import devices as devices
    from . import errors as errors
    from . import events as events
    from . import formats as formats
    from . import numerics as numerics
    from . import solvers as solvers
    from .adapters.arviz_export import to_arviz as to_arviz
    from .adapters.cvxpy_solver import QUINTET as QUINTET
    from .adapters.ioh_suite import IOHAlgorithm as IOHAlgorithm
    from .adapters.linopy_model import solve_linopy as solve_linopy
    from .adapters.linprog_batches import solve_many as solve_many
    from .adapters.minimize_bits import maximize_bits as maximize_bits
    from .adapters.minimize_bits import minimize_bits as minimize_bits
    from .adapters.nevergrad_optimizer import NevergradOptimizer as NevergradOptimizer
    from .adapters.pulp_solver import PulpSolver as PulpSolver
    from .adapters.pymoo_algorithm import PymooAlgorithm as PymooAlgorithm
    from .adapters.pyomo_solver import PyomoSolver as PyomoSolver
    from .adapters.scipy_linprog import linprog as linprog
    from .adapters.scipy_linprog import scipy_result as scipy_result
    from .adapters.sklearn_probit import HorseshoeClassifier as HorseshoeClassifier
    from .adapters.sklearn_probit import HorseshoeProbitClassifier as HorseshoeProbitClassifier
    from .adapters.sklearn_regressor import HorseshoeRegressor as HorseshoeRegressor
    from .api.engine import Engine as Engine
    from .api.functions import available_devices as available_devices
    from .api.functions import available_solvers as available_solvers
    from .api.functions import estimate as estimate
    from .api.functions import load as load
    from .api.functions import map as map
    from .api.functions import resume as resume
    from .api.functions import solve as solve
    from .base.batch import Batch as Batch
    from .base.batch import Failure as Failure
    from .base.problem import Problem as Problem
    from .base.result import Result as Result
    from .base.result import Status as Status
    from .errors import *  # noqa: F403 - those of its __all__
    from .runs.folder.run_folder import RunFolder as RunFolder
    from .runs.observers import ProgressBar as ProgressBar
    from .runs.run import Run as Run
    from .solvers.boa.network import network_dot as network_dot
    from .solvers.boa.network import network_graph as network_graph
    from .solvers.boa.network import population_image as population_image
    from .solvers.boa.problem import BOA as BOA
    from .solvers.boa.problems import LABS as LABS
    from .solvers.boa.problems import QUBO as QUBO
    from .solvers.boa.problems import BitFunction as BitFunction
    from .solvers.boa.problems import MaxCut as MaxCut
    from .solvers.boa.problems import MaxSAT as MaxSAT
    from .solvers.boa.problems import SpinGlass as SpinGlass
    from .solvers.boa.pyramid import BitSearch as BitSearch
    from .solvers.branch_and_bound.problems.atsp import ATSP as ATSP
    from .solvers.branch_and_bound.problems.flowshop import Flowshop as Flowshop
    from .solvers.branch_and_bound.problems.linear_ordering import LinearOrdering as LinearOrdering
    from .solvers.branch_and_bound.problems.quadratic_assignment import (
        QuadraticAssignment as QuadraticAssignment,
    )
    from .solvers.branch_and_bound.problems.queens import Queens as Queens
    from .solvers.branch_and_bound.problems.schedules import BlockingFlowshop as BlockingFlowshop
    from .solvers.branch_and_bound.problems.schedules import FlowTime as FlowTime
    from .solvers.branch_and_bound.problems.schedules import NoWaitFlowshop as NoWaitFlowshop
    from .solvers.branch_and_bound.problems.tardiness import Tardiness as Tardiness
    from .solvers.branch_and_bound.tree import PermutationProblem as PermutationProblem
    from .solvers.gibbs.draws.diagnostics import diagnose as _diagnose
    from .solvers.gibbs.posterior import summary as _summary
    from .solvers.gibbs.predictive import log_likelihood as log_likelihood
    from .solvers.gibbs.predictive import posterior_predictive as posterior_predictive
    from .solvers.gibbs.problem import HorseshoeLogit as HorseshoeLogit
    from .solvers.gibbs.problem import HorseshoeProbit as HorseshoeProbit
    from .solvers.gibbs.problem import HorseshoeRegression as HorseshoeRegression
    from .solvers.knapsack.choice.problems import MultipleChoiceKnapsack as MultipleChoiceKnapsack
    from .solvers.knapsack.constraints.problem import MultidimensionalKnapsack as MultidimensionalKnapsack
    from .solvers.knapsack.problem import Knapsack as Knapsack
    from .solvers.linprog.problem import LinearProgram as LinearProgram
    from .verification import Verification as Verification
    from .verification import verify as verify

    chain_diagnostics = _diagnose
    posterior_summary = _summary
    __version__: str
else:

    def __getattr__(name):
        """What is named, imported now and kept; see the module's docstring."""
        if name == "__all__":
            return _public()
        found = globals()[name] = _imported(name)
        return found

    def _imported(name):
        import importlib
        import importlib.util

        if name in _HOMES:
            return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        if name in _errors().__all__:
            return getattr(_errors(), name)
        if name == "__version__":
            from .util.version import version

            return version()
        if not name.startswith("_"):
            if importlib.util.find_spec(f"{__name__}.{name}") is not None:
                return importlib.import_module(f"{__name__}.{name}")
            from .adapters import PUBLIC
            from .base.solver import LazyImport
            from .solvers import public_names

            offered = {**public_names(), **PUBLIC}
            if name in offered:
                found = offered[name]
                return found.load() if isinstance(found, LazyImport) else found
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")

    def _errors():
        import importlib

        return importlib.import_module(f"{__name__}.errors")

    def __dir__():
        """The public names alone."""
        return sorted({*_public(), "__doc__", "__file__", "__name__", "__path__"})

    def _public():
        """What is public here, but names whose optional package is not installed."""
        from .adapters import PUBLIC
        from .solvers import public_names

        adapters = (name for name, found in PUBLIC.items() if found.is_usable())
        return [*_HOMES, *_errors().__all__, *_PACKAGES, "__version__", *public_names(), *adapters]
