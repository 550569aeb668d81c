"""Other forms of a standard program: for the devices, and with an interior point that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.solvers.linprog.shard import ShardData
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.standard import Standard

__all__ = ["big_m", "shard_data"]

Vector = NDArray[np.float64]


def shard_data(programs: list[Standard], elastic: bool = False) -> ShardData:
    """A batch of programs of one shape, slacks by rows; if ``elastic``, what a row lacks or has too much costs 1."""
    first = programs[0]
    slack_rows = np.flatnonzero(first.sign)
    signs = first.sign[slack_rows]
    tops = np.stack([program.slack_upper[slack_rows] for program in programs])
    costs = np.zeros((len(programs), slack_rows.size))
    if elastic:
        rows = np.arange(first.m)
        slack_rows = np.concatenate([slack_rows, rows, rows])
        signs = np.concatenate([signs, np.ones(first.m), -np.ones(first.m)])
        tops = np.concatenate([tops, np.full((len(programs), 2 * first.m), np.inf)], axis=1)
        costs = np.concatenate([costs, np.ones((len(programs), 2 * first.m))], axis=1)
        order = np.argsort(slack_rows, kind="stable")
        slack_rows, signs, tops, costs = slack_rows[order], signs[order], tops[:, order], costs[:, order]
    matrix: Any = first.A if sp.issparse(first.A) else None
    if matrix is None:
        stacked = [np.asarray(program.A) for program in programs]
        matrix = stacked[0][None] if len(stacked) == 1 else np.stack(stacked)
    return ShardData(
        A=matrix,
        c=np.concatenate([np.stack([program.c for program in programs]), costs], axis=1),
        upper=np.concatenate([np.stack([program.upper for program in programs]), tops], axis=1),
        free=np.concatenate([np.stack([program.free for program in programs]), np.zeros(costs.shape, bool)], axis=1),
        slack_rows=slack_rows.astype(np.int64),
        slack_signs=signs,
        m=first.m,
    )


def big_m(standard: Standard) -> tuple[Standard, list[Vector]]:
    """A program with an interior point that is known, and the same optimum: one more row and two more columns.

    At x0 = s0 = e (half the room of a bounded variable) and y0 = 0 a column ``b - A x0`` of cost M makes the rows
    hold, and
    a row ``-(c - s0 + z0) x + t = M'``, with dual -1, the dual constraints. Both are at zero in an optimum if M and
    M' are large enough. Returns the program and x, s, w, z, y.
    """
    rows = np.flatnonzero(standard.sign)
    x = np.where(np.isfinite(standard.upper), 0.5 * np.minimum(standard.upper, 2.0), 1.0)
    slack = np.where(np.isfinite(standard.slack_upper[rows]), 0.5 * np.minimum(standard.slack_upper[rows], 2.0), 1.0)
    x[standard.free] = 0.0
    lacking = standard.b - np.asarray(standard.A @ x)
    lacking[rows] -= standard.sign[rows] * slack
    bounded = np.isfinite(standard.upper)
    s, z = np.where(standard.free, 0.0, 1.0), np.where(bounded, 1.0, 0.0)
    missing = standard.c - s + z
    cost = 1e3 * (1.0 + float(np.abs(standard.c).max(initial=0.0))) * standard.n
    room = 1e3 * (1.0 + float(np.abs(standard.b).max(initial=0.0))) * (1.0 + float(np.abs(missing).sum()))
    corner = np.zeros((1, 1))
    blocks = [[sp.csr_array(standard.A), sp.csr_array(lacking[:, None])], [sp.csr_array(-missing[None]), corner]]
    matrix = sp.csr_array(sp.block_array(blocks))
    if not sp.issparse(standard.A):
        matrix = matrix.toarray()
    augmented = Standard(
        A=matrix,
        b=np.append(standard.b, room),
        c=np.append(standard.c, cost),
        upper=np.append(standard.upper, np.inf),
        free=np.append(standard.free, False),
        sign=np.append(standard.sign, 1.0),
        slack_upper=np.append(standard.slack_upper, np.inf),
    )
    tops = np.concatenate([standard.upper, [np.inf], standard.slack_upper[rows], [np.inf]])
    values = np.concatenate([x, [1.0], slack, [room + float(missing @ x)]])
    duals = np.concatenate([np.where(standard.free, 1.0, s), [cost], np.ones(rows.size), [1.0]])
    above = np.where(np.isfinite(tops), tops - values, 1.0)
    prices = np.concatenate([np.where(bounded, z, 1.0), [1.0], np.ones(rows.size), [1.0]])
    y = np.append(np.zeros(standard.m), -1.0)
    return augmented, [values[None], duals[None], above[None], prices[None], y[None]]
