"""The first tab shows the problem that Run would solve, before it is run."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import engine
from engine.solvers import discover
from gui.app.theme import DARK, LIGHT
from gui.problem.preview import Preview
from gui.problem.preview_data import preview_data
from tests.support import forged
from tests.support.app import SAMPLES

RANDOM = np.random.default_rng(5)
PROBLEMS = {
    **forged.PROBLEMS,
    "bits": engine.BitFunction(np.sum, 20, optimum=20),
    "scaled": engine.Knapsack(RANDOM.integers(1, 99, 20) / 4, RANDOM.integers(1, 99, 20), 300),
    "probit": engine.HorseshoeProbit(RANDOM.standard_normal((40, 3)), np.arange(40) % 4 == 0),
    "sparse": engine.HorseshoeProbit(csr_array(np.eye(40, 3)), np.arange(40) % 4 == 0),
    "normal": engine.HorseshoeRegression(RANDOM.standard_normal((40, 3)), np.arange(40.0)[::-1]),
    "ordinal": engine.HorseshoeRegression(
        RANDOM.standard_normal((40, 3)), ["low", "mid", "high", "mid"] * 10, family="ordinal"
    ),
    "linprog": engine.LinearProgram(np.ones(5), csr_array(np.eye(3, 5)), np.ones(3)),
    "onemax": engine.BOA("onemax", 9),
    "cut": engine.MaxCut([(0, 1), (1, 2)]),
    "matrix": engine.QUBO({(0, 0): -1, (0, 1): 2}),
    "formula": engine.MaxSAT([[1, -2], [2]]),
    "glass": engine.SpinGlass([(0, 1, -1)], h=[1, 0]),
    "sequence": engine.LABS(9),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_has_a_preview_with_sizes(qtbot, name):
    problem = PROBLEMS[name]
    data = preview_data(problem)
    assert data.description == problem.describe()
    assert data.numbers
    preview = Preview(LIGHT)
    qtbot.addWidget(preview)
    preview.resize(900, 600)
    preview.show()
    preview.show_data(data, "F5")
    assert [(tile.name, tile.value) for tile in preview.tiles] == data.numbers
    assert len(preview.figures) == len(data.figures)
    assert all(figure.table()[1] for figure in preview.figures)
    assert all(figure.caption for figure in preview.figures), [figure.title for figure in preview.figures]
    assert all(tile.meaning.text for tile in preview.tiles)
    qtbot.waitUntil(lambda: not any(figure.dirty for figure in preview.figures), timeout=120_000)
    preview.set_theme(DARK)
    preview.show_data(preview_data(engine.Queens(3)), "F5")  # for which there is no placement
    assert preview.figures == []


def test_the_pictures_of_a_preview_are_the_data():
    flowshop, knapsack = engine.Flowshop.taillard(1), PROBLEMS["knapsack"]
    (times,) = preview_data(flowshop).figures
    assert times.matrix.tolist() == flowshop.times.tolist()
    stated = preview_data(engine.Flowshop.read(SAMPLES / "branch_and_bound" / "ta030.txt"))
    assert ("Known optimum", "2,178") in stated.numbers
    points = preview_data(knapsack).figures[0]
    assert (points.x.tolist(), points.y.tolist()) == (knapsack.weights.tolist(), knapsack.profits.tolist())
    balance, features = preview_data(PROBLEMS["probit"]).figures
    assert (balance.values, len(features.rows)) == ({"y = 1": 0.25, "y = 0": 0.75}, 3)
    _, sparse = preview_data(PROBLEMS["sparse"]).figures
    column = np.eye(40)[0]
    assert sparse.rows[0][1:] == pytest.approx((column.mean(), column.std(), 0.0, 1.0))
    target, _ = preview_data(PROBLEMS["normal"]).figures
    assert target.y.tolist() == list(range(40))
    categories, _ = preview_data(PROBLEMS["ordinal"]).figures
    assert categories.values == {"y = high": 0.25, "y = low": 0.25, "y = mid": 0.5}
    (pattern,) = preview_data(PROBLEMS["linprog"]).figures
    assert pattern.matrix.tolist() == np.eye(3, 5).tolist()
    random = RANDOM.integers(1, 99, (2, 1001))
    (shown,) = preview_data(engine.Flowshop(random)).figures  # means of blocks
    assert shown.matrix.shape == (2, 334)
    assert shown.matrix[0, 0] == pytest.approx(random[0, :3].mean())
    pairs, values = preview_data(engine.BOA("trap-5", 20)).figures
    same = np.kron(np.eye(4), np.ones((5, 5))) - np.eye(20)
    assert sorted(pairs.matrix.ravel().tolist()) == sorted(same.ravel().tolist())
    assert dict(zip(values.x.tolist(), values.y.tolist(), strict=True)) == {0: 4, 1: 3, 2: 2, 3: 1, 4: 0, 5: 5}
    (prefixes,) = preview_data(engine.BOA("hiff", 4)).figures
    assert (prefixes.x.tolist(), prefixes.y.tolist()) == ([0, 1, 2, 3, 4], [12, 6, 8, 6, 12])


def test_every_class_with_instance_files_has_a_preview():
    kinds = {kind.__name__ for solver in discover().values() for kind in solver.problems}
    assert kinds - {type(problem).__name__ for problem in PROBLEMS.values()} <= {"PermutationProblem", "Counting"}
