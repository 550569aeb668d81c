"""Exact elimination of genes that few others are linked to, from functions of at most two genes.

The best value of such a gene is a function of its neighbours. Where that is again a sum of functions of two genes (for
up to two neighbours, and three where a string's complement has its value), it takes the gene's place. Of random graphs
with two edges a vertex, six in seven vertices go. Source: F. Barahona, M. Grötschel, M. Jünger, G. Reinelt, Operations
Research 36 (1988) 493-513; for three neighbours the star-triangle relation of the Ising model.
"""

import itertools

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....base.problem import frozen
from .functions import Bits
from .tables import Decomposable, quadratic_form

_MOST_NEIGHBOURS = 3
_LEAST_GENES, _MOST_GENES, _LEAST_SHARE = 500, 200_000, 0.1
_ENUMERATED = 16  # genes of what is left, of whose strings the best is known

Step = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""A gene, what a one is worth, its neighbours, and what a one is worth besides where they are ones."""


class Reduced(Decomposable):
    """What remains: genes ``kept``, in order; a constant, what a one is worth (``linear``), and two ones besides."""

    def __init__(
        self,
        whole: Decomposable,
        kept: NDArray[np.int64],
        steps: list[Step],
        constant: int,
        linear: list[int],
        couplings: list[dict[int, int]],
    ) -> None:
        self.function, self.kept, self._steps = whole, kept, steps
        self.n, self.text, self.minimize, self.hard = len(kept), whole.text, whole.minimize, whole.hard
        place = {gene: at for at, gene in enumerate(kept.tolist())}
        pairs = [(gene, other, c) for gene in place for other, c in couplings[gene].items() if gene < other]
        # Of a function that complements do not change, so that it stays one: what an edge adds if its ends differ.
        is_cut = all(2 * linear[gene] == -sum(couplings[gene].values()) for gene in place)
        self.factor = 2 if is_cut and any(c % 2 for *_, c in pairs) else 1
        scopes: list[tuple[int, ...]] = []
        tables: list[tuple[int, ...]] = []
        for gene, other, c in pairs:
            half = -c * self.factor // 2
            scopes.append((place[gene], place[other]))
            tables.append((0, half, half, 0) if is_cut else (0, 0, 0, c))
        for gene in () if is_cut else place:
            scopes.append((place[gene],))
            tables.append((0, linear[gene]))
        if not scopes:
            scopes, tables = [(0,)], [(0, 0)]
        widths = np.array([len(scope) for scope in scopes])
        self.scale, self.constant = whole.scale * self.factor, constant * self.factor
        self.tables = frozen(np.array([value for table in tables for value in table], np.int64))
        self.table_starts = frozen((np.cumsum(1 << widths) - (1 << widths)).astype(np.int32))
        self.scope_starts = frozen(np.concatenate([[0], np.cumsum(widths)]).astype(np.int32))
        self.genes = frozen(np.array([gene for scope in scopes for gene in scope], np.int32))
        self.best_key = None if whole.best_key is None else whole.best_key * self.factor
        self.best_is_bound = whole.best_is_bound
        self.is_enumerated = self.n <= _ENUMERATED and (self.best_key is None or self.best_is_bound)
        if self.is_enumerated:
            every = (np.arange(1 << self.n)[:, None] >> np.arange(self.n)) & 1
            self.best_key, self.best_is_bound = int(self.keys(every.astype(np.uint8)).max()), False

    @override
    def value(self, key: int) -> int | float:
        return self.function.value(key // self.factor)

    @override
    def key(self, value: float) -> int:
        return self.function.key(value) * self.factor

    @override
    def whole(self, bits: Bits) -> Bits:
        """Each eliminated gene has its best value."""
        made = np.zeros((self.function.n, len(bits)), np.uint8)
        made[self.kept] = bits.T
        for gene, linear, neighbours, couplings in reversed(self._steps):
            gain = np.full(len(bits), linear, np.int64)
            for other, coupling in zip(neighbours, couplings, strict=True):
                gain += np.int64(coupling) * made[other]
            made[gene] = gain > 0
        return np.ascontiguousarray(made.T)

    @property
    @override
    def whole_genes(self) -> NDArray[np.int64]:
        return self.kept


def reduced(fitness: Decomposable) -> Reduced | None:
    """What remains of a function of two genes, of up to 16 with its optimum; None if few of many would go."""
    n = fitness.n
    is_small = n <= _ENUMERATED
    if not (is_small or _LEAST_GENES <= n <= _MOST_GENES) or not fitness.is_pairwise:
        return None
    terms, starts, others, weights = quadratic_form(fitness)
    degrees = np.diff(starts)
    if not is_small and (degrees <= _MOST_NEIGHBOURS).mean() < _LEAST_SHARE:
        return None
    linear: list[int] = terms.tolist()
    ends, weight = others.tolist(), weights.tolist()
    edges = [dict(zip(ends[a:b], weight[a:b], strict=True)) for a, b in itertools.pairwise(starts)]
    constant = int(fitness.keys(np.zeros((1, n), np.uint8))[0])
    waiting: list[list[int]] = [[] for _ in range(_MOST_NEIGHBOURS + 1)]
    for gene in range(n - 1, -1, -1):
        if degrees[gene] <= _MOST_NEIGHBOURS:
            waiting[degrees[gene]].append(gene)
    steps: list[Step] = []
    gone = np.zeros(n, bool)
    while len(steps) < n - 1:
        count = next((count for count, genes in enumerate(waiting) if genes), None)
        if count is None:
            break
        gene = waiting[count].pop()
        links = edges[gene]
        if gone[gene] or count != len(links):
            continue  # it is gone, or waits with another number of neighbours
        neighbours, couplings = tuple(links), tuple(links.values())
        best = _best(linear[gene], couplings)
        if len(couplings) == _MOST_NEIGHBOURS and best.pop(7):
            continue
        gone[gene] = True
        steps.append((gene, linear[gene], neighbours, couplings))
        edges[gene] = {}
        constant += best.pop(0)
        for other in neighbours:
            del edges[other][gene]
        for subset, worth in best.items():
            ones = [other for place, other in enumerate(neighbours) if subset >> place & 1]
            if len(ones) == 1:
                linear[ones[0]] += worth
            elif worth:
                first, second = ones
                total = edges[first].pop(second, 0) + worth
                edges[second].pop(first, None)
                if total:
                    edges[first][second] = edges[second][first] = total
        for other in neighbours:
            if len(edges[other]) <= _MOST_NEIGHBOURS:
                waiting[len(edges[other])].append(other)
    if not is_small and len(steps) < _LEAST_SHARE * n:
        return None
    return Reduced(fitness, np.flatnonzero(~gone), steps, constant, linear, edges)


def _best(linear: int, couplings: tuple[int, ...]) -> dict[int, int]:
    """The best worth of a gene as a polynomial in its neighbours: coefficients by the set of neighbours, a bit each."""
    size = 1 << len(couplings)
    gains = (sum(c for place, c in enumerate(couplings) if subset >> place & 1) for subset in range(size))
    values = [max(0, linear + gain) for gain in gains]
    for place in range(len(couplings)):
        for subset in range(size):
            if subset >> place & 1:
                values[subset] -= values[subset ^ (1 << place)]
    return dict(enumerate(values))
