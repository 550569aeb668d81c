"""Files of problems over bit strings: recognised for what they are, read with their optima, refused with the line."""

import pytest

import engine
from engine.errors import ProblemError
from engine.formats.bit_strings import read, recognize
from engine.formats.source import read_head
from engine.solvers import problem_classes
from engine.solvers.boa.fitness.landscapes import ising_grid_optimum, nk_optimum
from engine.solvers.boa.fitness.tables import Decomposable
from engine.solvers.boa.problem import from_parsed

GOOD = {
    "f.cnf": ("c comment\np cnf 3 2\n1 -2 0 3\n-1 0\n%\n0\n", "cnf", 3),
    "old.wcnf": ("c x\np wcnf 3 2 9\n4 1 -2 0\n9 -1 3 0\n", "wcnf", 3),
    "new.wcnf": ("c x\nh 1 -2 0\n3 -1 4 0\n", "wcnf", 4),
    "headed": ("p wcnf 2 1\n4 1 -2 0\n", "wcnf", 2),
    "matrix": ("c x\np qubo 0 3 1 2\n1 1 -4\nc y\n0 1 2\n1 2 -3.5\n", "qubo", 3),
    "nk": ("3 1 1\n0.1 0.2 0.3 0.4\n0.5 0.6 0.7 0.8\n0.9 1.0 0.0 0.0\n2.2\n0 1 2\n", "nk", 3),
    "one-line": ("2 1 2\n0.1 0.2 0.3 0.4\n", "nk", 2),
    "glass": ("-3 010\n3\n0 1 -1\n1 2 -1\n2 0 1\n", "ising", 3),
    "cut": ("3 2 J\n1 2 5\n2 3 -1.5\n", "maxcut", 3),
    "a.qubo": ("3 2\n1 2 5\n2 3 -1\n", "qubo", 3),
    "diagonal": ("3 2\n1 1 5\n2 3 -1\n", "qubo", 3),
    "own": ("boa trap n=20 k=4\n", "boa", 20),
    "code": ("boa snippet n=8 minimize=1 scale=10 optimum=-1.5\nfitness = BIT(0);\n", "boa", 8),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_format_is_recognised_and_read(tmp_path, name):
    text, format, n = GOOD[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert recognize(path, text) is not None
    parsed = read(path)
    assert (parsed.format, parsed.n) == (format, n)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p cnf 3 2\n1 -2 0\n", "there must be 2 clauses; got 1"),
        ("p cnf 3 1\n1 -4 0\n", r"from 1 to 3, or negated; got -4 \(.*, line 2\)"),
        ("p wcnf 3 1 9\n-1 1 0\n", r"a weight must be at least 0; got -1 \(.*, line 2\)"),
        ("p wcnf 3 2\n4 1 0\n2000000000000 2 0\n", r"stay below 2\^40 in sum \(.*, line 3\)"),
        ("p cnf 3 2\n1 0\n0\n", r"a clause must have a literal \(.*, line 3\)"),
        ("p wcnf 3 1 9\n4 1 2\n", r"a weight, a clause and 0 \(.*, line 2\)"),
        ("2 1 2\n0.1 0.2 0.3 0.4\n1.0\n1 0\n", "only the permutation 0 1 2"),
        ("3 2\n1 2 5\n2 3\n", r"a line must hold two numbers and a weight; got '2 3' \(.*, line 3\)"),
        ("0 1\n1 2 5\n", r"n must be from 1 to 1048576; got 0 \(.*, line 1\)"),
        ("p qubo 0 3 2 0\n1 1 4\n0 2 1\n", "there must be 2 diagonal entries; got 1"),
        ("3 1 1\n0.1 0.2 0.3 0.4\n", "the file ends before its 3 tables of 4 values"),
        ("boa trap k=5\n", "n= is missing"),
        ("boa snippet n=20 minimize=2\nfitness = 1;\n", "scale=, minimize=, optimum= with numbers; got 'minimize=2'"),
        ("3 2\n1 2 heavy\n2 3 1\n", r"a weight must be a finite number; got 'heavy' \(.*, line 2\)"),
        ("p qubo 0 3 1 1\nc x\n1 1 4e12\n0 1 1\n", r"below 2\^41 in sum; they come to 4e\+12 here \(.*, line 3\)"),
        ("p qubo 0 3 0 2\n0 1 4\n1 0 1\n", r"the pair 1 0 was given before, in line 2 \(.*, line 3\)"),
        ("nothing at all\n", "is none of"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path, text, message):
    path = tmp_path / "instance.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError, match=message):
        read(path)


def test_no_file_of_another_family_is_claimed(shared_data):
    for path in sorted(shared_data.rglob("*")):
        if path.is_file():
            head = read_head(path, 4096)
            ours = path.parent.parent.name == "boa" and path.name not in ("optima.txt", "best_known.csv")
            assert (recognize(path, head) is not None) == ours, path
            if ours:
                found = [kind for kind in problem_classes().values() if kind.recognizes(path, head)]
                assert [issubclass(kind, engine.BOA) for kind in found] == [True], path


def test_stated_optima_are_those_of_the_exact_solvers(shared_data):
    for path in sorted((shared_data / "boa" / "nk").iterdir()):
        fitness = from_parsed(read(path))
        assert isinstance(fitness, Decomposable)
        assert fitness.best_key == nk_optimum(fitness), path
    for n in (16, 64, 100):
        parsed = read(shared_data / "boa" / "ising" / f"IsingSpinGlass_pm_{n}_0.txt")
        assert parsed.optimum == -ising_grid_optimum(round(n**0.5), parsed.terms)
