"""Sweeps: made in a dialog or read from a file, queued, held, reordered, retried."""

import pytest
from PySide6.QtWidgets import QDialogButtonBox

import engine
from engine.api.sweep import Sweep
from engine.errors import InputError
from engine.settings.config import solver_options
from engine.solvers import discover
from gui.problem.sweep import SweepDialog, example, parse_options, plan_sweep
from tests.support import counting
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import answer, begin, drop, ended, load


def all_ended(window, count):
    return len(window.library.notes) == count and not any(note.live for note in window.library.notes)


def test_a_dialog_queues_every_combination(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "small.txt")
    window.actions_by_name["new_sweep"].trigger()
    dialog = window.findChild(SweepDialog)
    queue = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    assert dialog.message.text() == "5 runs"
    dialog.seeds.setText("1-")
    assert not queue.isEnabled()
    assert "seeds must be" in dialog.message.text()
    dialog.seeds.setText("3")
    dialog.options.setPlainText("stride = 1")
    assert "stride" in dialog.message.text()
    dialog.options.setPlainText("step = 20, 50\n")
    assert dialog.message.text() == "2 runs"
    queue.click()
    qtbot.waitUntil(lambda: all_ended(window, 2), timeout=120_000)
    found = {(note.options["step"], note.seed): note for note in window.library.notes}
    assert set(found) == {("20", 3), ("50", 3)}
    for (_, seed), note in found.items():
        assert (note.state, note.best) == ("optimal", counting.expected(100, seed))
        assert note.sweep == "sweep of small"
        assert (note.path / "result.json").is_file()
    assert window.run_tabs.open_runs() == []  # a hundred runs open no hundred tabs
    window.run_tabs.show_run(found["20", 3])
    qtbot.waitUntil(lambda: window.run_tabs.current_run().complete, timeout=120_000)


@pytest.mark.full
def test_a_sweep_file_is_queued_after_a_confirmation(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    (counting_files / "sweep.toml").write_text('problems = ["*.txt"]\nseeds = 1\ntime_limit = 0.5\n')
    drop(window, counting_files / "sweep.toml")
    answer(qtbot, window, "Queue")
    qtbot.waitUntil(lambda: all_ended(window, 2), timeout=120_000)
    assert {note.problem: note.state for note in window.library.notes} == {
        counting.Counting(100).describe(): "optimal",
        counting.Counting(1_000_000_000).describe(): "time_limit",
    }
    assert any("bad.txt" in message for message in window.log.messages())
    (counting_files / "wrong.toml").write_text("problems = []\n")
    drop(window, counting_files / "wrong.toml")
    assert "at least one problem" in window.pane.error.text()


@pytest.mark.full
def test_the_queue_is_held_and_reordered(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    window.actions_by_name["queue_hold"].trigger()
    window.launcher.open_sweep(Sweep((counting_files / "small.txt",), (1, 2, 3, 4)), "four")
    qtbot.waitUntil(lambda: len(window.launcher.queued) == 4, timeout=120_000)
    notes = {note.settings["seed"]: note for note in window.library.notes}

    def order():
        seeds = {note.key: seed for seed, note in notes.items()}
        return [seeds[key] for key in window.launcher.queued]

    assert order() == [1, 2, 3, 4]
    window.run_list.select(notes[3], notes[4])
    window.actions_by_name["queue_up"].trigger()
    assert order() == [1, 3, 4, 2]
    window.actions_by_name["queue_up"].trigger()
    window.actions_by_name["queue_up"].trigger()
    assert order() == [3, 4, 1, 2]
    window.run_list.select(notes[3])
    window.actions_by_name["queue_down"].trigger()
    assert order() == [4, 3, 1, 2]
    window.actions_by_name["queue_remove"].trigger()
    assert order() == [4, 1, 2]
    assert notes[3].state == "cancelled"
    qtbot.wait(200)
    assert not window.run_tabs.running()
    window.run_tabs.show_run(notes[2])
    assert "Queued" in window.run_tabs.current_run()._waiting.text()
    window.actions_by_name["queue_hold"].trigger()
    qtbot.waitUntil(lambda: all_ended(window, 4), timeout=120_000)
    assert [notes[seed].state for seed in (1, 2, 3, 4)] == ["optimal", "optimal", "cancelled", "optimal"]


@pytest.mark.full
def test_a_run_is_started_again_with_the_same_options(qtbot, open_window, counting_files):
    window = open_window(COUNTING)
    load(qtbot, window, counting_files / "small.txt")
    window.pane.set_values({"step": 25}, {"seed": 7})
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    window.actions_by_name["retry"].trigger()
    qtbot.waitUntil(lambda: all_ended(window, 2), timeout=120_000)
    first, second = window.library.notes
    assert first.folder != second.folder
    assert (first.options, first.seed, first.best) == (second.options, second.seed, second.best)
    assert first.seed == 7


def test_options_of_a_sweep_are_read_line_by_line():
    model = discover()["linprog"].options_model(engine.LinearProgram)
    text = "max-iterations = 10, 20\n\npresolve = true, off\n initial=None\nunknown = none , true"
    assert parse_options(text, model) == {
        "max_iterations": ["10", "20"],
        "presolve": [True, "off"],
        "initial": [None],
        "unknown": ["none", "true"],
    }
    for text in ("a", "a =", "= 3"):
        with pytest.raises(InputError, match="name = value"):
            parse_options(text, model)


def test_none_is_a_word_where_an_option_has_it_as_one():
    solvers = discover()
    boa, search = solvers["boa"].options_model(engine.BOA), solvers["branch_and_bound"].options_model(engine.Flowshop)
    found = parse_options("local_search = none, steepest\nmixing = none", boa)
    assert found == {"local_search": ["none", "steepest"], "mixing": ["none"]}
    assert parse_options("upper_bound = none, 5", search) == {"upper_bound": [None, "5"]}


def kinds():
    return [(solver, kind) for solver in discover().values() for kind in solver.instance_classes]


@pytest.mark.parametrize(
    ("solver", "kind"), kinds(), ids=lambda value: value.__name__ if isinstance(value, type) else value.name
)
def test_the_example_in_the_dialog_is_of_the_solver(solver, kind):
    model = solver.options_model(kind)
    parsed = parse_options(example(model), model)
    ((name, values),) = parsed.items()
    assert len(values) == 2
    for value in values:
        chosen = solver_options(solver, None, {name: value}, kind)
        assert getattr(chosen, name) == value


@pytest.mark.full
def test_a_sweep_over_no_local_search_and_one_is_solved(qtbot, open_window):
    window = open_window()
    load(qtbot, window, SAMPLES / "boa" / "onemax.boa")
    window.actions_by_name["new_sweep"].trigger()
    dialog = window.findChild(SweepDialog)
    assert "variant" not in dialog.options.placeholderText()
    assert "search = network, pyramid" in dialog.options.placeholderText()
    dialog.seeds.setText("1")
    dialog.options.setPlainText("local_search = none, steepest\nmixing = none\nprobabilities = frequency")
    assert dialog.message.text() == "2 runs"
    dialog.buttons.button(QDialogButtonBox.StandardButton.Ok).click()
    qtbot.waitUntil(lambda: all_ended(window, 2), timeout=240_000)
    assert {note.options["local_search"]: note.state for note in window.library.notes} == {
        "none": "optimal",
        "steepest": "optimal",
    }


def test_a_plan_leaves_out_what_cannot_be_started(counting_files):
    files = (counting_files / "small.txt", counting_files / "bad.txt")
    plan = plan_sweep(Sweep(files, (0,), {"step": [5, 0]}))
    assert [(run.title, run.options["step"]) for run in plan.runs] == [("small step=5 seed 0", 5)]
    assert len(plan.errors) == 2
