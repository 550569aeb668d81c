"""Fitness functions on the host: against their definitions, brute force and each other."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import ProblemError
from engine.generators.boa import NKOptions, generate_nk, write_nk
from engine.solvers.boa.fitness import Fitness, Function, Hierarchy, Snippet, formulas, landscapes, tables
from engine.solvers.boa.fitness.tables import Decomposable, deceptive3, onemax, trap
from tests.support.strings import every

pytestmark = pytest.mark.smoke


def values(fitness: Fitness, bits: np.ndarray) -> list[float]:
    return [fitness.value(int(key)) for key in fitness.keys(bits)]


def test_traps_follow_their_definition() -> None:
    bits = every(10)
    blocks = bits.reshape(len(bits), 2, 5).sum(axis=2)
    assert values(trap(10, 5), bits) == np.where(blocks == 5, 5, 4 - blocks).sum(axis=1).tolist()
    assert values(deceptive3(3), every(3)) == [0.9, 0.8, 0.8, 0.0, 0.8, 0.0, 0.0, 1.0]
    assert values(onemax(4), every(4)) == every(4).sum(axis=1).tolist()


def recursive_hiff(bits: list[int]) -> int:
    worth = len(bits) if len(set(bits)) == 1 else 0
    middle = len(bits) // 2
    return worth + (recursive_hiff(bits[:middle]) + recursive_hiff(bits[middle:]) if middle else 0)


def recursive_htrap(bits: list[int], top: bool = True) -> tuple[float, int | None]:
    """Worth, and the symbol passed up."""
    if len(bits) == 1:
        return 0.0, bits[0]
    third = len(bits) // 3
    parts = [recursive_htrap(bits[at : at + third], False) for at in range(0, len(bits), third)]
    below, symbols = sum(part[0] for part in parts), [part[1] for part in parts]
    if None in symbols:
        return below, None
    number = sum(symbol or 0 for symbol in symbols)
    low = 0.9 if top else 1.0
    worth = 1.0 if number == 3 else low * (2 - number) / 2
    return below + len(bits) * worth, symbols[0] if len(set(symbols)) == 1 else None


def test_hierarchies_follow_their_recursive_definition() -> None:
    random = np.random.default_rng(2)
    for fitness, n in ((Hierarchy("hiff", 16), 16), (Hierarchy("htrap", 27), 27)):
        block = 2 if fitness.text == "hiff" else 3
        bits = np.repeat(random.integers(0, 2, (200, n // block)), block, axis=1).astype(np.uint8)
        bits[::3] ^= (random.random((67, n)) < 0.05).astype(np.uint8)
        for row, value in zip(bits.tolist(), values(fitness, bits), strict=True):
            assert value == pytest.approx(recursive_hiff(row) if block == 2 else recursive_htrap(row)[0])


@pytest.mark.parametrize(
    "fitness",
    [
        trap(15, 5),
        trap(12, 4),
        deceptive3(12),
        onemax(11),
        Hierarchy("hiff", 16),
        Hierarchy("htrap", 9),
        landscapes.random_nk(14, 4, 1, seed=1),
        landscapes.random_nk(13, 3, 2, seed=2),
        landscapes.random_nk(12, 2, 3, seed=3),
        landscapes.random_nk(10, 0, 1, seed=4),
        landscapes.random_ising(3, seed=5),
        landscapes.random_ising(4, seed=6),
    ],
    ids=lambda fitness: f"{fitness.text}-{fitness.n}",
)
def test_known_optima_are_those_of_brute_force(fitness: Fitness) -> None:
    assert fitness.best_key == fitness.keys(every(fitness.n)).max()


def test_weights_of_clauses_that_do_not_hold_are_summed() -> None:
    clauses = [[1, -2, 3], [-1], [2, 2], [3, -3], [-3, 1]]
    weights = [5, 2, None, 9, 7]
    expected = []
    for bits in every(3):
        broken = [not any(bits[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in clauses]
        costs = [24 if weight is None else weight for weight in weights]  # one more than 5 + 2 + 9 + 7
        expected.append(sum(cost for cost, is_broken in zip(costs, broken, strict=True) if is_broken))
    fitness = formulas.weighted_max_sat(3, clauses, weights)
    assert values(fitness, every(3)) == expected
    assert fitness.value(fitness.best_key) == 0
    broken = [sum(not any(b[abs(k) - 1] == (k > 0) for k in clause) for clause in clauses) for b in every(3)]
    assert values(formulas.max_sat(3, clauses), every(3)) == [len(clauses) - count for count in broken]


def test_files_of_weighted_clauses_and_couplers_are_functions(tmp_path: Path) -> None:
    formula = tmp_path / "f.wcnf"
    formula.write_text("c both layouts are read\nh 1 2 0\n3 -1 0\n4 -2 0\n")
    assert sorted(values(engine.BOA.read(formula).fitness, every(2))) == [3, 4, 7, 8]
    matrix = tmp_path / "couplers"
    matrix.write_text("p qubo 0 2 1 1\n0 0 -4\n0 1 6\n")
    assert values(engine.BOA.read(matrix).fitness, every(2)) == [0, 0, -4, 2]


def test_cuts_and_quadratic_forms_are_those_of_their_matrices() -> None:
    random = np.random.default_rng(0)
    matrix = np.triu(random.integers(-9, 10, (6, 6)))
    entries = [(a, b, int(matrix[a, b])) for a in range(6) for b in range(a, 6)]
    full = matrix + np.triu(matrix, 1).T
    bits = every(6)
    form = tables.qubo(6, entries)
    assert values(form, bits) == np.einsum("mi,ij,mj->m", bits.astype(int), full, bits.astype(int)).tolist()
    assert form.value(int(form.keys(bits).max())) == min(values(form, bits))
    edges = [entry for entry in entries if entry[0] != entry[1]]
    cut = [sum(w for a, b, w in edges if row[a] != row[b]) for row in bits]
    assert values(tables.max_cut(6, edges), bits) == cut


def test_tables_with_decimals_are_exact() -> None:
    fitness = Decomposable(2, [[0], [1]], [[0.1, 0.123456789], [0, 1e-7]])
    assert fitness.scale == 10**9
    assert values(fitness, every(2)) == [0.1, 0.1000001, 0.123456789, 0.123456889]
    rough = Decomposable(1, [[0]], [[0, np.pi]])
    assert values(rough, every(1))[1] == pytest.approx(np.pi, abs=2**-30)
    large = Decomposable(1, [[0]], [[0, 1e9 + 0.123456789]])
    assert values(large, every(1))[1] == pytest.approx(1e9 + 0.123456789, abs=2**-9)
    assert large.keys(every(1)).max() < 2**41


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trap(12, 5), "n a multiple of 3|n a multiple of k; got n = 12"),
        (lambda: Hierarchy("hiff", 12), "n a power of 2, and more than 1; got 12"),
        (lambda: onemax(0), "n must be from 1 to 1,048,576; got 0"),
        (lambda: Decomposable(3, [[0, 3]], [[0] * 4]), "genes of scope 0 must be whole numbers from 0 to 2; got 3"),
        (lambda: Decomposable(3, [[1, 1]], [[0] * 4]), "scope 0 names a gene twice"),
        (lambda: Decomposable(3, [[0], [1, 2]], [[0, 1], [0, 1]]), "table 1 must have 4 values, for 2 genes; it has 2"),
        (lambda: Decomposable(3, [[0]], [[0, np.inf]]), "must be finite"),
        (lambda: Decomposable(3, [[0]], [[0, 1e15]]), "must stay below"),
        (lambda: Decomposable(20, [range(17)], [[0]]), "at most 16 genes; it has 17"),
        (lambda: Snippet(" ", 3), "a C snippet must be statements that set fitness"),
        (lambda: engine.BOA("trep-5", 10), "no built-in fitness 'trep-5'; did you mean 'trap-5'"),
        (lambda: engine.BOA("onemax"), "n is missing"),
        (lambda: engine.MaxCut([(0, 1, 1)], 3, optimum=np.nan), "must be a number; got nan"),
        (lambda: Decomposable(2, [[0.5]], [[0, 1]]), "genes of scope 0 must be whole numbers from 0 to 1; got 0.5"),
        (lambda: Decomposable(2, [[0]], [[0, "x"]]), "table 0 must be real numbers"),
        (lambda: Decomposable(2, [[0]], [[0, 10**400]]), "table 0 must be real numbers: int too large"),
        (lambda: Decomposable(2, [[0]], [[0, 1]], constant=10**400), "must stay below 2.41 in size; got 1000"),
        (lambda: Decomposable(2, 3, [[0, 1]]), "scopes must be lists of genes, with a table each; got 3"),
        (lambda: engine.BOA.nk(10, seed=-1), "the seed must be a whole number, at least 0; got -1"),
        (lambda: engine.BOA.ising(3.5), "the side of a torus must be a whole number, from 3 to 1024; got 3.5"),
        (lambda: engine.MaxCut([(0, 1, 1), (1, 3, 1)], 3), "a vertex must be a number from 0 to 2; got 3 in term 1"),
        (
            lambda: engine.BOA(tables.qubo(2, [(0, 0, 1), (0, 1, 1), (1, 0, 1)])),
            "1 0 of entry 2 was given before, as entry 1; give",
        ),
        (lambda: engine.BOA(tables.qubo(2, [(-1, 0, 1)])), "a variable must be from 0 to 1; got -1 in entry 0"),
        (lambda: engine.BOA("onemax", 4, minimize=True), "minimize is an argument for Python functions; got onemax"),
        (lambda: engine.BOA(onemax(4), optimum=3), "optimum is an argument for Python functions; got onemax"),
        (lambda: engine.BOA(3, 4), "must be a name, a fitness or a function; got int"),
        (lambda: engine.BOA(onemax(4), 5), "this fitness has 4 genes; got n = 5"),
        (lambda: engine.BOA("onemax", 4, seeds=[[0, 1, 2, 0]]), "zeros and ones only"),
        (lambda: engine.BOA("onemax", 4, seeds=[0, 1]), "rows of 4 genes"),
        (lambda: Function(len, 4, processes=2), "with each=True"),
        (lambda: landscapes.ising_grid_optimum(3, [(0, 4, 1)]), "no neighbours"),
    ],
)
def test_what_breaks_a_rule_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()


def test_a_process_that_has_ended_is_reported_and_its_function_is_not_called_here() -> None:
    calls: list[Any] = []

    def broken(function: Any, individuals: Any) -> Any:
        raise BrokenProcessPool("a process was terminated abruptly")

    with pytest.raises(ProblemError, match="has ended: a process was terminated abruptly"):
        Function(calls.append, 3, each=True, processes=2).keys(np.zeros((4, 3), np.uint8), broken)
    assert calls == []


@pytest.mark.parametrize("make", [engine.MaxCut, engine.QUBO, engine.SpinGlass, engine.MaxSAT])
def test_a_problem_without_terms_is_a_constant(make: Any) -> None:
    assert make([], n=3).evaluate(every(3)).tolist() == [0] * 8


def test_targets_beyond_every_value_are_the_farthest() -> None:
    fitness = Decomposable(3, [[0]], [[0.25, 1.5]])
    assert fitness.key(1e308) == fitness.key(1e20) == -fitness.key(-1e308) > 10**18


def test_a_value_of_nothing_has_no_sign() -> None:
    least = Function(lambda bits: bits.sum(axis=1), 3, minimize=True)
    assert str(least.value(int(least.keys(np.zeros((1, 3), np.uint8))[0]))) == "0.0"


def test_keys_of_functions_are_ordered_as_their_values() -> None:
    numbers = np.array([-1e300, -2.5, -0.0, 0.0, 1e-300, 3.0, 1e300])
    ascending = Function(lambda bits: numbers, 3)
    keys = ascending.keys(np.zeros((7, 3), np.uint8))
    assert (np.diff(keys) >= 0).all()
    assert keys[2] == keys[3]
    assert [ascending.value(int(key)) for key in keys] == numbers.tolist()
    falling = Function(lambda bits: numbers, 3, minimize=True)
    assert (np.diff(falling.keys(np.zeros((7, 3), np.uint8))) <= 0).all()
    assert falling.value(falling.key(2.5)) == 2.5


@pytest.mark.parametrize(
    "problem",
    [
        engine.BOA("trap-5", 20, seeds=[[1] * 20]),
        engine.BOA("htrap", 9),
        engine.BOA.nk(12, seed=3),
        engine.BOA(tables.qubo(3, [(0, 0, 5), (0, 2, -7)])),
        engine.BOA.snippet("fitness = 3 * BIT(1);", 4, scale=2, optimum=1.5),
    ],
    ids=lambda problem: problem.name,
)
def test_problems_come_back_from_a_run_folder(problem: engine.BOA) -> None:
    again = engine.BOA.from_arrays(problem.to_arrays(), problem.name)
    assert again.describe() == problem.describe()
    assert (again.optimum, again.sense) == (problem.optimum, problem.sense)
    assert np.array_equal(again.seeds, problem.seeds)
    if not isinstance(problem.fitness, Snippet):
        bits = every(problem.n)[:500] if problem.n < 15 else np.random.default_rng(0).integers(0, 2, (99, problem.n))
        assert np.array_equal(again.evaluate(bits), problem.evaluate(bits))


@pytest.mark.parametrize(("n", "neighbours", "step"), [(12, 4, 1), (13, 3, 2), (9, 1, 5), (6, 0, 1), (3, 2, 7)])
def test_generated_landscapes_are_read_back(tmp_path: Path, n: int, neighbours: int, step: int) -> None:
    problem = generate_nk(NKOptions(n=n, neighbours=neighbours, step=step, seed=8))
    write_nk(problem, tmp_path / "landscape")
    again = engine.BOA.read(tmp_path / "landscape")
    assert again.optimum == problem.optimum
    assert np.array_equal(again.evaluate(every(n)), problem.evaluate(every(n)))


def test_samples_are_read_with_the_optimum_of_brute_force_where_it_is_small() -> None:
    folder = Path(__file__).resolve().parents[2] / "samples" / "boa"
    names = sorted(path.name for path in folder.iterdir() if path.suffix != ".py" and path.is_file())
    assert len(names) == 12
    problems = {name: engine.BOA.read(folder / name) for name in names}
    nk = problems["nk.txt"].fitness
    assert isinstance(nk, Decomposable)
    assert nk.best_key == landscapes.nk_optimum(nk)
    glass = problems["ising.txt"].fitness
    assert isinstance(glass, Decomposable)
    bonds = [
        (*glass.genes[2 * bond : 2 * bond + 2].tolist(), int(glass.tables[glass.table_starts[bond]]))
        for bond in range(len(glass.table_starts))
    ]
    assert glass.best_key == landscapes.ising_grid_optimum(7, bonds)
