"""Every label of a run says the same, whatever its events come from, and what its result says."""

import re

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStatusBar, QToolButton

from engine.events import Started
from engine.runs.folder.run_folder import RunFolder
from engine.util.text import gap_text, rate_text, seconds_text, short_number_text, value_text
from gui.app.meaning import figure_meaning, tile_meaning
from gui.app.theme import LIGHT
from gui.report.report import report
from gui.runs.columns import column_named
from gui.runs.notes import described
from gui.runs.tree import accessible_text
from gui.window.notices import title_of
from gui.window.run_tab import RunTab
from gui.window.status import RunStatus
from tests.support.app import SAMPLES
from tests.support.dashboards import panel_of

SOLVERS = ("boa", "branch_and_bound", "gibbs", "knapsack", "linprog")


class Source(QObject):
    """Stands for a child process, or for one that is followed."""

    line_read, stopping, ended = Signal(str), Signal(str), Signal()
    invalid_lines, last = 0, None

    def __init__(self, batches, own):
        super().__init__()
        self.batches, self.own, self.running = batches, own, True
        self.start = self.close = lambda: None

    def take(self, most):
        if not self.batches:
            self.running = False
            return []
        events = self.batches.pop(0)
        self.last = events[-1]
        return events

    def outcome(self):
        return self.last.status, ""


def parts(events, count=5):
    size = -(-len(events) // count)
    return [events[place : place + size] for place in range(0, len(events), size)]


@pytest.fixture
def make_tab(qtbot):
    """``make_tab(solver)`` is the tab of its recorded run."""
    tabs = []

    def make(solver):
        tabs.append(RunTab(described(SAMPLES / "recorded" / solver, solver, "#0072b2"), LIGHT))
        qtbot.addWidget(tabs[-1])
        return tabs[-1]

    yield make
    for tab in tabs:
        tab.close_sources()


def assert_same_labels(tab, status):
    view, note, panel = tab.view, tab.note, tab.panel
    status.show_run(tab)
    tiles, elapsed = dict(panel.summary()), seconds_text(view.clock)
    assert (tiles["State"], tiles["Elapsed"]) == (status.state.text(), status.elapsed.text())
    assert (tiles["State"], tiles["Elapsed"]) == (view.state_text, elapsed)
    shown = {"Solutions" if panel.sense == "count" else "Best": view.best, panel.bound_title(): view.bound}
    for name, value in shown.items():
        assert tiles.get(name) == (None if value is None else value_text(value))
    assert tiles.get("Gap") == (None if view.gap is None else gap_text(view.gap))
    rates = {name: text for name, text in tiles.items() if name.endswith(("momentary", "average"))}
    if view.rate is None:
        assert (rates, status.rate.text()) == ({}, "")
    else:
        unit = view.rate.unit[:1].upper() + view.rate.unit[1:]
        assert rates == {f"{unit}, {view.rate.kind}": short_number_text(view.rate.value)}
        assert status.rate.text() == f"{rate_text((view.rate.value, view.rate.unit))} ({view.rate.kind})"
    assert status.progress.isHidden() == (view.fraction is None)
    assert tiles.get("Remaining", "–") in (view.remaining_text.removesuffix(" left"), "–")
    if tab.child is not None:
        assert elapsed in accessible_text(note, note.title)
        assert column_named("best").text(note) == value_text(view.best)
        assert column_named("time").text(note) == elapsed
        assert title_of(tab, [tab]).startswith(view.progress_text)
    objective = next((plot for plot in panel.plots() if plot.key == "objective"), None)
    for curve in getattr(objective, "curves", ()):
        if curve.name in ("best", "value", "incumbent") and view.best is not None:
            assert objective.value_text(curve.data.last) == value_text(view.best)


def assert_result(tab, status):
    """All labels of a run that has ended are those of its result, and nothing is waited for."""
    assert_same_labels(tab, status)
    result, tiles = RunFolder.open(tab.note.path).result(), dict(tab.panel.summary())
    assert tiles["State"].partition(",")[0] == result.status.value.replace("_", " ")
    assert tiles["Elapsed"] == seconds_text(result.seconds)
    assert tiles.get("Best") == (None if result.objective is None else value_text(result.objective))
    assert not {name for name in tiles if name == "Remaining" or name.endswith("momentary")}
    rate = tab.view.rate
    if rate is not None:
        counted = result.counters[{"nodes/s": "nodes", "cells/s": "cells"}.get(rate.unit, "iterations")]
        assert (rate.average, rate.value) == (True, pytest.approx(counted / result.seconds))
    page = re.sub(r"<[^>]+>", " ", report(tab.panel))
    assert all(text in page for text in tiles.values() if "<" not in text)


@pytest.mark.parametrize(  # by default each solver and each state once
    ("solver", "state"),
    [
        pytest.param(solver, state, marks=[pytest.mark.full] * (SOLVERS.index(solver) != place))
        for place, state in enumerate(("live", "followed", "resumed", "replayed", "ended"))
        for solver in SOLVERS
    ],
)
def test_labels_are_those_of_one_view_and_of_the_result(qtbot, make_tab, solver, state, tmp_path):
    tab, status, bar = make_tab(solver), None, QStatusBar()
    qtbot.addWidget(bar)
    status = RunStatus(bar, LIGHT)
    events = list(RunFolder.open(tab.note.path).events())
    if state in ("live", "followed", "resumed"):
        problem = RunFolder.open(tab.note.path).problem()
        batches = parts(events)
        if state == "resumed":
            begun = next(event for event in events if isinstance(event, Started))
            again = begun.model_copy(update={"resumed": True, "time": batches[0][-1].time})
            batches = [*batches[:3], [again], *batches[1:]]
        tab.note.state = "starting"
        source = Source(batches, own=state != "followed")
        tab.show_live(source, problem)
        while source.batches:
            tab.tick()
            assert_same_labels(tab, status)
        tab._on_child_end()
    else:
        tab.show_recorded(1.0 if state == "replayed" else float("inf"))
        qtbot.waitUntil(lambda: tab.player is not None, timeout=60_000)
        if state == "replayed":
            for share in (0.3, 0.7):
                tab.player.seek(share * tab.player.duration)
                qtbot.waitUntil(lambda: (tab.tick(), not tab.player.seeking)[1], timeout=60_000)
                tab.tick()
                assert_same_labels(tab, status)
                assert (tab.view.state_text, tab.view.remaining_text, tab.view.fraction) == ("replay", "", None)
                tab.pause()
                tab.tick()
                assert_same_labels(tab, status)
                assert tab.view.state_text == "replay, paused"
                tab.pause()
            tab.player.set_speed(float("inf"))
        qtbot.waitUntil(lambda: (tab.tick(), tab.player.over)[1], timeout=60_000)
    qtbot.waitUntil(lambda: tab.complete, timeout=60_000)
    assert_result(tab, status)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_key_number_and_figure_has_two_sentences_on_its_meaning(qtbot, solver):
    folder = SAMPLES / "recorded" / solver
    opened = RunFolder.open(folder)
    panel = panel_of(qtbot, solver, problem=opened.problem(), folder=folder)
    tiles = set()
    events = list(opened.events())
    for batch in parts(events):
        panel.feed(batch)
        tiles.update(panel._tiles)
    meanings = {name: tile_meaning(solver, name) for name in tiles}
    meanings |= {figure.key: figure_meaning(solver, figure.key) for figure in panel.plots()}
    texts = {name: meaning.text for name, meaning in meanings.items()}
    assert {name for name, text in texts.items() if len(re.findall(r"[^.]\.(?:\s|$)", text)) != 2} == set()
    marks = {button.toolTip() for button in panel.findChildren(QToolButton) if button.text() == "?"}
    assert {text for name, text in texts.items() if name not in tiles} <= marks
    assert all((SAMPLES.parent / "docs" / meaning.page).is_file() for meaning in meanings.values())
    papers = {name: meaning.paper for name, meaning in meanings.items() if not meaning.page.startswith("concepts/")}
    assert all(re.search(r", sections? \w", paper) for paper in papers.values()), papers
