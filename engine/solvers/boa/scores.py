"""The K2 score of network structures in whole numbers, so that every device learns the same network.

The score of a node is a sum over the configurations of its parents of ``ln a! + ln b! - ln (a + b + 1)!``, where ``a``
and ``b`` count the individuals with the gene at 0 and at 1: Cooper and Herskovits, "A Bayesian method for the induction
of probabilistic networks from data", Machine Learning 9 (1992) 309-347.
"""

import math

import numpy as np
from numpy.typing import NDArray

_MOST_BITS = 14

ENTROPY_UNIT = 2.0**-20
"""Of entropies in whole numbers, in bits."""


def log_factorials(selected: int) -> NDArray[np.uint32]:
    """The logarithms of i! for i from 0 to ``selected + 1``, rounded to multiples of a power of 1/2, modulo 2^32.

    Only differences between two scores of one node are ever used, and those are at most S ln 2, which has 31 bits.
    """
    bits = min(_MOST_BITS, int(30.5 - math.log2(max(2.0, selected * math.log(2)))))
    values = np.cumsum(np.log(np.maximum(1, np.arange(selected + 2)).astype(np.longdouble))) * 2.0**bits
    return np.asarray(np.rint(values).astype(np.int64) & 0xFFFFFFFF, np.uint32)


def entropy_table(selected: int) -> NDArray[np.int32]:
    """What a value that c of ``selected`` individuals have adds to the entropy of its gene, for each c; whole units."""
    share = np.arange(selected + 1) / selected
    bits = -share * np.log2(np.maximum(share, 1.0 / selected))
    return np.rint(bits / ENTROPY_UNIT).astype(np.int32)
