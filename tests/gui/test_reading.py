"""How a file is read is chosen in the app, its code is allowed, and small problems are typed by hand."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QToolTip

import engine
from engine.api.sweep import Sweep
from engine.errors import InputError, UntrustedCode
from engine.runs.folder.run_folder import foreign_code, read_problem
from gui.app.trust import ask_trust
from gui.problem.new_instance import InstanceRequest, make_instance
from gui.problem.sweep import plan_sweep
from gui.problem.typed import TYPED
from tests.support.interaction import CONTROL, load


@pytest.fixture
def table(tmp_path):
    words = ("red", "green", "blue")
    rows = [f"{i % 7 - 3},{words[i % 3]},{int((i % 7 - 3) + (i % 5) - 2 > 0)}" for i in range(30)]
    path = tmp_path / "paint.csv"
    path.write_text("\n".join(["size,colour,target", *rows]) + "\n")
    return path


def reread(qtbot, window):
    before = window.pane.read_form
    qtbot.mouseClick(window.pane.read_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.problems.loading is None and window.pane.read_form is not before, timeout=120_000)


def test_options_of_the_solver_stay_when_the_file_is_read_again(qtbot, open_window, table):
    plain = table.with_name("plain.csv")
    plain.write_text("a,b,target\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(9)))
    window = open_window()
    load(qtbot, window, plain)
    window.pane.set_values({"chains": 7}, {"seed": 5})
    for target, names in (("b", ("a", "target")), ("c", None)):
        window.pane.read_form.set_values({"target": target})
        reread(qtbot, window)
        assert (window.pane.instance and window.pane.instance.problem.names) == names
        assert bool(window.pane.error.text()) == (names is None)
        if names is not None:
            assert window.pane.options() == {"chains": 7}
            assert "--target b" in window.pane.command_text()


def test_a_file_is_read_as_the_kind_that_is_chosen(qtbot, open_window, table):
    window = open_window()
    window.problems.open_path(table, "HorseshoeLogit")
    qtbot.waitUntil(lambda: window.pane.read_form is not None, timeout=120_000)
    window.pane.read_form.editor("encode").setChecked(True)
    reread(qtbot, window)
    assert type(window.pane.instance.problem) is engine.HorseshoeLogit
    assert f"solve {table} --encode --as HorseshoeLogit" in window.pane.command_text()
    assert f"engine.HorseshoeLogit.read({str(table)!r}, encode=True)" in window.pane.python_text()
    assert window.problems.estimate_words()[-3:] == ["--encode", "--as", "HorseshoeLogit"]
    plan = plan_sweep(Sweep((table,), (0, 1), reading={"encode": True}))
    assert ([run.reading for run in plan.runs], plan.errors) == ([{"encode": True}] * 2, [])
    assert len(plan_sweep(Sweep((table,))).errors) == 1


SHEETS = {"knapsack": "10\t5\n40\t4\n30\t6\n50\t3\n", "QUBO": "-1\t2\t0\n0\t-1\t0\n1\t0\t-3\n"}


@pytest.mark.parametrize("name", TYPED)
def test_what_is_typed_or_pasted_is_read_again(qtbot, tmp_path, name):
    editor = TYPED[name]()
    qtbot.addWidget(editor)
    editor.show()

    def paste(text):
        QGuiApplication.clipboard().setText(text)
        editor.cells.setCurrentCell(0, 0)
        qtbot.keyClick(editor.cells, Qt.Key.Key_V, CONTROL)

    if name in SHEETS:
        with pytest.raises(InputError, match="give some"):
            editor.text()
        paste(SHEETS[name])
    path = make_instance(InstanceRequest(lambda file: file.write_text(editor.text()), tmp_path / f"a{editor.suffix}"))
    problem = read_problem(path)
    if name == "knapsack":
        assert (problem.profits.tolist(), problem.weights.tolist()) == ([10, 40, 30, 50], [5, 4, 6, 3])
        assert problem.capacity == editor.capacity.value() == 100
    elif name == "QUBO":
        bits = [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]]
        assert [float(value) for value in problem.evaluate(bits)] == [0, 0, -3]
    else:
        assert (problem.n, problem.m, problem.sense) == (3, 2, "maximize")
    if name in SHEETS:
        for wrong in ("many", "nan", "-inf", "9007199254740993"):
            editor.cells.item(0, 0).setText(wrong)
            with pytest.raises(InputError, match=f"row 1, column 1: '{wrong}' is not a number"):
                editor.text()
        for rows in (30, editor.most + 1):  # a block that is longer than the table is not cut
            paste("1\t2\n" * rows)
            assert editor.count.value() == 30
        assert "nothing was pasted" in QToolTip.text()


def test_the_question_shows_file_digest_and_code_and_allows_it_unless_it_is_declined(qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    snippet, calls = tmp_path / "x.boa", []
    snippet.write_text("boa snippet n=20\nfor (int i = 0; i < N; i++) fitness += BIT(i);\n")
    with pytest.raises(UntrustedCode) as caught:
        read_problem(snippet)
    code = foreign_code(snippet)
    for answer, call in (("Cancel", "report"), ("Allow", "retry")):
        assert foreign_code(snippet) is not None
        box = ask_trust(caught.value, None, lambda: calls.append("retry"), lambda _: calls.append("report"))
        assert str(snippet) in box.text()
        assert code.digest in box.informativeText()
        assert "fitness += BIT(i)" in box.detailedText()
        next(button for button in box.buttons() if button.text().replace("&", "") == answer).click()
        assert calls.pop() == call
    assert foreign_code(snippet) is None
    assert ask_trust(InputError("no"), None, pytest.fail, calls.append) is None
    assert [str(call) for call in calls] == ["no"]
