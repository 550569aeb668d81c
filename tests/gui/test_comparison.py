"""What a run was: its information page; runs compared, curve over curve and number beside number."""

import shlex

import pytest

import engine
from engine.cli import command_line
from engine.events import Finished, Metric, Progress
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from gui.runs.notes import COLOURS
from tests.support.app import SAMPLES
from tests.support.counting import STARTED
from tests.support.dashboards import FOLDERS, compared, ids, noted, played
from tests.support.interaction import begin, ended, load, opened


def test_runs_of_one_title_are_told_apart_and_objectives_of_other_instances_share_no_axis(qtbot, tmp_path):
    notes = []
    for place in range(9):
        started = STARTED.model_copy(update={"options": {"step": 1 + place, "style": "plain"}, "seed": place})
        events = [started, Metric(time=1, name="at", value=place), Finished(time=2, status="optimal", objective=place)]
        notes.append(noted(tmp_path, str(place), events, title="same title", colour=COLOURS[place % 3], problem="one"))
    tab, figures, rows = compared(qtbot, notes)
    assert [tab.table.horizontalHeaderItem(column).text() for column in (1, 2)] == ["1 same title", "2 same title"]
    assert [curve.name for curve in figures["At"].curves] == [str(place + 1) for place in range(9)]
    assert len({(curve.colour, curve.dash) for curve in figures["At"].curves}) == 9
    numbers = [str(place) for place in range(9)]
    assert rows["best"] == rows["seed"] == numbers
    assert rows["step"] == [str(place + 1) for place in range(9)]
    assert "style" not in rows  # equal options are left out
    assert figures["Best and bound"].curves
    notes[0].problem = "another"
    assert not compared(qtbot, notes)[1]["Best and bound"].curves


def test_curves_are_compared_against_what_all_runs_count(qtbot, tmp_path):
    notes = []
    for speed in (10.0, 50.0):
        events = [STARTED]
        for second in range(1, 5):
            events.append(Progress(time=second, phase="search", done=speed * second, total=0, unit="nodes"))
            events.append(Metric(time=second, name="at", value=second))
        events.append(Progress(time=5, phase="last", done=speed, total=speed, unit="nodes"))
        notes.append(noted(tmp_path, str(speed), [*events, Finished(time=5, status="optimal", objective=3)]))
    tab, by_time, _ = compared(qtbot, notes)
    assert [tab.against.itemText(row) for row in range(tab.against.count())] == ["time", "nodes"]
    tab.against.setCurrentIndex(1)
    figures = {figure.title: figure for figure in tab.plots()}
    assert figures["At"].across == "nodes"
    for curve, speed in zip(figures["At"].curves, (10.0, 50.0), strict=True):
        nodes, values = curve.data.points()
        assert (nodes.tolist(), values.tolist()) == ([speed * second for second in range(1, 5)], [1, 2, 3, 4])
    assert figures["Best and bound"].curves[0].data.points()[0].tolist()[-1] == 50.0  # both phases
    tab.against.setCurrentIndex(0)
    assert tab.plots() == list(by_time.values())
    events = [STARTED, Progress(time=1, phase="a", done=5, total=9, unit="iterations")]
    other = noted(tmp_path, "other", [*events, Finished(time=2, status="optimal", objective=1)])
    assert compared(qtbot, [notes[0], other])[0].against.count() == 1


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_information_page_has_what_is_needed_to_repeat_a_run(qtbot, folder):
    panel, run = played(qtbot, folder), RunFolder.open(folder)
    headers, rows = panel.info.listing.table()
    values = {(group, name): (value, default) for group, name, value, default in rows}
    assert headers[:3] == ["group", "name", "value"]
    assert values["run", "seed"] == (str(panel.started.seed), "")
    assert values["instance", "digest"][0] == run.description["problem"]["digest"]
    assert values["version", "quintet"][0] == run.description["versions"]["quintet"]
    defaults = discover()[panel.solver].options_model(type(panel.problem))().model_dump()
    for name, value in panel.started.options.items():
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
    qtbot, open_window, tmp_path, monkeypatch
):
    window = open_window()
    load(qtbot, window, SAMPLES / "knapsack" / "unicauca.txt")
    window.pane.set_values({"variant": "tiles"}, {"seed": 7})
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    window.all_runs.set_tags([tab.note], "paper, second")
    window.all_runs.set_note(tab.note, "looks good")
    made, note, found = information(tab), tab.note, tab.panel.result
    window.run_tabs.close(tab)
    again = opened(qtbot, window, note.path)
    ended(qtbot, again)
    assert information(again) == made
    values = {(group, name): value for group, name, value, _ in made}
    assert (values["note", "tags"], values["note", "note"]) == ("paper, second", "looks good")
    word, *words = shlex.split(values["command", "solve again"])
    assert word == "quintet"
    monkeypatch.chdir(tmp_path)
    assert command_line([*words, "--run-folder", "repeated"]) == 0
    repeated = RunFolder.open("repeated")
    assert repeated.first_event().options == tab.panel.started.options
    result = eval(values["Python", "solve again"], {"engine": engine})
    for other in (result, repeated.result()):
        assert (other.seed, other.objective, other.devices) == (7, found.objective, found.devices)
        assert other.solution.tolist() == found.solution.tolist()


def test_a_resumed_run_is_compared_without_cutting_the_other(qtbot, tmp_path):
    points = [Metric(time=t / 10, name="at", value=t) for t in range(1, 41)]
    resumed = STARTED.model_copy(update={"time": 1.0, "resumed": True})
    notes = [noted(tmp_path, "first", (STARTED, *points)), noted(tmp_path, "second", (STARTED, *points, resumed))]
    _, figures, _ = compared(qtbot, notes)
    assert {curve.name: curve.data.last_time for curve in figures["At"].curves} == {"first": 4.0, "second": 1.0}
