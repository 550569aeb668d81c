"""Quintet: five GPU algorithms behind one engine.

>>> import engine
>>> engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50)).objective
220

Nothing is imported before it is used: ``import engine`` costs milliseconds, and a backend's package (PyCUDA, PyOpenCL)
is imported when one of its devices is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Names of the engine itself, by the module that defines them. The problem classes and the other names a solver or an
# adapter offers are found at run time (see engine.solvers); the imports below tell type checkers and editors about
# them, and a test compares both.
_MODULES = {
    "engine.engine": ("Engine",),
    "engine.api": ("available_devices", "available_solvers", "estimate", "load", "map", "resume", "solve"),
    "engine.batch": ("Batch", "Failure"),
    "engine.observers": ("ProgressBar",),
    "engine.results": ("Result", "Status"),
    "engine.run": ("Run",),
    "engine.errors": (
        "AuditError",
        "BackendUnavailable",
        "ClusterError",
        "ClusterWarning",
        "ConvergenceWarning",
        "DataWarning",
        "DeviceError",
        "DeviceLost",
        "DeviceNotFound",
        "InfeasibleWarning",
        "InputError",
        "KernelArgumentError",
        "KernelError",
        "ObserverWarning",
        "OptionError",
        "OutOfDeviceMemory",
        "ProblemError",
        "ProofError",
        "QuintetError",
        "QuintetWarning",
        "RecordingError",
        "RelaxationWarning",
        "RunFolderError",
        "StorageWarning",
        "UntrustedCode",
    ),
    "engine.problem": ("Problem",),
}
_PACKAGES = ("devices", "errors", "events", "formats", "numerics", "solvers")
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

if TYPE_CHECKING:
    from engine import devices as devices
    from engine import errors as errors
    from engine import events as events
    from engine import formats as formats
    from engine import numerics as numerics
    from engine import solvers as solvers
    from engine.adapters.arviz_export import to_arviz as to_arviz
    from engine.adapters.cvxpy_solver import QUINTET as QUINTET
    from engine.adapters.ioh_suite import IOHAlgorithm as IOHAlgorithm
    from engine.adapters.linprog_batches import solve_many as solve_many
    from engine.adapters.minimize_bits import maximize_bits as maximize_bits
    from engine.adapters.minimize_bits import minimize_bits as minimize_bits
    from engine.adapters.scipy_linprog import linprog as linprog
    from engine.adapters.scipy_linprog import scipy_result as scipy_result
    from engine.adapters.sklearn_probit import HorseshoeClassifier as HorseshoeClassifier
    from engine.adapters.sklearn_probit import HorseshoeProbitClassifier as HorseshoeProbitClassifier
    from engine.adapters.sklearn_regressor import HorseshoeRegressor as HorseshoeRegressor
    from engine.api import available_devices as available_devices
    from engine.api import available_solvers as available_solvers
    from engine.api import estimate as estimate
    from engine.api import load as load
    from engine.api import map as map
    from engine.api import resume as resume
    from engine.api import solve as solve
    from engine.batch import Batch as Batch
    from engine.batch import Failure as Failure
    from engine.engine import Engine as Engine
    from engine.errors import AuditError as AuditError
    from engine.errors import BackendUnavailable as BackendUnavailable
    from engine.errors import ClusterError as ClusterError
    from engine.errors import ClusterWarning as ClusterWarning
    from engine.errors import ConvergenceWarning as ConvergenceWarning
    from engine.errors import DataWarning as DataWarning
    from engine.errors import DeviceError as DeviceError
    from engine.errors import DeviceLost as DeviceLost
    from engine.errors import DeviceNotFound as DeviceNotFound
    from engine.errors import InfeasibleWarning as InfeasibleWarning
    from engine.errors import InputError as InputError
    from engine.errors import KernelArgumentError as KernelArgumentError
    from engine.errors import KernelError as KernelError
    from engine.errors import ObserverWarning as ObserverWarning
    from engine.errors import OptionError as OptionError
    from engine.errors import OutOfDeviceMemory as OutOfDeviceMemory
    from engine.errors import ProblemError as ProblemError
    from engine.errors import ProofError as ProofError
    from engine.errors import QuintetError as QuintetError
    from engine.errors import QuintetWarning as QuintetWarning
    from engine.errors import RecordingError as RecordingError
    from engine.errors import RelaxationWarning as RelaxationWarning
    from engine.errors import RunFolderError as RunFolderError
    from engine.errors import StorageWarning as StorageWarning
    from engine.errors import UntrustedCode as UntrustedCode
    from engine.observers import ProgressBar as ProgressBar
    from engine.problem import Problem as Problem
    from engine.results import Result as Result
    from engine.results import Status as Status
    from engine.run import Run as Run
    from engine.solvers.boa.network import network_dot as network_dot
    from engine.solvers.boa.network import network_graph as network_graph
    from engine.solvers.boa.network import population_image as population_image
    from engine.solvers.boa.problem import BOA as BOA
    from engine.solvers.branch_and_bound.problems.atsp import ATSP as ATSP
    from engine.solvers.branch_and_bound.problems.flowshop import Flowshop as Flowshop
    from engine.solvers.branch_and_bound.problems.linear_ordering import LinearOrdering as LinearOrdering
    from engine.solvers.branch_and_bound.problems.quadratic_assignment import (
        QuadraticAssignment as QuadraticAssignment,
    )
    from engine.solvers.branch_and_bound.problems.queens import Queens as Queens
    from engine.solvers.branch_and_bound.problems.schedules import BlockingFlowshop as BlockingFlowshop
    from engine.solvers.branch_and_bound.problems.schedules import FlowTime as FlowTime
    from engine.solvers.branch_and_bound.problems.schedules import NoWaitFlowshop as NoWaitFlowshop
    from engine.solvers.branch_and_bound.problems.tardiness import Tardiness as Tardiness
    from engine.solvers.branch_and_bound.tree import PermutationProblem as PermutationProblem
    from engine.solvers.gibbs.draws.diagnostics import diagnose as _diagnose
    from engine.solvers.gibbs.posterior import summary as _summary
    from engine.solvers.gibbs.predictive import log_likelihood as log_likelihood
    from engine.solvers.gibbs.predictive import posterior_predictive as posterior_predictive
    from engine.solvers.gibbs.problem import HorseshoeLogit as HorseshoeLogit
    from engine.solvers.gibbs.problem import HorseshoeProbit as HorseshoeProbit
    from engine.solvers.gibbs.problem import HorseshoeRegression as HorseshoeRegression
    from engine.solvers.knapsack.choice.problems import MultipleChoiceKnapsack as MultipleChoiceKnapsack
    from engine.solvers.knapsack.choice.problems import TwoConstraintKnapsack as TwoConstraintKnapsack
    from engine.solvers.knapsack.problem import Knapsack as Knapsack
    from engine.solvers.linprog.problem import LinearProgram as LinearProgram

    chain_diagnostics = _diagnose
    posterior_summary = _summary
    __version__: str
else:

    def __getattr__(name):
        """What is named, imported now; see the module's docstring."""
        import importlib
        import importlib.util

        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        if name in _PACKAGES:
            return importlib.import_module(f"engine.{name}")
        if name == "__all__":
            return _public()
        if name == "__version__":
            from engine.version import version

            return version()
        if not name.startswith("_") and importlib.util.find_spec(f"engine.{name}") is None:
            from engine.adapters import PUBLIC
            from engine.solver import LazyImport
            from engine.solvers import public_names

            offered = {**public_names(), **PUBLIC}
            if name in offered:
                found = offered[name]
                return found.load() if isinstance(found, LazyImport) else found
        raise AttributeError(f"module 'engine' has no attribute {name!r}")

    def __dir__():
        """The public names alone."""
        return sorted({*_public(), "__doc__", "__file__", "__name__", "__path__"})

    def _public():
        """What is public here, but names whose optional package is not installed."""
        from engine.adapters import PUBLIC
        from engine.solvers import public_names

        adapters = (name for name, found in PUBLIC.items() if found.is_usable())
        return [*_HOMES, *_PACKAGES, "__version__", *public_names(), *adapters]
