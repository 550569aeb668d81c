"""What stands behind the window: notes of runs, numbers of a run, replay, words for the command line, forms."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.base.option_models import Given, validated
from engine.cli.options import own_options, split_options
from engine.cli.running import solve
from engine.events import Metric, Started, to_json
from engine.solvers import discover
from gui.app.theme import LIGHT
from gui.problem.command_line import command_line, python_snippet
from gui.problem.form import Form
from gui.problem.instance import read_instance
from gui.runs.library import Library
from gui.runs.model import NOTE
from gui.runs.player import Player
from gui.runs.run_list import RunList
from gui.runs.tree import ROW
from tests.support import counting
from tests.support.examples import examples

pytestmark = pytest.mark.smoke

STARTED = counting.STARTED


@pytest.fixture
def counting_is_known(monkeypatch):
    monkeypatch.setitem(discover(), counting.SOLVER.name, counting.SOLVER)


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "events.jsonl"
    events = [STARTED, *(Metric(time=t / 10, name="at", value=t) for t in range(1, 5001))]
    path.write_text("".join(to_json(event) + "\n" for event in events) + '{"time": 501, "ty')
    return path


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


def test_a_sweep_is_one_row_that_unfolds(qtbot, tmp_path):
    library = Library(tmp_path)
    runs = RunList(library, LIGHT)
    qtbot.addWidget(runs)
    alone = library.new("alone")
    for seed in range(3):
        note = library.new(f"trap a=x seed {seed}", sweep="sweep of trap", sense="maximize")
        note.state, note.best, note.seconds = "optimal", 10 + seed, 2.0
        runs.update_run(note)
    shown = runs.view.model()
    (sweep,) = (index for row in range(shown.rowCount()) if (index := shown.index(row, 0)).data(NOTE) is None)
    row = sweep.data(ROW)
    assert (row.title, row.numbers, row.state_text) == ("sweep of trap", "3 runs  ·  best 12", "optimal")
    assert row.seconds == 6.0
    assert [shown.index(at, 0, sweep).data(ROW).title for at in range(3)] == ["a=x seed 2", "a=x seed 1", "a=x seed 0"]
    assert not runs.view.isExpanded(sweep)
    runs.select(note)
    assert runs.view.isExpanded(sweep)
    runs.view.selectionModel().select(sweep, runs.view.selectionModel().SelectionFlag.Select)
    assert [one.best for one in runs.selected()] == [12, 11, 10]
    note.state = "running"
    runs.update_run(note)
    assert sweep.data(ROW).state_text == "2 of 3 ended"
    for words, count in (("alone", 1), ("seed 1", 1), ("", 4)):
        runs.filter.setText(words)
        assert runs.count() == count
    for note in [note for note in library if note is not alone]:
        library.delete(note)
    assert runs.count() == 1


def test_a_form_takes_values_and_gives_those_that_differ_from_the_defaults(qtbot):
    form = Form(counting.Options)
    qtbot.addWidget(form)
    chosen = {"slice_seconds": 0.25, "step": 7, "style": "fancy", "aloud": False, "extra": 12}
    form.set_values({**chosen, "unknown": 1})
    assert form.given() == chosen
    form.reset("step")
    assert "step" not in form.given()
    form.reset()
    assert form.given() == {}
    configured = Form(counting.Options, counting.Options(step=99))
    qtbot.addWidget(configured)
    configured.set_values({"step": 10})
    assert configured.given() == {"step": 10}
    configured.reset()
    assert (configured.given(), configured.values()["step"]) == ({}, 99)
    either = Form(discover()["boa"].options)  # a number, or a word
    qtbot.addWidget(either)
    assert either.values()["population"] == "auto"
    either.editor("population").setEditText("4,096")
    assert (either.given(), either.errors()) == ({"population": 4096}, [])
