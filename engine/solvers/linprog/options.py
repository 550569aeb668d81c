"""How to solve a linear program."""

from typing import Literal

from pydantic import Field

from ...base.solver import SolverOptions

LinearSolver = Literal["auto", "cholesky", "sparse_cholesky", "multifrontal", "augmented", "sherman_morrison"]


class Options(SolverOptions):
    """Options of the linear programming solver."""

    method: Literal["auto", "race", "mpc", "pdhg", "pdas"] = Field(
        "auto",
        description="mpc (Mehrotra's predictor-corrector with Gondzio's correctors), pdhg (restarted Halpern "
        "primal-dual hybrid gradient), pdas (the paper's primal-dual affine scaling), race (mpc and HiGHS at the "
        "same time, on a GPU pdhg too until mpc is ready, and longer where factors would take minutes; the first "
        "audited optimum wins), or auto: HiGHS's simplex method for small programs, race for large sparse ones, mpc "
        "for others",
    )
    linear_solver: LinearSolver = Field(
        "auto",
        description="mpc and pdas: how A D A^T is solved with: cholesky (dense, on the device), sparse_cholesky "
        "(sparse programs, on the host), multifrontal (sparse programs, on the first device), augmented (sparse "
        "programs, on the host: a larger matrix in which columns with many entries are unknowns), sherman_morrison "
        "(the paper's updates of (A A^T)^-1 by one column after another, in blocks; pdas on dense data and one device "
        "only), or auto: cholesky, sparse_cholesky, augmented or, on GPUs, multifrontal, whichever is predicted to be "
        "faster",
    )
    tolerance: float = Field(
        1e-8, ge=1e-14, lt=1e-2, description="relative gap and infeasibilities at which the method stops"
    )
    acceptable: float = Field(
        1e-6,
        ge=1e-14,
        lt=1e-1,
        description="largest relative gap and infeasibilities of the original program at which a point is called "
        "optimal",
    )
    max_iterations: int = Field(
        300,
        ge=0,
        description="iterations of mpc and pdas; the search for a certificate that there is no optimum has iterations "
        "of its own, and is left out with 0",
    )
    pdhg_iterations: int = Field(2_000_000, ge=0, description="iterations of pdhg")
    initial: tuple[float, ...] | None = Field(
        None,
        description="values of all variables, such as the solution of a similar program, where mpc and pdhg begin; "
        "presolve is left out then. A race uses them where nothing is presolved",
    )
    initial_duals: tuple[float, ...] | None = Field(
        None, description="duals of all rows that belong to the initial values; 0 by default"
    )
    initial_basis: tuple[int, ...] | None = Field(
        None,
        description="statuses of all variables, then of all rows, where HiGHS's simplex method begins: column_status "
        "and row_status of a similar program that was solved with basis",
    )
    mip_gap: float = Field(
        1e-6,
        ge=0,
        lt=1,
        description="integer variables: relative gap of objective and bound at which a solution is called optimal",
    )
    presolve: bool = Field(True, description="let HiGHS's presolve reduce sparse programs, and small dense ones, first")
    scale: bool = Field(True, description="mpc and pdas: equilibrate rows and columns by powers of two")
    basis: bool = Field(
        False,
        description="return an optimal vertex, found by HiGHS (crossover; the simplex method for small programs), and "
        "the status of each basis entry",
    )
    ranging: bool = Field(
        False,
        description="as basis, and also return between which values each cost, and the active side of each row, may "
        "vary while that basis stays optimal",
    )
    correctors: int = Field(
        4,
        ge=0,
        le=10,
        description="mpc: centrality correctors that an iteration may try; at most 2 where a program has so few rows "
        "that a factor costs no more than they do",
    )
    step: float = Field(
        0.8, gt=0, lt=1, description="pdas: fraction of the way to the boundary of a step; long steps (0.99) jam"
    )
    block: int = Field(64, ge=1, le=256, description="sherman_morrison: columns of one update; 1 is the paper's own")
    provider: Literal["auto", "cusolver", "lapack", "kernels"] = Field(
        "auto", description="library for dense products and factors: auto is the fastest one of the device"
    )
