"""Statistics of many runs: groups over seeds, box plots, the table of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSize

from gui.app.theme import DARK, LIGHT
from gui.compare.groups import differing_options, grouped, values_of
from gui.compare.statistics import StatisticsTab
from gui.plot.boxes import spread
from gui.runs.columns import value_of
from gui.runs.library import Library
from gui.runs.notes import RunNote
from tests.support.app import COUNTING


def note(number: int, variant: str | None, best: float | None, state: str = "optimal") -> RunNote:
    options = {} if variant is None else {"variant": variant}
    made = RunNote(f"k{number}", f"/k{number}", f"run {number}", solver="boa", problem="trap of 100 genes", best=best)
    made.options, made.state, made.seed, made.seconds = options, state, number, 2.0 * number
    made.counters = {"evaluations": 10 * number}
    return made


NOTES = [
    *(note(number, "rows", 90 + number) for number in range(5)),
    *(note(number, "tiles", 80 + number, "time_limit") for number in range(5, 9)),
    note(9, None, None, "failed"),
]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50))
def test_a_spread_has_the_quartiles_and_loses_no_value(values: list[float]) -> None:
    found = spread(values)
    assert found is not None
    assert (found.quartile, found.median, found.upper_quartile) == tuple(np.quantile(values, (0.25, 0.5, 0.75)))
    assert found.low <= found.quartile
    assert found.high >= found.upper_quartile
    assert min((found.low, *found.outliers)) == min(values)
    assert max((found.high, *found.outliers)) == max(values)


def test_nothing_has_no_spread() -> None:
    assert spread([]) is None


def test_runs_that_differ_in_seeds_only_are_a_group() -> None:
    assert differing_options(NOTES) == ["variant"]
    groups = grouped(NOTES)
    assert [(group.name, len(group.runs)) for group in groups] == [
        ("variant = –", 1),
        ("variant = rows", 5),
        ("variant = tiles", 4),
    ]
    assert values_of(groups[1], "best") == [90, 91, 92, 93, 94]
    assert values_of(groups[0], "best") == []
    assert values_of(groups[2], "counter.evaluations") == [50, 60, 70, 80]
    assert [group.name for group in grouped([NOTES[0], NOTES[1]])] == ["trap of 100 genes"]


def test_the_tab_shows_boxes_and_a_table_of_the_chosen_value(qtbot: Any) -> None:
    tab = StatisticsTab(NOTES, LIGHT)
    qtbot.addWidget(tab)
    tab.resize(900, 700)
    tab.show()
    headers, rows = tab.boxes.table()
    assert [row[:2] for row in rows] == [("variant = rows", 5), ("variant = tiles", 4)]
    assert rows[0][headers.index("median")] == 92
    headers, rows = tab.table.table()
    assert [row[headers.index("variant")] for row in rows] == ["", "rows", "tiles"]
    assert (headers[0], headers[-1]) == ("variant", "instance")  # all of one instance
    assert [row[headers.index("solved")] for row in rows] == [0, 5, 0]
    tab.value.setCurrentIndex(tab.value.findData("time"))
    assert tab.boxes.x_title == "Time (s)"
    assert [row[4] for row in tab.boxes.table()[1]] == [4.0, 13.0], "a failed run has no time to compare"
    other = note(10, "rows", 5)
    other.problem = "another"
    headers, _ = StatisticsTab([*NOTES, other], LIGHT).table.table()
    assert headers[0] == "instance"
    before = tab.boxes.to_image(1.0, QSize(500, 300))
    tab.set_theme(DARK)
    assert tab.boxes.to_image(1.0, QSize(500, 300)) != before
    tab.close()


def test_an_option_that_was_used_by_default_is_the_option_that_was_given() -> None:
    given, default, other = note(1, "rows", 3), note(2, None, 4), note(3, None, 5)
    default.used, other.used = {"variant": "rows"}, {"variant": "tiles"}
    assert differing_options([given, default]) == []
    assert [len(group.runs) for group in grouped([given, default, other])] == [2, 1]
    assert value_of(default, "option.variant") == "rows"


def test_runs_with_other_devices_or_another_time_limit_are_another_group() -> None:
    runs = [note(number, "rows", number) for number in range(4)]
    runs[1].devices, runs[2].settings = ["cuda:0"], {"time_limit": 5.0}
    assert sorted(group.name for group in grouped(runs)) == [
        "devices = cuda:0, time limit = –",
        "devices = –, time limit = 5",
        "devices = –, time limit = –",
    ]


def test_a_group_is_not_named_by_options_of_other_solvers() -> None:
    runs = [note(number, "rows", number) for number in range(4)]
    runs[1].used = {"variant": "tiles"}
    runs[2].problem, runs[2].options, runs[2].used = "regression: 9 rows", {}, {"warmup": 300}
    runs[3].problem, runs[3].options, runs[3].used = "program: 2 rows", {}, {"tolerance": 1e-8}
    names = [group.name for group in grouped(runs)]
    assert names == ["program", "regression", "trap of 100 genes, variant = rows", "trap of 100 genes, variant = tiles"]


def test_chains_that_have_not_mixed_are_not_solved_and_a_stranger_is_not_in_the_sweep(qtbot: Any) -> None:
    runs = [note(number, "rows", number, "complete") for number in range(3)]
    runs[0].warnings = ["not mixed"]
    runs[0].sweep = runs[1].sweep = "sweep of small.boa"
    tab = StatisticsTab(runs, LIGHT)
    qtbot.addWidget(tab)
    headers, rows = tab.table.table()
    assert rows[0][headers.index("solved")] == 2
    assert tab.title == "Statistics of 3 runs"


@pytest.fixture
def window(open_window: Any, tmp_path: Path) -> Any:
    library = Library(tmp_path / "home")
    library.runs.mkdir(parents=True)
    for one in NOTES:
        (library.runs / one.key).mkdir()
        library.save(RunNote(**{**vars(one), "folder": str(library.runs / one.key)}))
    return open_window(COUNTING)


def test_statistics_are_opened_for_the_selected_runs(qtbot: Any, window: Any) -> None:
    window.actions_by_name["run_table"].trigger()
    table = window.all_runs.table
    table.filter.setText("state:optimal")
    table.view.selectAll()
    assert not window.actions_by_name["compare"].isEnabled()  # without recorded events
    window.actions_by_name["statistics"].trigger()
    tab = window.tabs.currentWidget()
    assert isinstance(tab, StatisticsTab)
    assert tab.title == "Statistics of 5 runs"
    assert window.actions_by_name["export_csv"].isEnabled()
    window.appearance.switch()
    window.run_tabs.close_current()
    assert window.run_tabs.comparisons == []
