"""The first tab shows the problem that Run would solve, before it is run."""

import numpy as np
import pytest
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QLabel
from scipy.sparse import csr_array

import engine
from engine.solvers import discover
from gui.app.theme import DARK, LIGHT
from gui.plot.live import LivePlot
from gui.problem.preview import Preview
from gui.problem.preview_data import HeatMap, Points, Rows, Shares, preview_data
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import begin, drop, ended, load

RANDOM = np.random.default_rng(5)
PROBLEMS = {
    "flowshop": lambda: engine.Flowshop.taillard(1),
    "atsp": lambda: engine.ATSP(RANDOM.integers(1, 99, (7, 7))),
    "bits": lambda: engine.BitFunction(np.sum, 20, optimum=20),
    "queens": lambda: engine.Queens(9),
    "knapsack": lambda: engine.Knapsack(RANDOM.integers(1, 99, 20), RANDOM.integers(1, 99, 20), 300),
    "scaled": lambda: engine.Knapsack(RANDOM.integers(1, 99, 20) / 4, RANDOM.integers(1, 99, 20), 300),
    "choice": lambda: engine.MultipleChoiceKnapsack(
        RANDOM.integers(1, 9, 6), RANDOM.integers(1, 9, 6), [0, 0, 1, 1, 2, 2], 9
    ),
    "two": lambda: engine.MultidimensionalKnapsack(
        RANDOM.integers(1, 9, 6), list(RANDOM.integers(1, 9, (2, 6))), [9, 8]
    ),
    "probit": lambda: engine.HorseshoeProbit(RANDOM.standard_normal((40, 3)), np.arange(40) % 4 == 0),
    "sparse": lambda: engine.HorseshoeProbit(csr_array(np.eye(40, 3)), np.arange(40) % 4 == 0),
    "logit": lambda: engine.HorseshoeLogit(RANDOM.standard_normal((40, 3)), np.arange(40) % 4 == 0),
    "normal": lambda: engine.HorseshoeRegression(RANDOM.standard_normal((40, 3)), np.arange(40.0)[::-1]),
    "ordinal": lambda: engine.HorseshoeRegression(
        RANDOM.standard_normal((40, 3)), ["low", "mid", "high", "mid"] * 10, family="ordinal"
    ),
    "assignment": lambda: engine.QuadraticAssignment(RANDOM.integers(0, 9, (5, 5)), RANDOM.integers(0, 9, (5, 5))),
    "flow time": lambda: engine.FlowTime(RANDOM.integers(1, 9, (3, 4))),
    "blocking": lambda: engine.BlockingFlowshop(RANDOM.integers(1, 9, (3, 4))),
    "no-wait": lambda: engine.NoWaitFlowshop(RANDOM.integers(1, 9, (3, 4))),
    "tardiness": lambda: engine.Tardiness([3, 1, 2], [1, 1, 2], [4, 4, 1]),
    "ordering": lambda: engine.LinearOrdering(RANDOM.integers(-9, 9, (5, 5))),
    "linprog": lambda: engine.LinearProgram(np.ones(5), csr_array(np.eye(3, 5)), np.ones(3)),
    "boa": lambda: engine.BOA("trap-5", 20),
    "onemax": lambda: engine.BOA("onemax", 9),
    "cut": lambda: engine.MaxCut([(0, 1), (1, 2)]),
    "matrix": lambda: engine.QUBO({(0, 0): -1, (0, 1): 2}),
    "formula": lambda: engine.MaxSAT([[1, -2], [2]]),
    "glass": lambda: engine.SpinGlass([(0, 1, -1)], h=[1, 0]),
    "sequence": lambda: engine.LABS(9),
    "hierarchy": lambda: engine.BOA("hiff", 16),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_has_a_preview_with_sizes(qtbot, name):
    problem = PROBLEMS[name]()
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
    flowshop = engine.Flowshop.taillard(1)
    (times,) = preview_data(flowshop).figures
    assert isinstance(times, HeatMap)
    assert times.matrix.tolist() == flowshop.times.tolist()
    stated = preview_data(engine.Flowshop.read(SAMPLES / "branch_and_bound" / "ta030.txt"))
    assert ("Known optimum", "2,178") in stated.numbers
    knapsack = PROBLEMS["knapsack"]()
    points = preview_data(knapsack).figures[0]
    assert isinstance(points, Points)
    assert (points.x.tolist(), points.y.tolist()) == (knapsack.weights.tolist(), knapsack.profits.tolist())
    balance, features = preview_data(PROBLEMS["probit"]()).figures
    assert isinstance(balance, Shares)
    assert balance.values == {"y = 1": 0.25, "y = 0": 0.75}
    assert isinstance(features, Rows)
    assert len(features.rows) == 3
    _, sparse = preview_data(PROBLEMS["sparse"]()).figures
    assert isinstance(sparse, Rows)
    column = np.eye(40)[0]
    assert sparse.rows[0][1:] == pytest.approx((column.mean(), column.std(), 0.0, 1.0))
    target, _ = preview_data(PROBLEMS["normal"]()).figures
    assert isinstance(target, Points)
    assert target.y.tolist() == list(range(40))
    categories, _ = preview_data(PROBLEMS["ordinal"]()).figures
    assert isinstance(categories, Shares)
    assert categories.values == {"y = high": 0.25, "y = low": 0.25, "y = mid": 0.5}
    (pattern,) = preview_data(PROBLEMS["linprog"]()).figures
    assert isinstance(pattern, HeatMap)
    assert pattern.matrix.tolist() == np.eye(3, 5).tolist()


def test_the_pictures_of_bit_strings_are_their_functions():
    pairs, values = preview_data(engine.BOA("trap-5", 20)).figures
    assert isinstance(pairs, HeatMap)
    same = np.kron(np.eye(4), np.ones((5, 5))) - np.eye(20)
    assert sorted(pairs.matrix.ravel().tolist()) == sorted(same.ravel().tolist())
    assert (pairs.matrix == pairs.matrix.T).all()
    assert isinstance(values, Points)
    assert dict(zip(values.x.tolist(), values.y.tolist(), strict=True)) == {0: 4, 1: 3, 2: 2, 3: 1, 4: 0, 5: 5}
    (ones,) = preview_data(engine.BOA("onemax", 9)).figures
    assert isinstance(ones, Points)
    assert (ones.x.tolist(), ones.y.tolist()) == ([0, 1], [0, 1])
    (prefixes,) = preview_data(engine.BOA("hiff", 4)).figures
    assert isinstance(prefixes, Points)
    assert (prefixes.x.tolist(), prefixes.y.tolist()) == ([0, 1, 2, 3, 4], [12, 6, 8, 6, 12])
    (wide, _) = preview_data(engine.BOA("trap-4", 1000)).figures
    assert isinstance(wide, HeatMap)
    assert wide.matrix.shape == (400, 400)
    assert wide.matrix.sum() == 250 * 4 * 3


def test_every_class_with_instance_files_has_a_preview():
    kinds = {kind.__name__ for solver in discover().values() for kind in solver.problems}
    assert kinds - {type(make()).__name__ for make in PROBLEMS.values()} <= {"PermutationProblem", "Counting"}


def test_a_large_matrix_is_shown_by_means_of_blocks():
    times = RANDOM.integers(1, 99, (2, 1001))
    (shown,) = preview_data(engine.Flowshop(times)).figures
    assert isinstance(shown, HeatMap)
    assert shown.matrix.shape == (2, 334)
    assert shown.matrix[0, 0] == pytest.approx(times[0, :3].mean())
    assert shown.matrix[1, -1] == pytest.approx(times[1, 999:].mean())


def test_one_problem_is_selected_shown_and_run(qtbot, open_window, counting_files):
    window = open_window(COUNTING)

    def texts():
        return [label.text() for label in window.tabs.currentWidget().findChildren(QLabel) if label.isVisible()]

    start = window.actions_by_name["start"]
    assert "Drop a problem file here" in texts()
    load(qtbot, window, SAMPLES / "knapsack" / "strongly-1000.txt")
    assert window.tabs.currentWidget() is window.home
    assert "strongly-1000" in texts()
    assert "Drop a problem file here" not in texts()
    assert (window.tabs.tabText(0), start.iconText()) == ("Problem: strongly-1000", "Run strongly-1000")
    load(qtbot, window, counting_files / "small.txt")
    assert (window.tabs.tabText(0), start.iconText()) == ("Problem: small", "Run small")
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    assert tab.note.problem == window.pane.instance.problem.describe()
    load(qtbot, window, SAMPLES / "knapsack" / "strongly-1000.txt")  # another one: its preview comes to the front
    assert window.tabs.currentWidget() is window.home
    window.tabs.setCurrentWidget(tab)
    assert start.iconText() == "Run strongly-1000"
    drop(window, counting_files / "bad.txt")
    qtbot.waitUntil(lambda: window.pane.error.isVisible(), timeout=120_000)
    assert (window.tabs.tabText(0), start.iconText()) == ("bad.txt cannot be used", "Run")


@pytest.mark.parametrize("side", ["left", "bottom"])
@pytest.mark.parametrize("title", ["explored share of the whole search tree (%) of each device", "word_freq_" * 6])
def test_long_titles_of_axes_have_more_lines_or_smaller_letters(qtbot, side, title):
    plot = LivePlot("Decomposed nodes", "nodes/s", theme=LIGHT)
    qtbot.addWidget(plot)
    plot.resize(260, 220)
    plot.show()
    plot.series("a").append(1.0, 5e6)
    plot.fit()
    axis = plot.plot.getAxis(side)
    axis.set_title(title)
    qtbot.wait(20)
    assert axis.shown_title.replace("\n", " ") == title
    shown, box = axis.label.mapRectToItem(plot.plot, axis.label.boundingRect()), plot.plot.rect()
    assert box.adjusted(-8, -8, 8, 8).contains(shown)
    axis.set_title("short")
    assert axis.shown_title == "short"


def test_headings_are_not_cut(qtbot):
    plot = LivePlot("Time spent stealing or waiting for work", "% of the time of each device", theme=LIGHT)
    qtbot.addWidget(plot)
    heights = []
    for width in (900, 250):
        plot.resize(width, 220)
        plot.show()
        heading = plot._heading
        fonts = [QFont(heading.font()), QFont(heading.font())]
        fonts[1].setBold(True)
        for word, bold, left, line in heading._words():
            assert left == 0 or left + QFontMetrics(fonts[bold]).horizontalAdvance(word) <= heading.width()
            assert (line + 1) * heading.fontMetrics().height() <= heading.height()
        heights.append(heading.height())
    assert heights[0] < heights[1]
