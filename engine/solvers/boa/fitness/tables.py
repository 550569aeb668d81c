"""Functions given by tables over few genes each, and the named problems that have this form."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....base.problem import frozen, require_arrays
from ....errors import ProblemError, nearest
from ....util.text import shown
from .functions import Bits, Fitness, Hierarchy, Keys, check_genes, real_values, require_number

WIDEST_SCOPE = 16
_TYPES = {"genes": "int32", "scope_starts": "int32", "table_starts": "int32", "tables": "int64"}
_CELLS_AT_ONCE = 1 << 22
LARGEST_SUM = 2**41
"""Keys stay below this, so that the sum over a population of 2^21 fits in 64 bits."""


class Decomposable(Fitness):
    """A sum of functions of few genes each, given by tables: of one scope each, or one table for all.

    The first gene of a scope is the lowest bit of its table's index. Values with up to nine decimals are exact; others,
    and those whose sum would pass 2^41 then, are rounded to multiples of 2^-30 or of what is possible. ``bound``: what
    no value is better than, where the optimum is not known; ``hard``: what it costs to violate a constraint, 0 without
    any.
    """

    def __init__(
        self,
        n: int,
        scopes: Sequence[Sequence[int]],
        tables: Sequence[ArrayLike],
        *,
        minimize: bool = False,
        constant: float = 0,
        optimum: float | None = None,
        bound: float | None = None,
        hard: int = 0,
        text: str = "decomposable",
    ) -> None:
        self.n = check_genes(n)
        self.text = text
        self.minimize = minimize
        require_number(constant, "the constant, or offset,")
        if not abs(constant) < LARGEST_SUM:
            raise ProblemError(f"the constant, or offset, must stay below 2^41 in size; got {shown(constant)}")
        try:
            if not len(scopes) and not len(tables):  # a graph without edges, clauses that all hold
                scopes, tables = [[0]], [[0, 0]]
            widths = np.array([len(scope) for scope in scopes], np.int64)
        except TypeError:
            raise ProblemError(f"scopes must be lists of genes, with a table each; got {shown(scopes)}") from None
        shared = len(tables) == 1 and len(scopes) != 1
        if len(scopes) == 0 or (len(tables) != len(scopes) and not shared):
            raise ProblemError(f"there must be a table for each scope; got {len(tables)} for {len(scopes)} scopes")
        for place, scope in enumerate(scopes):
            self._check_scope(place, scope)
        raw = [real_values(table, f"table {place}").ravel() for place, table in enumerate(tables)]
        for place, width in enumerate(widths):
            if len(raw[0 if shared else place]) != 1 << width:
                size = len(raw[0 if shared else place])
                raise ProblemError(f"table {place} must have {1 << width} values, for {width} genes; it has {size}")
        flat = np.concatenate(raw)
        if not np.isfinite(flat).all():
            raise ProblemError("the values of tables must be finite")
        starts = np.concatenate([[0], np.cumsum([len(table) for table in raw])[:-1]]).astype(np.int32)
        sums = np.maximum.reduceat(np.abs(flat), starts)
        largest = float(sums.sum()) * (len(scopes) if shared else 1) + abs(constant)
        if largest >= LARGEST_SUM:
            raise ProblemError(f"the values of tables must stay below 2^41 in sum; got {largest:g}")
        self.scale = _scale_of(np.append(flat, constant), largest)
        sign = -1 if minimize else 1
        self.tables: NDArray[np.int64] = frozen(sign * np.rint(flat * self.scale).astype(np.int64))
        self.constant = sign * round(constant * self.scale)
        self.table_starts: NDArray[np.int32] = frozen(np.zeros(len(scopes), np.int32) if shared else starts)
        self.scope_starts: NDArray[np.int32] = frozen(np.concatenate([[0], np.cumsum(widths)]).astype(np.int32))
        self.genes: NDArray[np.int32] = frozen(np.array([gene for scope in scopes for gene in scope], np.int32))
        self.hard = hard
        self.best_is_bound = optimum is None and bound is not None
        best = bound if optimum is None else optimum
        self.best_key = None if best is None else self.key(best)

    def _check_scope(self, place: int, scope: Sequence[int]) -> None:
        if len(scope) > WIDEST_SCOPE:
            raise ProblemError(f"scope {place} must have at most {WIDEST_SCOPE} genes; it has {len(scope)}")
        for gene in scope:
            if not isinstance(gene, (int, np.integer)) or not 0 <= gene < self.n:
                raise ProblemError(
                    f"genes of scope {place} must be whole numbers from 0 to {self.n - 1}; got {shown(gene)}"
                )
        if len(set(scope)) != len(scope):
            raise ProblemError(f"scope {place} names a gene twice: {list(scope)}")

    @cached_property
    def widths(self) -> NDArray[np.int32]:
        """Genes of each function."""
        return np.diff(self.scope_starts)

    @property
    def width(self) -> int:
        """Genes of every function, or 0 if they differ."""
        return int(self.widths[0]) if (self.widths == self.widths[0]).all() else 0

    @property
    def is_pairwise(self) -> bool:
        """Whether no function is of more than two genes."""
        return int(self.widths.max()) <= 2

    @cached_property
    def fits_i32(self) -> bool:
        """Whether every sum fits 32 bits."""
        return self.largest_sum + abs(self.constant) < 2**31

    @cached_property
    def largest_sum(self) -> int:
        """A bound on the absolute value of every sum of some functions."""
        return int(self.largest_of(np.abs(self.tables)).sum())

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether the complement of every bit string has the same value, table by table."""
        starts, _ = self.distinct_tables
        return all(np.array_equal(table, table[::-1]) for table in np.split(self.tables, starts[1:]))

    @cached_property
    def distinct_tables(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Where the different tables start, in order, and the place of each function's table among them."""
        return np.unique(self.table_starts, return_inverse=True)

    def largest_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each function the largest of some values, of which there is one for each entry of ``tables``."""
        starts, places = self.distinct_tables
        return np.asarray(np.maximum.reduceat(values, starts)[places])

    def violated(self, key: int) -> tuple[int, int | float] | None:
        """How many constraints an individual of this key violates, and what the rest costs; None without any."""
        if not self.hard:
            return None
        cost = abs(self.value(key))
        count = int(cost // self.hard)
        return count, cost - count * self.hard

    @override
    def keys(self, bits: Bits) -> Keys:
        total = np.full(len(bits), self.constant, np.int64)
        functions = len(self.table_starts)
        together = max(1, _CELLS_AT_ONCE // max(1, len(bits) * max(1, len(self.genes) // functions)))
        for first in range(0, functions, together):
            scopes = self.scope_starts[first : first + together + 1].astype(np.int64)
            genes = self.genes[scopes[0] : scopes[-1]]
            places = np.arange(len(genes)) - np.repeat(scopes[:-1] - scopes[0], np.diff(scopes))
            sums = np.zeros((len(bits), len(genes) + 1), np.int64)
            np.cumsum(bits[:, genes].astype(np.int64) << places, axis=1, out=sums[:, 1:])
            index = sums[:, scopes[1:] - scopes[0]] - sums[:, scopes[:-1] - scopes[0]]
            total += self.tables[self.table_starts[first : first + together] + index].sum(axis=1)
        return total

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        best = [] if self.best_key is None else [self.best_key, self.best_is_bound, self.hard]
        return {
            "genes": self.genes,
            "scope_starts": self.scope_starts,
            "table_starts": self.table_starts,
            "tables": self.tables,
            "numbers": np.array([self.n, self.scale, self.minimize, self.constant, *best], np.int64),
            "text": np.array(self.text),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of :meth:`to_arrays`; kernels follow the indices, so everything is checked again."""
        require_arrays(arrays, ("numbers", "text", *_TYPES), "a function given by tables")
        for name, kind in _TYPES.items():
            if arrays[name].ndim != 1 or arrays[name].dtype != kind:
                raise ProblemError(f"the {name} of a function given by tables must be one row of {kind}")
        made = cls.__new__(cls)
        if not 4 <= len(arrays["numbers"]) <= 7 or arrays["numbers"].dtype != np.int64:
            raise ProblemError("the numbers of a function given by tables must be 4 to 7 integers")
        numbers = [*arrays["numbers"].tolist(), *(None, False, 0)[len(arrays["numbers"]) - 4 :]]
        n, made.scale, minimize, made.constant, made.best_key, best_is_bound, made.hard = numbers
        made.n, made.minimize, made.best_is_bound = check_genes(n), bool(minimize), bool(best_is_bound)
        made.text = str(arrays["text"])
        made.tables, made.genes = frozen(arrays["tables"]), frozen(arrays["genes"])
        made.table_starts, made.scope_starts = frozen(arrays["table_starts"]), frozen(arrays["scope_starts"])
        made._check_arrays()
        return made

    def _check_arrays(self) -> None:
        """Refuse indices outside the arrays that they point into, and values beyond the limits of the constructor."""
        starts, functions = self.scope_starts.astype(np.int64), len(self.table_starts)
        widths = np.diff(starts)
        if not functions or len(starts) != functions + 1 or starts[0] != 0 or starts[-1] != len(self.genes):
            raise ProblemError("the scopes of a function given by tables must divide its genes, one for each table")
        if not 0 <= widths.min() <= widths.max() <= WIDEST_SCOPE:
            raise ProblemError(f"a scope must have at most {WIDEST_SCOPE} genes")
        if len(self.genes) and not 0 <= self.genes.min() <= self.genes.max() < self.n:
            raise ProblemError(f"the genes of scopes must be from 0 to {self.n - 1}")
        scope = np.repeat(np.arange(functions), widths)
        order = np.lexsort((self.genes, scope))
        if ((np.diff(scope[order]) == 0) & (np.diff(self.genes[order]) == 0)).any():
            raise ProblemError("a scope names a gene twice")
        first, place = self.distinct_tables
        sizes = np.diff(np.append(first, len(self.tables)))
        if first[0] != 0 or not np.array_equal(sizes[place], 1 << widths):
            raise ProblemError("the tables of functions must follow each other, each of 2^genes values")
        largest = LARGEST_SUM << 1  # rounded values may pass the limit; the least integer has no absolute value
        inside = -largest < self.tables.min() and self.tables.max() < largest
        if not inside or self.largest_sum + abs(self.constant) >= largest:
            raise ProblemError("the values of tables must stay below 2^41 in sum")
        if not 1 <= self.scale <= 2**30 or self.hard < 0:
            raise ProblemError("the scale of a function given by tables must be from 1 to 2^30, and hard at least 0")


def _scale_of(values: NDArray[np.float64], largest: float) -> int:
    """The least power of ten, to nine, that makes all values whole; else a power of two, to 2^30, that leaves room."""
    for digits in range(10):
        scaled = values * 10.0**digits
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-14 * np.abs(scaled)) and largest * 10**digits < LARGEST_SUM:
            return int(10**digits)
    return int(2 ** min(30, math.ceil(math.log2(LARGEST_SUM / max(largest, 1.0))) - 1))


def onemax(n: int) -> Decomposable:
    """The number of ones; optimum n."""
    n = check_genes(n)
    return Decomposable(n, [[gene] for gene in range(n)], [[0, 1]], optimum=n, text="onemax")


def trap(n: int, k: int = 5) -> Decomposable:
    """Sum over blocks of k genes: k if all are one, else k - 1 - (number of ones); optimum n.

    Source: K. Deb, D. E. Goldberg, "Analyzing deception in trap functions", FOGA 2 (1993) 93-108.
    """
    n = check_genes(n)
    if not 2 <= k <= WIDEST_SCOPE or n % k:
        raise ProblemError(f"trap-{k} needs k from 2 to {WIDEST_SCOPE} and n a multiple of k; got n = {n}")
    table = [k if ones == k else k - 1 - ones for ones in (index.bit_count() for index in range(1 << k))]
    return Decomposable(n, [range(start, start + k) for start in range(0, n, k)], [table], optimum=n, text=f"trap-{k}")


def deceptive3(n: int) -> Decomposable:
    """Sum over blocks of three: 0.9, 0.8, 0 and 1 for 0, 1, 2 and 3 ones; optimum n / 3.

    Source: Pelikan, Goldberg, Cantu-Paz, GECCO 1999, section 5.1.
    """
    n = check_genes(n)
    if n % 3:
        raise ProblemError(f"deceptive-3 needs n a multiple of 3; got {n}")
    table = [(0.9, 0.8, 0.0, 1.0)[index.bit_count()] for index in range(8)]
    scopes = [range(start, start + 3) for start in range(0, n, 3)]
    return Decomposable(n, scopes, [table], optimum=n // 3, text="deceptive-3")


BUILT_IN: dict[str, Callable[[int], Fitness]] = {
    "onemax": onemax,
    "deceptive-3": deceptive3,
    "hiff": functools.partial(Hierarchy, "hiff"),
    "htrap": functools.partial(Hierarchy, "htrap"),
}
"""Functions that need nothing but their number of genes; ``trap-K`` is known too."""


def built_in(name: str, n: int) -> Fitness:
    """The built-in function of that name, one of :data:`BUILT_IN` or ``"trap-K"``, for n genes."""
    family, _, order = name.partition("-")
    if family == "trap" and (not order or order.isdigit()):
        return trap(n, int(order or 5))
    if name not in BUILT_IN:
        known = [*BUILT_IN, "trap-5"]
        raise ProblemError(f"there is no built-in fitness '{name}'{nearest(name, known)} (known: {', '.join(known)})")
    return BUILT_IN[name](n)


def nearest_neighbour_nk(
    n: int,
    tables: Sequence[Sequence[float]],
    neighbours: int,
    step: int,
    optimum: float | None = None,
    wraps: bool = False,
) -> Decomposable:
    """Tables on genes s step .. s step + k, cut off at the last or (``wraps``) not; the first is the highest bit."""
    ends = [(start, start + neighbours + 1) for start in range(0, n, step)]
    scopes = [[gene % n for gene in range(start, end if wraps else min(end, n))][::-1] for start, end in ends]
    own = [table[: 1 << len(scope)] for table, scope in zip(tables, scopes, strict=True)]
    return Decomposable(n, scopes, own, optimum=optimum, text="NK landscape")


def ising(
    n: int,
    bonds: Sequence[tuple[int, int, float]],
    energy: float | None = None,
    fields: Sequence[tuple[int, float]] = (),
) -> Decomposable:
    """Minus the energy of bonds (a, b, J) and fields (a, h); ``energy`` is its least value."""
    if energy is not None:
        require_number(energy, "the energy")
    scopes = [*((a, b) for a, b, _ in bonds), *((a,) for a, _ in fields)]
    tables = [*((j, -j, -j, j) for _, _, j in bonds), *((-h, h) for _, h in fields)]
    return Decomposable(n, scopes, tables, optimum=None if energy is None else -energy, text="Ising spin glass")


def max_cut(n: int, edges: Sequence[tuple[int, int, float]], optimum: float | None = None) -> Decomposable:
    """The weight of edges (a, b, weight) between genes at 0 and genes at 1; each pair once."""
    scopes, tables = [(a, b) for a, b, _ in edges], [(0, w, w, 0) for _, _, w in edges]
    return Decomposable(n, scopes, tables, optimum=optimum, text="max-cut")


def qubo(
    n: int,
    entries: Sequence[tuple[int, int, float]],
    optimum: float | None = None,
    maximize: bool = False,
    offset: float = 0.0,
) -> Decomposable:
    """The function x'Qx to be minimised, Q symmetric: an entry off the diagonal is given once and stands for two."""
    scopes = [(a,) if a == b else (a, b) for a, b, _ in entries]
    tables = [(0, q) if a == b else (0, 0, 0, 2 * q) for a, b, q in entries]
    return Decomposable(n, scopes, tables, minimize=not maximize, constant=offset, optimum=optimum, text="QUBO")


def starts_of(owners: NDArray[Any], n: int) -> NDArray[np.int32]:
    """Where the entries of each owner begin once they are sorted by owner; n + 1 numbers."""
    return np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))]).astype(np.int32)


def quadratic_form(
    fitness: Decomposable,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Of functions of at most two genes: linear terms (n,); starts (n + 1,) of neighbours; these; their couplings."""
    widths, linear = fitness.widths, np.zeros(fitness.n, np.int64)
    tables, at = fitness.tables, fitness.table_starts.astype(np.int64)
    single = np.flatnonzero(widths == 1)
    np.add.at(linear, fitness.genes[fitness.scope_starts[single]], tables[at[single] + 1] - tables[at[single]])
    double = np.flatnonzero(widths == 2)
    first, second = (fitness.genes[fitness.scope_starts[double] + place].astype(np.int64) for place in (0, 1))
    t00, t10, t01, t11 = (tables[at[double] + index] for index in range(4))
    np.add.at(linear, first, t10 - t00)
    np.add.at(linear, second, t01 - t00)
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs, inverse = np.unique(low * fitness.n + high, return_inverse=True)
    coupling = np.zeros(len(pairs), np.int64)
    np.add.at(coupling, inverse, t00 - t10 - t01 + t11)
    kept = coupling != 0
    low, high, coupling = pairs[kept] // fitness.n, pairs[kept] % fitness.n, coupling[kept]
    owners, others = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((others, owners))
    couplings = np.concatenate([coupling, coupling])[order]
    return linear, starts_of(owners, fitness.n), others[order].astype(np.int32), couplings
