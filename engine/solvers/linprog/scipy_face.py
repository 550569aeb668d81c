"""``engine.linprog``: the arguments and the result of ``scipy.optimize.linprog``; and batches of programs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.devices import Backend, Device, DevicePool, gather
from engine.errors import OptionError, ProblemError
from engine.results import Result, Status
from engine.solvers.linprog.audit import audit
from engine.solvers.linprog.interior import InteriorPoint, Settings
from engine.solvers.linprog.options import Options
from engine.solvers.linprog.prepare import Prepared, prepare
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.shard import shard_bytes
from engine.solvers.linprog.solve import shard_data
from engine.solvers.linprog.system import System
from engine.solvers.linprog.unified_shard import device_shard

__all__ = ["linprog", "solve_many"]

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
        As for :func:`engine.solve`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x``, ``fun``, ``slack``, ``con``, ``success``, ``status`` (0 optimal, 1 a limit, 2 infeasible, 3 unbounded, 4
        numerical difficulties), ``message``, ``nit``, and ``ineqlin``, ``eqlin``, ``lower``, ``upper`` with
        ``residual`` and
        ``marginals``. Without an optimum ``x`` and what follows from it is None.

    Raises
    ------
    ValueError
        If the arguments do not fit together (:class:`engine.errors.ProblemError`), or an option or the method is
        unknown.
    """
    from scipy.optimize import OptimizeResult, OptimizeWarning

    from engine.api import solve

    if method not in _METHODS:
        raise OptionError(f"unknown method '{method}' (known: {', '.join(_METHODS)})")
    if callback is not None:
        raise NotImplementedError("interior-point methods support no callback; engine.solve has on_event")
    if x0 is not None:
        warnings.warn("x0 is not used by interior-point methods and is ignored", OptimizeWarning, stacklevel=2)
    if integrality is not None and np.any(np.asarray(integrality) != 0):
        raise ProblemError("integrality must be zero: only continuous linear programs are solved")
    chosen: dict[str, Any] = {"method": "pdas" if method == "pdas" else "mpc"}
    for name, value in (options or {}).items():
        if name in _SCIPY_OPTIONS:
            chosen[_SCIPY_OPTIONS[name]] = value
        elif name in Options.model_fields:
            chosen[name] = value
        elif name not in _IGNORED:
            warnings.warn(f"unrecognized option '{name}' is ignored", OptimizeWarning, stacklevel=2)
    problem = LinearProgram(c, A_ub, b_ub, A_eq, b_eq, bounds)
    result = solve(problem, backend=backend, devices=devices, **chosen)
    return _as_scipy(problem, result, OptimizeResult)


def _as_scipy(problem: LinearProgram, result: Result, kind: Any) -> Any:
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


def solve_many(
    problems: Sequence[LinearProgram],
    *,
    backend: Backend | None = None,
    devices: Sequence[str] | None = None,
    max_iterations: int = 200,
    tolerance: float = 1e-8,
    acceptable: float = 1e-6,
) -> list[Result]:
    """Solve a batch of dense linear programs, those of equal shape in one go on each device.

    Every step is taken by all programs of a batch together, by the method ``mpc`` with batched products and factors.
    Nothing
    but fixed variables and rows and columns without entries is removed first, so programs that are alike stay so;
    those that are not of one shape then go in batches of their own.

    Parameters
    ----------
    problems : sequence of LinearProgram
        Sparse ones are made dense.
    backend, devices : optional
        As for :func:`engine.solve`; the programs are shared out evenly.
    max_iterations, tolerance, acceptable
        As the solver's options of these names.

    Returns
    -------
    list of Result
        In the order of the problems. A program without an optimum ends with ``iteration_limit``, unless preparation
        alone settles it: certificates are looked for by :func:`engine.solve` alone. Checkpoints, ``pdas``, presolve
        and sparse factors are missing here.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If a device's share does not fit.
    """
    from engine.api import Engine

    options = Options(max_iterations=max_iterations, tolerance=tolerance, acceptable=acceptable)
    results: list[Result | None] = [None] * len(problems)
    batches: dict[Any, list[tuple[int, Prepared]]] = {}
    for place, problem in enumerate(problems):
        dense = _dense(problem)
        prepared = prepare(dense, presolve=False)
        if not isinstance(prepared, Prepared):
            status = Status.INFEASIBLE if prepared.status == "infeasible" else Status.UNBOUNDED
            results[place] = Result(status, None, None, None, counters={"iterations": 0})
        else:
            standard = prepared.standard
            key = (standard.m, standard.n, standard.sign.tobytes())
            batches.setdefault(key, []).append((place, prepared))
    with Engine(backend, devices) as owner:
        pool = owner._open()
        for batch in batches.values():
            shares = [batch[rank :: len(pool)] for rank in range(len(pool))]
            _require_memory(pool, [share for share in shares if share])
            tasks = [
                member.submit(_batch, share, options)
                for member, share in zip(pool.members, shares, strict=True)
                if share
            ]
            for share in gather(tasks):
                for place, result in share:
                    results[place] = replace(
                        result, backend=owner.backend, devices=tuple(member.label for member in pool.members)
                    )
    return [result for result in results if result is not None]


def _dense(problem: LinearProgram) -> LinearProgram:
    if not problem.is_sparse:
        return problem
    arrays = {name: values for name, values in problem.to_arrays().items() if name not in ("data", "indices", "indptr")}
    return LinearProgram.from_arrays({**arrays, "A": problem.A.toarray()}, problem.name)


def _require_memory(pool: DevicePool, shares: list[list[tuple[int, Prepared]]]) -> None:
    needed: dict[str, int] = {}
    largest = 0
    for member, share in zip(pool.members, shares, strict=False):
        standard = share[0][1].standard
        needed[member.label], one = shard_bytes(
            len(share), standard.m, standard.n, int((standard.sign != 0).sum()), None
        )
        largest = max(largest, one)
    pool.require_memory(needed, "the batch", "give fewer programs at once, or add devices", largest=largest)


def _batch(device: Device, share: list[tuple[int, Prepared]], options: Options) -> list[tuple[int, Result]]:
    """All of a share at once, on the device's thread."""
    standards = [prepared.standard for _, prepared in share]
    if standards[0].m == 0 or standards[0].n == 0:
        nothing = np.zeros((len(share), standards[0].n)), np.zeros((len(share), standards[0].m))
        return [(place, _judged(p, nothing[0][k], nothing[1][k], 0, options)) for k, (place, p) in enumerate(share)]
    data = shard_data(standards)
    shard = device_shard(device, data, None)
    try:
        system = System(data, [shard])
        method = InteriorPoint(
            system, np.stack([standard.b for standard in standards]), Settings(tolerance=options.tolerance)
        )
        method.start()
        iterations = np.zeros(len(share), np.int64)
        while True:
            method.measure()
            going = ~(method.done | method.stuck)
            iterations[going] = method.state.iteration + 1
            if not going.any() or method.state.iteration >= options.max_iterations:
                break
            method.iterate()
        x = system.get_point()[0]
    finally:
        shard.close()
    return [
        (place, _judged(prepared, x[k, : data.n], method.state.y[k], int(iterations[k]), options))
        for k, (place, prepared) in enumerate(share)
    ]


def _judged(prepared: Prepared, x: Any, y: Any, iterations: int, options: Options) -> Result:
    problem = prepared.problem
    values, duals = prepared.back(x, y)
    found = audit(problem, values, duals)
    sign = -1.0 if problem.maximize else 1.0
    return Result(
        Status.OPTIMAL if found.error <= options.acceptable else Status.ITERATION_LIMIT,
        sign * found.primal,
        sign * found.dual if found.dual_infeasibility <= options.acceptable else None,
        values,
        counters={
            "iterations": iterations,
            "primal_infeasibility": found.primal_infeasibility,
            "dual_infeasibility": found.dual_infeasibility,
            "relative_gap": found.gap,
        },
        arrays={
            "row_duals": sign * duals,
            "reduced_costs": sign * found.reduced_costs,
            "activities": found.activities,
        },
    )
