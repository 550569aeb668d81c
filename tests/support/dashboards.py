"""Dashboards that are fed the events of recorded runs, and what they show."""

from engine.events import Metric, to_json
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.app.theme import LIGHT
from gui.compare.tab import CompareTab
from gui.panels import RunInfo, panel_for
from gui.runs.notes import RunNote
from tests.support.environment import ROOT

RECORDED = ROOT / "samples" / "recorded"
FOLDERS = sorted(RECORDED.iterdir())


def ids(folder):
    return folder.name


def info(folder, solver=None):
    kept = RunFolder.open(folder)
    name = kept.description["solver"]
    declared = discover()[name]
    shown = name if solver is None else solver
    return RunInfo(shown, declared.metrics, kept.problem(), folder, folder.name, schema=declared.schema)


def panel_of(qtbot, *run, size=None, theme=LIGHT, **about):
    """The panel of a run, in a window of this size if one is given."""
    panel = panel_for(RunInfo(*run, **about), theme)
    qtbot.addWidget(panel)
    if size is not None:
        panel.resize(*size)
        panel.show()
    return panel


def events_of(folder):
    return list(RunFolder.open(folder).events())


def batches(events, size):
    return (events[place : place + size] for place in range(0, len(events), size))


def played(qtbot, folder, *, part=1.0, size=100, theme=LIGHT, solver=None):
    """A panel that has been fed a part of a recorded run, in batches, as it is shown."""
    panel = panel_for(info(folder, solver), theme)
    qtbot.addWidget(panel)
    panel.resize(1100, 720)
    panel.show()
    events = events_of(folder)
    for batch in batches(events[: int(part * len(events))], size):
        panel.feed(batch)
    if part == 1.0:
        panel.finish(folder)
    return panel


def points(plot, name):
    curve = next(curve for curve in plot.curves if curve.name == name)
    return list(zip(*(axis.tolist() for axis in curve.data.points()), strict=True))


def values_of(events, metric, device):
    chosen = [e for e in events if isinstance(e, Metric) and (e.name, e.device) == (metric, device)]
    return [(event.time, event.value) for event in chosen]


def figure(panel, key):
    return next(figure for figure in panel._figures if figure.key == key)


def titles(panel):
    return {one.key for one in panel.plots()}


def noted(folder, key, events, **about):
    """The note of a run with these events, in a folder of its own below that one."""
    (folder / key).mkdir(parents=True)
    (folder / key / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
    return RunNote(key, str(folder / key), **{"title": key} | about)


def compared(qtbot, notes):
    """The comparison of these runs, when all are read; its figures by title and the texts of its table by row."""
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    rows = [[tab.table.item(row, at).text() for at in range(len(notes) + 1)] for row in range(tab.table.rowCount())]
    return tab, {figure.title: figure for figure in tab.plots()}, {name: texts for name, *texts in rows}
