"""What ``kernel = auto`` stands for: a matter of the problem alone, so that draws are the same on any devices."""

from __future__ import annotations

import numpy as np

from ...errors import OptionError
from .design.features import dense_rows
from .design.matrix import Design
from .options import KernelName, Options
from .priors import CONJUGATE
from .problem import HorseshoeProbit

__all__ = ["is_wide", "kernel_for", "moves_latent", "validate_kernel", "with_kernel"]

_MOST_COLUMNS = 8192
"""Columns up to which matrices of p x p are made and factorised for every chain in every iteration."""

_MOST_ROWS = 4096
"""Rows up to which those of N x N are, where they are smaller."""

_FAR_TOO_MANY = 32_768
"""Columns from which matrices of N x N are made of more rows than that too, if the family has no kernel cg."""

_ROWS_AT_ONCE = 64

_MOST_VALUES = 1 << 31
"""Values of X up to which it is stored with its zeros for that."""


def kernel_for(problem: HorseshoeProbit, options: Options) -> KernelName:
    """The kernel of the option, or with ``auto`` the one whose matrices are small enough.

    That is hmc, else px (probit) or gibbs (normal, student), else cg.

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
    plain = options.storage in ("auto", "float32") and options.streaming != "always"
    if rows < columns and rows * columns <= _MOST_VALUES and plain and options.prior in CONJUGATE:
        if problem.family == "probit" and rows <= _MOST_ROWS:
            return "px"
        few = rows <= _MOST_ROWS or columns >= _FAR_TOO_MANY
        if problem.family in ("normal", "student") and few and _are_more(problem, options):
            return "gibbs"
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


def _are_more(problem: HorseshoeProbit, options: Options) -> bool:
    """Whether there are more columns than rows without the constant ones; looks at no more rows than it takes."""
    rows, columns = problem.X.shape
    if not options.standardize:
        return bool(columns > rows)
    first, varies = dense_rows(problem.X, 0, 1), np.zeros(columns, bool)
    for begin in range(0, rows, _ROWS_AT_ONCE):
        varies |= (dense_rows(problem.X, begin, min(rows, begin + _ROWS_AT_ONCE)) != first).any(axis=0)
        if np.count_nonzero(varies) > rows:
            return True
    return False


def validate_kernel(problem: HorseshoeProbit, options: Options) -> None:
    """Check that a kernel samples a family.

    Parameters
    ----------
    problem : HorseshoeProbit
    options : Options
        With a kernel in place of ``auto``.

    Raises
    ------
    OptionError
        If it does not, or not with these options.
    """
    kernel, family = options.kernel, problem.family
    if kernel == "cg":
        if family not in ("probit", "logit"):
            raise OptionError(f"kernel = cg samples probit and logit regressions; {family} needs kernel = hmc")
        if options.storage not in ("auto", "sparse"):
            raise OptionError(f"kernel = cg keeps X as storage = sparse; got storage = {options.storage}")
    if kernel in ("cg", "hmc") or family == "probit":
        return
    linear = family in ("normal", "student")
    if kernel == "px" or not linear:
        sampled = "probit" if kernel == "px" else "probit, normal and student"
        other = "gibbs or kernel = hmc" if linear else "hmc"
        raise OptionError(f"kernel = {kernel} samples {sampled} regressions only; use kernel = {other}")
    design = Design.of(problem, options)
    if not is_wide(design, options):
        raise OptionError(
            f"kernel = gibbs samples {family} regressions with more columns than rows, storage = float32 and without "
            f"streaming only; here {design.layout.columns:,} columns and {design.layout.rows:,} rows, storage = "
            f"{options.storage}, streaming = {options.streaming}; use kernel = hmc"
        )


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
    """Whether the kernel ``hmc`` moves latent normals, or sigma, with beta integrated out and matrices of N x N.

    Parameters
    ----------
    design : Design
    options : Options
        With a kernel in place of ``auto``.
    """
    usable = design.storage == "float32" and options.streaming != "always" and options.kernel == "hmc"
    family, rows, columns = design.problem.family, design.layout.rows, design.layout.columns
    few = family == "probit" or (family in ("normal", "student") and 2 * rows <= columns)  # else sigma mixes without
    return usable and few and rows < columns and rows <= _MOST_ROWS
