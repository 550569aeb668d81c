"""The window and runs: start, steer, open, replay, compare, rename, delete; and their tabs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QFileSystemWatcher, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QIcon
from PySide6.QtWidgets import (
    QInputDialog,
    QMessageBox,
    QTabBar,
    QToolButton,
    QWidget,
)

import engine
from gui.app.icons import dot, icon, set_icon
from gui.compare.tab import CompareTab
from gui.problem.command_line import resume_words, solve_words
from gui.runs.child import Child
from gui.runs.library import RunNote
from gui.runs.tab import RunTab

__all__ = ["Runs"]

_SETTLING = 400  # milliseconds


class Runs:
    """What the window does with runs and their tabs; a part of :class:`gui.window.MainWindow`."""

    # --- runs ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Solve the problem at the left with the options of its form."""
        instance = self.pane.instance
        if instance is None or self._loading is not None or self._quitting:
            return
        if errors := self.pane.errors():
            self.docks["problem"].show()
            self.say("; ".join(errors), "error")
            return
        settings, options = self.pane.settings(), self.pane.options()
        note = self.library.new(
            instance.problem.name,
            solver=instance.solver.name,
            problem=instance.problem.describe(),
            source=str(instance.source),
            options=options,
            settings=settings,
        )
        words = solve_words(instance.source, {**settings, "run_folder": note.folder}, options)
        self._start_child(note, words, instance.problem)

    def resume_run(self) -> None:
        """Go on with a run from its checkpoint."""
        for note in self._targets():
            if note.resumable:
                self._work(
                    lambda note=note: engine.folder.RunFolder.open(note.path).problem(),
                    lambda problem, note=note: self._resume(note, problem),
                )
                return

    def _resume(self, note: RunNote, problem: Any) -> None:
        """Go on with a run whose problem has been read, unless something else has become of it meanwhile."""
        if not note.resumable or self._quitting or self.library.find(note.key) is not note:
            return
        if note.key in self._tabs:
            self._drop(self._tabs[note.key])
        self._start_child(note, resume_words(note.folder), problem, recorded=True)

    def _start_child(self, note: RunNote, words: list[str], problem: Any, recorded: bool = False) -> None:
        note.state, note.message, note.window = "starting", "", os.getpid()
        child = Child(words, command=self._command, patience=self.patience)
        tab = self._add_tab(note)
        self.run_list.renew()
        self.run_list.select(note)
        self.say("started: quintet " + " ".join(words), run=note.title)
        tab.show_live(child, problem, recorded)
        self._show(tab)

    def pause(self) -> None:
        """Hold the run of this tab, or let it go on."""
        tab = self._run_tab()
        if tab is not None and tab.steerable:
            tab.pause()

    def stop(self) -> None:
        """End the run of this tab: ask, then terminate, then kill."""
        tab = self._run_tab()
        if tab is not None:
            tab.stop()

    def open_run(self) -> None:
        """Show the selected runs."""
        for note in self.run_list.selected():
            self._show_run(note)

    def replay(self) -> None:
        """Play a run again."""
        for note in self._targets():
            if self._replayable(note):
                self._show_run(note, speed=1.0)
                return

    def compare(self) -> None:
        """Show two runs over each other."""
        notes = self.run_list.selected()
        if len(notes) != 2:
            return
        tab = CompareTab(notes, self.theme)
        tab.ready.connect(self._enable)
        self._compared.append(tab)
        index = self.tabs.addTab(tab, tab.title)
        self.tabs.setTabIcon(index, icon("compare"))
        self._add_close_button(index, tab)
        self.tabs.setTabToolTip(index, f"Comparison of {tab.title}")
        self._show(tab)

    def rerun(self) -> None:
        """Load a run's problem and options, to change them and run again."""
        notes = self._targets()
        if not notes:
            return
        note = notes[0]
        source = Path(note.source) if note.source else None
        if source is None or not source.is_file():
            what = f"the file {note.source} is gone" if note.source else "nothing says which file it came from"
            if not (note.path / "problem.npz").is_file():
                why = f"{what}, and the run keeps no copy"
                self.say(f"cannot load the problem of {note.title}: {why}", "error", note.title)
                self._banner(note, f"The problem of this run cannot be loaded: {why}. Open the file by hand.")
                return
            self.say(f"{what}; the problem is the copy that the run keeps", run=note.title)
            source = note.path

        def fill() -> None:
            assert self.pane.form is not None
            assert self.pane.run_form is not None
            self.pane.form.set_values(note.options)
            self.pane.run_form.set_values(note.settings)
            self.tool_bar.set_values({name: note.settings.get(name) for name in ("devices", "time_limit")})
            self.tool_bar.set_values({"backend": note.settings.get("backend", self.tool_bar.base.backend)})
            self.focus_problem()

        self.load(source, fill)

    def rename(self) -> None:
        """Give a run another title."""
        notes = self._targets()
        if not notes:
            return
        note = notes[0]
        dialog = QInputDialog(self)
        dialog.setWindowTitle("Rename")
        dialog.setLabelText("Title of the run:")
        dialog.setTextValue(note.title)
        dialog.textValueSelected.connect(lambda text: self._rename(note, text))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _rename(self, note: RunNote, text: str) -> None:
        if text.strip() and self.library.find(note.key) is note:  # another window may have deleted it
            note.title = text.strip()
            self.library.save(note)
            self.run_list.touch(note)
            for index in range(self.tabs.count()):
                tab = self.tabs.widget(index)
                if isinstance(tab, RunTab) and tab.note is note:
                    self.tabs.setTabText(index, note.title)

    def delete(self) -> None:
        """Delete runs, after asking."""
        notes = [note for note in self._targets() if not note.live]
        if not notes:
            self.say("a run that goes on cannot be deleted; stop it first", "warning")
            return
        what = f"“{notes[0].title}”" if len(notes) == 1 else f"{len(notes)} runs"
        own = [note for note in notes if self.library.owns(note)]
        box = QMessageBox(QMessageBox.Icon.Question, "Delete", f"Delete {what}?", parent=self)
        box.setInformativeText(
            "The run folders are deleted, with all results in them."
            if own
            else "It is taken off the list; its folder, which is kept elsewhere, stays."
        )
        yes = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.buttonClicked.connect(lambda button: self._delete(notes) if button is yes else None)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _delete(self, notes: Sequence[RunNote]) -> None:
        for note in notes:
            if note.key in self._tabs:
                self._drop(self._tabs[note.key])
            try:
                self.library.delete(note)
            except OSError as error:
                self.say(f"{note.folder} cannot be deleted: {error}", "error")
        self.run_list.renew()
        self._enable()

    def reveal(self) -> None:
        """Show a run's folder in the file manager."""
        for note in self._targets()[:1]:
            QDesktopServices.openUrl(QUrl.fromLocalFile(note.folder))

    def _targets(self) -> list[RunNote]:
        """The runs an action is about: those selected, else the one in the middle."""
        chosen = self.run_list.selected()
        tab = self._run_tab()
        return chosen or ([tab.note] if tab is not None else [])

    def _replayable(self, note: RunNote) -> bool:
        return not note.live and (note.path / "events.jsonl").is_file()

    def _banner(self, note: RunNote, message: str) -> None:
        if note.key in self._tabs:
            self._tabs[note.key].banner.say(message)

    # --- other windows ------------------------------------------------------------------------------------------

    def _watch_runs(self) -> None:
        """Have an eye on the folder of runs: another window, or a person, may change it."""
        self.library.runs.mkdir(parents=True, exist_ok=True)
        self._watcher = QFileSystemWatcher([str(self.library.runs)], self)
        self._settling = QTimer(self)  # a run that starts writes several times
        self._settling.setSingleShot(True)
        self._settling.setInterval(_SETTLING)
        self._settling.timeout.connect(self.look_again)
        self._watcher.directoryChanged.connect(lambda _path: self._settling.start())

    def look_again(self) -> None:
        """Follow what has changed in the folder of runs."""
        chosen = self.run_list.selected()
        if not self.library.look_again(self._is_ours):
            return
        self.run_list.renew(chosen)
        for index in range(self.tabs.count()):
            tab = self.tabs.widget(index)
            if isinstance(tab, RunTab):
                self.tabs.setTabText(index, tab.note.title)
        self._enable()

    def _is_ours(self, note: RunNote) -> bool:
        """Whether a run goes on in this window."""
        tab = self._tabs.get(note.key)
        return tab is not None and tab.live

    # --- tabs ---------------------------------------------------------------------------------------------------

    def _add_tab(self, note: RunNote) -> RunTab:
        tab = RunTab(note, self.theme)
        tab.said.connect(lambda level, message: self.say(message, level, note.title))
        tab.moved.connect(lambda: self._on_moved(tab))
        tab.ready.connect(self._enable)
        self._tabs[note.key] = tab
        self._put(tab)
        return tab

    def _put(self, tab: RunTab) -> None:
        index = self.tabs.addTab(tab, QIcon(dot(tab.note.colour)), tab.note.title)
        self.tabs.setTabToolTip(index, tab.note.problem)
        self._add_close_button(index, tab)

    def _add_close_button(self, index: int, tab: QWidget) -> None:
        button = QToolButton()
        button.setObjectName("close")
        button.setAutoRaise(True)
        button.setIconSize(QSize(12, 12))
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        set_icon(button, "close")
        button.setAccessibleName("Close the tab")
        button.clicked.connect(lambda: self._close(tab))
        self.tabs.tabBar().setTabButton(index, QTabBar.ButtonPosition.RightSide, button)

    def _show_run(self, note: RunNote, speed: float = float("inf")) -> None:
        """Bring a run to the front, opened if it is not."""
        tab = self._tabs.get(note.key)
        if tab is None:
            tab = self._add_tab(note)
            tab.show_recorded(speed)
        elif speed != float("inf"):
            tab.replay(speed)
        if self.tabs.indexOf(tab) < 0:
            self._put(tab)
        self._show(tab)
        self.run_list.select(note)

    def _show(self, tab: QWidget) -> None:
        self.middle.setCurrentWidget(self.tabs)
        self.tabs.setCurrentWidget(tab)
        self._enable()

    def _run_tab(self) -> RunTab | None:
        tab = self.tabs.currentWidget()
        return tab if isinstance(tab, RunTab) else None

    def close_tab(self) -> None:
        """Close the tab; its run is kept, and goes on if it runs."""
        self._close(self.tabs.currentWidget())

    def _close(self, tab: QWidget | None) -> None:
        if isinstance(tab, RunTab) and tab.live:
            self.tabs.removeTab(self.tabs.indexOf(tab))
            self.say("its tab is closed; it goes on, and can be opened from the list of runs", run=tab.note.title)
        elif isinstance(tab, (RunTab, CompareTab)):
            self._drop(tab)
        self._on_tab()

    def _drop(self, tab: RunTab | CompareTab) -> None:
        """Give up a tab for good."""
        tab.close_sources()
        if isinstance(tab, RunTab):
            self._tabs.pop(tab.note.key, None)
        else:
            self._compared.remove(tab)
        index = self.tabs.indexOf(tab)
        if index >= 0:
            self.tabs.removeTab(index)
        tab.deleteLater()

    def _on_moved(self, tab: RunTab) -> None:
        """A run has changed its state."""
        if tab.child is not None and self.library.find(tab.note.key) is tab.note:
            self.library.save(tab.note)
            self.run_list.touch(tab.note)
            if not tab.live and self.tabs.indexOf(tab) < 0 and not self._quitting:
                self._drop(tab)
        self._enable()
        if self._quitting and not any(other.live for other in self._tabs.values()):
            QTimer.singleShot(0, self.close)

    def _on_tab(self) -> None:
        if not self.tabs.count():
            self.middle.setCurrentIndex(0)
        if self._run_tab() is None:
            for label in (self.state, self.phase, self.rate, self.elapsed):
                self._label(label, "")
            self.progress.hide()
        tab = self._run_tab()
        if tab is not None:
            if tab.panel is None and tab.child is None and tab.property("asleep"):
                tab.show_recorded()
            if self.run_list.selected() != [tab.note] and not self.run_list.view.hasFocus():
                self.run_list.select(tab.note)
        self._enable()

    def _on_chosen(self) -> None:
        chosen = self.run_list.selected()
        if len(chosen) == 1 and chosen[0].key in self._tabs:
            tab = self._tabs[chosen[0].key]
            if self.tabs.indexOf(tab) >= 0 and self.tabs.currentWidget() is not tab:
                self.tabs.setCurrentWidget(tab)
        self._enable()

    def next_tab(self) -> None:
        """The tab to the right."""
        self._step(1)

    def previous_tab(self) -> None:
        """The tab to the left."""
        self._step(-1)

    def _step(self, step: int) -> None:
        if self.tabs.count():
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())
