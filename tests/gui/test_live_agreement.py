"""A plot is as far as the key number above it: after every batch of events of a live run, at its end, in replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.app.theme import LIGHT
from gui.panels import Panel, RunInfo, panel_for
from tests.support.app import SAMPLES
from tests.support.interaction import begin, ended, load

Snapshot = tuple[list[Any], str, float]  # the events of a batch, the tile after it, the end of the curve after it

TILES = {"boa": ("Generations", "fitness", "generations"), "linprog": ("Iteration", "objective", "iterations")}


def end_of(panel: Panel, key: str) -> float:
    """The last x of a plot."""
    plot = next(figure for figure in panel.plots() if figure.key == key)
    return max((float(curve.data.points()[0][-1]) for curve in plot.curves if len(curve.data)), default=-1.0)


def recorder(solver: str, seen: list[Snapshot]) -> Callable[[Panel, Any, bool], None]:
    """``Panel.feed`` that remembers what is shown after each batch."""
    tile, key, _ = TILES[solver]
    feed = Panel.feed

    def feed_and_look(panel: Panel, events: Any, draw: bool = True) -> None:
        feed(panel, events, draw)
        if panel.run.solver == solver:
            seen.append((list(events), dict(panel.summary()).get(tile, ""), end_of(panel, key)))

    return feed_and_look


def assert_agreement(solver: str, seen: list[Snapshot]) -> int:
    """After each batch that does not end within a report, the curve ends where the tile says; how many had a report."""
    counter, compared = TILES[solver][2], 0
    for (events, shown, end), (later, _, _) in zip(seen, [*seen[1:], ([], "", 0.0)], strict=True):
        keys = [
            event
            for event in events
            if (event.type == "metric" and event.name == counter)
            or (event.type == "progress" and event.phase == counter and solver == "linprog")
        ]
        measured = [event.time for event in events if event.type == "metric" and event.name in ("best", "duality_gap")]
        if not keys or events[-1].type in ("finished", "failed"):
            continue
        whole = all(abs(keys[-1].time - time) <= 0.01 for time in measured[-1:]) and bool(measured)
        if whole and (not later or later[0].time - events[-1].time > 0.01):
            assert shown == f"{end:,.0f}", (shown, end, events[-1])
            compared += 1
    return compared


def moments(events: list[Any]) -> list[list[Any]]:
    """Batches that end where nothing was reported for 10 ms."""
    found: list[list[Any]] = []
    for event in events:
        if not found or event.time - found[-1][-1].time > 0.01:
            found.append([])
        found[-1].append(event)
    return found


@pytest.mark.full
@pytest.mark.parametrize("solver", TILES)
def test_plots_and_tiles_of_a_live_run_agree(
    qtbot: Any, open_window: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    if solver == "boa":
        path = tmp_path / "traps.boa"
        path.write_text("boa trap-5 n=100\n")
    else:
        path = tmp_path / "dense.mps"
        random = np.random.default_rng(7)
        matrix = random.random((250, 500))
        cost = matrix.T @ random.random(250) + random.random(500)
        engine.LinearProgram(cost, A_eq=matrix, b_eq=matrix @ random.random(500)).write(path)
    seen: list[Snapshot] = []
    monkeypatch.setattr(Panel, "feed", recorder(solver, seen))
    window = open_window()
    load(qtbot, window, path)
    if solver == "linprog":
        window.pane.form.set_values({"method": "mpc"})
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    assert tab.note.state == "optimal"
    assert_agreement(solver, seen)
    tile, key, counter = TILES[solver]
    assert dict(tab.panel.summary())[tile] == f"{end_of(tab.panel, key):,.0f}"
    assert end_of(tab.panel, key) == tab.note.counters[counter]
    replayed: list[Snapshot] = []
    monkeypatch.setattr(Panel, "feed", recorder(solver, replayed))
    events = list(RunFolder.open(tab.note.path).events())
    assert_replay(qtbot, tab.note.path, solver, events, replayed, least=1)


def assert_replay(qtbot: Any, folder: Path, solver: str, events: list[Any], seen: list[Snapshot], least: int) -> None:
    declared = discover()[solver]
    run = RunInfo(solver, declared.metrics, RunFolder.open(folder).problem(), folder, schema=declared.schema)
    panel = panel_for(run, LIGHT)
    qtbot.addWidget(panel)
    for batch in moments(events):
        panel.feed(batch)
    assert assert_agreement(solver, seen) >= least


@pytest.mark.parametrize("solver", TILES)
def test_plots_and_tiles_of_a_recorded_run_agree(qtbot: Any, monkeypatch: pytest.MonkeyPatch, solver: str) -> None:
    seen: list[Snapshot] = []
    monkeypatch.setattr(Panel, "feed", recorder(solver, seen))
    folder = SAMPLES / "recorded" / solver
    assert_replay(qtbot, folder, solver, list(RunFolder.open(folder).events()), seen, least=3)


@pytest.mark.parametrize("solver", TILES)
def test_a_report_that_comes_in_two_batches_is_shown_once_and_in_full(qtbot: Any, solver: str) -> None:
    folder = SAMPLES / "recorded" / solver
    declared = discover()[solver]
    events = list(RunFolder.open(folder).events())
    tables = []
    for size in (1, len(events)):
        panel = panel_for(RunInfo(solver, declared.metrics, schema=declared.schema), LIGHT)
        qtbot.addWidget(panel)
        for place in range(0, len(events), size):
            panel.feed(events[place : place + size])
        tables.append([list(map(list, figure.table()[1])) for figure in panel.plots() if figure.key != "run info"])
    assert tables[0] == tables[1]
