"""What ``kernel = auto`` stands for: a matter of the problem alone, so that draws are the same on any devices."""

from __future__ import annotations

from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import KernelName, Options
from engine.solvers.gibbs.priors import CONJUGATE
from engine.solvers.gibbs.problem import HorseshoeProbit

__all__ = ["is_wide", "kernel_for", "moves_latent", "with_kernel"]

_MOST_COLUMNS = 8192
"""Columns up to which matrices of p x p are made and factorised for every chain in every iteration."""

_MOST_ROWS = 4096
"""Rows up to which those of N x N are, where they are smaller."""

_MOST_VALUES = 1 << 31
"""Values of X up to which it is stored with its zeros for that."""


def kernel_for(problem: HorseshoeProbit, options: Options) -> KernelName:
    """The kernel of the option, or with ``auto`` the one whose matrices are small enough: hmc, else px, else cg.

    Parameters
    ----------
    problem : HorseshoeProbit
    options : Options
    """
    if options.kernel != "auto":
        return options.kernel
    rows, columns = problem.X.shape
    if columns <= _MOST_COLUMNS:
        return "hmc"
    small = rows <= _MOST_ROWS and rows * columns <= _MOST_VALUES
    plain = options.storage in ("auto", "float32") and options.streaming != "always"
    if problem.family == "probit" and small and plain and options.prior in CONJUGATE:
        return "px"
    if problem.family in ("probit", "logit") and options.storage in ("auto", "sparse"):
        return "cg" if options.streaming != "always" else "hmc"
    return "hmc"


def with_kernel(problem: HorseshoeProbit, options: Options) -> Options:
    """The options with a kernel in place of ``auto``.

    Parameters
    ----------
    problem : HorseshoeProbit
    options : Options
    """
    if options.kernel != "auto":
        return options
    return options.model_copy(update={"kernel": kernel_for(problem, options)})


def is_wide(design: Design, options: Options) -> bool:
    """Whether the kernels ``gibbs`` and ``px`` make matrices of N x N in place of those of p x p.

    Parameters
    ----------
    design : Design
    options : Options
        With a kernel in place of ``auto``.
    """
    usable = design.storage == "float32" and options.streaming != "always" and options.kernel in ("gibbs", "px")
    return usable and design.layout.columns > design.layout.rows


def moves_latent(design: Design, options: Options) -> bool:
    """Whether the kernel ``hmc`` moves the latent normals of the rows, with matrices of N x N, in place of beta.

    Parameters
    ----------
    design : Design
    options : Options
        With a kernel in place of ``auto``.
    """
    usable = design.storage == "float32" and options.streaming != "always" and options.kernel == "hmc"
    few = design.layout.rows < design.layout.columns and design.layout.rows <= _MOST_ROWS
    return usable and few and design.problem.family == "probit"
