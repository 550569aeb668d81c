"""Problems that take a local search: what ``quintet bench boa --set hard`` measures."""

from collections.abc import Iterator

import numpy as np

from ...solvers.boa.fitness.formulas import max_sat
from ...solvers.boa.fitness.tables import max_cut, qubo
from ...solvers.boa.problem import BOA


def hard_problems(quick: bool) -> Iterator[tuple[BOA, float]]:
    """Problems with the value to reach: the optimum where that is known, else the best that long runs came to."""
    for genes in (100,) if quick else (100, 200, 250):
        problem = satisfiable_clauses(genes, seed=genes)
        yield problem, problem.bound or 0
    for genes, step in ((100, 1),) if quick else ((100, 1), (200, 1), (400, 1), (400, 3)):
        problem = BOA.nk(genes, 4, step, seed=5)
        yield problem, problem.optimum or 0
    problem = BOA.ising(10, seed=1)
    yield problem, problem.optimum or 0
    yield BOA("trap-5", 500 if quick else 1000), 500 if quick else 1000
    for problem, best in _like_public_ones():
        if not quick or problem.n <= 100:
            yield problem, best


def _like_public_ones() -> Iterator[tuple[BOA, float]]:
    """Random problems like those of public sets, with the best value of six runs of 12 s on two CPU cores."""
    yield random_cut("g05", 100, 0.5, (1,)), 1438
    yield random_cut("pm1d", 100, 0.99, (-1, 1)), 428
    yield random_cut("w05", 100, 0.5, tuple(range(-10, 11))), 1620
    yield random_qubo(250, 0.1), -37781
    yield BOA.ising(28, seed=1), 1082
    yield random_cut("G1", 800, 0.06, (1,)), 11561


def random_cut(name: str, n: int, density: float, weights: tuple[int, ...], seed: int = 1) -> BOA:
    random = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    drawn = np.where(random.random(len(first)) < density, random.choice(weights, len(first)), 0)
    chosen = np.flatnonzero(drawn)
    edges = list(zip(first[chosen].tolist(), second[chosen].tolist(), drawn[chosen].tolist(), strict=True))
    return BOA(max_cut(n, edges), name=f"like {name}: max-cut n={n} edges={len(edges)}")


def random_qubo(n: int, density: float, seed: int = 1) -> BOA:
    """A QUBO of whole numbers from -100 to 100, to be minimised."""
    random = np.random.default_rng(seed)
    rows, columns = np.triu_indices(n)
    drawn = np.where(random.random(len(rows)) < density, random.integers(-100, 101, len(rows)), 0)
    chosen = np.flatnonzero(drawn)
    entries = list(zip(rows[chosen].tolist(), columns[chosen].tolist(), drawn[chosen].tolist(), strict=True))
    return BOA(qubo(n, entries), name=f"like bqp{n}: QUBO n={n} entries={len(entries)}")


def satisfiable_clauses(n: int, seed: int) -> BOA:
    """Random 3-SAT with 4.26 clauses a variable, all satisfied by a hidden assignment.

    Clauses with more literals true in it are drawn less often, so that it does not attract a local search.
    """
    random = np.random.default_rng(seed)
    hidden = random.integers(0, 2, n)
    clauses: list[list[int]] = []
    while len(clauses) < round(4.26 * n):
        genes, signs = random.choice(n, 3, replace=False), random.integers(0, 2, 3)
        number = int((hidden[genes] == signs).sum())
        if number and random.random() < 1 / number:
            clauses.append([int(gene + 1) * (1 if sign else -1) for gene, sign in zip(genes, signs, strict=True)])
    return BOA(max_sat(n, clauses), name=f"3-SAT n={n} seed={seed}")
