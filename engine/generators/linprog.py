"""Random linear programs: dense ones with an optimum that is known to exist, and transportation problems."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..solvers.linprog.problem import LinearProgram, sp

__all__ = ["GeneratorOptions", "generate", "write"]


class GeneratorOptions(BaseModel):
    """What program to make; see :func:`generate`."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: Literal["dense", "inequalities", "transport"] = Field("dense", description="Which family.")
    m: int = Field(200, ge=1, le=100_000, description="Rows; sources of a transportation problem.")
    n: int = Field(400, ge=1, le=1_000_000, description="Variables; destinations of a transportation problem.")
    seed: Seed = Field(0, description="Seed of the random numbers.")


def generate(options: GeneratorOptions) -> LinearProgram:
    """Make one program, by NumPy's ``Generator(PCG64(seed))``.

    - ``dense``: A (m, n) of standard normal entries, ``A x = b``, ``x >= 0``; b = A x0 with x0 uniform on (0.5, 1.5),
      and c = A^T y0 + s0 with y0 normal and s0 uniform on (0.5, 1.5): primal and dual have interior points, so there
      is an optimum;
    - ``inequalities``: the same with ``A x <= b``, where b = A x0 + t0, y0 = -uniform, so that x0 is interior again;
    - ``transport``: m sources, n destinations, ``m n`` routes with whole costs from 1 to 100, whole supplies and
      demands of equal sum; sparse.

    Returns
    -------
    LinearProgram
        Named after its family, sizes and seed.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    m, n = options.m, options.n
    name = f"{options.type}-{m}x{n}-seed{options.seed}"
    if options.type == "transport":
        return _transport(random, m, n, name)
    matrix = random.standard_normal((m, n))
    x, s = random.uniform(0.5, 1.5, n), random.uniform(0.5, 1.5, n)
    if options.type == "dense":
        return LinearProgram(matrix.T @ random.standard_normal(m) + s, A_eq=matrix, b_eq=matrix @ x, name=name)
    y, t = random.uniform(0.5, 1.5, m), random.uniform(0.5, 1.5, m)
    return LinearProgram(s - matrix.T @ y, A_ub=matrix, b_ub=matrix @ x + t, name=name)


def _transport(random: np.random.Generator, m: int, n: int, name: str) -> LinearProgram:
    supplies = random.integers(10, 100, m)
    cuts = np.sort(random.integers(0, int(supplies.sum()) + 1, n - 1))
    demands = np.diff(np.concatenate([[0], cuts, [supplies.sum()]]))
    leave = sp.kron(sp.eye_array(m), np.ones((1, n)))
    arrive = sp.kron(np.ones((1, m)), sp.eye_array(n))
    return LinearProgram(
        random.integers(1, 101, m * n).astype(np.float64),
        A_eq=sp.csr_array(sp.vstack([leave, arrive])),
        b_eq=np.concatenate([supplies, demands]).astype(np.float64),
        name=name,
    )


def write(problem: LinearProgram, path: Path) -> None:
    """Write a program as free MPS.

    Raises
    ------
    ProblemError
        If the file cannot be written.
    """
    problem.write(path)
