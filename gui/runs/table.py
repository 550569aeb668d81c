"""The table of all runs: columns to choose, sorting, a filter, tags and notes."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, QSettings, QSortFilterProxyModel, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
)

from engine.util.text import counted
from gui.app.theme import Theme
from gui.app.widgets import filled, text_label
from gui.runs.columns import COLUMNS, DEFAULT_COLUMNS, column_named, extra_columns
from gui.runs.library import Library
from gui.runs.model import NOTE, SORT, Index
from gui.runs.notes import RunNote
from gui.runs.query import Condition, QueryError, matches, parse

_WIDTHS = {
    "title": 200,
    "instance": 260,
    "date": 125,
    "device": 110,
    "tags": 120,
    "note": 160,
    "solver": 215,
    "state": 85,
    "best": 80,
    "bound": 80,
    "gap": 96,
    "time": 60,
    "seed": 45,
}
_EXAMPLES = "Filter: words, or conditions such as  solver:knapsack  gap>1%  time<60  tags:paper  -state:failed"


class _Filter(QSortFilterProxyModel):
    def __init__(self) -> None:
        super().__init__()
        self.conditions: list[Condition] = []

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        return matches(self.sourceModel().notes[row], self.conditions)  # type: ignore[attr-defined]

    def lessThan(self, left: Index, right: Index) -> bool:
        """Numbers by size, texts by alphabet; missing values are last in both directions."""
        one, other = left.data(SORT), right.data(SORT)
        if one is None or other is None:
            ascending = self.sortOrder() == Qt.SortOrder.AscendingOrder
            return (other is None and one is not None) == ascending
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return bool(one < other) if numbers else _text(one) < _text(other)

    def choose(self, conditions: list[Condition]) -> None:
        self.beginFilterChange()
        self.conditions = conditions
        self.endFilterChange()


def _text(value: Any) -> str:
    return (", ".join(map(str, value)) if isinstance(value, list) else str(value)).lower()


class _FullTitle(QStyledItemDelegate):
    """Paints the whole title of a run; the text of its cell must not change when other runs are added."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = index.data(Qt.ItemDataRole.AccessibleTextRole)


class RunTable(QWidget):
    """All runs in a table; ``menu_requested(point)`` is at a global point."""

    open_requested = Signal()
    selection_changed = Signal()
    menu_requested = Signal(QPoint)
    title = "All runs"

    def __init__(self, library: Library, settings: QSettings, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._library, self._settings = library, settings
        self._sorted = False
        self._model = library.model
        self._model.theme = theme
        self._shown = _Filter()
        self._shown.setSourceModel(self._model)
        self.filter = QLineEdit(placeholderText=_EXAMPLES, clearButtonEnabled=True)
        self.filter.setAccessibleName("Filter of the run table")
        self.count = text_label(kind="muted")
        self.error = text_label(kind="error")
        self.error.hide()
        self.columns_button = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.columns_button.setText("Columns")
        self.columns_button.setObjectName("more")
        self.columns_menu = QMenu(self.columns_button, toolTipsVisible=True)
        self.columns_menu.aboutToShow.connect(self._fill_columns_menu)
        self.columns_button.setMenu(self.columns_menu)
        self.view = self._make_view()
        self._full_title, self._plain = _FullTitle(self.view), self.view.itemDelegate()
        row = filled(QHBoxLayout(), (self.filter, 1), self.count, self.columns_button)
        filled(QVBoxLayout(self), row, self.error, (self.view, 1), margins=(8, 8, 8, 4))
        self.filter.textChanged.connect(self._choose)
        for changed in (self._shown.rowsInserted, self._shown.rowsRemoved, self._shown.modelReset):
            changed.connect(self._show_count)
        for changed in (self._model.rowsInserted, self._model.rowsRemoved):  # of runs that the filter hides
            changed.connect(self._show_count)
        saved = str(settings.value("run_columns", ""))
        self.show_columns(saved.split(",") if saved else DEFAULT_COLUMNS)
        self._choose("")

    def _make_view(self) -> QTableView:
        view = QTableView(sortingEnabled=True, showGrid=False, wordWrap=False)
        view.setAccessibleName("All runs")
        view.setModel(self._shown)
        view.setAlternatingRowColors(True)
        view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setTabKeyNavigation(False)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.verticalHeader().hide()
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        view.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        header = view.horizontalHeader()
        header.setSectionsMovable(True)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(lambda at: self.columns_menu.popup(header.mapToGlobal(at)))
        view.activated.connect(lambda _index: self.open_requested.emit())
        view.selectionModel().selectionChanged.connect(lambda *_: self.selection_changed.emit())
        view.customContextMenuRequested.connect(lambda at: self.menu_requested.emit(view.viewport().mapToGlobal(at)))
        return view

    # --- columns ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self._model.columns]

    def show_columns(self, names: Sequence[str]) -> None:
        """Show these columns; see :func:`gui.runs.columns.column_named`."""
        columns = []
        for name in names:
            try:
                columns.append(column_named(name))
            except KeyError:  # of another version
                continue
        selected = self.selected()
        header = self.view.horizontalHeader()
        former = self.columns if self._sorted else []
        sorted_by = former[header.sortIndicatorSection()] if header.sortIndicatorSection() < len(former) else "date"
        order = header.sortIndicatorOrder() if former else Qt.SortOrder.DescendingOrder
        self._sorted = True
        self._model.show_columns(columns or [column_named(name) for name in DEFAULT_COLUMNS])
        self.select(*selected)
        shown = self.columns
        if sorted_by in shown:
            self.view.sortByColumn(shown.index(sorted_by), order)
        for place, name in enumerate(shown):
            self.view.setItemDelegateForColumn(place, self._full_title if name == "title" else self._plain)
            title = header.fontMetrics().horizontalAdvance(self._model.columns[place].title)
            self.view.setColumnWidth(place, _WIDTHS.get(name) or max(110, title + 30))
        self._settings.setValue("run_columns", ",".join(shown))

    def _fill_columns_menu(self) -> None:
        self.columns_menu.clear()
        search = QLineEdit(placeholderText="Search")
        search.setAccessibleName("Search in columns")
        search.textChanged.connect(self._search_columns)
        first = QWidgetAction(self.columns_menu)
        first.setDefaultWidget(search)
        self.columns_menu.addAction(first)
        QTimer.singleShot(0, search, search.setFocus)
        for name in [column.name for column in COLUMNS] + extra_columns(self._library.notes):
            kind = name.partition(".")[0] if "." in name else ""
            title = column_named(name).title
            action = self.columns_menu.addAction(f"{title} ({kind})" if kind else title)
            action.setCheckable(True)
            action.setChecked(name in self.columns)
            action.toggled.connect(lambda on, name=name: self._toggle_column(name, on))

    def _search_columns(self, words: str) -> None:
        """Offer the columns whose titles have all words."""
        for action in self.columns_menu.actions()[1:]:
            action.setVisible(all(word in action.text().lower() for word in words.lower().split()))

    def _toggle_column(self, name: str, on: bool) -> None:
        others = [other for other in self.columns if other != name]
        self.show_columns([*others, name] if on else others)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _choose(self, text: str) -> None:
        try:
            self._shown.choose(parse(text))
            self.error.hide()
        except QueryError as error:
            self.error.setText(str(error))
            self.error.show()
        self._show_count()

    def _show_count(self) -> None:
        shown, every = self._shown.rowCount(), len(self._library.notes)
        runs = counted(every, "run")
        self.count.setText(runs if shown == every else f"{shown} of {runs}")

    def shown(self) -> list[RunNote]:
        """The runs that the filter lets through, in the order of the table."""
        return [self._shown.index(row, 0).data(NOTE) for row in range(self._shown.rowCount())]

    def selected(self) -> list[RunNote]:
        rows = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        return [self._shown.index(row, 0).data(NOTE) for row in rows]

    def select(self, *notes: RunNote) -> None:
        model = self.view.selectionModel()
        model.clearSelection()
        for note in notes:
            index = self._shown.mapFromSource(self._model.index(self._model.row_of(note), 0))
            model.select(index, model.SelectionFlag.Select | model.SelectionFlag.Rows)

    def set_theme(self, theme: Theme) -> None:
        self.theme = self._model.theme = theme
        self.view.viewport().update()
