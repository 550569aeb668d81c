"""What a run was: its information page, and the comparison of several runs."""

import shlex
from pathlib import Path

import pytest

import engine
from engine.cli import command_line
from engine.events import Finished, Metric, Progress, to_json
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.app.theme import LIGHT
from gui.compare.tab import CompareTab
from gui.panels.info import folder_rows
from gui.runs.notes import COLOURS, RunNote
from tests.support import counting
from tests.support.app import SAMPLES
from tests.support.dashboards import panel_of
from tests.support.interaction import begin, ended, load, opened


@pytest.mark.parametrize("folder", sorted((SAMPLES / "recorded").iterdir()), ids=lambda folder: folder.name)
def test_the_information_page_has_what_is_needed_to_repeat_a_run(qtbot, folder):
    opened = RunFolder.open(folder)
    solver = discover()[opened.description["solver"]]
    problem = opened.problem()
    panel = panel_of(qtbot, solver.name, solver.metrics, problem, folder, schema=solver.schema)
    events = list(opened.events())
    panel.feed(events)
    panel.finish(folder)
    headers, rows = panel.info.listing.table()
    values = {(group, name): (value, default) for group, name, value, default in rows}
    assert headers[:3] == ["group", "name", "value"]
    assert values["run", "seed"] == (str(events[0].seed), "")
    assert values["instance", "digest"][0] == opened.description["problem"]["digest"]
    assert values["version", "quintet"][0] == opened.description["versions"]["quintet"]
    assert values["command", "replay"][0].startswith("quintet replay ")
    defaults = solver.options_model(type(problem))().model_dump()
    for name, value in events[0].options.items():
        shown, default = values["option", name]
        assert bool(default) == (name in defaults and defaults[name] != value), name  # an older version had more
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            assert shown == str(value)
    options = [default for group, _, _, default in rows if group == "option"]
    assert options == sorted(options, key=lambda default: not default)  # those that differ come first


def information(tab):
    return [tuple(row) for row in tab.panel.info.listing.table()[1]]


@pytest.mark.full
def test_a_run_just_made_says_as_much_as_when_it_is_opened_again_and_how_to_repeat_it(
    qtbot, open_window, tmp_path, monkeypatch, capsys
):
    window = open_window()
    load(qtbot, window, SAMPLES / "knapsack" / "unicauca.txt")
    window.pane.set_values({"variant": "tiles"}, {"seed": 7})
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    window.all_runs.set_tags([tab.note], "paper, second")
    window.all_runs.set_note(tab.note, "looks good")
    made, note, found = information(tab), tab.note, tab.panel.result
    assert (found.seed, tab.panel.started.options["variant"]) == (7, "tiles")
    window.run_tabs.close(tab)
    again = opened(qtbot, window, note.path)
    ended(qtbot, again)
    assert information(again) == made
    values = {(group, name): value for group, name, value, _ in made}
    assert values["note", "tags"] == "paper, second"
    assert values["note", "note"] == "looks good"
    assert values["folder", "path"] == str(note.path)
    assert values["version", "quintet"]
    assert values["instance", "digest"]
    word, *words = shlex.split(values["command", "solve again"])
    assert word == "quintet"
    monkeypatch.chdir(tmp_path)
    assert command_line([*words, "--run-folder", "repeated"]) == 0
    repeated = RunFolder.open("repeated")
    assert repeated.first_event().seed == 7
    assert repeated.first_event().options == tab.panel.started.options
    result = eval(values["Python", "solve again"], {"engine": engine})
    for other in (result, repeated.result()):
        assert (other.seed, other.objective, other.devices) == (7, found.objective, found.devices)
        assert other.solution.tolist() == found.solution.tolist()


def test_the_command_that_repeats_a_run_names_what_differs_from_the_defaults():
    folder = SAMPLES / "recorded" / "boa"
    rows = folder_rows(Path("a folder"), RunFolder.open(folder).description)
    values = {(group, name): value for group, name, value, _ in rows}
    assert values["command", "solve again"].startswith("quintet solve 'a folder' --backend opencl --devices opencl:0 ")
    assert " --seed 1" in values["command", "solve again"]
    assert "seed=1" in values["Python", "solve again"]
    assert "max_parents" not in values["Python", "solve again"]


def test_three_runs_are_compared_in_colours_of_their_own(qtbot, tmp_path):
    notes = []
    for place in range(3):
        started = counting.STARTED.model_copy(update={"options": {"step": 1 + place, "style": "plain"}, "seed": place})
        events = [started, Metric(time=1, name="at", value=place), Finished(time=2, status="optimal", objective=place)]
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(str(place), str(folder), "same title", COLOURS[place]))
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    (at,) = (figure for figure in tab.plots() if figure.title == "At")
    assert [curve.name for curve in at.curves] == ["1", "2", "3"]
    headers = [tab.table.horizontalHeaderItem(column).text() for column in (1, 2, 3)]
    assert headers == ["1 same title", "2 same title", "3 same title"]
    assert len({(curve.colour, curve.dash) for curve in at.curves}) == 3
    rows = [[tab.table.item(row, column).text() for column in range(4)] for row in range(tab.table.rowCount())]
    assert ["best", "0", "1", "2"] in rows
    assert ["step", "1", "2", "3"] in rows
    assert ["seed", "0", "1", "2"] in rows
    assert not any(row[0] == "style" for row in rows)  # equal options are left out


def test_nine_runs_differ_in_colour_or_dash_and_objectives_of_other_instances_are_apart(qtbot, tmp_path):
    notes = []
    for place in range(9):
        finished = Finished(time=2, status="optimal", objective=place)
        events = [counting.STARTED, Metric(time=1, name="at", value=place), finished]
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(str(place), str(folder), f"run {place}", COLOURS[place % 3], problem="one"))
    for instance in ("one", "another"):
        notes[0].problem = instance
        tab = CompareTab(notes, LIGHT)
        qtbot.addWidget(tab)
        qtbot.waitUntil(lambda tab=tab: bool(tab.tick()) or tab.complete, timeout=120_000)
        (at,) = (figure for figure in tab.plots() if figure.title == "At")
        assert len({(curve.colour, curve.dash) for curve in at.curves}) == 9
        (best,) = (figure for figure in tab.plots() if figure.title == "Best and bound")
        assert bool(best.curves) is (instance == "one")


def test_curves_are_compared_against_what_all_runs_count(qtbot, tmp_path):
    notes = []
    for place, speed in enumerate((10.0, 50.0)):
        events = [
            counting.STARTED,
            *(
                event
                for second in range(1, 5)
                for event in (
                    Progress(time=second, phase="search", done=speed * second, total=0, unit="nodes"),
                    Metric(time=second, name="at", value=second),
                )
            ),
            Progress(time=5, phase="last", done=speed, total=speed, unit="nodes"),
            Finished(time=5, status="optimal", objective=3),
        ]
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(str(place), str(folder), f"run {place}", COLOURS[place]))
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    tab.resize(900, 700)
    tab.show()
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    assert [tab.against.itemText(row) for row in range(tab.against.count())] == ["time", "nodes"]
    by_time = tab.plots()
    tab.against.setCurrentIndex(1)
    assert not any(figure.isVisible() for figure in by_time)
    (at,) = (figure for figure in tab.plots() if figure.title == "At")
    assert at.across == "nodes"
    for curve, speed in zip(at.curves, (10.0, 50.0), strict=True):
        nodes, values = curve.data.points()
        assert nodes.tolist() == [speed * second for second in range(1, 5)]
        assert values.tolist() == [1, 2, 3, 4]
    (best,) = (figure for figure in tab.plots() if figure.title == "Best and bound")
    assert best.curves[0].data.points()[0].tolist()[-1] == 50.0  # both phases
    tab.against.setCurrentIndex(0)
    assert tab.plots() == by_time
    assert any(figure.isVisible() for figure in by_time)


def test_runs_that_count_nothing_in_common_are_compared_over_time(qtbot, tmp_path):
    notes = []
    for place, unit in enumerate(("nodes", "iterations")):
        events = [
            counting.STARTED,
            Progress(time=1, phase="a", done=5, total=9, unit=unit),
            Finished(time=2, status="optimal", objective=1),
        ]
        folder = tmp_path / unit
        folder.mkdir()
        (folder / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in events))
        notes.append(RunNote(unit, str(folder), unit, COLOURS[place]))
    tab = CompareTab(notes, LIGHT)
    qtbot.addWidget(tab)
    qtbot.waitUntil(lambda: bool(tab.tick()) or tab.complete, timeout=120_000)
    assert tab.against.count() == 1
