"""Small problems typed by hand become files that are read as they were typed."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QToolTip

import engine
from engine.errors import InputError
from engine.runs.folder.run_folder import read_problem
from gui.problem.new_instance import InstanceRequest, NewInstance, make_instance
from gui.problem.typed import TYPED
from tests.support.interaction import CONTROL

SHEETS = {
    "knapsack": ("10\t5\n40\t4\n30\t6\n50\t3\n", "10 strings"),
    "QUBO": ("-1\t2\t0\n0\t-1\t0\n1\t0\t-3\n", "not numbers"),
}


@pytest.mark.parametrize("name", TYPED)
def test_what_is_typed_or_pasted_is_read_again(qtbot, tmp_path, name):
    editor = TYPED[name]()
    qtbot.addWidget(editor)
    editor.show()
    if name in SHEETS:
        with pytest.raises(InputError, match="give some"):
            editor.text()
        QGuiApplication.clipboard().setText(SHEETS[name][0])
        editor.cells.setCurrentCell(0, 0)
        qtbot.keyClick(editor.cells, Qt.Key.Key_V, CONTROL)
    path = make_instance(InstanceRequest(lambda file: file.write_text(editor.text()), tmp_path / f"a{editor.suffix}"))
    problem = read_problem(path)
    if name == "knapsack":
        assert (problem.profits.tolist(), problem.weights.tolist()) == ([10, 40, 30, 50], [5, 4, 6, 3])
        assert problem.capacity == editor.capacity.value() == 100
    elif name == "QUBO":
        assert isinstance(problem, engine.BOA | engine.QUBO)
        assert problem.n == 5
        bits = [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]]
        assert [float(value) for value in problem.evaluate(bits)] == [0, 0, -3]
    else:
        assert (problem.n, problem.m, problem.sense) == (3, 2, "maximize")
    if name in SHEETS:
        for wrong in ("many", "nan", "-inf", "9007199254740993"):
            editor.cells.item(0, 0).setText(wrong)
            with pytest.raises(InputError, match=f"row 1, column 1: '{wrong}' is not a number"):
                editor.text()
        QGuiApplication.clipboard().setText("1\t2\n" * 30)
        qtbot.keyClick(editor.cells, Qt.Key.Key_V, CONTROL)
        assert editor.count.value() == 30  # a block that is longer than the table is not cut
        QGuiApplication.clipboard().setText("1\t2\n" * (editor.most + 1))
        qtbot.keyClick(editor.cells, Qt.Key.Key_V, CONTROL)
        assert editor.count.value() == 30
        assert "nothing was pasted" in QToolTip.text()


def test_the_tab_key_goes_through_the_fields_before_the_file_name(qtbot, tmp_path):
    dialog = NewInstance(tmp_path, None)
    qtbot.addWidget(dialog)
    order, widget = [], dialog.kind.nextInFocusChain()
    while widget is not dialog.kind:
        order.append(widget)
        widget = widget.nextInFocusChain()
    assert dialog.form is not None
    places = [order.index(dialog.form.editor(name)) for name in dialog.form.names]
    assert places == sorted(places)
    assert places[-1] < order.index(dialog.path)
    kinds = [dialog.kind.itemText(place) for place in range(dialog.kind.count())]
    dialog.kind.setCurrentIndex(next(place for place, text in enumerate(kinds) if text.startswith("linear program  ")))
    assert dialog.make.isEnabled()
    assert dialog.command.text() == f"quintet solve {tmp_path / 'linear-program.lp'}"
    read = read_problem(make_instance(dialog.request()))
    assert read.describe().startswith("linear program")
