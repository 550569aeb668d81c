"""Published formats of problems over bit strings: written here by their descriptions, read, compared by enumeration."""

import itertools

import numpy as np
import pytest

import engine
from engine.errors import ProblemError
from engine.solvers import recognize

pytestmark = pytest.mark.smoke

N = 9
STRINGS = np.array(list(itertools.product((0, 1), repeat=N)), np.uint8)
SPINS = 2 * STRINGS.astype(np.int64) - 1


def random_pairs(seed, diagonal=False, density=0.6):
    rng = np.random.default_rng(seed)
    places = [(i, j) for i in range(N) for j in range(i if diagonal else i + 1, N) if rng.random() < density]
    return {place: int(rng.choice([-7, -3, -2, -1, 1, 2, 5, 9])) for place in places}


def lines(pairs, base=1, turned=False):
    """A line for each pair, some of them with the larger number first."""
    rows = []
    for place, ((i, j), value) in enumerate(pairs.items()):
        a, b = (j, i) if turned and place % 3 == 0 else (i, j)
        rows.append(f"{a + base} {b + base} {value}\n")
    return "".join(rows)


def cut(pairs):
    return sum(value * (STRINGS[:, i] != STRINGS[:, j]) for (i, j), value in pairs.items())


def minus_energy(pairs):
    return sum(value * SPINS[:, i] * SPINS[:, j] for (i, j), value in pairs.items())


def quadratic(pairs, both):
    """x'Qx, entries off the diagonal counted once or twice."""
    return sum((1 if i == j else both) * v * (STRINGS[:, i] & STRINGS[:, j]).astype(int) for (i, j), v in pairs.items())


def matrix_text(pairs):
    matrix = np.zeros((N, N), int)
    for (i, j), value in pairs.items():
        matrix[i, j] = matrix[j, i] = value
    return f"{N}\n" + "".join(" ".join(map(str, row)) + "\n" for row in matrix)


EDGES, PLAIN, Q = random_pairs(1), dict.fromkeys(random_pairs(2), 1), random_pairs(3, diagonal=True)
OFF_DIAGONAL = {place: value for place, value in Q.items() if place[0] != place[1]}
HEADER, PLAIN_HEADER = f"{N} {len(EDGES)}\n", f"{N} {len(PLAIN)}\n"
COMMENTS = "# from a library\n#and another line\n"
PLAIN_LINES = "".join(f"{i + 1} {j + 1}\n" for i, j in PLAIN)
E_LINES = "".join(f"e {i + 1} {j + 1}\n" for i, j in PLAIN)
BOTH_E_LINES = "".join(f"e {i + 1} {j + 1}\ne {j + 1} {i + 1}\n" for i, j in PLAIN)
SEVERAL = {(0, 1): 4, (1, 0): -9, (2, 2): 3, (3, 2): 5, (4, 8): -6}
WRITTEN = {
    "cut.mc": (COMMENTS + HEADER + lines(EDGES, turned=True), lambda: cut(EDGES), "maximize"),
    "cut.rud": (HEADER + lines(EDGES), lambda: cut(EDGES), "maximize"),
    "plain.txt": (PLAIN_HEADER + PLAIN_LINES, lambda: cut(PLAIN), "maximize"),
    "plain.mc": (COMMENTS + PLAIN_HEADER + PLAIN_LINES, lambda: cut(PLAIN), "maximize"),
    "graph.dimacs": (f"c x\np edge {N} {len(PLAIN)}\nc y\n{E_LINES}", lambda: cut(PLAIN), "maximize"),
    "graph.col": (f"p col {N} {2 * len(PLAIN)}\n{BOTH_E_LINES}", lambda: cut(PLAIN), "maximize"),
    "bonds.sg": (COMMENTS + HEADER + lines(EDGES, turned=True), lambda: minus_energy(EDGES), "maximize"),
    "bonds.gsg": (HEADER + lines(EDGES), lambda: minus_energy(EDGES), "maximize"),
    "server": ("type: ising\nsize: 9\nname: a b\n\n" + lines(EDGES), lambda: minus_energy(EDGES), "maximize"),
    "gauss.txt": ("name: a\n# b\ntype: gauss\nsize: 3\n" + lines(EDGES), lambda: minus_energy(EDGES), "maximize"),
    "q.sparse": (COMMENTS + f"{N} {len(Q)}\n" + lines(Q, turned=True), lambda: quadratic(Q, 2), "minimize"),
    "off.sparse": (f"{N} {len(OFF_DIAGONAL)}\n" + lines(OFF_DIAGONAL), lambda: quadratic(OFF_DIAGONAL, 2), "minimize"),
    "q.bq": (COMMENTS + f"{N} {len(Q)}\n" + lines(Q, turned=True), lambda: quadratic(Q, 1), "minimize"),
    "off.bq": (f"{N} {len(OFF_DIAGONAL)}\n" + lines(OFF_DIAGONAL), lambda: quadratic(OFF_DIAGONAL, 1), "minimize"),
    "both.bq": (f"{N} {len(SEVERAL)}\n" + lines(SEVERAL), lambda: quadratic(SEVERAL, 1), "minimize"),
    "gka.mat": (matrix_text(Q), lambda: quadratic(Q, 2), "minimize"),
    "gka.txt": (matrix_text(Q), lambda: quadratic(Q, 2), "minimize"),
    "bqp50.txt": (f"1\n {N} {len(Q)}\n" + lines(Q), lambda: quadratic(Q, 2), "maximize"),
    "q.qubo": (
        f"c x\np qubo 0 {N} {len(Q) - len(OFF_DIAGONAL)} {len(OFF_DIAGONAL)}\n" + lines(Q, base=0),
        lambda: quadratic(Q, 1),
        "minimize",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_string_has_the_value_of_the_description(tmp_path, name):
    text, expected, sense = WRITTEN[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert issubclass(recognize(path), engine.BOA)
    problem = engine.BOA.read(path)
    assert (problem.n, problem.sense) == (N, sense)
    assert problem.evaluate(STRINGS).tolist() == expected().tolist()


def test_instances_of_the_or_library_are_chosen_by_their_number(tmp_path):
    path = tmp_path / "bqp50.txt"
    matrices = [random_pairs(seed, diagonal=True) for seed in (4, 5, 6)]
    path.write_text("3\n" + "".join(f" {N} {len(each)} \n" + lines(each) for each in matrices), encoding="utf-8")
    assert issubclass(recognize(path), engine.BOA)
    for number, each in enumerate(matrices, 1):
        problem = engine.BOA.read(path, instance=number)
        assert problem.evaluate(STRINGS).tolist() == quadratic(each, 2).tolist()
        assert (problem.name, problem.instances_in_file) == (f"bqp50.txt-{number}", 3)
    with pytest.raises(ProblemError, match="there is no instance 4; the file holds 3"):
        engine.BOA.read(path, instance=4)
    path.write_text(path.read_text(encoding="utf-8") + "1 2 3\n", encoding="utf-8")
    with pytest.raises(ProblemError, match=r"there is more than 3 instances: '1 2 3' \(.*, line \d+\)"):
        engine.BOA.read(path)


@pytest.mark.parametrize("k", [0, 2, 4])
def test_tables_of_goldman_wrap_around(tmp_path, k):
    rng = np.random.default_rng(k)
    tables = np.round(rng.random((N, 2 << k)), 6)
    totals = []
    for string in STRINGS.tolist():
        total = 0.0
        for gene in range(N):
            index = 0
            for neighbour in range(gene, gene + k + 1):
                index = index << 1 | string[neighbour % N]
            total += tables[gene, index]
        totals.append(total)
    best, worst = int(np.argmax(totals)), int(np.argmin(totals))
    words = ["".join(map(str, STRINGS[place])) for place in (worst, best)]
    body = "".join(" ".join(f"{value:g}" for value in row) + " \n" for row in tables)
    path = tmp_path / f"NearestNeighborNK_{N}_{k}_0.txt"
    path.write_text(f"{totals[worst]:g} {words[0]}\n{totals[best]:g} {words[1]}\n{body}", encoding="utf-8")
    assert issubclass(recognize(path), engine.BOA)
    problem = engine.BOA.read(path)
    assert problem.evaluate(STRINGS) == pytest.approx(totals)
    assert problem.optimum == problem.evaluate(STRINGS).max()
    path.write_text(f"{totals[worst]:g} {words[0]}\n{totals[best]:g} {words[0]}\n{body}", encoding="utf-8")
    with pytest.raises(ProblemError, match=r"the maximum is stated as .*, line 2\)"):
        engine.BOA.read(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.mc", "3 2\n1 2 1\n2 2 1\n", r"two different vertices \(.*, line 3\)"),
        ("a.sg", "3 2\n1 1 1\n2 3 1\n", r"two different spins \(.*, line 2\)"),
        ("a.bq", "3 3\n1 2 1\n2 1 1\n1 2 4\n", r"the pair 1 2 was given before, in line 2 \(.*, line 4\)"),
        ("a.mat", "2\n1 2\n3 1\n", r"the file is none of: DIMACS CNF or WCNF, .*, QUBO matrix"),
        ("a.col", "p edge 3 1\nn 1 2\ne 1 2\n", r"a line must be 'e vertex vertex'; got 'n 1 2' \(.*, line 2\)"),
        ("plain.mc", "3 2\n1 2\n1 3 4\n", r"two numbers, as the first; got '1 3 4' \(.*, line 3\)"),
        ("bqp", "1\n3 -2\n1 2 3\n", r"m must be at least 0; got -2 \(.*, line 2\)"),
        ("bqp", "1\n3 2\n1 2 3\n", r"there must be 2 lines of weights; got 1"),
        ("a.col", "p edge 3 1\ne 1 4\n", r"a vertex must be from 1 to 3; got 4 \(.*, line 2\)"),
        ("glass", "type: pottsinf\nsize: 3\n1 2 1\n", r"the type must be one of sk, pm, .* \(.*, line 1\)"),
        ("f.cnf", "p cnf 3 1\n1 -2 0\n3 0\n", r"the problem line says 1 clause; here is one more \(.*, line 3\)"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError, match=message):
        engine.BOA.read(path)


def _written(path, matrix):
    rows = "\n".join(" ".join(map(str, row)) for row in matrix.tolist())
    path.write_text(f"{len(matrix)}\n{rows}\n", encoding="utf-8")
    return path


def test_a_matrix_whose_symmetry_is_not_seen_at_first_is_not_ordered(tmp_path):
    matrix = np.zeros((300, 300), int)
    matrix[200, 250] = matrix[250, 200] = 4
    assert issubclass(recognize(_written(tmp_path / "few.mat", matrix)), engine.BOA)
    path = _written(tmp_path / "few.txt", matrix)
    assert recognize(path) is engine.LinearOrdering
    with pytest.raises(ProblemError, match=r"the matrix is symmetric: all orders have the same value \(.*, line 1\)"):
        engine.LinearOrdering.read(path)
    matrix[10, 250] = 5
    path = _written(tmp_path / "few.mat", matrix)
    with pytest.raises(ProblemError, match=r"must be symmetric; \(11, 251\) is not as its mirror \(.*, line 252\)"):
        engine.BOA.read(path)


@pytest.mark.parametrize("width", [17, 2000])
@pytest.mark.parametrize(("name", "before"), [("f.cnf", ""), ("f.wcnf", "h "), ("f.wcnf", "3 ")])
def test_wide_clauses_are_refused_with_their_line(tmp_path, name, before, width):
    header = f"p cnf {width} 2\n" if name == "f.cnf" else ""
    clause = " ".join(map(str, range(1, width + 1)))
    path = tmp_path / name
    path.write_text(f"{header}{before}{clause} 0\n{before}-1 0\n", encoding="utf-8")
    assert issubclass(recognize(path), engine.BOA)
    line = 2 if header else 1
    with pytest.raises(ProblemError, match=rf"at most 16 variables; this one has {width} \(.*, line {line}\)"):
        engine.BOA.read(path)
    clauses = [list(range(1, width + 1)), [-1]]
    for weights in (None, [1, 1]):
        with pytest.raises(ProblemError, match=f"at most 16 variables; clause 1 of the formula has {width}"):
            engine.MaxSAT(clauses, weights)
