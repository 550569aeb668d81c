"""A dialog that lists all keyboard shortcuts by menu."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLabel,
    QScrollArea,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from gui.actions.table import ACTIONS, MENUS, plain

__all__ = ["ShortcutSheet"]


class ShortcutSheet(QDialog):
    """Every shortcut, by menu."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Keyboard shortcuts")
        inner = QWidget()
        inner.setObjectName("scrolled")
        grid = QGridLayout(inner)
        grid.setContentsMargins(20, 16, 20, 16)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        self.rows: list[tuple[str, str]] = []
        columns = {"File": 0, "Run": 0, "Runs": 1, "View": 1, "Help": 1}
        at = {0: 0, 1: 0}
        for menu in MENUS:
            shown = [a for a in ACTIONS if a.menu == menu and a.name in actions and a.shortcut]
            column = columns[menu]
            heading = QLabel(menu)
            heading.setObjectName("heading")
            grid.addWidget(heading, at[column], 3 * column, 1, 2)
            at[column] += 1
            for action in shown:
                keys = actions[action.name].shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                label = QLabel(keys)
                label.setObjectName("keys")
                grid.addWidget(label, at[column], 3 * column, Qt.AlignmentFlag.AlignRight)
                grid.addWidget(QLabel(plain(action.text)), at[column], 3 * column + 1)
                self.rows.append((keys, plain(action.text)))
                at[column] += 1
            grid.setRowMinimumHeight(at[column], 6)
            at[column] += 1
        grid.setColumnMinimumWidth(2, 30)
        grid.setRowStretch(max(at.values()), 1)
        area = QScrollArea()
        area.setWidget(inner)
        area.setWidgetResizable(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        self._inner = inner
        self._fit()

    def _fit(self) -> None:
        """As wide as the texts, and as high as a small screen allows."""
        hint = self._inner.sizeHint()
        self.resize(
            hint.width() + self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent) + 24,
            min(hint.height() + 10, 640),
        )

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the size, now that the fonts of the style are known."""
        super().showEvent(event)
        self._fit()
