"""Answers checked again without the solver that found them: ``quintet verify RUN_FOLDER`` and :func:`verify`.

There is a checker for each kind of problem, in a module of its own. It works from the arrays of the instance and of the
result alone, with NumPy and SciPy, and imports no solver (the layers in ``pyproject.toml`` hold that), so that a fault
of a solver is not repeated. Whatever takes longer than some seconds is reported as not verified.
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from ..base.problem import Problem
from ..base.result import Result
from ..errors import InputError, RunFolderError
from ..util.paths import PACKAGE
from .findings import REFUTED, UNVERIFIED, Claim, Findings, Verification
from .reading import OWN_CLASS, claim_of, is_archive, run_folder

__all__ = ["REFUTED", "UNVERIFIED", "Verification", "is_archive", "verify"]

_CHECKERS = {
    "linear_programs": ("LinearProgram",),
    "knapsacks": ("Knapsack", "MultidimensionalKnapsack", "MultipleChoiceKnapsack"),
    "permutations": (
        "ATSP",
        "BlockingFlowshop",
        "FlowTime",
        "Flowshop",
        "LinearOrdering",
        "NoWaitFlowshop",
        "QuadraticAssignment",
        "Queens",
        "Tardiness",
    ),
    "bit_strings": ("BOA", "BitFunction", "LABS", "MaxCut", "MaxSAT", "QUBO", "SpinGlass"),
    "posteriors": ("HorseshoeLogit", "HorseshoeProbit", "HorseshoeRegression"),
}
_MODULES = {kind: module for module, kinds in _CHECKERS.items() for kind in kinds}


def verify(run: str | Path | Result, problem: Problem[Any] | None = None, **options: Any) -> Verification:
    """Check an answer without the solver that found it, and without a device.

    Parameters
    ----------
    run : path-like or Result
        A run folder, a zip file of one, or a result.
    problem : Problem, optional
        The problem that a result answers; a run folder contains it.
    **options
        The options of the run where a result is given and they were not the defaults: the prior of a posterior, or what
        is ``acceptable`` for a linear program.

    Raises
    ------
    engine.errors.RunFolderError
        If the run folder is damaged, or the run has no result yet.
    engine.errors.InputError
        If a result is given without its problem.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50), run_folder="checked")
    >>> print(engine.verify("checked"))
    checked: verified
      verified: no item is taken more often than it may be
      verified: the items fit (weight 50 of 50)
      verified: their profit is 220
      verified: the objective is optimal: a dynamic programme over all capacities proves it
    """
    if isinstance(run, Result):
        if problem is None:
            raise InputError("a result is verified with its problem: verify(result, problem)")
        own = type(problem).__module__.startswith(f"{PACKAGE}.")
        kind = type(problem).__name__ if own else OWN_CLASS
        return _verified(Claim(kind, problem.to_arrays(), options, run), problem.name)
    path = Path(run)
    with run_folder(path) as folder:
        return _verified(claim_of(folder), str(path))


def _verified(claim: Claim, name: str) -> Verification:
    found = Findings()
    if claim.kind not in _MODULES:
        found.unverified.append(f"anything: the problem is of {claim.kind}, which has no checker")
    else:
        checker = importlib.import_module(f"{__name__}.{_MODULES[claim.kind]}")
        try:
            with np.errstate(all="ignore"):  # what is not finite is verified by no comparison
                checker.check(claim, found)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise RunFolderError(f"{name} cannot be verified: it lacks arrays of a {claim.kind}: {error}") from error
    return Verification(name, tuple(found.verified), tuple(found.unverified), tuple(found.refuted))
