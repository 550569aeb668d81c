"""What stands behind the window: notes of runs, numbers of a run, replay, words for the command line, forms."""

import json
import math
import queue
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit

import engine
from engine.base.option_models import Given, validated
from engine.cli.options import own_options, split_options
from engine.cli.running import solve
from engine.errors import RunFolderError
from engine.events import Compiling, Failed, Finished, Incumbent, Metric, Progress, Started, StateChanged, to_json
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover
from engine.util.text import gap_text, seconds_text, value_text
from gui.app.theme import LIGHT
from gui.problem.command_line import command_line, python_snippet
from gui.problem.form import Form
from gui.problem.instance import read_instance
from gui.problem.samples import find_samples
from gui.runs.columns import column_named
from gui.runs.library import Library
from gui.runs.model import NOTE
from gui.runs.notes import COLOURS, RunNote
from gui.runs.player import Player
from gui.runs.run_list import RunList
from gui.runs.tree import ROW
from gui.runs.view import Rate, RunView
from tests.support import counting
from tests.support.app import SAMPLES
from tests.support.examples import examples

pytestmark = pytest.mark.smoke

STARTED = counting.STARTED


def test_the_numbers_of_a_run_follow_its_events():
    spec = {"name": "speed", "title": "Speed", "unit": "nodes/s", "per_device": True}
    numbers = RunView()
    numbers.take(
        [
            STARTED.model_copy(update={"metrics": [spec], "sense": "minimize"}),
            Progress(time=1.0, phase="search", done=25, total=100, unit="nodes"),
            Metric(time=1.0, name="speed", value=3e6, device="opencl:0"),
            Metric(time=1.1, name="speed", value=2e6, device="opencl:0#2"),
            Incumbent(time=1.2, objective=12, bound=9, gap=0.25),
        ]
    )
    assert (numbers.state, numbers.best, numbers.bound, numbers.gap, numbers.fraction) == ("running", 12, 9, 0.25, 0.25)
    assert numbers.rate == Rate(5e6, "nodes/s", average=False)
    assert numbers.rate.text == "5M nodes/s (momentary)"
    numbers.take([StateChanged(time=2.0, state="paused")])
    assert (numbers.state, numbers.seconds, numbers.live) == ("paused", 2.0, True)
    numbers.take([Finished(time=3.0, status="optimal", objective=10, bound=10, gap=0.0, counters={"nodes": 4})])
    assert (numbers.state, numbers.best, numbers.live, numbers.seconds) == ("optimal", 10, False, 3.0)


def test_progress_is_the_rate_where_no_metric_is():
    numbers = RunView()
    numbers.take([STARTED, *(Progress(time=t, phase="x", done=10 * t, total=100, unit="items") for t in (1, 2, 3))])
    assert numbers.rate == Rate(10, "items/s", average=False)
    numbers.take([Progress(time=4.0, phase="x", done=40, total=100, unit="items", seconds_left=6.0)])
    assert numbers.remaining_text == "about 6 s left"
    numbers.take([Compiling(time=4.5, device="opencl:0", template="x", count=1)])  # what is left is not known now
    assert (numbers.remaining_text, numbers.rate) == ("", None)


def test_a_failed_run_keeps_its_message():
    numbers = RunView()
    numbers.take([STARTED, Failed(time=1, error="DeviceError", message="the abacus broke", exit_code=3)])
    assert (numbers.state, numbers.message) == ("failed", "the abacus broke")


def test_numbers_are_written_for_people():
    assert [value_text(v) for v in (None, 1234567, 0.5, 3.0)] == ["–", "1,234,567", "0.5", "3"]
    assert [gap_text(v) for v in (None, 0, 0.1234, math.inf, 20)] == ["–", "0 %", "12.34 %", "–", "> 1000 %"]
    texts = ["0.0 s", "0.012 s", "0.1 s", "1.3 s", "1:01", "1:01:01"]
    assert [seconds_text(v) for v in (0, 0.0123, 0.1, 1.26, 61, 3661)] == texts


def a_run(folder, target=50):
    with pytest.MonkeyPatch.context() as patch:
        counting.install(patch)
        return engine.solve(counting.Counting(target), run_folder=folder, slice_seconds=0)


@pytest.fixture
def counting_is_known(monkeypatch):
    monkeypatch.setitem(discover(), counting.SOLVER.name, counting.SOLVER)


@pytest.mark.usefixtures("counting_is_known")
def test_a_library_finds_its_runs_again(tmp_path):
    library = Library(tmp_path)
    note = library.new("first / run", solver="counting")
    assert note.path.parent == library.runs
    result = a_run(note.path)
    again = Library(tmp_path)
    again.load()
    (found,) = again.notes
    assert (found.title, found.state, found.best, found.bound) == ("first / run", "optimal", result.objective, 50)
    again.delete(found)
    assert list(library.runs.iterdir()) == []


@pytest.mark.usefixtures("counting_is_known")
def test_a_run_whose_app_was_killed_shows_as_killed(tmp_path):
    library = Library(tmp_path)
    note = library.new("cut short", solver="counting")
    a_run(note.path)
    (note.path / "result.json").unlink()
    events = note.path / "events.jsonl"
    whole = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(whole[:-2]) + whole[-2][:10])
    again = Library(tmp_path)
    again.load()
    assert [entry.state for entry in again] == ["killed"]
    assert again.notes[0].seconds > 0
    assert not again.notes[0].resumable
    (note.path / "checkpoint-1.json").write_text("{}")
    assert again.notes[0].resumable


@pytest.mark.usefixtures("counting_is_known")
def test_a_folder_from_elsewhere_is_taken_in_and_stays_where_it_is(tmp_path):
    a_run(tmp_path / "elsewhere" / "mine")
    library = Library(tmp_path / "home")
    note = library.adopt(tmp_path / "elsewhere" / "mine")
    assert library.adopt(tmp_path / "elsewhere" / "mine") is note
    assert (note.state, note.problem) == ("optimal", "counting to 50")
    library.delete(note)
    assert (tmp_path / "elsewhere" / "mine" / "run.toml").is_file()
    assert library.notes == []
    with pytest.raises(RunFolderError):
        library.adopt(tmp_path)


def test_runs_get_colours_of_their_own(tmp_path):
    library = Library(tmp_path)
    assert {library.new(str(number)).colour for number in range(len(COLOURS))} == set(COLOURS)
    old = [RunNote(f"old{number}", str(tmp_path / f"old{number}"), "old", created=1.0) for number in range(3)]
    assert len({library.adopt(note.path, note).colour for note in old}) == 3  # though they are at the end of the list


def test_a_garbled_note_does_not_stand_in_the_way(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.json").write_text("{")
    (tmp_path / "runs" / "b.json").write_text("[1]")
    (tmp_path / "runs" / "c.json").write_text(json.dumps({"key": "c", "folder": "x", "title": "c", "future": 1}))
    library = Library(tmp_path)
    library.load()
    assert [note.key for note in library] == ["c"]


# --- replay ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "events.jsonl"
    events = [STARTED, *(Metric(time=t / 10, name="at", value=t) for t in range(1, 5001))]
    path.write_text("".join(to_json(event) + "\n" for event in events) + '{"time": 501, "ty')
    return path


def taken(qtbot, player, most=1000):
    events = []
    qtbot.waitUntil(lambda: events.extend(player.take(most)) or player.over, timeout=120_000)
    return events


def test_a_replay_at_once_gives_every_event_in_batches(qtbot, recording):
    player = Player(recording, math.inf)
    assert player.duration == 500
    with qtbot.waitSignal(player.ended, timeout=120_000):
        events = taken(qtbot, player)
    assert [event.value for event in events[1:]] == list(range(1, 5001))


def test_a_replay_that_is_taken_back_at_its_very_end_has_not_ended(qtbot, recording):
    player = Player(recording, math.inf)
    ends = []
    player.ended.connect(lambda: ends.append(player.over))
    taken(qtbot, player)
    player.seek(100.0)
    qtbot.wait(20)
    assert ends == []
    with qtbot.waitSignal(player.ended, timeout=120_000):
        taken(qtbot, player)
    assert ends == [True]


def test_a_recording_that_was_shown_at_once_stays_at_the_time_that_is_pointed_at(qtbot, recording):
    player = Player(recording, math.inf)
    taken(qtbot, player)
    player.show(100.0)
    qtbot.waitUntil(lambda: player.take() is not None and not player.seeking, timeout=120_000)
    assert player.take() == []
    assert (player.position, player.paused, player.over) == (100.0, True, False)
    player.close()


def test_a_replay_keeps_its_pace_pauses_and_seeks(qtbot, recording, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("gui.runs.player.time", SimpleNamespace(monotonic=lambda: clock[0]))
    player = Player(recording, 100.0)
    qtbot.waitUntil(lambda: bool(player.take()), timeout=120_000)
    at = player.position
    clock[0] += 0.3
    events = player.take()
    moved = pytest.approx(30.0)
    qtbot.waitUntil(lambda: events.extend(player.take()) or player.position - at == moved, timeout=120_000)
    assert max(event.time for event in events) <= player.position
    player.pause()
    qtbot.wait(50)
    assert player.take() == []
    player.seek(400.0)
    events = []
    qtbot.waitUntil(lambda: events.extend(player.take()) or not player.seeking, timeout=120_000)
    assert events[-1].time == 400.0
    assert player.position == 400.0
    with qtbot.waitSignal(player.rewound, timeout=120_000):
        player.seek(100.0)
    events = []
    qtbot.waitUntil(lambda: events.extend(player.take()) or not player.seeking, timeout=120_000)
    assert isinstance(events[0], Started)
    assert events[-1].time == 100.0
    player.close()


def test_a_replay_of_what_is_read_slowly_catches_up(qtbot, recording, monkeypatch):
    clock, batches = [0.0], queue.Queue[Any]()
    monkeypatch.setattr("gui.runs.player.time", SimpleNamespace(monotonic=lambda: clock[0]))
    player = Player(recording, 100.0)
    reader = player._reader
    qtbot.waitUntil(lambda: not reader._thread.is_alive(), timeout=120_000)  # all of it is read
    read, reader.batches = reader.batches, batches
    batches.put(read.get())
    player.take()
    clock[0] += 0.6
    player.take()
    assert player.position < 60.0
    while not read.empty():
        batches.put(read.get())
    player.take()
    assert player.position == pytest.approx(60.0)
    player.close()


def test_a_second_sitting_is_replayed_from_its_own_time(qtbot, tmp_path):
    path = tmp_path / "events.jsonl"
    resumed = STARTED.model_copy(update={"time": 1.0, "resumed": True})
    first = [STARTED, Metric(time=2.0, name="at", value=2)]
    second = [resumed, Metric(time=1.5, name="at", value=3), Metric(time=4.0, name="at", value=4)]
    path.write_text("".join(to_json(event) + "\n" for event in [*first, *second]))
    player = Player(path, 20.0)
    values = [event.value for event in taken(qtbot, player) if isinstance(event, Metric)]
    assert values == [2, 3, 4]


# --- the command line ------------------------------------------------------------------------------------------------


@examples(40)
@given(
    options=st.fixed_dictionaries(
        {},
        optional={
            "slice_seconds": st.floats(0, 10, allow_nan=False),
            "step": st.integers(1, 10**12),
            "style": st.sampled_from(["plain", "fancy"]),
            "aloud": st.booleans(),
            "extra": st.none() | st.integers(),
        },
    ),
    limit=st.none() | st.floats(0.001, 1e6),
)
def test_the_command_line_says_what_the_form_says(options, limit):
    line = command_line(Path("a file.txt"), {"time_limit": limit, "devices": ["opencl:0", "opencl:0"]}, options)
    words = shlex.split(line)
    assert words[:3] == ["quintet", "solve", "a file.txt"]
    rest, given = split_options(words[2:], own_options(solve), [counting.Options])
    given_options = {name: Given(value) for name, value in given.items()}
    assert (
        validated(counting.Options, given_options, what="option").model_dump()
        == counting.Options(**options).model_dump()
    )
    parsed = solve.make_context("solve", list(rest)).params
    assert parsed["devices"] == ["opencl:0", "opencl:0"]
    assert (None if parsed["time_limit"] == "none" else float(parsed["time_limit"])) == limit
    assert rest[0] == "a file.txt"


@pytest.mark.usefixtures("counting_is_known")
def test_the_python_snippet_does_what_it_says(tmp_path, capsys):
    path = tmp_path / "it's.txt"
    path.write_text("count 30\n")
    instance = read_instance(path)
    text = python_snippet(instance, {"seed": 3}, {"style": "fancy", "extra": None})
    with pytest.MonkeyPatch.context() as patch:
        counting.install(patch)
        patch.setattr(engine, "Counting", counting.Counting, raising=False)
        exec(compile(text, "snippet", "exec"), {})
    assert capsys.readouterr().out.split() == ["optimal", str(counting.expected(30, seed=3))]


# --- forms -----------------------------------------------------------------------------------------------------------


def test_a_form_has_an_editor_for_every_option_of_every_solver(qtbot):
    for model in (model for solver in discover().values() for model in solver.option_models):
        form = Form(model)
        qtbot.addWidget(form)
        assert form.given() == {}
        assert form.errors() == []
        for name, field in model.model_fields.items():
            editor = form.editor(name)
            assert editor.accessibleName()
            assert field.description in editor.accessibleDescription()
            title, help_text = form.help(name)
            assert "Default: " in help_text
            assert title


def test_a_form_takes_values_and_gives_those_that_differ(qtbot):
    form = Form(counting.Options)
    qtbot.addWidget(form)
    chosen = {"slice_seconds": 0.25, "step": 7, "style": "fancy", "aloud": False, "extra": 12}
    form.set_values({**chosen, "unknown": 1})
    assert form.given() == chosen
    assert isinstance(form.editor("aloud"), QCheckBox)
    assert isinstance(form.editor("style"), QComboBox)
    form.reset("step")
    assert "step" not in form.given()
    form.reset()
    assert form.given() == {}


def test_a_form_starts_from_what_the_configuration_says(qtbot):
    form = Form(counting.Options, counting.Options(step=99))
    qtbot.addWidget(form)
    assert form.given() == {}
    form.set_values({"step": 10})
    assert form.given() == {"step": 10}
    form.reset()
    assert form.values()["step"] == 99


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("step", "0", "step must be at least 1; got 0"),
        ("step", "many", "step must be a whole number; got 'many'"),
        ("slice_seconds", "", "slice_seconds must be a number; got ''"),
    ],
)
def test_a_form_says_what_is_wrong(qtbot, name, text, rule):
    form = Form(counting.Options)
    qtbot.addWidget(form)
    editor = form.editor(name)
    assert isinstance(editor, QLineEdit)
    editor.setText(text)
    (error,) = form.errors()
    assert error.startswith(rule)


def test_an_option_that_is_a_number_or_a_word_takes_both(qtbot):
    form = Form(discover()["boa"].options)
    qtbot.addWidget(form)
    box = form.editor("population")
    assert isinstance(box, QComboBox)
    assert form.values()["population"] == "auto"
    box.setEditText("4,096")
    assert form.given() == {"population": 4096}
    assert form.errors() == []
    box.setEditText("few")
    assert form.errors()


def test_samples_are_found_with_what_their_files_say():
    found = find_samples()
    assert {sample.path.stem for sample in found if sample.first} == set(discover()) & {
        path.stem for path in engine.cli.samples.samples()
    }
    assert all(sample.about for sample in found if sample.first)
    assert len({sample.path for sample in found}) == len(found)


def test_a_run_whose_result_cannot_be_read_is_not_shown_as_killed(tmp_path):
    folder = tmp_path / "runs" / "old"
    shutil.copytree(SAMPLES / "recorded" / "knapsack", folder)
    (folder / "result.npz").write_bytes(b"of another version")
    library = Library(tmp_path)
    library.load()
    note = library.notes[0]
    assert (note.state, note.best, note.bound) == ("optimal", 4174458, 4174458)
    assert note.seconds == pytest.approx(RunFolder.open(SAMPLES / "recorded" / "knapsack").result().seconds, abs=0.1)


def test_a_certificate_without_a_limit_is_named_in_words():
    note = RunNote("a", "a", "a", counters={"certificate_reach": 3e300, "nodes": 12345})
    assert column_named("counter.certificate_reach").text(note) == "unlimited"
    assert column_named("counter.nodes").text(note) == "12,345"


def test_a_sweep_is_one_row_that_unfolds(qtbot, tmp_path):
    library = Library(tmp_path)
    runs = RunList(library, LIGHT)
    qtbot.addWidget(runs)
    alone = library.new("alone")
    for seed in range(3):
        note = library.new(f"trap a=x seed {seed}", sweep="sweep of trap", sense="maximize")
        note.state, note.best, note.seconds = "optimal", 10 + seed, 2.0
        runs.update_run(note)
    assert runs.count() == 4
    shown = runs.view.model()
    top = [shown.index(row, 0) for row in range(shown.rowCount())]
    (sweep,) = (index for index in top if index.data(NOTE) is None)
    row = sweep.data(ROW)
    assert (row.title, row.numbers, row.state_text) == ("sweep of trap", "3 runs  ·  best 12", "optimal")
    assert row.seconds == 6.0
    assert [shown.index(at, 0, sweep).data(ROW).title for at in range(3)] == ["a=x seed 2", "a=x seed 1", "a=x seed 0"]
    named = library.new("trap-5 n=130")  # as sweeps name their runs
    assert "trap-5 n=130" in {shown.index(row, 0).data(ROW).title for row in range(shown.rowCount())}
    library.delete(named)
    assert not runs.view.isExpanded(sweep)
    runs.select(note)
    assert runs.view.isExpanded(sweep)
    assert runs.selected() == [note]
    runs.view.selectionModel().select(sweep, runs.view.selectionModel().SelectionFlag.Select)
    assert [one.best for one in runs.selected()] == [12, 11, 10]
    note.state = "running"
    runs.update_run(note)
    assert sweep.data(ROW).state_text == "2 of 3 ended"
    runs.filter.setText("alone")
    assert runs.count() == 1
    runs.filter.setText("seed 1")
    assert runs.count() == 1
    runs.filter.setText("")
    for note in [note for note in library if note is not alone]:
        library.delete(note)
    assert runs.count() == 1
