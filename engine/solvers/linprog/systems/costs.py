"""Predicted seconds of each linear system; rates are multiplications a second, of an H200, its host and an EPYC."""

import importlib.util
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ....devices import Capabilities
from ....devices.host import host_cores
from ..multifrontal.form import augmented_entries, fills_in, products_in
from ..multifrontal.ordering import EliminationTree, best_tree
from ..multifrontal.plan import Plan
from ..multifrontal.symbolic import Fronts
from ..problem import LinearProgram, sp
from ..sparse.products import DenseColumns, are_dense, lower_pattern

Choice = Literal["device", "host", "dense"]


@dataclass(frozen=True)
class _Dense:
    """A dense factor on a device: what is fixed, a compute unit's rate, and rows of a triangle solved at a time."""

    seconds: float = 2e-4
    rate: float = 6.5e10
    block: int = 64


@dataclass(frozen=True)
class _Fronts:
    """Fronts on a device: what a launch takes in launches of the host, and the rate of a compute unit."""

    launch: float = 1.5
    rate: float = 2e10
    least_launches: int = 30  # of a factor worth while,
    least_solution_launches: int = 10  # and of a solution with it


@dataclass(frozen=True)
class _Library:
    """A sparse factor on the host: what is fixed, a core's rate, the most cores at work, and a solution's seconds."""

    seconds: float
    rate: float
    cores: int
    solution: float


_GPU, _CPU = _Dense(), _Dense(rate=1.5e10)
_FRONTS = _Fronts()
_RSLAB, _SUPERLU = _Library(3e-3, 6e9, 4, 3e-4), _Library(1e-3, 1e9, 1, 3e-4)  # in a child process
_SOLUTIONS = 8  # with each factor
_HOST_ENTRY = 2.5e-9  # seconds of an entry of a factor in a solution on the host,
_HOST_PRODUCT = 1.5e-9  # and of a product of two entries of a column when A Theta A^T is formed
_ITERATIONS, _USUAL_ITERATIONS = 30, 20  # of an interior-point method: many, and as most programs need
_ITERATION = 0.015  # seconds of an iteration on a CPU beside its factor
LEAST_SECONDS = _USUAL_ITERATIONS * _ITERATION
"""Of an interior-point method on a CPU, at least."""
_COUNTED = 2e7  # products up to which the entries of A A^T are counted for a prediction
_COUNTED_ROWS, _SURELY = 3_000, 2.0  # and rows, where a dense factor is that many times as fast on a CPU
_CHILD = 8e-3  # seconds of a child process that factorises, by the factorizations
_ANALYSIS = 2e-3  # seconds of an analysis, by the factorizations that follow
_FOR_A_WHILE = 0.025  # most seconds of dense iterations until there is a sparse factor, after 0.1 s or more
_MOST_ON_HOST = 1.0  # seconds with an augmented system
_DENSE_ROWS = 200  # up to so many rows a dense factor is always the fastest
_DENSE_PRODUCTS = 12.5  # products of entries of A, in entries of a full matrix, from which there are hardly any zeros
_OUT_OF_REACH = 75.0  # seconds that an interior point may take on a device before PDHG is tried first
_FILL, _AUGMENTED_FILL = 12.0, 4.0  # times the entries of a matrix that its factor is expected to have
IN_PROCESS = 20_000
"""Entries of a pattern that SuperLU factorises in this process."""
SIMPLICIAL_WORK, SIMPLICIAL_IN_PROCESS = 1e8, 200_000
"""Multiplications of an augmented system's factor up to which qdldl is the fastest, and entries that it takes here."""


def has_rslab() -> bool:
    """Whether rslab is installed."""
    return importlib.util.find_spec("rslab") is not None


def has_qdldl() -> bool:
    """Whether qdldl is installed."""
    return importlib.util.find_spec("qdldl") is not None


# --- seconds --------------------------------------------------------------------------------------------------------


def dense_seconds(rows: int, device: Capabilities) -> float:
    """Of a dense factor of so many rows on the device."""
    costs = _GPU if device.simt else _CPU
    solution = device.launch_cost * rows / costs.block
    return costs.seconds + rows**3 / 3 / (costs.rate * device.compute_units) + _SOLUTIONS * solution


def host_seconds(
    multiplications: float, nonzeros: float, products: float = 0.0, library: _Library | None = None
) -> float:
    """Of a sparse factor on the host: by the library given, or the fastest that is installed."""
    library = library or (_RSLAB if has_rslab() else _SUPERLU)
    rate = library.rate * min(library.cores, host_cores())
    solution = library.solution + _HOST_ENTRY * nonzeros
    return library.seconds + _HOST_PRODUCT * products + multiplications / rate + _SOLUTIONS * solution


def _augmented_seconds(multiplications: float, nonzeros: float) -> float:
    """Of an augmented system on the host: each solution is refined."""
    refinement = _SOLUTIONS * (_SUPERLU.solution + _HOST_ENTRY * nonzeros)
    return host_seconds(multiplications, nonzeros, 0.0, _SUPERLU) + refinement


def _fronts_seconds(fronts: Fronts, plan: Plan, device: Capabilities) -> float:
    """Of fronts on the device."""
    launches = _FRONTS.launch * plan.launches + _SOLUTIONS * plan.solution_launches
    return device.launch_cost * launches + fronts.multiplications / (_FRONTS.rate * device.compute_units)


# --- before the pattern is analysed ---------------------------------------------------------------------------------


def is_surely_dense(rows: int, device: Capabilities) -> bool:
    """Whether a dense factor of so many rows takes little longer than fronts at best: not worth an analysis."""
    launches = _FRONTS.launch * _FRONTS.least_launches + _SOLUTIONS * _FRONTS.least_solution_launches
    return dense_seconds(rows, device) <= device.launch_cost * launches + _ANALYSIS


def dense_for_a_while(rows: int, device: Capabilities) -> bool:
    """Whether iterations with a dense factor are worth while until a sparse one has been analysed."""
    return dense_seconds(rows, device) <= _FOR_A_WHILE


def is_nearly_dense(columns: Any) -> bool:
    """Whether A has so many entries in its columns that only a dense factor is worth while."""
    return products_in(columns) > _DENSE_PRODUCTS * columns.shape[0] ** 2 and not fills_in(columns)


def dense_is_faster(columns: Any, device: Capabilities) -> bool:
    """Whether a dense factor on the device is predicted to take less time than a sparse one of A on the host."""
    m = columns.shape[0]
    if m <= _DENSE_ROWS:
        return True
    dense, sparse = dense_seconds(m, device), _sparse_seconds(columns)
    if not device.simt and has_rslab():
        if m > _COUNTED_ROWS or dense > _SURELY**2 * sparse or (fills_in(columns) and _SURELY * dense > sparse):
            return False
        counted = _counted_seconds(columns)
        return _SURELY * dense <= (min(sparse, counted) if fills_in(columns) else counted)
    return is_nearly_dense(columns) or dense <= sparse


def _sparse_seconds(columns: Any) -> float:
    """Of the augmented system, or of the normal equations, on the host."""
    m, products = columns.shape[0], products_in(columns)
    if fills_in(columns):
        filled = min(0.5 * m * m, _AUGMENTED_FILL * augmented_entries(columns))
        return _augmented_seconds(filled**2 / m, filled)
    filled = 0.5 * m * m
    if products <= _COUNTED:
        ones = sp.csc_array((np.ones(columns.nnz), columns.indices, columns.indptr), shape=columns.shape)
        filled = min(filled, _FILL * 0.5 * ((ones @ ones.T).nnz + m))
    return host_seconds(filled**2 / m, filled, products)


def own_seconds(program: LinearProgram, device: Capabilities) -> float:
    """Of the interior-point method on a CPU in all, with as many iterations as most need."""
    if not program.m or not program.nonzeros:
        return 0.0
    columns = sp.csc_array(program.A) if program.is_sparse else None
    seconds = dense_seconds(program.m, device)
    if columns is not None and seconds > _CHILD and not dense_is_faster(columns, device):
        seconds = _sparse_seconds(columns)
        if fills_in(columns):
            kept = DenseColumns(columns).kept
            if products_in(kept) <= _FILL * kept.nnz:
                tree = _tree_of(kept)
                seconds = max(seconds, _augmented_seconds(tree.multiplications, float(tree.counts.sum())))
        elif program.m <= _COUNTED_ROWS:
            seconds = min(seconds, _counted_seconds(columns))
        elif 0.5 * _widest_level(program) ** 2 > _FILL * program.nonzeros:
            counted = _counted_seconds(columns)
            seconds = max(seconds, counted) if counted < math.inf else seconds
    return LEAST_SECONDS + _USUAL_ITERATIONS * seconds


def _counted_seconds(columns: Any) -> float:
    """With the entries that a factor of ``A A^T`` has; inf where it is not worth a count, of about an iteration's time.

    Networks and random patterns, whose rows do not fall into small levels, fill in ten times more than is expected.
    """
    kept = DenseColumns(columns).kept
    if products_in(kept) > _COUNTED:
        return math.inf
    tree = _tree_of(kept)
    return _CHILD + host_seconds(tree.multiplications, float(tree.counts.sum()), products_in(kept))


def _tree_of(columns: Any) -> EliminationTree:
    pattern = lower_pattern(columns)
    return best_tree(pattern.indices, pattern.indptr)


def is_out_of_reach(program: LinearProgram, device: Capabilities) -> bool:
    """Whether factors of a sparse program may take minutes on a GPU, and no order is likely to mend that.

    The rows at one distance from a row divide the others: as many form the last, full front of a random pattern.
    """
    rate = _FRONTS.rate * device.compute_units / _ITERATIONS
    if not (device.simt and program.is_sparse) or 0.25 * program.m**3 < _OUT_OF_REACH * rate:
        return False
    return _widest_level(program) ** 4 / 4.0 / program.m > _OUT_OF_REACH * rate


def _widest_level(program: LinearProgram) -> int:
    """The most rows at the same distance, through columns, from a row that is far from the others.

    Dense lines, which join all rows and add one row each to the last front, are left out and counted.
    """
    search = importlib.import_module("scipy.sparse.csgraph").breadth_first_order
    rows, columns = are_dense(np.diff(program.A.indptr)), are_dense(np.bincount(program.A.indices, minlength=program.n))
    ones = program.A[np.flatnonzero(~rows)][:, np.flatnonzero(~columns)]
    ones.data = np.ones(ones.nnz)
    (m, n), joining = ones.shape, int(np.count_nonzero(rows) + np.count_nonzero(columns))
    graph = sp.csr_array(sp.block_array([[None, ones], [ones.T, None]]))
    far = int(search(graph, int(np.argmax(np.diff(ones.indptr))), return_predecessors=False)[-1])
    order, before = search(graph, far)
    place = np.empty(m + n, np.int64)
    place[order] = np.arange(order.size)
    parents, begin, end, widest = place[before[order[1:]]], 0, 1, 0
    while begin < end:  # a level ends where parents of the next one begin
        widest = max(widest, int(np.count_nonzero(order[begin:end] < m)))
        begin, end = end, 1 + int(np.searchsorted(parents, end))
    return widest + joining


# --- after the analysis ---------------------------------------------------------------------------------------------


def augmented_is_faster(tree: EliminationTree, rows: int, device: Capabilities | None) -> bool:
    """Whether the host is predicted to need less time for an augmented system than the device for a dense factor."""
    seconds = _augmented_seconds(tree.multiplications, float(tree.counts.sum()))
    return seconds <= (_MOST_ON_HOST if device is None else min(_MOST_ON_HOST, dense_seconds(rows, device)))


def fastest(fronts: Fronts, plan: Plan, device: Capabilities, dense_fits: bool) -> Choice:
    """Who is predicted to need the least time. On devices that are not ``simt`` the fronts' kernels are slow."""
    if not device.simt:
        return "host"
    seconds: dict[Choice, float] = {
        "device": _fronts_seconds(fronts, plan, device),
        "host": host_seconds(fronts.multiplications, fronts.nonzeros),
    }
    if dense_fits:
        seconds["dense"] = dense_seconds(fronts.order.size, device)
    return min(seconds, key=seconds.__getitem__)
