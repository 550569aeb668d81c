"""Statistics of many runs: groups over seeds, box plots, the table of options."""

import numpy as np
import pytest
from scipy import stats

from engine.events import Incumbent
from gui.app.theme import LIGHT
from gui.compare.groups import differing_options, grouped, values_of
from gui.compare.profiles import performance_profiles, solved_within
from gui.compare.significance import compared, importance
from gui.compare.statistics import StatisticsTab
from gui.runs.library import Library
from gui.runs.notes import RunNote
from tests.support.app import COUNTING
from tests.support.counting import STARTED
from tests.support.dashboards import noted


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


def test_statistics_are_opened_for_the_selected_runs(qtbot, open_window, tmp_path):
    library = Library(tmp_path / "home")
    for one in NOTES:
        (library.runs / one.key).mkdir(parents=True)
        library.save(RunNote(**{**vars(one), "folder": str(library.runs / one.key)}))
    window = open_window(COUNTING)
    window.actions_by_name["run_table"].trigger()
    window.all_runs.table.filter.setText("state:optimal")
    window.all_runs.table.view.selectAll()
    assert not window.actions_by_name["compare"].isEnabled()  # without recorded events
    window.actions_by_name["statistics"].trigger()
    assert window.tabs.currentWidget().title == "Statistics of 5 runs"
    window.appearance.switch()
    window.run_tabs.close_current()
    assert window.run_tabs.comparisons == []


def test_profiles_and_times_to_solution_are_those_of_counting(qtbot):
    random, options = np.random.default_rng(5), ("k2", "bic", "aic")
    table = np.where(random.random((3, 12)) < 0.3, np.inf, random.integers(1, 9, (3, 12)))  # inf: not solved
    notes = []
    for (row, column), seconds in np.ndenumerate(table):
        about = {"problem": ("one", "two")[column % 2], "options": {"score": options[row]}, "seed": column // 2}
        notes.append(RunNote(f"{row} {column}", "", "t", **about))
        notes[-1].state = "optimal" if np.isfinite(seconds) else "time_limit"
        notes[-1].seconds = seconds if np.isfinite(seconds) else 9.0
    profiles, solved = performance_profiles(notes), table[:, np.isfinite(table).any(axis=0)]
    for name, row in zip(options, solved, strict=True):
        ratios, shares = profiles[f"score = {name}"]
        for factor in (1.0, 1.5, 2.0, 4.0, 100.0):
            counted = (row <= factor * solved.min(axis=0)) & np.isfinite(row)
            assert np.append(0.0, shares)[np.searchsorted(ratios, factor, "right")] == pytest.approx(counted.mean())
    times, shares = solved_within([note for note in notes if note.options["score"] == "k2"])
    for limit in (0.5, 3.0, 8.0):
        share = np.append(0.0, shares)[np.searchsorted(times, limit, side="right")]
        assert share == pytest.approx((table[0] <= limit).mean())
    tab = StatisticsTab([note for note in notes if note.problem == "one"][::-1], LIGHT)
    qtbot.addWidget(tab)
    assert [(c.name, c.colour) for c in tab.profile.curves] == [(c.name, c.colour) for c in tab.solved.curves]
    tab.close_sources()


def test_bands_and_times_to_target_are_those_of_the_events(qtbot, tmp_path):
    random = np.random.default_rng(3)
    notes, paths = [], {}
    for option, shift in (("k2", 0), ("bic", 20)):
        for seed in range(8):
            values = np.maximum.accumulate(random.integers(50, 90, 5)) + shift
            path = list(zip((np.sort(random.random(5)) * 9).tolist(), values.tolist(), strict=True))
            events = [
                STARTED.model_copy(update={"sense": "maximize"}),
                *(Incumbent(time=t, objective=v) for t, v in path),
            ]
            about = {"problem": "p: 1", "options": {"score": option}, "seed": seed, "state": "optimal", "seconds": 10.0}
            notes.append(noted(tmp_path, f"{option}{seed}", events, best=path[-1][1], **about))
            paths.setdefault(option, []).append(path)
    tab = StatisticsTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: len(tab.bands.curves) == 2, timeout=120_000)
    best = max(note.best for note in notes)
    tab.target.setCurrentIndex(tab.target.findData(5.0))
    for option, its in paths.items():
        curve = next(curve for curve in tab.bands.curves if curve.name == f"score = {option}")
        for time, low, high, middle in zip(*(part[::40] for part in curve.data.window()[:4]), strict=True):
            now = sorted((max([v for t, v in path if t <= time], default=-np.inf) for path in its), reverse=True)
            assert (high, middle, low) == (now[1], now[3], now[5])
        reached = sum(100 * (best - path[-1][1]) / best <= 5.0 for path in its)
        curve = next(curve for curve in tab.reached.curves if curve.name == f"score = {option}")
        assert curve.data.last == pytest.approx(100 * reached / 8)
    headers, rows = tab.boxes.table()
    bests = [path[-1][1] for path in paths["k2"]]
    assert {row[0]: row[headers.index("median")] for row in rows}["score = k2"] == np.median(bests)
    headers, rows = tab.table.table()
    assert [row[headers.index("test")] for row in rows] == ["", "Wilcoxon"]
    assert (tab.importance.table()[1][0][0], len(tab.parallel.table()[1])) == ("score", 16)
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


def test_runs_are_grouped_by_what_differs_other_than_seeds():
    groups = grouped(NOTES)
    assert differing_options(NOTES) == ["variant"]
    found = [(group.name, len(group.runs)) for group in groups]
    assert found == [("variant = –", 1), ("variant = rows", 5), ("variant = tiles", 4)]
    assert [values_of(groups[k], "best") for k in (0, 1)] == [[], [90, 91, 92, 93, 94]]
    assert values_of(groups[2], "counter.evaluations") == [50, 60, 70, 80]
    assert [group.name for group in grouped(NOTES[:2])] == ["trap of 100 genes"]
    default, other = note(2, None, 4), note(3, None, 5)
    default.used, other.used = {"variant": "rows"}, {"variant": "tiles"}  # an option that was not given
    assert [len(group.runs) for group in grouped([NOTES[0], default, other])] == [2, 1]
    runs = [note(number, "rows", number) for number in range(4)]
    runs[1].devices, runs[2].settings = ["cuda:0"], {"time_limit": 5.0}
    assert sorted(group.name for group in grouped(runs)) == [
        "devices = cuda:0, time limit = –",
        "devices = –, time limit = 5",
        "devices = –, time limit = –",
    ]
    unlike = [RunNote(name, name, name, solver=name, options={f"own_{name}": 1, "block": 64}) for name in ("boa", "x")]
    assert differing_options(unlike) == []  # of other solvers
    runs = [note(number, "rows", number) for number in range(3)]
    runs[1].used = {"variant": "tiles"}
    runs[2].problem, runs[2].options, runs[2].used = "regression: 9 rows", {}, {"warmup": 300}
    names = [group.name for group in grouped(runs)]
    assert names == ["regression", "trap of 100 genes, variant = rows", "trap of 100 genes, variant = tiles"]
