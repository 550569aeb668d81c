"""How to solve a linear program."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.solvers import SolverOptions

__all__ = ["Options"]


class Options(SolverOptions):
    """Options of the linear programming solver."""

    method: Literal["mpc", "pdas"] = Field(
        "mpc",
        description="mpc (Mehrotra's predictor-corrector with Gondzio's correctors) or pdas (the paper's primal-dual "
        "affine scaling)",
    )
    linear_solver: Literal["cholesky", "sherman_morrison"] = Field(
        "cholesky",
        description="how A D A^T is solved with: cholesky, or sherman_morrison (the paper's updates of (A A^T)^-1 by "
        "one column after another, in blocks; pdas on dense data and one device only)",
    )
    tolerance: float = Field(
        1e-8,
        ge=1e-14,
        lt=1e-2,
        description="relative gap and infeasibilities that are aimed at",
    )
    acceptable: float = Field(
        1e-6,
        ge=1e-14,
        lt=1e-1,
        description="relative gap and infeasibilities of the original program above which no answer is called optimal",
    )
    max_iterations: int = Field(
        300,
        ge=0,
        description="iterations of the method; a certificate that there is no optimum, "
        "looked for where no optimum was found, has iterations of its own; 0 looks for none",
    )
    presolve: bool = Field(True, description="remove rows and variables that need no solving")
    scale: bool = Field(True, description="equilibrate rows and columns by powers of two")
    correctors: int = Field(2, ge=0, le=10, description="centrality correctors an iteration of mpc may try")
    step: float = Field(
        0.8, gt=0, lt=1, description="pdas: the part of the way to the boundary that a step goes; long steps (0.99) jam"
    )
    separate_steps: bool = Field(False, description="pdas: steps of their own for the primal and the dual variables")
    start: Literal["mehrotra", "big_m"] = Field(
        "mehrotra",
        description="pdas: where it starts: at Mehrotra's point, or at ones by the big-M method, which is slower and "
        "fails more often",
    )
    block: int = Field(
        64, ge=1, le=256, description="sherman_morrison: columns that one update takes in; 1 is the paper's own"
    )
    constant_memory: bool = Field(
        True,
        description="sherman_morrison with block = 1: the column that an update takes in is read from constant memory "
        "(CUDA: through the read-only cache) if it fits there",
    )
    refinements: int = Field(
        2, ge=0, le=10, description="sherman_morrison: refinement steps before the residual is judged"
    )
    provider: Literal["auto", "cusolver", "lapack", "kernels"] = Field(
        "auto", description="who multiplies and factorises: auto is the best the device has"
    )
