"""The linkage tree of good strings: which genes they treat alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_TIE = 1e-9  # below every distance that is not 0: a random part of it decides between equal ones


class Linkage:
    """Learns which genes good strings treat alike; random numbers decide between equal distances."""

    def __init__(self, n: int, generator: np.random.Generator) -> None:
        self.n, self._random = n, generator
        first, second = np.triu_indices(n, 1)
        self._first, self._second, self._cells = first, second, first * n + second
        self._counts = np.empty((3, len(first)), np.intp)  # kept, as fresh memory takes longer than the arithmetic
        self._terms = np.empty((3, len(first)))

    def subsets(self, both: NDArray[np.intp], count: int) -> list[int]:
        """The nodes of a linkage tree as ints (bit i: gene i), from small to large, those of one size in random order.

        Of ``count`` strings ``both`` (n, n) have ones at both genes. The distance 2 - (H(i) + H(j)) / H(i, j) of genes
        joins clusters by its mean (UPGMA). The root is left out, and so are clusters that are always the same (distance
        0).
        """
        if self.n == 1:
            return []
        from scipy.cluster.hierarchy import linkage

        share = np.arange(1, count + 1) / count
        term = np.concatenate([[0.0], -share * np.log2(share)])
        ones = both.diagonal()
        entropy = term[ones] + term[count - ones]
        eleven, single, none = self._counts
        joint, part, distances = self._terms
        np.take(both, self._cells, out=eleven, mode="clip")
        np.take(term, eleven, out=joint, mode="clip")
        np.subtract(count, eleven, out=none)
        for genes in (self._first, self._second):
            np.take(ones, genes, out=single, mode="clip")
            single -= eleven
            none -= single
            joint += np.take(term, single, out=part, mode="clip")
        joint += np.take(term, none, out=part, mode="clip")
        np.take(entropy, self._first, out=distances, mode="clip")
        distances += np.take(entropy, self._second, out=part, mode="clip")
        np.maximum(joint, _TIE, out=joint)
        distances /= joint
        np.subtract(2.0, distances, out=distances)
        distances[joint == _TIE] = 0.0
        np.maximum(distances, 0.0, out=distances)
        self._random.random(out=part)
        part *= _TIE
        distances += part
        masks = [1 << gene for gene in range(self.n)]
        tree = linkage(distances, "average")
        useful = np.ones(2 * self.n - 1, bool)
        useful[tree[tree[:, 2] < 2 * _TIE, :2].astype(np.intp)] = False
        for left, right in tree[:, :2].astype(np.intp).tolist():
            masks.append(masks[left] | masks[right])
        sizes = np.concatenate([np.ones(self.n), tree[:-1, 3]]) + self._random.random(2 * self.n - 2)
        return [masks[place] for place in np.argsort(sizes).tolist() if useful[place]]
