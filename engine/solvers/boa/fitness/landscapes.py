"""Random NK landscapes and spin glasses, and exact optima of functions with such structure."""

from collections.abc import Sequence

import numpy as np

from ....errors import ProblemError
from .functions import check_genes, require_whole
from .tables import Decomposable, ising, nearest_neighbour_nk

_WIDEST_GRID = 10


def random_nk(n: int, neighbours: int = 4, step: int = 1, seed: int = 0) -> Decomposable:
    """Tables of uniform values with nine decimals, over ``neighbours`` (0 to 15) more genes; with the exact optimum."""
    check_genes(n)
    require_whole(neighbours, "k, the number of neighbours,", 0, 15)
    require_whole(step, "step", 1)
    require_whole(seed, "the seed", 0)
    random = np.random.default_rng(seed)
    tables = random.integers(0, 10**9, (-(-n // step), 2 << neighbours)) / 1e9
    fitness = nearest_neighbour_nk(n, tables.tolist(), neighbours, step)
    fitness.best_key = nk_optimum(fitness)
    return fitness


def nk_optimum(fitness: Decomposable) -> int:
    """The greatest key of tables over w + 1 neighbouring genes, w at most 20, by a dynamic program of time n 2^w."""
    functions: dict[int, list[int]] = {}  # by the last of their genes
    width = 0
    for place, start in enumerate(fitness.scope_starts[:-1]):
        genes = fitness.genes[start : fitness.scope_starts[place + 1]]
        functions.setdefault(int(genes.max()), []).append(place)
        width = max(width, int(genes.max() - genes.min()))
    if width > 20:
        raise ProblemError(f"the dynamic program takes functions over at most 21 neighbouring genes; got {width + 1}")
    # state: genes gene - width + 1 .. gene, the newest the lowest bit
    best = np.full(1 << width, np.iinfo(np.int64).min // 2, np.int64)
    best[0] = fitness.constant
    for gene in range(fitness.n):
        wide = np.repeat(best, 2)  # one bit more: gene - width .. gene
        codes = np.arange(len(wide))
        for place in functions.get(gene, ()):
            start, end = fitness.scope_starts[place], fitness.scope_starts[place + 1]
            index = np.zeros(len(wide), np.int64)
            for position, member in enumerate(fitness.genes[start:end].tolist()):
                index |= ((codes >> (gene - member)) & 1) << position
            wide = wide + fitness.tables[fitness.table_starts[place] + index]
        best = wide.reshape(2, -1).max(axis=0)
    return int(best.max())


def random_ising(side: int, seed: int = 0) -> Decomposable:
    """A +-J spin glass on a side x side torus, of side 3 or more; up to side 10 with the exact optimum."""
    require_whole(side, "the side of a torus", 3, 1024)
    require_whole(seed, "the seed", 0)
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
    """The greatest sum of J s_a s_b on a torus of whole-numbered J, by transfer matrices: side^2 4^side steps."""
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
