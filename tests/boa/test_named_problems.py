"""Problems by their own names: what they take, what their results say, and what they refuse."""

import sys
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import engine
from engine.errors import ProblemError
from engine.solvers import recognize
from engine.solvers.boa.fitness import landscapes, tables
from tests.support.strings import every

pytestmark = pytest.mark.usefixtures("unoptimized")


by_tables = tables.Decomposable
WEIGHTS = np.array([[0, 3, 0, -1], [3, 0, 2, 0], [0, 2, 0, 5], [-1, 0, 5, 0]])
EDGES = [(0, 1, 3), (1, 2, 2), (2, 3, 5), (0, 3, -1)]
GRAPH = nx.from_numpy_array(WEIGHTS)


@pytest.mark.parametrize(
    "graph",
    [
        *(WEIGHTS, np.triu(WEIGHTS), WEIGHTS.tolist(), sparse.csr_array(WEIGHTS), sparse.coo_matrix(np.tril(WEIGHTS))),
        *(GRAPH, EDGES, {(a, b): w for a, b, w in EDGES}, nx.MultiGraph([(*e[:2], {"weight": e[2]}) for e in EDGES])),
    ],
)
def test_a_graph_is_cut_in_whatever_form_it_is_given(graph):
    x = every(4)
    expected = sum(w * (x[:, a] != x[:, b]) for a, b, w in EDGES)
    assert engine.MaxCut(graph).evaluate(x).tolist() == expected.tolist()
    signs = 2 * x.astype(int) - 1
    energy = -sum(w * signs[:, a] * signs[:, b] for a, b, w in EDGES) - signs @ [1, 0, -2.5, 0]
    assert engine.SpinGlass(graph, h=[1, 0, -2.5, 0]).evaluate(x).tolist() == (-energy).tolist()


def test_an_asymmetric_matrix_counts_every_entry_once():
    matrix = np.array([[1, -4.5, 0], [2, 0, 3], [0, -7, -1]])
    x = every(3)
    expected = np.einsum("mi,ij,mj->m", x, matrix, x)
    named = {(f"x{i}", f"x{j}"): matrix[i, j] for i in range(3) for j in range(3)}
    entries = {(i, j): matrix[i, j] for i in range(3) for j in range(3)}
    for given in (matrix, matrix.tolist(), sparse.csr_array(matrix), entries, named):
        assert engine.QUBO(given).evaluate(x).tolist() == expected.tolist()
    assert engine.QUBO(matrix, offset=2.5, maximize=True).evaluate(x).tolist() == (expected + 2.5).tolist()


def test_results_say_what_belongs_to_the_problem(device, tmp_path):
    given = {"devices": [device.info.id], "population": 32, "max_generations": 2}
    graph = nx.relabel_nodes(GRAPH, dict(enumerate("abcd")))
    cut = engine.solve(engine.MaxCut(graph, name="four"), run_folder=tmp_path / "cut", **given)
    assert cut.objective == nx.cut_size(graph, *cut.sides, weight="weight") == 9
    loaded = engine.load(tmp_path / "cut")
    assert type(loaded) is type(cut)
    assert loaded.sides == cut.sides
    again = engine.MaxCut.from_arrays(engine.MaxCut(graph).to_arrays(), "again")
    assert again.labels is not None
    assert again.labels.tolist() == list("abcd")
    glass = engine.solve(engine.SpinGlass(EDGES, h=[0, 0, 0, 9]), **given)
    spins = glass.spins.astype(int)
    assert glass.energy == -sum(w * spins[a] * spins[b] for a, b, w in EDGES) - 9 * spins[3]
    clauses = [[1, 2], [1, 1, -2], [-1, 3, 3], [-1, -3], [2, -2]]
    formula = engine.MaxSAT(clauses, [2, None, 4, 5, 1])
    sat = engine.solve(formula, run_folder=tmp_path / "sat", **given)
    assert sat.satisfied.tolist() == [any(literal in sat.literals for literal in clause) for clause in clauses]
    assert sat.objective == sum(w for w, held in zip([2, 0, 4, 5, 1], sat.satisfied, strict=True) if not held)
    assert "5 of 5 clauses hold, and these" in engine.verify(tmp_path / "sat").verified or not sat.satisfied.all()
    assert not engine.verify(tmp_path / "sat").refuted
    labs = engine.solve(engine.LABS(11), **given)
    c = np.correlate(labs.sequence, labs.sequence, "full")[11:]
    assert labs.objective == (c.astype(int) ** 2).sum() == 5
    assert labs.merit_factor == pytest.approx(121 / 10)
    assert "the least energy of all sequences proves it" in str(engine.verify(labs, engine.LABS(11)))
    longer = engine.solve(engine.LABS(17), **given)
    assert longer.status == "optimal"
    assert not engine.verify(longer, engine.LABS(17)).refuted  # but not proved


def test_models_of_dimod_are_taken_and_their_samples_returned(device, monkeypatch):
    binary = SimpleNamespace(
        linear={"a": -1.0, "b": 2.0, "c": 0.0},
        quadratic={("a", "b"): 1.5, ("b", "c"): -4.0},
        offset=0.25,
        vartype=SimpleNamespace(name="BINARY"),
    )
    spin = SimpleNamespace(
        quadratic={}, vartype=SimpleNamespace(name="SPIN"), change_vartype=lambda kind, inplace: binary
    )
    x = every(3).astype(int)
    expected = -x[:, 0] + 2.0 * x[:, 1] + 1.5 * x[:, 0] * x[:, 1] - 4 * x[:, 1] * x[:, 2] + 0.25
    for model in (binary, spin):
        assert engine.QUBO(model).evaluate(x).tolist() == expected.tolist()
    result = engine.solve(engine.QUBO(binary), devices=[device.info.id], population=32, max_generations=1)
    assert result.sample == {"a": 1, "b": 0, "c": 0} or result.objective == expected.min()
    monkeypatch.setitem(sys.modules, "dimod", None)
    with pytest.raises(ModuleNotFoundError, match="pip install dimod"):
        result.sample_set()
    taken = SimpleNamespace(from_samples=lambda samples, vartype, energy: (*samples, vartype, energy))
    monkeypatch.setitem(sys.modules, "dimod", SimpleNamespace(SampleSet=taken))
    rows, labels, vartype, energies = result.sample_set()
    assert (labels, vartype) == (["a", "b", "c"], "BINARY")
    assert energies.tolist() == sorted(engine.QUBO(binary).evaluate(rows).tolist())


REFUSED = [
    (lambda: engine.MaxCut([(0, 0, 1)]), "an edge must join two vertices; got 0 twice"),
    (lambda: engine.MaxCut(nx.Graph()), "there must be at least one vertex; got none"),
    (lambda: engine.MaxCut(nx.DiGraph([(0, 1)])), "the graph must be undirected"),
    (lambda: engine.MaxCut([(0, 1, float("nan"))]), r"the weight of \(0, 1\) must be finite; got nan"),
    (lambda: engine.MaxCut(np.array([[0, 1], [2, 0]])), "the matrix must be symmetric, or have one half only"),
    (lambda: engine.MaxCut(np.zeros((2, 3))), r"the matrix must be square; got shape \(2, 3\)"),
    (lambda: engine.MaxCut([(0, 1, 1), (1, 3, 1)], 3), "a vertex must be a number from 0 to 2; got 3 in term 1"),
    (lambda: engine.MaxCut([(0, 1)], "abc"), "n must be a whole number; got 'abc'"),
    (lambda: engine.QUBO({(0, 1): 1}, offset=float("nan")), "offset must be a number; got nan"),
    (lambda: engine.QUBO({0: 1}), "the keys of a mapping must be pairs; got 0"),
    (lambda: engine.SpinGlass(WEIGHTS, h=[1, 2]), "n is the size of the matrix, 4; got 2"),
    (lambda: engine.SpinGlass(EDGES, h={7: 1}), "h names the spin 7, which J does not have"),
    (lambda: engine.SpinGlass([(0, 1, 1)], 3), "h must be a list of numbers; got 3"),
    (lambda: engine.MaxSAT([[1, 0]]), "a literal must be a whole number other than 0; got 0 in clause 1"),
    (lambda: engine.MaxSAT([[1], []]), "a clause must have a literal; clause 2 of the formula has none"),
    (lambda: engine.MaxSAT([[1], [2]], [1]), "2 clauses need as many weights; got 1"),
    (lambda: engine.MaxSAT([[1]], [0.5]), "the weight of a clause must be a whole number or None; got 0.5"),
    (lambda: engine.MaxSAT([[1, 4]], n=3), "a literal must be from 1 to 3, or negated; got 4 in clause 1"),
    (lambda: engine.LABS(1), "a sequence must have from 2 to 1024 elements; got 1"),
    (lambda: engine.LABS(5, seeds=[[1, 0], [1]]), "individuals must be real numbers"),
    (lambda: engine.BitFunction("onemax", 5), "the function must be callable; got str"),
    (lambda: engine.BOA("trap-5", 12), "n a multiple of k; got n = 12"),
    (lambda: engine.BOA("onemax", 0), "n must be from 1 to 1,048,576; got 0"),
    (lambda: engine.BOA("trep-5", 10), "no built-in fitness 'trep-5'; did you mean 'trap-5'"),
    (lambda: engine.BOA("onemax"), "n is missing"),
    (lambda: engine.BOA("onemax", 4, minimize=True), "minimize is an argument for Python functions; got onemax"),
    (lambda: engine.BOA("onemax", 4, seeds=[[0, 1, 2, 0]]), "zeros and ones only"),
    (lambda: engine.BOA(len, 3, optimum=10**400), "the optimum, or a target, must be real numbers: int too large"),
    (lambda: engine.BOA(len, 4, processes=2), "with each=True"),
    (lambda: engine.BOA(engine.BOA("onemax", 4).fitness, 5), "this fitness has 4 genes; got n = 5"),
    (lambda: engine.BOA.snippet(" ", 3), "a C snippet must be statements that set fitness"),
    (lambda: engine.BOA.nk(10, seed=-1), "the seed must be a whole number, at least 0; got -1"),
    (lambda: engine.BOA.ising(3.5), "the side of a torus must be a whole number, from 3 to 1024; got 3.5"),
    (lambda: landscapes.ising_grid_optimum(3, [(0, 4, 1)]), "no neighbours"),
    (lambda: by_tables(3, [[0, 3]], [[0] * 4]), "genes of scope 0 must be whole numbers from 0 to 2; got 3"),
    (lambda: by_tables(3, [[1, 1]], [[0] * 4]), "scope 0 names a gene twice"),
    (lambda: by_tables(3, [[0], [1, 2]], [[0, 1], [0, 1]]), "table 1 must have 4 values, for 2 genes; it has 2"),
    (lambda: by_tables(3, [[0]], [[0, 1e15]]), "must stay below"),
    (lambda: by_tables(20, [range(17)], [[0]]), "at most 16 genes; it has 17"),
    (lambda: by_tables(2, 3, [[0, 1]]), "scopes must be lists of genes, with a table each; got 3"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_breaks_a_rule_is_refused_in_a_sentence(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("g.rud", "3 2\n1 2 1\n2 3 4\n", engine.MaxCut),
        ("g.gph", "c a graph\np edge 3 2\ne 1 2\ne 2 3\n", engine.MaxCut),
        ("q.txt", "3 2\n1 1 -1\n2 3 4\n", engine.QUBO),
        ("q.txt", "# a comment\n# ObjectiveOffset -1\n3 2\n1 2 1\n2 3 4\n", engine.QUBO),
        ("q.mat", "2\n1 2\n2 -3\n", engine.QUBO),
        ("j.sg", "3 2\n1 2 1\n2 3 4\n", engine.SpinGlass),
        ("f.cnf", "p cnf 3 2\n1 -2 0\n2 3 0\n", engine.MaxSAT),
        ("labs.txt", "labs 27\n", engine.LABS),
        ("trap.boa", "boa trap n=10 k=5\n", engine.BOA),
    ],
)
def test_files_are_read_by_the_class_of_what_they_hold(tmp_path, name, text, kind):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert recognize(path) is kind
    problem = kind.read(path)
    assert type(problem) is kind
    assert type(kind.from_arrays(problem.to_arrays(), "again")) is kind
    x = every(problem.n)[:8] if problem.n < 20 else np.zeros((1, problem.n), np.uint8)
    assert problem.evaluate(x).tolist() == engine.BOA.read(path).evaluate(x).tolist()
    other = engine.QUBO if kind is not engine.QUBO else engine.MaxCut
    with pytest.raises(ProblemError, match=rf"not of a {other.__name__} \(.*{name}"):
        other.read(path)


def test_the_offset_of_a_matrix_is_added_and_its_fault_named_by_line(tmp_path):
    path = tmp_path / "q.qs"
    path.write_text("# ObjectiveOffset 2.5\n3 3\n1 1 -7\n1 2 1\n2 3 4\n", encoding="utf-8")
    x = every(3).astype(int)
    expected = 2.5 - 7 * x[:, 0] + 2 * x[:, 0] * x[:, 1] + 8 * x[:, 1] * x[:, 2]
    assert engine.QUBO.read(path).evaluate(x).tolist() == expected.tolist()
    path.write_text("# one\n# ObjectiveOffset much\n3 1\n1 1 -7\n", encoding="utf-8")
    with pytest.raises(ProblemError, match=r"the offset must be a finite number; got 'much' \(.*, line 2\)"):
        engine.QUBO.read(path)
