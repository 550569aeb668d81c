"""The gallery at the left: samples by solver, recorded runs, and recent files."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QBrush, QColor, QKeySequence, QShortcut
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

from gui.app.theme import Theme
from gui.problem.samples import Sample

_PATH = Qt.ItemDataRole.UserRole
_MOST_RECENT = 12
_FEW = 8


class Gallery(QTreeWidget):
    """A tree of problems (``problem_requested(path)``) and recorded runs (``replay_requested(path)``)."""

    problem_requested = Signal(Path)
    replay_requested = Signal(Path)

    def __init__(self) -> None:
        super().__init__()
        self._recent: list[str] = []
        self._muted = QBrush()
        self.setHeaderHidden(True)
        self.setAccessibleName("Samples and recent problems")
        self.setIndentation(14)
        self.setRootIsDecorated(True)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setColumnCount(2)
        self.setAllColumnsShowFocus(True)
        self.setExpandsOnDoubleClick(False)
        self.header().setStretchLastSection(True)
        self.header().resizeSection(0, 150)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.itemClicked.connect(lambda item, _column: self._on_item(item))
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            enter = QShortcut(QKeySequence(key), self, context=Qt.ShortcutContext.WidgetShortcut)
            enter.activated.connect(lambda: self._on_item(item) if (item := self.currentItem()) else None)

    def show_samples(self, found: Sequence[Sample]) -> None:
        groups: dict[str, QTreeWidgetItem] = {}
        for sample in found:
            if sample.group not in groups:
                groups[sample.group] = self._group(sample.group)
            self._leaf(groups[sample.group], sample.title, sample.path, sample.description, sample.recorded)
        for group in groups.values():
            group.setText(0, f"{group.text(0)} ({group.childCount()})")
            group.setExpanded(len(found) <= _FEW)

    def show_recent(self, paths: Sequence[str]) -> None:
        self._recent = list(paths)[:_MOST_RECENT]
        group = self._find_group("Recent")
        if group is None:
            if not self._recent:
                return
            group = self._group("Recent", first=True)
        group.takeChildren()
        for path in self._recent:
            self._leaf(group, Path(path).name, Path(path), elided(Path(path).parent), False)
        group.setHidden(not self._recent)

    def add_recent(self, path: Path) -> None:
        text = str(path.resolve())
        self.show_recent([text, *(other for other in self._recent if other != text)])

    @property
    def recent(self) -> list[str]:
        return list(self._recent)

    def select(self, path: Path | None) -> None:
        """Highlight the problem that is loaded; nothing where it is not listed."""
        leaves = [leaf for leaf in self._leaves() if path is not None and leaf.data(0, _PATH) == (str(path), False)]
        chosen = self.currentItem()
        if leaves and chosen not in leaves:
            self.setCurrentItem(leaves[0])
        elif not leaves:
            self.selectionModel().clear()

    def _leaves(self) -> list[QTreeWidgetItem]:
        groups = (self.topLevelItem(row) for row in range(self.topLevelItemCount()))
        return [
            leaf
            for group in groups
            if group is not None
            for place in range(group.childCount())
            if (leaf := group.child(place)) is not None
        ]

    def _group(self, title: str, first: bool = False) -> QTreeWidgetItem:
        group = QTreeWidgetItem([title])
        group.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        if first:
            self.insertTopLevelItem(0, group)
        else:
            self.addTopLevelItem(group)
        group.setFirstColumnSpanned(True)
        font = group.font(0)
        font.setBold(True)
        group.setFont(0, font)
        group.setExpanded(True)
        return group

    def _find_group(self, title: str) -> QTreeWidgetItem | None:
        groups = (self.topLevelItem(row) for row in range(self.topLevelItemCount()))
        return next((group for group in groups if group is not None and group.text(0) == title), None)

    def _leaf(self, group: QTreeWidgetItem, title: str, path: Path, tip: str, recorded: bool) -> None:
        leaf = QTreeWidgetItem(group, [title, tip.partition(f"{title}: ")[2] or tip])
        leaf.setForeground(1, self._muted)
        leaf.setData(0, _PATH, (str(path), recorded))
        leaf.setToolTip(0, tip)
        leaf.setData(0, Qt.ItemDataRole.AccessibleDescriptionRole, tip)

    def set_theme(self, theme: Theme) -> None:
        self._muted = QBrush(QColor(theme.muted))
        for leaf in self._leaves():
            leaf.setForeground(1, self._muted)

    def _on_item(self, item: QTreeWidgetItem) -> None:
        data = item.data(0, _PATH)
        if data is None:
            item.setExpanded(not item.isExpanded())
            return
        path, recorded = Path(data[0]), data[1]
        (self.replay_requested if recorded else self.problem_requested).emit(path)


def elided(path: Path) -> str:
    """A path, shortened at its beginning if it is long."""
    text = str(path).replace(str(Path.home()), "~", 1)
    return text if len(text) <= 46 else f"…{text[-45:]}"
