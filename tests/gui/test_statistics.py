"""Statistics of many runs: groups over seeds, box plots, the table of options."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSize, Qt
from scipy import stats

from engine.events import Incumbent, to_json
from gui.app.theme import DARK, LIGHT
from gui.compare.groups import differing_options, grouped, values_of
from gui.compare.profiles import performance_profiles, solved_within
from gui.compare.significance import compared, importance
from gui.compare.statistics import StatisticsTab
from gui.plot.boxes import spread
from gui.plot.listing import Listing
from gui.runs.columns import value_of
from gui.runs.library import Library
from gui.runs.notes import RunNote
from tests.support.app import COUNTING
from tests.support.counting import STARTED


def note(number, variant, best, state="optimal"):
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
def test_a_spread_has_the_quartiles_and_loses_no_value(values):
    found = spread(values)
    assert found is not None
    assert (found.quartile, found.median, found.upper_quartile) == tuple(np.quantile(values, (0.25, 0.5, 0.75)))
    assert found.low <= found.quartile
    assert found.high >= found.upper_quartile
    assert min((found.low, *found.outliers)) == min(values)
    assert max((found.high, *found.outliers)) == max(values)


def test_runs_that_differ_in_seeds_only_are_a_group():
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


def test_the_tab_shows_boxes_and_a_table_of_the_chosen_value(qtbot):
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


def test_an_option_that_was_used_by_default_is_the_option_that_was_given():
    given, default, other = note(1, "rows", 3), note(2, None, 4), note(3, None, 5)
    default.used, other.used = {"variant": "rows"}, {"variant": "tiles"}
    assert differing_options([given, default]) == []
    assert [len(group.runs) for group in grouped([given, default, other])] == [2, 1]
    assert value_of(default, "option.variant") == "rows"


def test_runs_with_other_devices_or_another_time_limit_are_another_group():
    runs = [note(number, "rows", number) for number in range(4)]
    runs[1].devices, runs[2].settings = ["cuda:0"], {"time_limit": 5.0}
    assert sorted(group.name for group in grouped(runs)) == [
        "devices = cuda:0, time limit = –",
        "devices = –, time limit = 5",
        "devices = –, time limit = –",
    ]


def test_a_group_is_not_named_by_options_of_other_solvers():
    runs = [note(number, "rows", number) for number in range(4)]
    runs[1].used = {"variant": "tiles"}
    runs[2].problem, runs[2].options, runs[2].used = "regression: 9 rows", {}, {"warmup": 300}
    runs[3].problem, runs[3].options, runs[3].used = "program: 2 rows", {}, {"tolerance": 1e-8}
    names = [group.name for group in grouped(runs)]
    assert names == ["program", "regression", "trap of 100 genes, variant = rows", "trap of 100 genes, variant = tiles"]


def test_chains_that_have_not_mixed_are_not_solved_and_a_stranger_is_not_in_the_sweep(qtbot):
    runs = [note(number, "rows", number, "complete") for number in range(3)]
    runs[0].warnings = ["not mixed"]
    runs[0].sweep = runs[1].sweep = "sweep of small.boa"
    tab = StatisticsTab(runs, LIGHT)
    qtbot.addWidget(tab)
    headers, rows = tab.table.table()
    assert rows[0][headers.index("solved")] == 2
    assert tab.title == "Statistics of 3 runs"


@pytest.fixture
def window(open_window, tmp_path):
    library = Library(tmp_path / "home")
    library.runs.mkdir(parents=True)
    for one in NOTES:
        (library.runs / one.key).mkdir()
        library.save(RunNote(**{**vars(one), "folder": str(library.runs / one.key)}))
    return open_window(COUNTING)


def test_statistics_are_opened_for_the_selected_runs(qtbot, window):
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


def test_profiles_and_times_to_solution_are_those_of_counting(qtbot):
    random = np.random.default_rng(5)
    notes = []
    for score in ("k2", "bic", "aic"):
        for seed in range(6):
            for instance in ("one", "two"):
                note = RunNote(
                    f"{score}{seed}{instance}", "", "t", problem=instance, options={"score": score}, seed=seed
                )
                note.seconds = float(random.integers(1, 9))
                note.state = "time_limit" if random.random() < 0.3 else "optimal"
                notes.append(note)
    profiles, place = performance_profiles(notes), {"k2": 0, "bic": 1, "aic": 2}
    table = np.full((3, 12), np.inf)
    for note in notes:
        if note.state == "optimal":
            table[place[note.options["score"]], 2 * note.seed + (note.problem == "two")] = note.seconds
    table = table[:, np.isfinite(table).any(axis=0)]
    for name, row in place.items():
        ratios, shares = profiles[f"score = {name}"]
        for factor in (1.0, 1.5, 2.0, 4.0, 100.0):
            counted = (table[row] <= factor * table.min(axis=0)) & np.isfinite(table[row])
            reached = shares[ratios <= factor]
            assert (reached[-1] if len(reached) else 0.0) == pytest.approx(counted.mean())
    chosen = [note for note in notes if note.options["score"] == "k2"]
    times, shares = solved_within(chosen)
    for limit in (0.5, 3.0, 8.0):
        solved = sum(note.seconds <= limit and note.state == "optimal" for note in chosen)
        assert np.append(0.0, shares)[np.searchsorted(times, limit, side="right")] == pytest.approx(
            solved / len(chosen)
        )
    tab = StatisticsTab(notes, LIGHT)
    qtbot.addWidget(tab)
    assert {curve.name: curve.data.last for curve in tab.profile.curves} == pytest.approx(
        {name: 100 * shares[-1] for name, (_, shares) in profiles.items()}
    )
    tab.close_sources()
    notes = [note for note in notes if note.problem == "one"]  # one instance: a group has one colour in all figures
    tab = StatisticsTab(notes[::-1], LIGHT)
    qtbot.addWidget(tab)
    assert [(c.name, c.colour) for c in tab.profile.curves] == [(c.name, c.colour) for c in tab.solved.curves]
    tab.close_sources()


def test_unlike_objectives_share_no_axis(qtbot):
    notes = [RunNote("a", "", "a", solver="boa", state="optimal", best=1.0, seconds=1.0)]
    notes.append(RunNote("b", "", "b", solver="linprog", state="optimal", best=1e6, seconds=2.0))
    tab = StatisticsTab(notes, LIGHT)
    qtbot.addWidget(tab)
    assert (tab.value.currentData(), len(tab.boxes.table()[1])) == ("time", 2)
    tab.value.setCurrentIndex(tab.value.findData("best"))
    assert tab.boxes.table()[1] == []


def recorded(folder, name, option, seed, values, **about):
    made = RunNote(name, str(folder / name), name, problem="p: 1", options={"score": option}, seed=seed, **about)
    (folder / name).mkdir(parents=True)
    events = [STARTED.model_copy(update={"sense": "maximize"}), *(Incumbent(time=t, objective=v) for t, v in values)]
    (folder / name / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
    made.state, made.seconds, made.best = "optimal", 10.0, values[-1][1]
    return made


def test_bands_and_times_to_target_are_those_of_the_events(qtbot, tmp_path):
    random = np.random.default_rng(3)
    notes, paths = [], {}
    for option, shift in (("k2", 0), ("bic", 20)):
        for seed in range(8):
            times = np.sort(random.random(5)) * 9
            values = np.maximum.accumulate(random.integers(50, 90, 5)) + shift
            paths[option, seed] = list(zip(times.tolist(), values.tolist(), strict=True))
            notes.append(recorded(tmp_path, f"{option}{seed}", option, seed, paths[option, seed]))
    tab = StatisticsTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: len(tab.bands.curves) == 2, timeout=120_000)
    best = max(path[-1][1] for path in paths.values())
    for group, option in (("score = bic", "bic"), ("score = k2", "k2")):
        curve = next(curve for curve in tab.bands.curves if curve.name == group)
        window = curve.data.window()
        assert window.merged
        for time, low, high, middle in zip(*(part[::40] for part in window[:4]), strict=True):
            now = [max([v for t, v in paths[option, s] if t <= time], default=-np.inf) for s in range(8)]
            now.sort(reverse=True)
            assert (high, middle, low) == (now[1], now[3], now[5])
        reached = [[t for t, v in paths[option, s] if 100 * (best - v) / best <= 5.0] for s in range(8)]
        tab.target.setCurrentIndex(tab.target.findData(5.0))
        curve = next(curve for curve in tab.reached.curves if curve.name == group)
        assert curve.data.last == pytest.approx(100 * sum(map(bool, reached)) / 8)
    headers, rows = tab.table.table()
    assert [row[headers.index("test")] for row in rows] == ["", "Wilcoxon"]
    assert tab.importance.table()[1][0][0] == "score"
    assert len(tab.parallel.table()[1]) == 16
    for figure in tab.plots():
        assert figure.caption
        assert not figure.pictured or figure.to_image(1.0).width() > 0


def test_chance_and_importance_are_those_of_scipy_and_of_an_analysis_of_variance():
    random = np.random.default_rng(1)
    notes = []
    for number in range(60):
        made = note(number, ("rows", "tiles", "lists")[number % 3], float(random.normal() + (number % 3 == 1)))
        made.options["order"] = number % 2
        notes.append(made)
    groups = grouped(notes)
    values = [values_of(group, "best") for group in groups]
    raw = [stats.mannwhitneyu(values[0], other).pvalue for other in values[1:]]
    found = compared(groups, "best")
    assert found[0] == (None, "")
    assert min(p for p, _ in found[1:] if p is not None) == pytest.approx(min(1.0, len(raw) * min(raw)))
    ranks = stats.rankdata([one.best for one in notes])
    shares = importance(notes, "best")
    parts = [ranks[[one.options["variant"] == kind for one in notes]] for kind in ("rows", "tiles", "lists")]
    between = sum(len(part) * (part.mean() - ranks.mean()) ** 2 for part in parts)
    assert shares["variant"] == pytest.approx(between / ((ranks - ranks.mean()) ** 2).sum())
    assert shares["variant"] > shares["order"]


def test_options_of_unlike_solvers_do_not_differ_and_a_long_text_leaves_room_for_numbers(qtbot):
    notes = [
        RunNote(name, name, name, solver=name, options={f"own_{name}": 1, "block": 64}) for name in ("boa", "gibbs")
    ]
    assert differing_options(notes) == []
    notes.append(RunNote("c", "c", "c", solver="boa", options={"own_boa": 1, "block": 32}))
    assert differing_options(notes) == ["block"]
    listing = Listing("Groups", theme=LIGHT)
    qtbot.addWidget(listing)
    listing.resize(500, 300)
    listing.show()
    listing.put(["instance", *"abcdefgh"], [["a very long description of an instance " * 5, *range(8)]])
    header = listing._table.horizontalHeader()
    assert header.sectionSize(0) < 0.5 * listing._table.viewport().width()
    assert listing._model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole).startswith("a very long")
