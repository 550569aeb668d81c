"""``engine.linprog``: the arguments and the result of ``scipy.optimize.linprog``."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.devices import Backend
from engine.errors import OptionError, ProblemError
from engine.results import Result, Status
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.problem import LinearProgram

if TYPE_CHECKING:
    from engine.api import Engine

__all__ = ["linprog", "scipy_result"]

_METHODS = ("mpc", "pdas", "highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex", "simplex")
_STATUS = {
    Status.OPTIMAL: (0, "Optimization terminated successfully."),
    Status.ITERATION_LIMIT: (1, "The iteration limit was reached."),
    Status.TIME_LIMIT: (1, "The time limit was reached."),
    Status.INTERRUPTED: (1, "The run was stopped."),
    Status.INFEASIBLE: (2, "The problem is infeasible."),
    Status.UNBOUNDED: (3, "The problem is unbounded."),
}
_SCIPY_OPTIONS = {"maxiter": "max_iterations", "tol": "tolerance", "presolve": "presolve", "time_limit": "time_limit"}
_IGNORED = ("disp", "autoscale", "rr", "primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap")


def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "mpc",
    callback: Any = None,
    options: dict[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
) -> Any:
    """Minimize a linear objective, as ``scipy.optimize.linprog`` does.

    Parameters
    ----------
    c, A_ub, b_ub, A_eq, b_eq, bounds
        As for SciPy (and :class:`LinearProgram`). Note SciPy's default: variables are not negative.
    method : str
        ``"mpc"`` or ``"pdas"``; the names of SciPy's own methods are taken for ``"mpc"``.
    callback
        Not supported, as in SciPy's HiGHS methods.
    options : dict, optional
        SciPy's ``maxiter``, ``tol``, ``presolve``, ``time_limit`` and ``disp`` (ignored), and any option of the solver.
    x0
        Ignored with a warning: interior-point methods have no use for it.
    integrality : optional
        Must be all zero.
    backend, devices : optional
        As for :func:`engine.solve`. CPU devices stay open for the next call, until the program ends.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x``, ``fun``, ``slack``, ``con``, ``success``, ``status`` (0 optimal, 1 a limit, 2 infeasible, 3 unbounded, 4
        numerical difficulties), ``message``, ``nit``, and ``ineqlin``, ``eqlin``, ``lower``, ``upper`` with
        ``residual`` and ``marginals``. Without an optimum ``x`` and what follows from it is None.

    Raises
    ------
    ValueError
        If the arguments do not fit together (:class:`engine.errors.ProblemError`), or an option or the method is
        unknown.
    """
    from scipy.optimize import OptimizeWarning

    if method not in _METHODS:
        raise OptionError(f"unknown method '{method}' (known: {', '.join(_METHODS)})")
    if callback is not None:
        raise NotImplementedError("interior-point methods support no callback; engine.solve has on_event")
    if x0 is not None:
        warnings.warn("x0 is not used by interior-point methods and is ignored", OptimizeWarning, stacklevel=2)
    if integrality is not None and np.any(np.asarray(integrality) != 0):
        raise ProblemError("integrality must be zero: only continuous linear programs are solved")
    if options is not None and not isinstance(options, dict):
        raise OptionError(f"options must be a dictionary; got {type(options).__name__}")
    chosen: dict[str, Any] = {"method": "pdas" if method == "pdas" else "mpc"}
    for name, value in (options or {}).items():
        if name in _SCIPY_OPTIONS:
            chosen[_SCIPY_OPTIONS[name]] = value
        elif name in Options.model_fields:
            chosen[name] = value
        elif name not in _IGNORED:
            warnings.warn(f"unrecognized option '{name}' is ignored", OptimizeWarning, stacklevel=2)
    problem = LinearProgram(c, A_ub, b_ub, A_eq, b_eq, bounds)
    with _KEPT.lent(backend, devices) as owner:
        result = owner.solve(problem, **chosen)
    return scipy_result(problem, result)


_PATIENCE = 0.1
"""Seconds to wait for the kept engine while another thread has it: about what it takes to open and close one."""


class _Kept:
    """An engine on CPUs, kept from one call to the next: to open one takes longer than to solve a small program.

    Calls of several threads take turns with it while they are short. A long one does not hold the others up: they get
    an engine of their own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: Engine | None = None
        self._lent: Engine | None = None
        self._process = os.getpid()

    @contextlib.contextmanager
    def lent(self, backend: Backend | None, devices: Sequence[str] | None) -> Iterator[Engine]:
        """The one that is kept, if it is what is asked for and free now or soon; else another."""
        from engine.api import Engine

        asked = Engine(backend, devices)
        if self._process != os.getpid():  # threads do not outlive a fork
            self._lock, self._owner, self._lent, self._process = threading.Lock(), None, None, os.getpid()
        lock, lent = self._lock, self._lent
        wait = _PATIENCE if lent is not None and lent.alike(asked) else 0.0
        if not lock.acquire(timeout=wait):
            with asked:
                yield asked
            return
        try:
            before, self._owner = self._owner, None
            if before is not None and before.alike(asked):
                asked = before
            elif before is not None:
                before.close()
            self._lent = asked
            with contextlib.ExitStack() as closing:
                closing.push(asked)
                yield asked
                if all(info.capabilities.kind == "cpu" for info in asked.device_infos):
                    self._owner = asked
                    closing.pop_all()
        finally:
            self._lent = None
            lock.release()


_KEPT = _Kept()


def scipy_result(problem: LinearProgram, result: Result) -> Any:
    """A result of :func:`engine.solve` or :func:`engine.solve_many` as SciPy's ``linprog`` tells it.

    Parameters
    ----------
    problem : LinearProgram
        The program that was solved. Rows of one read from a file, which may have two sides, all count as equalities
        here: ``eqlin`` and ``con`` have them.
    result : Result

    Returns
    -------
    scipy.optimize.OptimizeResult
        As :func:`linprog` returns.
    """
    kind = _result_type()
    status, message = _STATUS.get(result.status, (4, "Numerical difficulties encountered."))
    found = kind(status=status, success=status == 0, message=message, nit=int(result.counters["iterations"]))
    found.crossover_nit = 0
    known = result.solution is not None and status == 0
    x = result.solution if known else None
    m = problem.m_ub
    found.x = x
    found.fun = result.objective if known else None

    def side(residual: Any, marginals: Any) -> Any:
        return kind(residual=residual, marginals=marginals)

    if not known or x is None:
        found.slack = found.con = None
        found.ineqlin, found.eqlin, found.lower, found.upper = (side(None, None) for _ in range(4))
        return found
    duals, reduced = result.arrays["row_duals"], result.arrays["reduced_costs"]
    rest = problem.row_upper - result.arrays["activities"]
    found.slack, found.con = rest[:m], rest[m:]
    found.ineqlin = side(rest[:m], duals[:m])
    found.eqlin = side(rest[m:], duals[m:])
    found.lower = side(x - problem.lower, np.maximum(reduced, 0.0))
    found.upper = side(problem.upper - x, np.minimum(reduced, 0.0))
    return found


def _result_type() -> Any:
    from scipy.optimize import OptimizeResult

    return OptimizeResult
