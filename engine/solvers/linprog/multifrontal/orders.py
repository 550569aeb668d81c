"""Fill-reducing orders by installed libraries; imports nothing of this package, since a child process loads it."""

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

sp: Any = sparse
Index = NDArray[np.int64]


def has_metis() -> bool:
    """Whether pymetis is installed."""
    return importlib.util.find_spec("pymetis") is not None


def load() -> None:
    """Import what :func:`nested_dissection` needs, which takes longer than many an order."""
    importlib.import_module("pymetis")


def _graph(m: int, rows: Index, columns: Index, diagonal: float) -> Any:
    """The symmetric graph of entries below the diagonal in compressed columns; ``diagonal`` is added if it is not 0."""
    ones = np.full(rows.size, -1.0)
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    graph = sp.csc_array((np.concatenate([ones, ones]), both), shape=(m, m))
    if diagonal:
        graph = graph + diagonal * sp.eye_array(m, format="csc")
    return sp.csc_array(graph)


def minimum_degree(m: int, rows: Index, columns: Index) -> Index:
    """The multiple minimum degree order of SuperLU, from an incomplete factor that drops everything."""
    if m == 0 or rows.size == 0:
        return np.arange(m, dtype=np.int64)
    spilu: Callable[..., Any] = importlib.import_module("scipy.sparse.linalg").spilu
    graph = _graph(m, rows, columns, 1.0)
    degrees = np.diff(graph.indptr)
    graph.setdiag(2.0 * degrees + 1.0)
    factor = spilu(
        sp.csc_array(graph),
        drop_tol=1.0,
        fill_factor=1.0,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return np.argsort(factor.perm_c).astype(np.int64)


def nested_dissection(m: int, rows: Index, columns: Index) -> Index:
    """The order of METIS, which keeps all other threads waiting: pymetis holds the interpreter's lock."""
    if rows.size == 0:
        return np.arange(m, dtype=np.int64)
    pymetis = importlib.import_module("pymetis")
    graph = _graph(m, rows, columns, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        order, _ = pymetis.nested_dissection(adjacency=pymetis.CSRAdjacency(graph.indptr, graph.indices))
    return np.asarray(order, dtype=np.int64)
