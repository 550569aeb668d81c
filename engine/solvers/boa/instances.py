"""Named problems over bit strings as sums of small tables, random instances of them, and exact optima for some."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from engine.errors import ProblemError, nearest
from engine.formats.bit_strings import Parsed
from engine.solvers.boa.fitness import Decomposable, Fitness, Hierarchy, Snippet, deceptive3, onemax, trap

__all__ = [
    "BUILT_IN",
    "built_in",
    "from_parsed",
    "ising",
    "ising_grid_optimum",
    "max_cut",
    "max_sat",
    "nearest_neighbour_nk",
    "nk_optimum",
    "qubo",
    "random_ising",
    "random_nk",
]

_WIDEST_GRID = 10

BUILT_IN: dict[str, Callable[[int], Fitness]] = {
    "onemax": onemax,
    "deceptive-3": deceptive3,
    "hiff": functools.partial(Hierarchy, "hiff"),
    "htrap": functools.partial(Hierarchy, "htrap"),
}
"""Functions that need nothing but their number of genes; ``trap-K`` is known too."""


def built_in(name: str, n: int) -> Fitness:
    """The built-in function of that name, for n genes.

    Raises
    ------
    ProblemError
        If there is none, or it has no instance of that size.
    """
    family, _, order = name.partition("-")
    if family == "trap" and (not order or order.isdigit()):
        return trap(n, int(order or 5))
    if name not in BUILT_IN:
        known = [*BUILT_IN, "trap-5"]
        raise ProblemError(f"there is no built-in fitness '{name}'{nearest(name, known)} (known: {', '.join(known)})")
    return BUILT_IN[name](n)


def nearest_neighbour_nk(
    n: int, tables: Sequence[Sequence[float]], neighbours: int, step: int, optimum: float | None = None
) -> Decomposable:
    """A table on genes s step .. s step + k for each s, cut off at the last gene; the first gene is the highest bit."""
    scopes, own = [], []
    for table, start in zip(tables, range(0, n, step), strict=True):
        genes = list(range(start, min(start + neighbours + 1, n)))
        scopes.append(genes[::-1])
        own.append(list(table[: 1 << len(genes)]))
    return Decomposable(n, scopes, own, optimum=optimum, text="NK landscape")


def nk_optimum(fitness: Decomposable) -> int:
    """The greatest key of a sum of tables over neighbouring genes, by dynamic programming over the genes.

    Time is n 2^w for functions over at most w + 1 neighbouring genes.

    Raises
    ------
    ProblemError
        If a function reaches over more than 20 neighbouring genes.
    """
    spans = []
    for place, start in enumerate(fitness.scope_starts[:-1]):
        genes = fitness.genes[start : fitness.scope_starts[place + 1]]
        spans.append((int(genes.max()), int(genes.min()), place))
    width = max(last - first for last, first, _ in spans)
    if width > 20:
        raise ProblemError(f"the dynamic program takes functions over at most 21 neighbouring genes; got {width + 1}")
    # state: genes gene - width + 1 .. gene, the newest the lowest bit
    best = np.full(1 << width, np.iinfo(np.int64).min // 2, np.int64)
    best[0] = fitness.constant
    for gene in range(fitness.n):
        wide = np.repeat(best, 2)  # one bit more: gene - width .. gene
        codes = np.arange(len(wide))
        for last, _, place in spans:
            if last == gene:
                start, end = fitness.scope_starts[place], fitness.scope_starts[place + 1]
                index = np.zeros(len(wide), np.int64)
                for position, member in enumerate(fitness.genes[start:end].tolist()):
                    index |= ((codes >> (gene - member)) & 1) << position
                wide = wide + fitness.tables[fitness.table_starts[place] + index]
        best = wide.reshape(2, -1).max(axis=0)
    return int(best.max())


def random_nk(n: int, neighbours: int = 4, step: int = 1, seed: int = 0) -> Decomposable:
    """Tables of uniform values with nine decimals; the optimum is found exactly."""
    if not 0 <= neighbours < 16 or step < 1 or n < 1:
        raise ProblemError(f"an NK landscape needs n >= 1, k from 0 to 15 and step >= 1; got {n}, {neighbours}, {step}")
    random = np.random.default_rng(seed)
    tables = random.integers(0, 10**9, (-(-n // step), 2 << neighbours)) / 1e9
    fitness = nearest_neighbour_nk(n, tables.tolist(), neighbours, step)
    fitness.best_key = nk_optimum(fitness)
    return fitness


def ising(n: int, bonds: Sequence[tuple[int, int, float]], energy: float | None = None) -> Decomposable:
    """Sum of J over bonds of equal spins less that over bonds of different ones: minus the energy, to be maximised."""
    scopes, tables = [(a, b) for a, b, _ in bonds], [(j, -j, -j, j) for _, _, j in bonds]
    return Decomposable(n, scopes, tables, optimum=None if energy is None else -energy, text="Ising spin glass")


def random_ising(side: int, seed: int = 0) -> Decomposable:
    """A +-J spin glass on a side x side torus; up to side 10 the optimum is found exactly."""
    if side < 3:
        raise ProblemError(f"a torus needs a side of at least 3; got {side}")
    signs = np.random.default_rng(seed).choice([-1, 1], (2, side, side))
    bonds = []
    for row in range(side):
        for column in range(side):
            here = row * side + column
            bonds.append((here, row * side + (column + 1) % side, int(signs[0, row, column])))
            bonds.append((here, (row + 1) % side * side + column, int(signs[1, row, column])))
    fitness = ising(side * side, bonds)
    if side <= _WIDEST_GRID:
        fitness.best_key = ising_grid_optimum(side, bonds)
    return fitness


def ising_grid_optimum(side: int, bonds: Sequence[tuple[int, int, float]]) -> int:
    """The greatest sum of J s_a s_b on a side x side torus of whole-numbered J, by transfer matrices.

    Rows are added one spin at a time for every first row up to a common flip: 2^(side - 1) times side^2 2^side steps.

    Raises
    ------
    ProblemError
        If the bonds are not those of the torus, or the side is above 10.
    """
    if not 3 <= side <= _WIDEST_GRID:
        raise ProblemError(f"the transfer matrix takes a side from 3 to {_WIDEST_GRID}; got {side}")
    right, down = np.zeros((side, side), np.int64), np.zeros((side, side), np.int64)
    for a, b, j in bonds:
        for first, second in ((a, b), (b, a)):
            row, column = divmod(first, side)
            if second == row * side + (column + 1) % side:
                right[row, column] += round(j)
                break
            if second == (row + 1) % side * side + column:
                down[row, column] += round(j)
                break
        else:
            raise ProblemError(f"{a} and {b} are no neighbours on a torus of side {side}")
    states = np.arange(1 << side)
    spins = 1 - 2 * ((states[:, None] >> np.arange(side)) & 1)
    within = np.array([(spins * np.roll(spins, -1, axis=1) * right[row]).sum(axis=1) for row in range(side)])
    # value[f, s]: best with first row f and present row s
    firsts = states[: 1 << (side - 1)]
    value = np.full((len(firsts), len(states)), np.iinfo(np.int32).min // 2, np.int32)
    value[np.arange(len(firsts)), firsts] = within[0, firsts]
    for row in range(side):
        for column in range(side):
            split = value.reshape(len(firsts), -1, 2, 1 << column)
            j = int(down[row, column])
            same, other = split + j, split[:, :, ::-1] - j
            value = np.maximum(same, other).reshape(len(firsts), -1)
        if row + 1 < side:
            value = value + within[row + 1][None].astype(np.int32)
    return int(value[np.arange(len(firsts)), firsts].max())


def max_sat(n: int, clauses: Sequence[Sequence[int]]) -> Decomposable:
    """The number of clauses that hold; literals are 1-based, negative for negated. All of them is the bound."""
    scopes, tables, sure = [], [], 0
    for clause in clauses:
        literals = sorted(set(clause), key=abs)
        genes = [abs(literal) - 1 for literal in literals]
        if len(set(genes)) < len(genes):
            sure += 1  # x or not x
            continue
        table = np.ones(1 << len(genes))
        if literals:
            table[sum((literal < 0) << place for place, literal in enumerate(literals))] = 0
        else:
            table[0] = 0
        scopes.append(genes)
        tables.append(table)
    if not scopes:
        scopes, tables = [[0]], [np.zeros(2)]
    return Decomposable(n, scopes, tables, constant=sure, optimum=len(clauses), text="MAX-SAT")


def max_cut(n: int, edges: Sequence[tuple[int, int, float]], optimum: float | None = None) -> Decomposable:
    """The weight of edges between genes at 0 and genes at 1."""
    for a, b, _ in edges:
        if a == b:
            raise ProblemError(f"an edge must join two vertices; got {a} twice")
    scopes, tables = [(a, b) for a, b, _ in edges], [(0, w, w, 0) for _, _, w in edges]
    return Decomposable(n, scopes, tables, optimum=optimum, text="max-cut")


def qubo(n: int, entries: Sequence[tuple[int, int, float]], optimum: float | None = None) -> Decomposable:
    """x'Qx to be minimised, Q symmetric: an entry off the diagonal is given once and stands for two."""
    scopes: list[tuple[int, ...]] = []
    tables: list[tuple[float, ...]] = []
    for a, b, q in entries:
        scopes.append((a,) if a == b else (a, b))
        tables.append((0, q) if a == b else (0, 0, 0, 2 * q))
    return Decomposable(n, scopes, tables, minimize=True, optimum=optimum, text="QUBO")


def from_parsed(parsed: Parsed) -> Fitness:
    """The function a file describes."""
    if parsed.format == "cnf":
        return max_sat(parsed.n, parsed.clauses)
    if parsed.format == "nk":
        return nearest_neighbour_nk(parsed.n, parsed.tables, parsed.neighbours, parsed.step, parsed.optimum)
    if parsed.format == "ising":
        return ising(parsed.n, parsed.terms, parsed.optimum)
    if parsed.format == "maxcut":
        return max_cut(parsed.n, parsed.terms)
    if parsed.format == "qubo":
        return qubo(parsed.n, parsed.terms)
    name = parsed.words["fitness"]
    if name == "snippet":
        return _snippet(parsed)
    if "k" in parsed.words:
        name = f"{name.partition('-')[0]}-{parsed.words['k']}"
    return built_in(name, parsed.n)


def _snippet(parsed: Parsed) -> Snippet:
    words = parsed.words
    return Snippet(
        parsed.code,
        parsed.n,
        scale=int(words.get("scale", 1)),
        minimize=words.get("minimize") == "1",
        optimum=float(words["optimum"]) if "optimum" in words else None,
    )
