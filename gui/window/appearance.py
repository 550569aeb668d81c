"""How the window looks, where the focus is, and its help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QMessageBox,
)

import engine
from gui.actions.palette import Palette
from gui.actions.shortcuts import ShortcutSheet
from gui.actions.table import ACTIONS, plain
from gui.app.icons import application_icon, icon, refresh_icons, set_icon
from gui.app.style import style_sheet
from gui.app.theme import system_theme, theme_named
from gui.runs.summary import state_text

__all__ = ["Looks"]


class Looks:
    """Themes, focus and help; a part of :class:`gui.window.MainWindow`."""

    # --- looks --------------------------------------------------------------------------------------------------

    def _chosen_theme(self) -> Any:
        app = QGuiApplication.instance()
        assert isinstance(app, QApplication)
        if self._theme_choice in ("light", "dark"):
            return theme_named(self._theme_choice)
        return system_theme(app)

    def _dress(self, _scheme: Any = None) -> None:
        self.theme = self._chosen_theme()
        app = QGuiApplication.instance()
        assert isinstance(app, QApplication)
        self.theme.apply(app)
        app.setStyleSheet(style_sheet(self.theme))
        set_icon(self.actions_by_name["start"], "run", self.theme.accent_text if self.pane.instance else None)
        refresh_icons(self)
        self.run_list.set_theme(self.theme)
        self.log.set_theme(self.theme)
        self.pane.gallery.set_theme(self.theme)
        for tab in (*self._tabs.values(), *self._compared):
            tab.set_theme(self.theme)
        for tab in self._compared:
            self.tabs.setTabIcon(self.tabs.indexOf(tab), icon("compare"))
        self.actions_by_name[f"theme_{self._theme_choice}"].setChecked(True)
        self.state.setProperty("colour", None)

    def set_theme_choice(self, choice: str) -> None:
        """``"system"``, ``"light"`` or ``"dark"``."""
        self._theme_choice = choice
        self.settings.setValue("theme", choice)
        self._dress()

    def theme_system(self) -> None:
        """Follow the system."""
        self.set_theme_choice("system")

    def theme_light(self) -> None:
        """Light."""
        self.set_theme_choice("light")

    def theme_dark(self) -> None:
        """Dark."""
        self.set_theme_choice("dark")

    def switch_theme(self) -> None:
        """The other one."""
        self.set_theme_choice("light" if self.theme.dark else "dark")

    def full_screen(self) -> None:
        """All of the screen, or not."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def focus_problem(self) -> None:
        """To the left side."""
        self.docks["problem"].show()
        form = self.pane.form
        (form.editor(form.names[0]) if form is not None and form.names else self.pane.gallery).setFocus()

    def focus_run(self) -> None:
        """To the middle."""
        tab = self._run_tab()
        (tab.panel.pages.tabBar() if tab is not None and tab.panel is not None else self.tabs.tabBar()).setFocus()

    def focus_runs(self) -> None:
        """To the right side."""
        self.docks["runs"].show()
        (self.run_list.view if self.library.notes else self.run_list.filter).setFocus()

    def focus_log(self) -> None:
        """To the bottom."""
        self.docks["log"].show()
        self.log.filter.setFocus()

    # --- help ---------------------------------------------------------------------------------------------------

    def find_command(self) -> None:
        """Find a command by typing."""
        entries: list[tuple[str, str, Callable[[], object] | None]] = []
        later: list[tuple[str, str, Callable[[], object] | None]] = []
        for action in ACTIONS:
            made = self.actions_by_name.get(action.name)
            if made is None or action.name == "find_command":
                continue
            if made.isEnabled():
                entries.append((plain(made.text()), made.shortcut().toString(), made.trigger))
            else:
                later.append((plain(made.text()), "not now", None))
        for dock in self.docks.values():
            entries.append((f"Show or hide {dock.windowTitle().lower()}", "", dock.toggleViewAction().trigger))
        for sample in self._samples:
            act = self.show_folder if sample.recorded else self.load
            entries.append((f"Sample: {sample.title}", sample.group, lambda act=act, path=sample.path: act(path)))
        for note in self.library:
            entries.append((f"Run: {note.title}", state_text(note.state), lambda note=note: self._show_run(note)))
        self.command_palette = Palette(entries + later, self)
        self.command_palette.show()
        self.command_palette.line.setFocus()

    def shortcuts(self) -> None:
        """All keys."""
        self.sheet = ShortcutSheet(self.actions_by_name, self)
        self.sheet.open()

    def about(self) -> None:
        """What this is."""
        box = QMessageBox(self)
        box.setWindowTitle("About Quintet")
        box.setIconPixmap(application_icon().pixmap(QSize(48, 48)))
        box.setText(f"<b>Quintet {engine.__version__}</b>")
        box.setInformativeText(
            f"Published GPU algorithms for hard problems, on CUDA and OpenCL.\nRuns are kept in {self.library.runs}."
        )
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()
