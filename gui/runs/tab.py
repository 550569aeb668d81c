"""One tab: the dashboard of a run, fed by its child process or by a replay, with what went wrong said on top."""

from __future__ import annotations

import math
import time
import traceback

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QLabel,
    QVBoxLayout,
    QWidget,
)

from engine.events import Event, Failed, Notice
from engine.problem import Problem
from engine.solvers import MetricSpec, discover
from gui.app.jobs import Job
from gui.app.theme import Theme
from gui.panels import Panel, RunInfo, panel_for
from gui.plot.area import LettingGo
from gui.runs.bars import SPEEDS, Banner, ReplayBar
from gui.runs.child import Child
from gui.runs.library import RunNote
from gui.runs.player import Player
from gui.runs.recorded import Kept, open_run, read_kept
from gui.runs.summary import Summary, seconds_text

__all__ = ["RunTab"]

_FEED_SECONDS = 0.02
_MOST_EVENTS = 20_000
_LEAST_EVENTS = 200
_DRAW_SECONDS = 0.25


class RunTab(LettingGo, QWidget):
    """A run in a tab.

    Signals: ``moved()`` when its state changes; ``said(level, message)`` for the log; ``ready()`` when a dashboard of a
    recorded run is complete.
    """

    moved = Signal()
    said = Signal(str, str)
    ready = Signal()

    def __init__(self, note: RunNote, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.note, self.theme = note, theme
        self.summary = Summary()
        self.panel: Panel | None = None
        self.child: Child | None = None
        self.player: Player | None = None
        self.bar: ReplayBar | None = None
        self.complete = False
        self._closed = self._troubled = False
        self._most = _LEAST_EVENTS
        self._drawn = 0.0
        self._problem: Problem | None = None
        self._job: Job | None = None
        self.banner = Banner()
        self._waiting = QLabel("Opening the run…")
        self._waiting.setObjectName("muted")
        self._waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._banner_place = QVBoxLayout()
        self._banner_place.setContentsMargins(6, 6, 6, 0)
        self._banner_place.addWidget(self.banner)
        self._layout.addLayout(self._banner_place)
        self._layout.addWidget(self._waiting, 1)
        self._shown: QWidget = self._waiting

    # --- where the events come from -----------------------------------------------------------------------------

    def show_live(self, child: Child, problem: Problem | None, recorded: bool = False) -> None:
        """Follow a child that is about to start; ``recorded`` shows first what the run folder has already."""
        self.child, self._problem = child, problem
        child.setParent(self)
        child.said.connect(lambda line: self.said.emit("info", line))
        child.stopping.connect(self._on_stopping)
        child.ended.connect(self._on_child_end)
        self._make_panel()
        if recorded:
            self._feed_recorded()
        self.summary.state = "starting"
        child.start()
        self._tell()

    def _feed_recorded(self) -> None:
        """The former sittings of a run that goes on."""
        with_events = self.note.path / "events.jsonl"
        if with_events.is_file():
            self.player = Player(with_events, math.inf, self, with_events.stat().st_size)

    def show_recorded(self, speed: float = math.inf) -> None:
        """Show a run folder: at once, or as a replay; the folder is read off this thread."""
        folder = self.note.path
        self.setProperty("asleep", False)
        self._forget_job()
        self._job = Job(lambda: open_run(folder), lambda problem: self._play(problem, speed), self._on_trouble).start()

    def _play(self, problem: Problem, speed: float) -> None:
        self._job = None
        self._problem = problem
        self._make_panel()
        QTimer.singleShot(0, self, lambda: self._begin_playing(speed))  # one after the other, or it would be felt

    def _begin_playing(self, speed: float) -> None:
        if self._closed or self.player is not None or self._job is not None:  # asked for once more meanwhile
            return
        self.player = Player(self.note.path / "events.jsonl", speed, self)
        self.player.rewound.connect(self._on_rewind)
        self.player.ended.connect(self._on_player_end)
        self.bar = ReplayBar(self.player)
        self.bar.toggled.connect(self.moved)
        self._layout.addWidget(self.bar)
        self._tell()

    def _on_trouble(self, error: Exception) -> None:
        self._job = None
        if self._shown is self._waiting:
            self._waiting.setText("This run cannot be shown.")
        self.banner.say(str(error))
        self.said.emit("error", str(error))
        self.summary.state = self.note.state
        self.complete = True
        self.moved.emit()

    def _forget_job(self) -> None:
        """Whatever is being read is not waited for any more."""
        if self._job is not None:
            self._job.forget()
            self._job = None

    def replay(self, speed: float) -> None:
        """Play the run from its beginning."""
        if self.player is None or self.bar is None:
            if self.child is None or not self.child.running:
                self.child = None
                self.complete = False
                self.show_recorded(speed)
            return
        self.player.seek(0.0)
        self.player.paused = False
        index = next((i for i, (_, value) in enumerate(SPEEDS) if value == speed), 2)
        self.bar.speed.setCurrentIndex(index)
        self.player.set_speed(SPEEDS[index][1])

    def _make_panel(self) -> None:
        note = self.note
        solver = discover().get(note.solver)
        metrics: tuple[MetricSpec, ...] = solver.metrics if solver is not None else ()
        folder = note.path if note.path.is_dir() else None
        run = RunInfo(note.solver, metrics, self._problem, folder, note.title, note.colour)
        former, self.panel = self.panel, panel_for(run, self.theme, self)
        self.panel.hide()
        if former is not None:
            self.panel.pages.setCurrentIndex(former.pages.currentIndex())
            if former is not self._shown:
                former.deleteLater()
        state = self.summary.state
        self.summary = Summary()
        self.summary.state = state
        QTimer.singleShot(0, self, self._show_panel)  # in a turn of its own: both together would be felt

    def _show_panel(self) -> None:
        """Put the panel in the place of what is shown."""
        panel, former = self.panel, self._shown
        if panel is None or panel is former:
            return
        self._shown = panel
        self._layout.replaceWidget(former, panel)
        self._layout.setStretchFactor(panel, 1)
        panel.show()
        former.hide()
        former.deleteLater()

    def _on_rewind(self) -> None:
        self.complete = False
        self._forget_job()
        self.summary.state = "running"
        self._make_panel()
        self._tell()

    # --- frame by frame -----------------------------------------------------------------------------------------

    @property
    def hurrying(self) -> bool:
        """Whether a recording is shown as fast as can be: frames then come faster, and are drawn now and then."""
        return self.panel is not None and self.player is not None and self.player.hurrying

    def tick(self) -> None:
        """Take what has come, and show it: called some twelve times a second, and more often while hurrying."""
        if self.panel is None:
            return
        hurrying = self.hurrying
        if self.child is not None and self.player is not None:  # a run that goes on: its past comes first
            events = self.player.take(self._most)
            if self.player.over:
                self.player = None
                self.summary.state = "starting"
        elif self.child is not None and self.child.running:
            events = self.child.take(self._most)
        elif self.player is not None and self.player.running:
            events = self.player.take(self._most)
        else:
            return
        now = time.perf_counter()
        draw = not hurrying or now - self._drawn > _DRAW_SECONDS
        if events:
            self._show(events, draw)
        if hurrying and (draw or not self.hurrying):
            self.panel.refresh()
        if draw:
            self._drawn = now
            if self.bar is not None:
                self.bar.follow()

    def _show(self, events: list[Event], draw: bool) -> None:
        assert self.panel is not None
        began = time.perf_counter()
        before = self.summary.state
        self.summary.take(events)
        try:
            self.panel.feed(events, draw)
        except Exception as error:  # as below; other tabs go on, and so does the run
            if not self._troubled:
                traceback.print_exc()
                self.banner.say(f"Not all of this run can be shown: {error}", "warning")
                self.said.emit("warning", f"some events could not be shown: {error}")
            self._troubled = True
        seconds = time.perf_counter() - began
        if len(events) >= self._most or seconds > _FEED_SECONDS:
            wanted = len(events) * _FEED_SECONDS / max(seconds, 1e-4)
            self._most = int(min(_MOST_EVENTS, max(_LEAST_EVENTS, 0.5 * (self._most + wanted))))
        if self.child is not None and self.player is None:
            for event in events:
                if isinstance(event, Notice):
                    self.said.emit(event.level, event.message)
                elif isinstance(event, Failed):
                    self.said.emit("error", event.message)
            self.note.follow(self.summary)
        if self.summary.state != before:
            self.moved.emit()

    # --- endings ------------------------------------------------------------------------------------------------

    def _on_child_end(self) -> None:
        assert self.child is not None
        state, message = self.child.outcome()
        said = self.summary.live
        if said or message:
            self.summary.end(state, message)
        self.note.follow(self.summary)
        if message:
            hint = (
                " What it had is kept: Run > Continue from checkpoint goes on with it." if self.note.resumable else ""
            )
            self.banner.say(f"{message[:1].upper()}{message[1:]}.{hint}")
            if (said and state != "failed") or not isinstance(self.child.last, Failed):
                self.said.emit("error", message)
            if self.panel is not None:
                self.panel.state(state)
        elif self.child.garbled:
            self.said.emit("warning", f"{self.child.garbled} lines of the solver were no events")
        self.said.emit("info", f"ended: {self.note.state.replace('_', ' ')} after {seconds_text(self.note.seconds)}")
        self._finish()

    def _on_player_end(self) -> None:
        if self.summary.live and self.note.live and self.child is None:
            self.banner.say("This run goes on in another window. This is what it had told when it was opened.", "info")
        elif self.summary.live:
            self.summary.end(self.note.state if not self.note.live else "killed", self.note.message)
            if self.panel is not None:
                self.panel.state(self.summary.state)
            self.moved.emit()
        if self.note.message and not self.complete:
            self.banner.say(self.note.message)
        if self.bar is not None:
            self.bar.follow()
        self._finish()

    def _finish(self) -> None:
        """Have the result read, off this thread, and the panel show it, if there is a folder."""
        if self._closed:  # what a source still says as it is closed
            return
        panel = self.panel
        folder = self.note.path if (self.note.path / "run.toml").is_file() else None
        if panel is None or folder is None:
            self._show_kept(None)
            return
        digester = panel.digester()  # which holds no panel: the last of those must not go on another thread
        self._job = Job(lambda: read_kept(folder, digester), self._show_kept, self._on_no_result).start()
        self._tell()

    def _show_kept(self, kept: Kept | None) -> None:
        self._job = None
        if self.panel is not None:
            try:
                self.panel.show_kept(kept)
            except Exception as error:  # a dashboard must not take the window with it
                self.said.emit("warning", f"the result could not be shown: {error}")
        self.complete = True
        self._tell()
        self.ready.emit()

    def _on_no_result(self, error: Exception) -> None:
        self.said.emit("warning", f"the result could not be read: {error}")
        self._show_kept(None)

    def _on_stopping(self, how: str) -> None:
        self.summary.state = "stopping"
        self.note.state = "stopping"
        if how != "asked to stop":
            self.said.emit("warning", f"the solver process does not stop; it is being {how}")
        self._tell()

    # --- steering -----------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether a child runs for this tab."""
        return self.child is not None and self.child.running

    @property
    def steerable(self) -> bool:
        """Whether there is something to pause."""
        return (self.live and self.summary.state in ("running", "paused")) or (self.bar is not None)

    @property
    def over(self) -> bool:
        """Whether it is a replay that has come to its end."""
        return not self.live and self.bar is not None and self.player is not None and self.player.over

    @property
    def paused(self) -> bool:
        """Whether it is held."""
        if self.live:
            return self.summary.state == "paused"
        return self.player is not None and self.player.paused

    def pause(self) -> None:
        """Hold, or go on."""
        if self.live and self.child is not None:
            (self.child.resume if self.paused else self.child.pause)()
        elif self.bar is not None:
            self.bar.toggle()
            return
        self.moved.emit()

    def stop(self) -> None:
        """End the child."""
        if self.live and self.child is not None:
            self.child.stop()

    def close_sources(self) -> None:
        """The tab goes: stop reading; a child that still runs is killed."""
        self._closed = True
        self._forget_job()
        if self.player is not None:
            self.player.close()
        if self.child is not None:
            self.child.close()

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        self.theme = theme
        if self.panel is not None:
            self.panel.set_theme(theme)

    def _tell(self) -> None:
        self.moved.emit()
