"""The start page: a card for each solver's sample, and for the recorded runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.app.widgets import filled, text_label
from gui.problem.samples import Sample

_COLUMNS = 2


class Card(QPushButton):
    """A button for one sample: its solver, its title, its description."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.sample = sample
        self.setObjectName("card")
        self.setAccessibleName(f"{sample.group}: {sample.title}")
        self.setAccessibleDescription(sample.description)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        group, title, about = QLabel(sample.group), QLabel(sample.title), QLabel(sample.about or sample.description)
        group.setObjectName("caption")
        title.setObjectName("cardtitle")
        about.setObjectName("muted")
        for label in (group, title, about):
            label.setWordWrap(label is not title)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 12)
        layout.setSpacing(3)
        for label in (group, title, about):
            layout.addWidget(label)
        layout.addStretch(1)

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return super().sizeHint() if layout is None else layout.sizeHint()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return super().heightForWidth(width) if layout is None else layout.totalHeightForWidth(width)


class StartPage(QScrollArea):
    """What the window shows before a problem or a run is opened."""

    problem_requested = Signal(Path)
    replay_requested = Signal(Path)
    open_requested = Signal()

    def __init__(self, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self.setObjectName("start")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.cards: list[Card] = []
        big = text_label("Drop a problem file here", kind="big")
        open_button = QPushButton("Open a file…", default=True)
        open_button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        open_button.clicked.connect(self.open_requested)
        small = text_label("The format is detected. Or start with a sample:", kind="muted")
        row = filled(QHBoxLayout(), big, 1, open_button)
        self._grid = QGridLayout()
        self._grid.setSpacing(10)
        for column in range(_COLUMNS):
            self._grid.setColumnStretch(column, 1)
        names = (
            ("start", "runs"),
            ("new_instance", "makes a problem"),
            ("find_command", "finds any command and its shortcut"),
        )
        keys = [
            (actions[name].shortcut().toString(QKeySequence.SequenceFormat.NativeText), what) for name, what in names
        ]
        parts = (f"{key}  {what}".replace(" ", "\u00a0") for key, what in keys)
        hint = text_label("     ".join(parts), kind="muted", wrap=True)  # between the parts
        inner = QWidget(maximumWidth=900)
        inner.setObjectName("page")
        column_layout = QVBoxLayout(inner)
        column_layout.setContentsMargins(28, 30, 28, 24)
        column_layout.setSpacing(6)
        column_layout.addLayout(row)
        column_layout.addWidget(hint)
        column_layout.addSpacing(10)
        column_layout.addWidget(small)
        column_layout.addSpacing(4)
        column_layout.addLayout(self._grid)
        column_layout.addStretch(1)
        outside = QWidget()
        outside.setObjectName("page")
        filled(QHBoxLayout(outside), 1, (inner, 20), 1, margins=(0, 0, 0, 0))
        self.setWidget(outside)

    def show_samples(self, found: Sequence[Sample]) -> None:
        """A card for each solver's first sample, then for each recorded run."""
        for sample in [*(one for one in found if one.first), *(one for one in found if one.recorded)]:
            card = Card(sample)
            card.clicked.connect(lambda _checked=False, sample=sample: self._choose(sample))
            self._grid.addWidget(card, len(self.cards) // _COLUMNS, len(self.cards) % _COLUMNS)
            self.cards.append(card)

    def _choose(self, sample: Sample) -> None:
        (self.replay_requested if sample.recorded else self.problem_requested).emit(sample.path)
