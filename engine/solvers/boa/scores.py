"""Scores of network structures as tables of whole numbers, so that every device learns the same network.

The score of a node is a sum over the configurations of its parents of ``L(a, b) = leaf[a] + leaf[b] - total[a + b]``,
where ``a`` and ``b`` count the individuals with the gene at 0 and at 1. All scores here have that form:

======== ============================= ================================ ===========================================
score    leaf[i]                       total[i]                         price of a parent added to s
======== ============================= ================================ ===========================================
``k2``   ln i!                         ln (i + 1)!                      0
``bic``  i ln i                        i ln i                           2^s parameters at (ln S) / 2 each
``bdeu`` lnG(i + e/2q) - lnG(e/2q)     lnG(i + e/q) - lnG(e/q)          0; q = 2^s configurations, e the sample size
======== ============================= ================================ ===========================================

Values are rounded to multiples of ``2**-bits`` nats and kept modulo 2^32: only differences between two scores of one
node are ever used, and those are at most S ln 2.

References
----------
G. F. Cooper, E. Herskovits, "A Bayesian method for the induction of probabilistic networks from data", Machine Learning
9 (1992) 309-347. D. Heckerman, D. Geiger, D. M. Chickering, "Learning Bayesian networks", Machine Learning 20 (1995).
G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978) 461-464.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENTROPY_UNIT", "Score", "ScoreTables", "entropy_table", "score_tables"]

Score = Literal["k2", "bic", "bdeu"]

_MOST_BITS = 14

ENTROPY_UNIT = 2.0**-20
"""Of entropies in whole numbers, in bits."""


@dataclass(frozen=True)
class ScoreTables:
    """Fixed-point tables of one score for one number of selected individuals.

    Attributes
    ----------
    leaf, total : ndarray of int64, shape (max_parents + 1, S + 2)
        A row for each number of parents; in units of ``2**-bits`` nats.
    prices : tuple of int
        What adding a parent to ``s`` parents costs, for ``s`` from 0 to ``max_parents - 1``; same unit.
    bits : int
        Binary places.
    """

    leaf: NDArray[np.int64]
    total: NDArray[np.int64]
    prices: tuple[int, ...]
    bits: int

    def wrapped(self) -> NDArray[np.uint32]:
        """What devices are given: leaf rows, then total rows, modulo 2^32; shape (2, max_parents + 1, S + 2)."""
        return (np.stack([self.leaf, self.total]) & 0xFFFFFFFF).astype(np.uint32)


def score_tables(score: Score, selected: int, max_parents: int, equivalent_sample_size: float = 1.0) -> ScoreTables:
    """Tables for learning from ``selected`` individuals with at most ``max_parents`` parents a node.

    Parameters
    ----------
    score : {"k2", "bic", "bdeu"}
    selected : int
        S, the number of individuals that networks are learned from.
    max_parents : int
    equivalent_sample_size : float
        The ``e`` of ``bdeu``, in individuals.

    Returns
    -------
    ScoreTables
    """
    from scipy.special import gammaln, xlogy  # slow to import

    bits = min(_MOST_BITS, int(30.5 - math.log2(max(2.0, selected * math.log(2)))))
    counts = np.arange(selected + 2, dtype=np.float64)
    levels = range(max_parents + 1)
    prices = [0.0] * max_parents
    if score == "k2":
        leaf = [gammaln(counts + 1)] * len(levels)
        total = [gammaln(counts + 2)] * len(levels)
    elif score == "bic":
        leaf = total = [np.asarray(xlogy(counts, counts), np.float64)] * len(levels)
        prices = [2.0**s * 0.5 * math.log(max(2, selected)) for s in range(max_parents)]
    else:
        share = [equivalent_sample_size / 2**s for s in levels]
        leaf = [gammaln(counts + e / 2) - gammaln(e / 2) for e in share]
        total = [gammaln(counts + e) - gammaln(e) for e in share]
    scale = 2.0**bits
    return ScoreTables(
        np.rint(np.stack(leaf) * scale).astype(np.int64),
        np.rint(np.stack(total) * scale).astype(np.int64),
        tuple(round(price * scale) for price in prices),
        bits,
    )


def entropy_table(selected: int) -> NDArray[np.int32]:
    """What a value that c of ``selected`` individuals have adds to the entropy of its gene, for each c; whole units."""
    from scipy.special import xlogy  # slow to import

    share = np.arange(selected + 1) / selected
    bits = np.asarray(-xlogy(share, share), np.float64) / math.log(2)
    return np.rint(bits / ENTROPY_UNIT).astype(np.int32)
