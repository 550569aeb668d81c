"""Products of a sparse matrix on devices, and A D A^T, against SciPy; long lines are divided among work-items."""

import numpy as np
import pytest
import scipy.sparse as sp

from engine.numerics.groups import group_size
from engine.solvers.linprog.interior import sparse_matrix
from engine.solvers.linprog.interior.sparse_matrix import SparseMatrix
from engine.solvers.linprog.sparse import long_lines


def uneven(m, count):
    """Two full rows and a full column among rows of a few entries, and an empty row."""
    random = np.random.default_rng(4)
    matrix = sp.random_array((m, count), density=3 / count, rng=random).toarray()
    matrix[[3, m - 2]] = random.standard_normal((2, count))
    matrix[:, 5] = random.standard_normal(m)
    matrix[7] = 0.0
    return sp.csr_array(matrix)


@pytest.fixture
def few_are_long(monkeypatch):
    """Lines of more than 20 entries are long on every device, and chunks have 16 entries."""
    monkeypatch.setattr(long_lines, "LONG", 20)
    monkeypatch.setattr(long_lines, "_LONG_FORMED", 20)
    monkeypatch.setattr(long_lines, "_CHUNK", 16)
    lines, longest, chunks = long_lines.long_lines, long_lines.longest_line, long_lines.chunks_of
    monkeypatch.setattr(sparse_matrix, "long_lines", lambda starts, _: lines(starts, True))
    monkeypatch.setattr(sparse_matrix, "longest_line", lambda _: longest(True))
    monkeypatch.setattr(sparse_matrix, "chunks_of", lambda starts, sums, most, _: chunks(starts, sums, most, True))


@pytest.mark.usefixtures("few_are_long")
@pytest.mark.parametrize(("most", "block"), [(1 << 20, 64), (1 << 20, 0), (300, 0), (10, 0)])
def test_long_lines_are_added_up(device, monkeypatch, most, block):
    monkeypatch.setattr(sparse_matrix, "_MOST_SUMS", most)
    m, count = 60, 333
    matrix = uneven(m, count)
    random = np.random.default_rng(5)
    x, y, theta = random.standard_normal(count), random.standard_normal(m), random.random(count)

    def work(opened):
        buffers = {}
        size = block or group_size(opened.capabilities)
        found = SparseMatrix(opened, matrix, buffers, size, lambda items: items)
        assert ("row_long" in buffers, "column_long" in buffers) == (True, True)
        out = {"row": opened.empty(m, np.float64), "column": opened.empty(count, np.float64)}
        for side, items, values in (("row", m, x), ("column", count, y)):
            found.multiplication(side, items, opened.put(values), out[side])()
        normal = opened.empty((m, m), np.float64)
        results = []
        for _ in range(2):
            found.form(opened.put(theta), normal)
            results.append(np.tril(opened.get(normal)))
        assert ("chunk_sums" in buffers) == (most > 10)
        return [opened.get(out["row"]), opened.get(out["column"]), *results]

    by_rows, by_columns, normal, again = device.submit(work).result()
    assert np.allclose(by_rows, matrix @ x, rtol=1e-12, atol=1e-12)
    assert np.allclose(by_columns, matrix.T @ y, rtol=1e-12, atol=1e-12)
    assert np.allclose(normal, np.tril(((matrix * theta) @ matrix.T).toarray()), rtol=1e-12, atol=1e-12)
    assert (normal == again).all()
