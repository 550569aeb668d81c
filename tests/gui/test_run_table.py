"""The table of all runs: filter, columns, sorting, tags; and a thousand runs."""

import json
import shutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from engine.util.text import value_text
from gui.runs.library import Library
from gui.runs.model import NOTE, RunModel
from gui.runs.notes import RunNote
from gui.runs.query import matches, parse
from gui.runs.tree import RunTree
from tests.support.app import COUNTING, SAMPLES

NOTES = [
    RunNote(
        "a", "/a", "taillard 21", created=1.0, solver="branch_and_bound", problem="flowshop of 20 jobs",
        state="optimal", best=2297, bound=2297, gap=0.0, seconds=812.0, seed=1,
        devices=["cuda:0", "cuda:1"], tags=["paper"], options={"strategy": "ring"}, counters={"nodes": 2_000_000_000},
    ),
    RunNote(
        "b", "/b", "crane", created=2.0, solver="branch_and_bound", problem="asymmetric TSP of 66 cities",
        state="time_limit", best=1500, bound=1470, gap=0.02, seconds=60.0, seed=2, devices=["opencl:0"],
        options={"strategy": "large"}, counters={"nodes": 5_000}, comment="bound too weak",
    ),
    RunNote("c", "/c", "strongly 1000", created=3.0, solver="knapsack", problem="0/1 knapsack", state="failed"),
]  # fmt: skip


def test_a_change_of_a_run_is_announced_for_its_whole_row(qapp):
    model = RunModel()
    for note in NOTES:
        model.add(note)
    assert [note.key for note in model.notes] == ["c", "b", "a"]
    seen = []
    model.dataChanged.connect(
        lambda first, last, _roles: seen.append((first.row(), first.column(), last.row(), last.column()))
    )
    model.update(NOTES[0])
    assert seen == [(2, 0, 2, model.columnCount() - 1)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "abc"),
        ("taillard", "a"),
        ("solver:branch", "ab"),
        ("-solver:branch", "c"),
        ("gap>1%", "b"),
        ("gap<=2%", "ab"),
        ("gap=0", "a"),
        ("time>=60 state:limit", "b"),
        ("best!=2297", "b"),
        ("tags:paper", "a"),
        ("-tags:paper", "bc"),
        ('"too weak"', "b"),
        ("option.strategy=ring", "a"),
        ("counter.nodes>1e9", "a"),
        ("state=time_limit", "b"),
        ('"state=time limit"', "b"),
        ("don't", ""),
    ],
)
def test_a_filter_finds_the_runs_it_describes(query, expected):
    conditions = parse(query)
    assert "".join(note.key for note in NOTES if matches(note, conditions)) == expected


@pytest.fixture
def window(open_window, tmp_path):
    library = Library(tmp_path / "home")
    library.runs.mkdir(parents=True)
    for note in NOTES:
        folder = library.runs / note.key
        shutil.copytree(SAMPLES / "recorded" / "knapsack", folder)
        library.save(RunNote(**{**vars(note), "folder": str(folder)}))
    shown = open_window(COUNTING)
    shown.actions_by_name["run_table"].trigger()
    return shown


def cells(table, name):
    column = table.columns.index(name)
    return [str(table._shown.index(row, column).data()) for row in range(table._shown.rowCount())]


def test_the_table_filters_sorts_and_keeps_its_columns(qtbot, window):
    table = window.all_runs.table
    assert window.tabs.currentWidget() is table
    assert cells(table, "title") == ["strongly 1000", "crane", "taillard 21"]  # the newest first
    qtbot.keyClicks(table.filter, "solver:branch")
    assert cells(table, "title") == ["crane", "taillard 21"]
    assert table.count.text() == "2 of 3 runs"
    crane = next(note for note in window.library if note.title == "crane")
    for solver, count in (("knapsack", "1 of 3 runs"), (crane.solver, "2 of 3 runs")):
        crane.solver = solver  # as the numbers of a run in progress change
        window.library.model.update(crane)
        assert table.count.text() == count
    table.filter.setText("speed>3")
    assert "no column 'speed'" in table.error.text()
    table.filter.clear()
    best = table.columns.index("best")
    for order, expected in (
        (Qt.SortOrder.AscendingOrder, [1500, 2297, None]),
        (Qt.SortOrder.DescendingOrder, [2297, 1500, None]),
    ):
        table.view.sortByColumn(best, order)
        assert cells(table, "best") == [value_text(value) for value in expected]
    table._fill_columns_menu()
    table.columns_menu.findChildren(QLineEdit)[-1].setText("COUNTER nodes")
    (chosen,) = (action for action in table.columns_menu.actions()[1:] if action.isVisible())
    assert chosen.text() == "nodes (counter)"
    chosen.setChecked(True)
    assert cells(table, "counter.nodes") == ["2,000,000,000", "5,000", ""]
    assert cells(table, "best")[0] == "2,297"  # still sorted
    assert "counter.nodes" in str(window.settings.value("run_columns"))


def test_actions_apply_to_the_runs_selected_in_the_table(qtbot, window, tmp_path):
    table = window.all_runs.table
    first, second = (window.library.find(key) for key in "ab")
    table.select(first, second)
    assert window.runs.targets() == [second, first]
    assert window.actions_by_name["compare"].isEnabled()
    window.all_runs.set_tags([first, second], "hard, gpu")
    assert (first.tags, second.tags) == (["paper", "hard", "gpu"], ["hard", "gpu"])
    window.all_runs.set_tags([first, second], "gpu")
    assert (first.tags, second.tags) == (["paper", "gpu"], ["gpu"])
    window.all_runs.set_note(first, "  see section 4 ")
    table.select(second)
    window.all_runs.set_colour("#123456")
    written = json.loads((tmp_path / "home" / "runs" / "a.json").read_text())
    assert (written["tags"], written["comment"]) == (["paper", "gpu"], "see section 4")
    assert json.loads((tmp_path / "home" / "runs" / "b.json").read_text())["colour"] == "#123456"
    table.filter.setText("tags:gpu -tags:paper")
    assert [note.key for note in table.shown()] == ["b"]
    window.run_tabs.close_current()
    assert window.tabs.indexOf(table) < 0
    window.actions_by_name["run_table"].trigger()
    assert [note.key for note in table.shown()] == ["b"]


def test_runs_of_one_title_are_distinguished_by_option_then_seed_then_time():
    model = RunModel()
    options = ({"score": "k2"}, {"score": "bic"}, {"score": "bic"}, {"score": "bic"})
    for place, (chosen, seed) in enumerate(zip(options, (1, 1, 2, 2), strict=True)):
        model.add(RunNote(f"run{place}", "", "trap", options=chosen, seed=seed, created=60.0 * place))
    model.add(RunNote("other", "", "alone", created=1.0))
    texts = {note.key: model.distinction(note) for note in model.notes}
    assert texts["run0"] == "score k2, seed 1"
    assert texts["run1"] == "score bic, seed 1"
    assert texts["run2"].startswith("score bic, seed 2, ")
    assert texts["run2"] != texts["run3"]
    assert texts["other"] == ""
    tree, said = RunTree(model), Qt.ItemDataRole.AccessibleTextRole
    rows = [tree.index(row, 0) for row in range(tree.rowCount())]
    for row, note in enumerate(model.notes):
        (entry,) = (one for one in rows if one.data(NOTE) is note)
        assert entry.data(said).startswith(f"{model.index(row, 0).data(said)}, ")
        assert texts[note.key] in entry.data(said)
    model.notes[0].title = "renamed"
    model.update(model.notes[0])
    assert model.distinction(model.notes[0]) == ""
