"""How a file is read is chosen in the app: columns of words, the target, one of several instances."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox

import engine
from engine.api.sweep import Sweep
from engine.errors import InputError
from gui.problem.instance import read_instance, reader_of
from gui.problem.sweep import plan_sweep
from tests.support.interaction import begin, drop, ended, load


@pytest.fixture
def table(tmp_path):
    """A table with a column of words."""
    words = ("red", "green", "blue")
    rows = [f"{i % 7 - 3},{words[i % 3]},{int((i % 7 - 3) + (i % 5) - 2 > 0)}" for i in range(30)]
    path = tmp_path / "paint.csv"
    path.write_text("\n".join(["size,colour,target", *rows]) + "\n")
    return path


def reread(qtbot, window):
    before = window.pane.read_form
    qtbot.mouseClick(window.pane.read_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.problems.loading is None and window.pane.read_form is not before, timeout=120_000)


@pytest.mark.full
def test_a_column_of_words_is_encoded_when_the_box_is_ticked(qtbot, open_window, table):
    window = open_window()
    drop(window, table)
    qtbot.waitUntil(lambda: window.pane.read_form is not None, timeout=120_000)
    pane = window.pane
    assert pane.instance is None
    assert "colour" in pane.error.text()
    assert not pane.read_button.isEnabled()
    box = pane.read_form.editor("encode")
    assert isinstance(box, QCheckBox)
    box.setChecked(True)
    assert pane.read_button.isEnabled()
    reread(qtbot, window)
    assert pane.instance.problem.names == ("size", "colour=blue", "colour=green", "colour=red")
    assert pane.error.text() == ""
    assert pane.read_form.editor("encode").isChecked()
    pane.set_values({"draws": 8, "warmup": 0}, {})
    assert f"solve {table} --encode --draws 8" in pane.command_text()
    assert f"engine.HorseshoeProbit.read({str(table)!r}, encode=True)" in pane.python_text()
    assert window.problems.estimate_words()[:2] == ["estimate", str(table)]
    assert "--encode" in window.problems.estimate_words()
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    assert tab.note.state == "complete"
    assert tab.note.reading == {"encode": True}
    assert engine.load(tab.note.folder).arrays["names"].tolist()[1:5] == list(pane.instance.problem.names)
    pane.show_nothing()
    window.actions_by_name["rerun"].trigger()
    qtbot.waitUntil(lambda: pane.instance is not None and window.problems.loading is None, timeout=120_000)
    assert pane.instance.reading == {"encode": True}
    assert pane.options() == {"draws": 8, "warmup": 0}


def test_options_of_the_solver_stay_when_the_file_is_read_again(qtbot, open_window, table):
    plain = table.with_name("plain.csv")
    plain.write_text("a,b,target\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(9)))
    window = open_window()
    load(qtbot, window, plain)
    window.pane.set_values({"chains": 7}, {"seed": 5})
    assert "--target" not in window.pane.command_text()
    window.pane.read_form.set_values({"target": "b"})
    reread(qtbot, window)
    assert window.pane.instance.problem.names == ("a", "target")
    assert window.pane.options() == {"chains": 7}
    assert "--target b" in window.pane.command_text()
    window.pane.read_form.set_values({"target": "c"})
    reread(qtbot, window)
    assert window.pane.instance is None
    assert window.pane.error.text()
    assert window.pane.read_form.given() == {"target": "c"}


def test_a_sweep_reads_its_problem_as_the_loaded_one_was_read(table):
    plan = plan_sweep(Sweep((table,), (0, 1), reading={"encode": True}))
    assert plan.errors == []
    assert [run.reading for run in plan.runs] == [{"encode": True}] * 2
    assert len(plan_sweep(Sweep((table,))).errors) == 1


def test_what_a_reader_takes_is_known_before_the_file_is_read(table, tmp_path):
    reader = reader_of(table)
    assert reader is engine.HorseshoeProbit.read_options
    assert reader_of(tmp_path / "missing.csv") is None
    assert reader_of(tmp_path) is None
    with pytest.raises(InputError, match="colour"):
        read_instance(table)
    with pytest.raises(InputError, match="encode"):
        read_instance(table, {"encode": "perhaps"})
    assert read_instance(table, {"encode": True}).reading == {"encode": True}


def test_a_file_is_read_as_the_kind_that_is_chosen(qtbot, open_window, table):
    window = open_window()
    window.problems.open_path(table, "HorseshoeLogit")
    qtbot.waitUntil(lambda: window.pane.read_form is not None, timeout=120_000)
    window.pane.read_form.editor("encode").setChecked(True)
    reread(qtbot, window)
    assert type(window.pane.instance.problem) is engine.HorseshoeLogit
    assert not window.pane.read_button.isEnabled()
    assert f"solve {table} --encode --as HorseshoeLogit" in window.pane.command_text()
    assert f"engine.HorseshoeLogit.read({str(table)!r}, encode=True)" in window.pane.python_text()
    assert window.problems.estimate_words()[-3:] == ["--encode", "--as", "HorseshoeLogit"]
    with pytest.raises(InputError, match="did you mean 'HorseshoeLogit'"):
        read_instance(table, {"as": "HorseshoeLogi"})
