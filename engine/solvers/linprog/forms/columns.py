"""A linear program in standard form as the methods take it: columns, and slacks by their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import sp

__all__ = ["ShardData", "cut", "with_slacks"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ShardData:
    """Columns of a batch of k programs in standard form, all of m rows.

    ``A`` is (k, m, n), or sparse: (k m, k n), with the programs' matrices on its diagonal; ``c`` and ``upper`` are
    (k, N), ``free`` likewise; slack i is in row ``slack_rows[i]`` with coefficient ``slack_signs[i]``.
    """

    A: Any
    c: Vector
    upper: Vector
    free: NDArray[np.bool_]
    slack_rows: NDArray[np.int64]
    slack_signs: Vector
    m: int

    @property
    def batch(self) -> int:
        """Programs."""
        return int(self.c.shape[0])

    @property
    def n(self) -> int:
        """Columns of A."""
        return int(self.A.shape[-1]) // (self.batch if sp.issparse(self.A) else 1)

    @property
    def N(self) -> int:
        """Columns and slacks."""
        return int(self.c.shape[1])


def cut(data: ShardData, ends: list[int]) -> list[ShardData]:
    """The columns of A cut at ``ends``; the slacks stay with the first part."""
    parts = []
    begin = 0
    for rank, end in enumerate(ends):
        columns = np.arange(begin, end)
        if rank == 0:
            columns = np.concatenate([columns, np.arange(data.n, data.N)])
        keep = slice(None) if rank == 0 else slice(0, 0)
        parts.append(
            ShardData(
                data.A[..., begin:end],
                data.c[:, columns],
                data.upper[:, columns],
                data.free[:, columns],
                data.slack_rows[keep],
                data.slack_signs[keep],
                data.m,
            )
        )
        begin = end
    return parts


def with_slacks(data: ShardData) -> Any:
    """The sparse A with the columns of its slacks; those of all programs come last."""
    matrix = sp.csr_array(data.A)
    k, slacks = data.batch, data.N - data.n
    if not slacks:
        return matrix
    rows = (data.slack_rows + data.m * np.arange(k)[:, None]).ravel()
    places = rows, np.arange(k * slacks)
    return sp.hstack([matrix, sp.csr_array((np.tile(data.slack_signs, k), places), shape=(k * data.m, k * slacks))])
