"""Editors in which a small problem is typed: items of a knapsack, a QUBO matrix, a linear program in the LP format."""

import itertools
from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QFormLayout,
    QPlainTextEdit,
    QSpinBox,
    QTableWidget,
    QTableWidgetItem,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from engine.errors import InputError
from engine.util.text import counted
from gui.app.widgets import filled

_PROGRAM = """\
max
  profit: 3 x + 2 y + 4 z
subject to
  iron: x + y + 2 z <= 4
  coal: 2 x + 3 z <= 5
bounds
  x <= 2
end
"""


class Typed(QWidget):
    """The base of the editors; ``changed()`` when what they hold has changed."""

    changed = Signal()
    suffix: ClassVar[str] = ".txt"

    def text(self) -> str:
        """The file of the problem."""
        raise NotImplementedError


class _Cells(QTableWidget):
    """Cells of numbers, an empty one 0; a block of a spreadsheet can be pasted into them."""

    wanted = Signal(int, int)  # rows and columns that a pasted block reaches to

    def number(self, row: int, column: int) -> float:
        item = self.item(row, column)
        text = "" if item is None else item.text().strip()
        try:
            value = float(text or 0)
        except ValueError as error:
            raise InputError(f"row {row + 1}, column {column + 1}: {text!r} is not a number") from error
        if not abs(value) < 2**53:  # NaN neither
            raise InputError(f"row {row + 1}, column {column + 1}: {text!r} is not a number below 2^53")
        return value

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Paste; all other keys are Qt's."""
        if not event.matches(QKeySequence.StandardKey.Paste):
            super().keyPressEvent(event)
            return
        top, left = max(0, self.currentRow()), max(0, self.currentColumn())
        block = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
        self.wanted.emit(top + len(block), left + max(map(len, block), default=0))
        if top + len(block) > self.rowCount():
            have, most = counted(top + len(block), "row"), f"{self.rowCount():,}"
            text = f"{have} are more than the {most} of this table: nothing was pasted. Open the data as a file."
            QToolTip.showText(self.mapToGlobal(self.rect().center()), text, self)
            return
        self.blockSignals(True)
        for row, line in enumerate(block, top):
            for column, cell in enumerate(line[: self.columnCount() - left], left):
                self.setItem(row, column, QTableWidgetItem(cell))
        self.blockSignals(False)
        self.cellChanged.emit(top, left)


class _Table(Typed):
    """A table with a count of its rows above it."""

    counted: ClassVar[str]
    most: ClassVar[int] = 1000

    def __init__(self) -> None:
        super().__init__()
        self.count, self.cells = QSpinBox(), _Cells(0, 2)
        self.count.setRange(1, self.most)
        self.cells.setTabKeyNavigation(True)
        self.cells.setAccessibleName(f"Table of {self.counted.lower()}")
        self.form = QFormLayout()
        self.form.addRow(self.counted, self.count)
        filled(QVBoxLayout(self), self.form, (self.cells, 1), margins=(0, 0, 0, 0))
        self.count.valueChanged.connect(self.resize_table)
        self.cells.wanted.connect(self.make_room)
        self.cells.cellChanged.connect(lambda _row, _column: self.changed.emit())

    def make_room(self, rows: int, _columns: int) -> None:
        """Have so many rows at least, if a table may."""
        if rows <= self.most:
            self.count.setValue(max(self.count.value(), rows))

    def resize_table(self, count: int) -> None:
        self.cells.setRowCount(count)
        self.changed.emit()


class _Items(_Table):
    counted, most = "Items", 100_000

    def __init__(self) -> None:
        super().__init__()
        self.capacity = QSpinBox()
        self.capacity.setRange(0, 2**31 - 1)
        self.capacity.setValue(100)
        self.form.addRow("Capacity", self.capacity)
        self.cells.setHorizontalHeaderLabels(["profit", "weight"])
        self.capacity.valueChanged.connect(lambda _value: self.changed.emit())
        self.count.setValue(10)

    def text(self) -> str:
        """Items without profit and weight are left out."""
        rows = [(self.cells.number(row, 0), self.cells.number(row, 1)) for row in range(self.count.value())]
        rows = [row for row in rows if any(row)]
        if not rows:
            raise InputError("give some items a profit and a weight")
        if any(not number.is_integer() for row in rows for number in row):
            raise InputError("profits and weights are whole numbers in this format")
        lines = [f"{place} {profit:.0f} {weight:.0f}" for place, (profit, weight) in enumerate(rows)]
        return "\n".join([str(len(rows)), *lines, str(self.capacity.value())]) + "\n"


class _Matrix(_Table):
    counted, suffix = "Variables", ".qubo"

    def __init__(self) -> None:
        super().__init__()
        self.cells.setToolTip("The sum of Q[i, j] x[i] x[j] over all cells is minimised; x[i] is 0 or 1")
        self.count.setValue(5)

    def make_room(self, rows: int, columns: int) -> None:
        super().make_room(max(rows, columns), columns)

    def resize_table(self, count: int) -> None:
        self.cells.setColumnCount(count)
        self.cells.horizontalHeader().setDefaultSectionSize(56)
        super().resize_table(count)

    def text(self) -> str:
        """The format has one number for the two cells of a pair, of a symmetric matrix."""
        entries: dict[tuple[int, int], float] = {}
        for row, column in itertools.product(range(1, self.count.value() + 1), repeat=2):
            pair = (min(row, column), max(row, column))
            entries[pair] = entries.get(pair, 0.0) + self.cells.number(row - 1, column - 1) / (1 + (row != column))
        lines = [f"{a} {b} {value:.17g}" for (a, b), value in entries.items() if value]
        if not lines:
            raise InputError("give some cells of the matrix a number")
        return "\n".join([f"{self.count.value()} {len(lines)}", *lines]) + "\n"


class _Program(Typed):
    suffix = ".lp"

    def __init__(self) -> None:
        super().__init__()
        self.program = QPlainTextEdit(_PROGRAM, tabChangesFocus=True)
        self.program.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.program.setAccessibleName("Linear program in the LP format")
        filled(QVBoxLayout(self), self.program, margins=(0, 0, 0, 0))
        self.program.textChanged.connect(self.changed)

    def text(self) -> str:
        return self.program.toPlainText()


TYPED: dict[str, type[Typed]] = {"knapsack": _Items, "QUBO": _Matrix, "linear program": _Program}
"""The editors by what is typed in them."""
