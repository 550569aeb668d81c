"""The tabs in the middle of the window: the problem, runs, comparisons."""

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QTabBar, QTabWidget, QToolButton, QWidget

from gui.app.garbage import return_memory
from gui.app.icons import dot, icon, set_icon
from gui.app.style import set_style
from gui.app.theme import Theme
from gui.compare.statistics import StatisticsTab
from gui.compare.tab import CompareTab
from gui.plot.area import FigureTab
from gui.problem.home import Home
from gui.runs.library import Library
from gui.runs.notes import RunNote
from gui.runs.run_list import RunList
from gui.runs.table import RunTable
from gui.window.log import LogPane
from gui.window.monitor import MonitorTab
from gui.window.run_tab import RunTab

_LONGEST_TITLE = 28  # letters of a title in a tab
_TRIM_AFTER = 1500  # milliseconds after the last tab was closed


class Tabs(QObject):
    """The tabs, also of running runs whose tab is closed; ``idle()`` when the last running child has ended."""

    changed = Signal()
    idle = Signal()
    run_ended = Signal(object)

    def __init__(self, library: Library, run_list: RunList, log: LogPane, home: Home, theme: Theme) -> None:
        super().__init__()
        self._library, self._run_list, self._log, self._theme = library, run_list, log, theme
        self.home = home
        self.runs: dict[str, RunTab] = {}
        self.comparisons: list[FigureTab] = []
        self.discard_ended_hidden = True
        self.command: Sequence[str] | None = None
        """What starts ``quintet`` in child processes; None for the usual."""
        self._trim = QTimer(self, singleShot=True, interval=_TRIM_AFTER)
        self._trim.timeout.connect(return_memory)
        self.widget = QTabWidget(documentMode=True, movable=True, elideMode=Qt.TextElideMode.ElideNone)
        self.widget.setUsesScrollButtons(True)  # tabs that do not fit
        self.widget.setAccessibleName("Open runs")
        self.widget.tabBar().setAccessibleName("Open runs")
        self.widget.setIconSize(QSize(12, 12))
        self.widget.addTab(home, icon("problem"), _tab_text(home.title))
        self.widget.currentChanged.connect(lambda _index: self._on_current())
        self.widget.tabBar().tabMoved.connect(lambda _from, _to: self._keep_home_first())

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "close_tab": self.close_current,
            "monitor": self.show_devices,
            "next_tab": lambda: self._step(1),
            "previous_tab": lambda: self._step(-1),
        }

    # --- which is shown -----------------------------------------------------------------------------------------

    def current(self) -> QWidget | None:
        return self.widget.currentWidget()

    def current_run(self) -> RunTab | None:
        tab = self.widget.currentWidget()
        return tab if isinstance(tab, RunTab) else None

    def opened(self) -> list[QWidget]:
        """The tabs besides the first one, in their order."""
        tabs = (self.widget.widget(index) for index in range(self.widget.count()))
        return [tab for tab in tabs if tab is not None and tab is not self.home]

    def show_home(self) -> None:
        self.update_home()
        self.show(self.home)

    def update_home(self) -> None:
        self.widget.setTabText(0, _tab_text(self.home.title))

    def _keep_home_first(self) -> None:
        index = self.widget.indexOf(self.home)
        if index > 0:
            self.widget.tabBar().moveTab(index, 0)

    def open_runs(self) -> list[RunTab]:
        tabs = (self.widget.widget(index) for index in range(self.widget.count()))
        return [tab for tab in tabs if isinstance(tab, RunTab)]

    def running(self) -> list[RunTab]:
        """The tabs of running children of this window, also those that are closed."""
        return [tab for tab in self.runs.values() if tab.owned]

    def show(self, tab: QWidget) -> None:
        self.widget.setCurrentWidget(tab)
        self._on_current()

    @property
    def theme(self) -> Theme:
        return self._theme

    def show_table(self, table: RunTable) -> None:
        """Make the table of runs the current tab; it is opened first if it is not."""
        if self.widget.indexOf(table) < 0:
            set_style(table, self._theme)
            index = self.widget.insertTab(1, table, icon("table"), table.title)
            self._add_close_button(index, table)
        self.show(table)

    def show_run(self, note: RunNote, speed: float = math.inf) -> None:
        """Make the tab of a run the current one; it is opened first if it is not."""
        tab = self.runs.get(note.key)
        if tab is None:
            tab = self.add(note)
            if note.state == "queued":
                tab.show_queued()
            else:
                tab.open(speed)
        elif speed != math.inf:
            tab.replay(speed)
        if self.widget.indexOf(tab) < 0:
            self._insert(tab)
        self.show(tab)
        self._run_list.select(note)

    def show_banner(self, note: RunNote, message: str) -> None:
        """Show an error above the dashboard of a run, if its tab is open."""
        if note.key in self.runs:
            self.runs[note.key].banner.show_message(message)

    def _step(self, step: int) -> None:
        if self.widget.count():
            self.widget.setCurrentIndex((self.widget.currentIndex() + step) % self.widget.count())

    def _show_theme(self) -> None:
        """Change the colours of the current tab, if it was hidden when the theme changed."""
        tab = self.current()
        if isinstance(tab, RunTab | FigureTab | RunTable | Home):
            set_style(tab, self._theme)
            if tab.theme is not self._theme:
                tab.set_theme(self._theme)

    def _on_current(self) -> None:
        self._show_theme()
        tab = self.current_run()
        if tab is not None:
            if not tab.loaded:
                tab.open()
            if self._run_list.selected() != [tab.note] and not self._run_list.view.hasFocus():
                self._run_list.select(tab.note)
        self.changed.emit()

    # --- opening and closing ------------------------------------------------------------------------------------

    def add(self, note: RunNote, hidden: bool = False) -> RunTab:
        """Make an empty tab for a run; a hidden one is opened when the run is."""
        tab = RunTab(note, self._theme)
        tab.usual_kernels = self._library.usual_kernels(note)
        set_style(tab, self._theme)  # while it is empty
        tab.logged.connect(lambda level, message: self._log.add(message, level, note.title))
        tab.state_changed.connect(lambda: self._on_state(tab))
        tab.ready.connect(self.changed)
        tab.child_ended.connect(lambda: self.run_ended.emit(tab))
        self.runs[note.key] = tab
        if not hidden:
            self._insert(tab)
        return tab

    def compare(self, notes: Sequence[RunNote]) -> None:
        self._add_comparison(CompareTab(notes, self._theme))

    def show_statistics(self, notes: Sequence[RunNote]) -> None:
        self._add_comparison(StatisticsTab(notes, self._theme))

    def show_devices(self) -> None:
        """Open the state of all devices of the machine, once."""
        opened = next((tab for tab in self.comparisons if isinstance(tab, MonitorTab)), None)
        if opened is not None:
            self.show(opened)
        else:
            self._add_comparison(MonitorTab(self._theme, self.command))

    def _add_comparison(self, tab: FigureTab) -> None:
        set_style(tab, self._theme)
        tab.ready.connect(self.changed)
        self.comparisons.append(tab)
        index = self.widget.addTab(tab, icon(tab.image), _tab_text(tab.title))
        self._add_close_button(index, tab)
        self.widget.setTabToolTip(index, tab.title)
        self.show(tab)

    def _insert(self, tab: RunTab) -> None:
        index = self.widget.addTab(tab, QIcon(dot(tab.note.colour)), "")
        self.update_titles()
        self.widget.setTabToolTip(index, tab.note.problem)
        self._add_close_button(index, tab)

    def _add_close_button(self, index: int, tab: QWidget) -> None:
        button = QToolButton(autoRaise=True)
        button.setObjectName("close")
        button.setIconSize(QSize(12, 12))
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        set_icon(button, "close")
        button.setAccessibleName("Close the tab")
        button.clicked.connect(lambda: self.close(tab))
        self.widget.tabBar().setTabButton(index, QTabBar.ButtonPosition.RightSide, button)

    def close_current(self) -> None:
        """Close the current tab; its run is kept, and continues if it is running."""
        tab = self.current()
        if tab is not None and tab is not self.home:
            self.close(tab)

    def close(self, tab: QWidget) -> None:
        """Close a tab; its run is kept, and continues if it is running."""
        if isinstance(tab, RunTab) and (tab.live or tab.queued):
            self.widget.removeTab(self.widget.indexOf(tab))
            self._log.add("tab closed; the run continues and can be opened from the run list", run=tab.note.title)
        elif isinstance(tab, RunTab | FigureTab):
            self.discard(tab)
        else:
            self.widget.removeTab(self.widget.indexOf(tab))
        self._on_current()

    def discard(self, tab: RunTab | FigureTab) -> None:
        """Close a tab and release what it holds; a running child is killed."""
        tab.close_sources()
        if isinstance(tab, RunTab):
            self.runs.pop(tab.note.key, None)
        else:
            self.comparisons.remove(tab)
        index = self.widget.indexOf(tab)
        if index >= 0:
            self.widget.removeTab(index)
        tab.deleteLater()
        self._trim.start()

    def discard_run(self, note: RunNote) -> None:
        """Close the tab of a run, if it has one, and release what it holds."""
        if note.key in self.runs:
            self.discard(self.runs[note.key])

    def release(self) -> None:
        """Stop all sources and take the plots apart; the window is closing."""
        tabs: list[RunTab | FigureTab] = [*self.runs.values(), *self.comparisons]
        for tab in tabs:
            tab.close_sources()
            tab.cleanup()
        self.home.preview.estimate.close_process()
        self.home.preview.cleanup()

    # --- changes ------------------------------------------------------------------------------------------------

    def tick(self) -> bool:
        """Show new events in all tabs; True if one is fast-forwarding, so that frames should come faster."""
        for compared in self.comparisons:
            compared.tick()
        for tab in list(self.runs.values()):
            tab.tick()
            if tab.live:
                self._run_list.update_run(tab.note)
        return any(tab.fast_forwarding for tab in self.runs.values())

    def _on_state(self, tab: RunTab) -> None:
        waited = tab.note.state in ("queued", "cancelled")
        if (tab.child is not None or waited) and self._library.find(tab.note.key) is tab.note:
            self._library.save(tab.note)
            self._run_list.update_run(tab.note)
            self.update_titles()
            if not (tab.live or waited) and self.widget.indexOf(tab) < 0 and self.discard_ended_hidden:
                self.discard(tab)
        self.changed.emit()
        if not self.running():
            self.idle.emit()

    def update_titles(self) -> None:
        for tab in self.open_runs():
            self.widget.setTabText(self.widget.indexOf(tab), self._title(tab.note))

    def _title(self, note: RunNote) -> str:
        return _tab_text(self._library.model.full_title(note))

    def update_note(self, note: RunNote) -> None:
        """Show the tags and the note of a run as they are now."""
        tab = self.runs.get(note.key)
        if tab is not None and tab.panel is not None:
            tab.panel.info.update()

    def set_theme(self, theme: Theme) -> None:
        """Change the colours of the tab bar and of the current tab; the others follow when they are shown."""
        self._theme = theme
        set_style(self.widget.tabBar(), theme)
        self.widget.setTabIcon(0, icon("problem"))
        self._show_theme()
        for tab in self.opened():
            if isinstance(tab, RunTable):
                self.widget.setTabIcon(self.widget.indexOf(tab), icon("table"))
        for extra in self.comparisons:
            self.widget.setTabIcon(self.widget.indexOf(extra), icon(extra.image))


def _tab_text(title: str) -> str:
    """A title as the text of a tab: a long one loses its middle, as names often differ at their ends."""
    if len(title) > _LONGEST_TITLE:
        title = f"{title[: _LONGEST_TITLE - 11]}…{title[-10:]}"
    return title.replace("&", "&&")  # which would underline the next letter
