"""Random linear programs: dense ones with an optimum that is known to exist, and families of sparse ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..solvers.linprog.problem import LinearProgram, sp

_STAGE = 20  # rows of one stage of a staircase program
_PER_COLUMN = 3  # entries of a column of a sparse program, about
_COMMODITIES = 20
_DAMPING = 0.85  # of PageRank


class GeneratorOptions(BaseModel):
    """What program to make; see :func:`generate`."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    type: Literal["dense", "inequalities", "transport", "multicommodity", "staircase", "pagerank", "sparse"] = Field(
        "dense", description="Which family."
    )
    m: int = Field(200, ge=1, le=1_000_000, description="Rows; sources, nodes, or pages where a family has them.")
    n: int = Field(400, ge=1, le=10_000_000, description="Variables; destinations, arcs, or links.")
    seed: Seed = Field(0, description="Seed of the random numbers.")


def generate(options: GeneratorOptions) -> LinearProgram:
    """Make one program, by NumPy's ``Generator(PCG64(seed))``.

    - ``dense``: A (m, n) of standard normal entries, ``A x = b``, ``x >= 0``; b = A x0 with x0 uniform on (0.5, 1.5),
      and c = A^T y0 + s0 with y0 normal and s0 uniform on (0.5, 1.5): primal and dual have interior points, so there
      is an optimum;
    - ``inequalities``: the same with ``A x <= b``, where b = A x0 + t0, y0 = -uniform, so that x0 is interior again;
    - ``transport``: m sources, n destinations, ``m n`` routes with whole costs from 1 to 100, whole supplies and
      demands of equal sum; sparse, as are all that follow;
    - ``multicommodity``: flows of 20 commodities between two nodes each over n arcs of m nodes, with whole costs from 1
      to 100; all share the capacities of the arcs, and what is not delivered costs 10 000 a unit;
    - ``staircase``: stages of 20 rows, each with variables of its own and of the stage before: three entries in each
      column, and a vertex that is optimal;
    - ``pagerank``: ``(I - 0.85 S) x >= 0.15 / m`` for the links S of m pages, n of them beside one to the next page,
      whole costs from 1 to 100: the least x, PageRank, is the optimum;
    - ``sparse``: three entries in each column, one column without zeros, and a vertex that is optimal.

    Returns
    -------
    LinearProgram
        Named after its family, sizes and seed.
    """
    random = np.random.Generator(np.random.PCG64(options.seed))
    m, n = options.m, options.n
    name = f"{options.type}-{m}x{n}-seed{options.seed}"
    if options.type in _FAMILIES:
        return _FAMILIES[options.type](random, m, n, name)
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


def _multicommodity(random: np.random.Generator, m: int, n: int, name: str) -> LinearProgram:
    tails = np.concatenate([np.arange(m), random.integers(0, m, max(0, n - m))])  # a cycle, and random arcs
    heads = np.concatenate([np.arange(1, m + 1) % m, random.integers(0, m, max(0, n - m))])
    arcs, k = tails.size, _COMMODITIES
    each = np.arange(arcs)
    network = sp.csr_array((np.ones(arcs), (tails, each)), shape=(m, arcs))
    network = network - sp.csr_array((np.ones(arcs), (heads, each)), shape=(m, arcs))
    sources, amounts = random.integers(0, m, k), random.integers(10, 50, k).astype(np.float64)
    sinks = (sources + random.integers(1, max(2, m), k)) % m
    supply = np.zeros((k, m))
    np.add.at(supply, (np.arange(k), sources), amounts)
    np.add.at(supply, (np.arange(k), sinks), -amounts)
    missing = sp.csr_array((supply.ravel() / np.repeat(amounts, m), (np.arange(k * m), np.repeat(np.arange(k), m))))
    missing.resize((k * m, k))
    balances = sp.hstack([sp.kron(sp.eye_array(k), network), missing])
    shared = sp.hstack([sp.kron(np.ones((1, k)), sp.eye_array(arcs)), sp.csr_array((arcs, k))])
    return LinearProgram(
        np.concatenate([np.tile(random.integers(1, 101, arcs), k), 1e4 * amounts]).astype(np.float64),
        A_eq=sp.csr_array(balances),
        b_eq=supply.ravel(),
        A_ub=sp.csr_array(shared),
        b_ub=random.integers(20, 200, arcs).astype(np.float64),
        name=name,
    )


def _staircase(random: np.random.Generator, m: int, n: int, name: str) -> LinearProgram:
    stages = max(1, m // _STAGE)
    stage = np.sort(random.integers(0, stages, n))
    rows = _STAGE * stage[:, None] + random.integers(0, 2 * _STAGE, (n, _PER_COLUMN))  # of this stage and the next
    return _with_vertex(random, _entries(random, np.minimum(rows, m - 1), m), name)


def _sparse(random: np.random.Generator, m: int, n: int, name: str) -> LinearProgram:
    matrix = _entries(random, random.integers(0, m, (n - 1, _PER_COLUMN)), m)
    dense = sp.csc_array(random.standard_normal((m, 1)))
    return _with_vertex(random, sp.csr_array(sp.hstack([dense, matrix])), name)


def _entries(random: np.random.Generator, rows: Any, m: int) -> Any:
    """A matrix with these rows (n, k) of normal entries in each column."""
    n, k = rows.shape
    columns = np.repeat(np.arange(n), k)
    return sp.csr_array((random.standard_normal(n * k), (rows.ravel(), columns)), shape=(m, n))


def _with_vertex(random: np.random.Generator, matrix: Any, name: str) -> LinearProgram:
    """``A x = b``, ``x >= 0`` with an optimal x of as many positive variables as rows, at most half of all."""
    m, n = matrix.shape
    positive = np.zeros(n, dtype=bool)
    positive[random.permutation(n)[: min(m, n // 2)]] = True
    x = np.where(positive, random.uniform(0.5, 1.5, n), 0.0)
    s = np.where(positive, 0.0, random.uniform(0.5, 1.5, n))
    return LinearProgram(matrix.T @ random.standard_normal(m) + s, A_eq=matrix, b_eq=matrix @ x, name=name)


def _pagerank(random: np.random.Generator, m: int, n: int, name: str) -> LinearProgram:
    pages = np.arange(m)
    # pages with a low number are linked to more often
    sources, targets = random.integers(0, m, n), (m * random.random(n) ** 2).astype(np.int64)
    rows, columns = np.concatenate([(pages + 1) % m, targets]), np.concatenate([pages, sources])
    links = sp.csr_array((np.ones(m + n), (rows, columns)), shape=(m, m))
    matrix = sp.eye_array(m) - _DAMPING * links @ sp.diags_array(1.0 / links.sum(axis=0))
    return LinearProgram(
        random.integers(1, 101, m).astype(np.float64),
        A_ub=sp.csr_array(-matrix),
        b_ub=np.full(m, -(1.0 - _DAMPING) / m),
        name=name,
    )


_FAMILIES = {
    "transport": _transport,
    "multicommodity": _multicommodity,
    "staircase": _staircase,
    "pagerank": _pagerank,
    "sparse": _sparse,
}


def write(problem: LinearProgram, path: Path) -> None:
    """Write a program as free MPS; ProblemError if the file cannot be written."""
    problem.write(path)
