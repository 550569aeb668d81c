"""The rules that join a linear program, the options and the devices; which method and presolve a program gets."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...devices import DeviceInfo
from ...errors import DeviceError, OptionError
from ...util.text import counted
from .interior.memory import planned_bytes, require_fit
from .multifrontal.factor import GROUP
from .options import Options
from .pdhg import pdhg_bytes
from .problem import LinearProgram

_RACE_NONZEROS = 3_000  # `auto`: sparse programs of more nonzeros than this are raced
_RACE_ROWS = 400  # and those of more rows
_MOST_NONZEROS = 2**31 - 1  # of a sparse matrix on a device, but for PDHG's, whose row starts have 64 bits
_PRESOLVE_DENSE = 20_000  # dense programs of up to so many nonzeros are presolved,
_LAST_STATUS = 4  # of HiGHS's five basis statuses
SPARSE = "sparse_cholesky", "multifrontal", "augmented"  # linear solvers for sparse matrices
PRESOLVE_DENSITY = 0.25  # and those with up to this share of nonzeros


def method_for(problem: LinearProgram, options: Options) -> str:
    """The method that ``auto`` stands for."""
    if options.method != "auto":
        return options.method
    if options.linear_solver != "auto" or not problem.is_sparse:
        return "mpc"
    if problem.nonzeros > _MOST_NONZEROS:
        return "pdhg"
    return "race" if problem.nonzeros > _RACE_NONZEROS or problem.m > _RACE_ROWS else "mpc"


def validate(problem: LinearProgram, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check the rules that join problem, options and devices."""
    initial_point(problem, options)
    given_basis(problem, options)
    if problem.integrality is not None:
        require_mixed_integer(problem, options)
        return
    solver = options.linear_solver
    if solver == "sherman_morrison" and (options.method != "pdas" or len(devices) > 1):
        raise OptionError(
            'linear_solver = "sherman_morrison" requires method = "pdas" on one device; '
            f'got method = "{options.method}" on {len(devices)}'
        )
    if solver in SPARSE and not problem.is_sparse:
        raise OptionError(f'linear_solver = "{solver}" requires a sparse matrix; the problem has a dense one')
    if solver == "multifrontal" and devices[0].capabilities.max_block < GROUP:
        raise OptionError(f'linear_solver = "multifrontal" requires groups of {GROUP} work-items on {devices[0].id}')
    for info in devices:
        if not info.capabilities.fp64:
            raise DeviceError(f"{info.id} ({info.name}) has no float64, which linear programs need")
    method = method_for(problem, options)
    if problem.is_sparse and method != "pdhg" and problem.nonzeros > _MOST_NONZEROS:
        raise OptionError(
            f'method = "{method}" requires at most {_MOST_NONZEROS} nonzeros in a sparse matrix; the problem has '
            f'{problem.nonzeros}, for which there is method = "pdhg"'
        )
    if method == "pdhg":
        require_fit(devices[:1], *pdhg_bytes(problem.m, problem.n, problem.nonzeros), "the matrix in both orders")
    elif not problem.is_sparse or solver in ("cholesky", "sherman_morrison"):
        _require_dense_fit(problem, options, devices)


def require_mixed_integer(problem: LinearProgram, options: Options) -> None:
    """Refuse options that are for continuous variables."""
    default = type(options)()
    for name in ("method", "linear_solver", "provider", "basis", "ranging", "initial_basis", "initial_duals"):
        given = getattr(options, name)
        if given != getattr(default, name):
            raise OptionError(
                f"{name} = {given!r} is for continuous variables; the program has "
                f"{counted(problem.integers, 'integer one')} (relax=True takes them as continuous)"
            )


def given_basis(problem: LinearProgram, options: Options) -> tuple[NDArray[np.int8], NDArray[np.int8]] | None:
    """Statuses of the variables and the rows that the options give; None without any."""
    if options.initial_basis is None:
        return None
    given = np.array(options.initial_basis)
    if given.size != problem.n + problem.m or (given.size and not 0 <= given.min() <= given.max() <= _LAST_STATUS):
        raise OptionError(
            f"initial_basis must be {problem.n + problem.m} numbers from 0 to {_LAST_STATUS}, one for each variable, "
            f"then one for each row; got {given.size} values"
        )
    statuses = given.astype(np.int8)
    return statuses[: problem.n], statuses[problem.n :]


def _require_dense_fit(problem: LinearProgram, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Refuse a program whose matrix and dense factor do not fit; a sparse one that may shrink is planned later."""
    if options.presolve and is_presolved(problem):
        return
    slacks = int((problem.row_lower != problem.row_upper).sum())
    used = devices[: max(1, problem.n)]
    what = f"a factor of {problem.m} x {problem.m} and a matrix of {problem.m} x {problem.n}"
    planned = planned_bytes(problem.A, slacks, len(used), options)
    require_fit(used, *planned, what, dense=not problem.is_sparse, sparse=problem.is_sparse)


def is_presolved(problem: LinearProgram) -> bool:
    """Whether presolve is worth its time."""
    if problem.is_sparse or problem.m * problem.n <= _PRESOLVE_DENSE:
        return problem.m > 0
    return problem.nonzeros <= PRESOLVE_DENSITY * problem.m * problem.n


Point = tuple[NDArray[np.float64], NDArray[np.float64] | None]
"""Values (n,), and row duals (m,) if they are known."""


def initial_point(problem: LinearProgram, options: Options) -> Point | None:
    """Values and row duals, as of a minimization; None if the options give no point."""
    if options.initial is None:
        if options.initial_duals is not None:
            raise OptionError("initial_duals are given without initial")
        return None
    values = np.array(options.initial)
    _require(values, "initial", problem.n, "variable")
    if options.initial_duals is None:
        return np.clip(values, problem.lower, problem.upper), None
    duals = (-1.0 if problem.maximize else 1.0) * np.array(options.initial_duals)
    _require(duals, "initial_duals", problem.m, "row")
    return np.clip(values, problem.lower, problem.upper), duals


def _require(found: NDArray[np.float64], name: str, count: int, what: str) -> None:
    if found.size != count or not np.isfinite(found).all():
        raise OptionError(f"{name} must be {count} finite numbers, one for each {what}; got {found.size} values")
