"""Sparse matrices of every shape, and the trees of their factors."""

import numpy as np
import scipy.sparse as sp

from engine.solvers.linprog.multifrontal import ordering
from engine.solvers.linprog.sparse import products


def with_identity(columns):
    return sp.csc_array(sp.hstack([columns, sp.eye_array(columns.shape[0])]))


def edges(m, ends):
    """A graph's incidence matrix beside the identity: A D A^T is its Laplacian with a larger diagonal."""
    first, second = np.asarray(ends).reshape(-1, 2).T
    column = np.arange(first.size)
    values = np.concatenate([np.ones(first.size), -np.ones(first.size)])
    places = np.concatenate([first, second]), np.concatenate([column, column])
    return with_identity(sp.csc_array((values, places), shape=(m, first.size)))


def grid(side):
    at = np.arange(side * side).reshape(side, side)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    down = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return edges(side * side, np.concatenate([across, down]))


def matrices():
    random = np.random.default_rng(3)
    scattered = with_identity(sp.random_array((400, 500), density=0.004, rng=random))
    block = sp.csc_array(random.standard_normal((170, 200)))
    return {
        "one row": sp.csc_array(random.standard_normal((1, 4))),
        "no entries": with_identity(sp.csc_array((5, 2))),
        "grid": grid(23),
        "arrow": edges(301, [(0, i) for i in range(1, 301)]),
        "dense": block,
        "disconnected": sp.csc_array(sp.block_diag([grid(7), block[:90], sp.eye_array(3), grid(4)])),
        "scattered": scattered,
        "scattered and dense": sp.csc_array(sp.block_array([[scattered, None], [scattered[:170], block]])),
    }


MATRICES = matrices()


def lower_pattern(columns):
    return products.lower_pattern(sp.csc_array(columns))


def tree_of(columns):
    pattern = lower_pattern(columns)
    return ordering.best_tree(pattern.indices, pattern.indptr)
