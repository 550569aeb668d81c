"""The tab with the table of all runs, and what the user writes about a run: tags, a note, a colour."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMenu

from gui.app.icons import dot
from gui.runs.notes import COLOURS, RunNote, named
from gui.runs.table import RunTable
from gui.window.controller import Controller, Parts


class AllRuns(Controller):
    """Shows the run table in a tab, and edits what the user notes of the runs that an action targets."""

    selection_changed = Signal()
    open_requested = Signal()
    menu_requested = Signal(QPoint)

    def __init__(self, parts: Parts, targets: Callable[[], Sequence[RunNote]]) -> None:
        super().__init__(parts)
        self._targets = targets
        self.table: RunTable | None = None
        self.colours = self._colour_menu()

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {"run_table": self.show, "set_tags": self.ask_tags, "set_note": self.ask_note}

    def show(self) -> None:
        if self.table is None:
            self.table = RunTable(self._library, self._settings, self._tabs.theme)
            self.table.selection_changed.connect(self.selection_changed)
            self.table.open_requested.connect(self.open_requested)
            self.table.menu_requested.connect(self.menu_requested)
        self._tabs.show_table(self.table)
        self.table.filter.setFocus()

    def selection(self) -> list[RunNote] | None:
        """The runs that are selected in the table; None if it is not the current tab."""
        if self.table is None or self._tabs.current() is not self.table:
            return None
        return self.table.selected()

    def ask_tags(self) -> None:
        notes = list(self._targets())
        if not notes:
            return
        common = [tag for tag in notes[0].tags if all(tag in note.tags for note in notes)]
        label = f"Tags of {named(notes)}, separated by commas:"
        self._ask_text("Tags", label, ", ".join(common), lambda text: self.set_tags(notes, text))

    def set_tags(self, notes: Sequence[RunNote], text: str) -> None:
        """Give runs these tags, separated by commas; one run loses its others, several only those they all had."""
        wanted = list(dict.fromkeys(tag.strip() for tag in text.split(",") if tag.strip()))
        common = {tag for tag in notes[0].tags if all(tag in note.tags for note in notes)} if notes else set()
        for note in notes:
            note.tags = [*(tag for tag in note.tags if tag not in common and tag not in wanted), *wanted]
            self._save(note)

    def ask_note(self) -> None:
        notes = list(self._targets())
        if notes:
            text = notes[0].comment
            self._ask_text(
                "Note", f"Note on {notes[0].title}:", text, lambda text: self.set_note(notes[0], text), long=True
            )

    def set_note(self, note: RunNote, text: str) -> None:
        note.comment = text.strip()
        self._save(note)

    def set_colour(self, colour: str) -> None:
        """Change the colour of the runs that the action applies to; open dashboards keep theirs."""
        for note in self._targets():
            note.colour = colour
            self._save(note)

    def _save(self, note: RunNote) -> None:
        if self._library.find(note.key) is note:  # another window may have deleted it
            self._library.save(note)
            self._list.update_run(note)
            self._tabs.update_note(note)

    def _colour_menu(self) -> QMenu:
        menu = QMenu("&Colour", self._window)
        for number, colour in enumerate(COLOURS, start=1):
            action = menu.addAction(QIcon(dot(colour)), f"Colour &{number}")
            action.triggered.connect(lambda _checked=False, colour=colour: self.set_colour(colour))
        return menu
