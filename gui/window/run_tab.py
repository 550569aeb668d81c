"""The tab of a run: its dashboard, fed by a child process or by a replay, with error messages above it."""

import math
import os
import time
import traceback

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from engine.base.problem import Problem
from engine.base.solver import MetricSpec
from engine.events import Event, Failed, Notice
from engine.runs.folder.lock import writer_of
from engine.runs.run_events import finished
from engine.solvers import discover
from engine.util.text import counted, seconds_text
from gui.app.jobs import Job
from gui.app.theme import Theme
from gui.app.trust import ask_trust
from gui.app.widgets import filled, text_label
from gui.panels import Panel, RunInfo, panel_for
from gui.plot.area import Cleanup
from gui.runs.child import STOP_REQUESTED, Child
from gui.runs.follower import Follower
from gui.runs.notes import RunNote
from gui.runs.player import Player, first_value
from gui.runs.recorded import Opened, Recorded, open_run, read_recorded
from gui.runs.view import NO_SOLUTION, RunView
from gui.window.bars import SPEEDS, Banner, ReplayBar

_FEED_SECONDS = 0.02
_MOST_EVENTS = 20_000
_LEAST_EVENTS = 200
_DRAW_SECONDS = 0.25
_BEFORE_VALUES = 1.0  # seconds of compiling that a replay begins with


class RunTab(Cleanup, QWidget):
    """A run in a tab; ``ready()`` when a recorded run is complete, ``child_ended()`` when its process has ended."""

    state_changed = Signal()
    logged = Signal(str, str)
    ready = Signal()
    child_ended = Signal()

    def __init__(self, note: RunNote, theme: Theme) -> None:
        super().__init__()
        self.note, self.theme = note, theme
        self.view = RunView()
        self.panel: Panel | None = None
        self.child: Child | Follower | None = None
        self.player: Player | None = None
        self.bar: ReplayBar | None = None
        self.complete = False
        self.loaded = True
        self.usual_kernels = 0
        """How many kernel templates an earlier run like this one needed; 0 if unknown."""
        self._closed = self._incomplete = False
        self._most = _LEAST_EVENTS
        self._drawn = 0.0
        self._problem: Problem | None = None
        self._job: Job | None = None
        self.state_changed.connect(self.show_view)  # before others show what has changed
        self.banner = Banner()
        self._waiting = text_label("Opening the run…", kind="muted")
        self._waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._banner_place = filled(QVBoxLayout(), self.banner, margins=(6, 6, 6, 0))
        self._layout = filled(
            QVBoxLayout(self), self._banner_place, (self._waiting, 1), margins=(0, 0, 0, 0), spacing=0
        )
        self._shown: QWidget = self._waiting

    # --- where the events come from -----------------------------------------------------------------------------

    @property
    def queued(self) -> bool:
        """Whether the run waits for another one to end."""
        return self.child is None and self.note.state == "queued"

    def show_queued(self) -> None:
        self.view.state = self.note.state = "queued"
        self.state_changed.emit()

    def explain_wait(self, held: bool, before: int) -> None:
        """Say what a queued run waits for: the release of the queue, or the end of others."""
        if held:
            why = "Queued, and the queue is held: no run starts until Run > Hold the queue is switched off."
        else:
            why = f"Queued, after {counted(before, 'other run')}." if before else "Queued. It is the next to start."
        self._waiting.setText(f"{why}\nStop removes it from the queue.")

    def cancel(self) -> None:
        self.view.end("cancelled")
        self.note.state = "cancelled"
        self._waiting.setText("Removed from the queue before it started.")
        self.complete = True
        self.state_changed.emit()

    def open(self, speed: float = math.inf) -> None:
        """Show a run folder: live if another process writes to it, else as a recording."""
        if self.note.live and writer_of(self.note.path) is not None and math.isinf(speed):
            self.follow()
        else:
            self.show_recorded(speed)

    def follow(self) -> None:
        """Show a run that another process writes, and its events as they come."""
        self.loaded = True
        follower = Follower(self.note.path)
        self.show_live(follower, None)
        self.banner.show_message(f"This run belongs to {follower.where}; it is followed here.", "info")

    def show_live(self, child: Child | Follower, problem: Problem | None, recorded: bool = False) -> None:
        """Start a child and show its events; with ``recorded``, show the events in the run folder first."""
        self.child, self._problem = child, problem
        child.setParent(self)
        child.line_read.connect(lambda line: self.logged.emit("info", line))
        child.stopping.connect(self._on_stopping)
        child.ended.connect(self._on_child_end)
        self._make_panel()
        if self.panel is not None:
            self.panel.wait_for("Starting the solver and opening the devices…")
        if recorded:
            self._show_earlier_sessions()
        self.view.state = "starting"
        child.start()
        self.state_changed.emit()

    def _show_earlier_sessions(self) -> None:
        """Show the recorded events of a run that is resumed."""
        events = self.note.path / "events.jsonl"
        if os.path.isfile(events):
            self.player = Player(events, math.inf, self, events.stat().st_size)

    def show_recorded(self, speed: float = math.inf) -> None:
        """Show a run folder, at once or as a replay; it is read in the background."""
        folder = self.note.path
        self.loaded = True
        self._discard_job()

        def failed(error: Exception) -> None:
            self._job = None
            if not self._closed:
                ask_trust(error, self, lambda: self.show_recorded(speed), self._on_trouble)

        self._job = Job(lambda: open_run(folder), lambda opened: self._play(opened, speed), failed).start()
        self.show_view()

    def _play(self, opened: Opened, speed: float) -> None:
        self._job = None
        self._problem = opened.problem
        if opened.damage:
            self.banner.show_message(
                f"{opened.damage}. The run is shown from its events and its result, without the data of its problem.",
                "warning",
            )
            self.logged.emit("warning", opened.damage)
        self._make_panel()
        QTimer.singleShot(0, self, lambda: self._begin_playing(speed))  # not in the same turn: both block too long

    def _begin_playing(self, speed: float) -> None:
        if self._closed or self.player is not None or self._job is not None:  # requested again meanwhile
            return
        self.player = Player(self.note.path / "events.jsonl", speed, self)
        self.player.rewound.connect(self._on_rewind)
        self.player.ended.connect(self._on_player_end)
        if math.isfinite(speed):
            self.player.seek(max(0.0, first_value(self.note.path / "events.jsonl") - _BEFORE_VALUES))
        self.bar = ReplayBar(self.player)
        self.bar.toggled.connect(self.state_changed)
        self._layout.addWidget(self.bar)
        self.state_changed.emit()

    def _on_trouble(self, error: Exception) -> None:
        self._job = None
        if self._shown is self._waiting:
            self._waiting.setText("This run cannot be shown.")
        self.banner.show_message(str(error))
        self.logged.emit("error", str(error))
        self.view.state = self.note.state
        self.complete = True
        self.state_changed.emit()

    def _discard_job(self) -> None:
        """Ignore the result of what is being read."""
        if self._job is not None:
            self._job.discard()
            self._job = None

    def replay(self, speed: float) -> None:
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
        folder = note.path if os.path.isdir(note.path) else None
        schema = solver.schema if solver is not None else None
        run = RunInfo(note.solver, metrics, self._problem, folder, note.title, schema, note)
        state, self.view = self.view.state, RunView()
        self.view.state, self.view.usual_kernels = state, self.usual_kernels
        former, self.panel = self.panel, panel_for(run, self.theme, self, self.view)
        self.panel.show_view()
        self.panel.hide()
        self.panel.time_chosen.connect(lambda time: None if self.player is None else self.player.show(time))
        if former is not None:
            self.panel.pages.setCurrentIndex(former.pages.currentIndex())
            if former is not self._shown:
                former.deleteLater()
        QTimer.singleShot(0, self, self._show_panel)  # not in the same turn: together they block too long

    def _show_panel(self) -> None:
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
        self._discard_job()
        self.view.state = "running"
        self._make_panel()
        self.state_changed.emit()

    # --- frame by frame -----------------------------------------------------------------------------------------

    @property
    def fast_forwarding(self) -> bool:
        """Whether a recording is read as fast as possible: frames come faster then, and fewer of them are drawn."""
        return self.panel is not None and self.player is not None and self.player.fast_forwarding

    def tick(self) -> None:
        """Take the events that have arrived and show them, and bring all labels up to date; called for every frame."""
        if self.panel is None:
            return
        if self._tick(self.panel):
            self.show_view()

    def show_view(self) -> None:
        """Show the same numbers in all places."""
        self.view.replay = self._doing()
        player = self.player if self.bar is not None and self.player is not None and not self.player.over else None
        self.view.advance(None if player is None else player.position)
        if self.panel is not None:
            self.panel.show_view()
        if self.child is not None and self.view.started is not None and not self._reading_earlier:
            self.note.follow(self.view)

    @property
    def _reading_earlier(self) -> bool:
        """Whether the recorded events of a resumed run are being read."""
        return self.child is not None and self.player is not None

    def _doing(self) -> str:
        """What is being done with a recording, if there is one and it has not come to its end."""
        if self.panel is None and self._job is not None:
            return "opening"
        if self.player is None or self.player.over:
            return "running elsewhere" if self.child is None and self.complete and self.view.live else ""
        if self.child is not None:
            return "starting"
        if math.isinf(self.player.speed):
            return "opening"
        return "replay, paused" if self.player.paused else "replay"

    def _tick(self, panel: Panel) -> bool:
        """Show what has arrived; whether there is something that may still come."""
        fast_forwarding = self.fast_forwarding
        earlier = self._reading_earlier
        source = self.player if earlier or self.child is None or not self.child.running else self.child
        if source is None or not (earlier or source.running):
            return False
        events = source.take(self._most)
        now = time.perf_counter()
        draw = not fast_forwarding or now - self._drawn > _DRAW_SECONDS
        if events:
            self._show(events)
        if earlier and self.player is not None and self.player.over:
            self.player = None
            self.view.state = "starting"
            self.state_changed.emit()
        if draw or not self.fast_forwarding:
            panel.refresh(at_once=False)
        if draw:
            self._drawn = now
            if self.bar is not None:
                self.bar.follow()
        return True

    def _show(self, events: list[Event]) -> None:
        assert self.panel is not None
        began = time.perf_counter()
        before = self.view.state
        try:
            self.panel.feed(events, draw=False)
        except Exception as error:  # a dashboard's error must stop neither the run nor other tabs
            if not self._incomplete:
                traceback.print_exc()
                self.banner.show_message(f"This run is shown incompletely: {error}", "warning")
                self.logged.emit("warning", f"some events could not be shown: {error}")
            self._incomplete = True
        seconds = time.perf_counter() - began
        if len(events) >= self._most or seconds > _FEED_SECONDS:
            wanted = len(events) * _FEED_SECONDS / max(seconds, 1e-4)
            self._most = int(min(_MOST_EVENTS, max(_LEAST_EVENTS, 0.5 * (self._most + wanted))))
        if self.child is not None and self.player is None:
            for event in events:
                if isinstance(event, Notice):
                    self.logged.emit(event.level, event.message)
                elif isinstance(event, Failed):
                    self.logged.emit("error", event.message)
            self.note.follow(self.view)
        if self.view.state != before:
            self.state_changed.emit()

    # --- endings ------------------------------------------------------------------------------------------------

    def _on_child_end(self) -> None:
        assert self.child is not None
        state, message = self.child.outcome()
        if not self.child.own:
            self.banner.hide()  # it says that the run is in progress elsewhere
        unreported = self.view.live
        if unreported or message:
            self.view.end(state, message)
        self.note.follow(self.view)
        if message:
            self.banner.show_message(f"{message[:1].upper()}{message[1:].rstrip('.')}. {self._resume_hint()}")
            if (unreported and state != "failed") or not isinstance(self.child.last, Failed):
                self.logged.emit("error", message)
        elif self.child.invalid_lines:
            lines = counted(self.child.invalid_lines, "line")
            self.logged.emit("warning", f"ignored {lines} from the solver that no event is in")
        self.child_ended.emit()
        self.logged.emit("info", f"ended: {self.note.state.replace('_', ' ')} after {seconds_text(self.note.seconds)}")
        self._finish()

    def _resume_hint(self) -> str:
        if self.note.resumable:
            return "Run > Resume from checkpoint continues it."
        return (
            "It has no checkpoint, so it cannot be resumed. Runs > Retry starts it again with the same options; "
            "Runs > Run again with changes loads its problem and options into the form."
        )

    def _on_player_end(self) -> None:
        if self.view.live and self.note.live and self.child is None:
            self.banner.show_message("This run is in progress elsewhere; this is its state when it was read.", "info")
        elif self.view.live:
            self.view.end(self.note.state if not self.note.live else "killed", self.note.message)
            self.state_changed.emit()
        if self.note.message and not self.complete and self.note.state not in NO_SOLUTION:
            self.banner.show_message(self.note.message)
        if self.bar is not None:
            self.bar.follow()
        self._finish()

    def _finish(self) -> None:
        """Read the result in the background and show it, if there is a run folder."""
        if self._closed:  # signals that arrive while the tab is closed
            return
        panel = self.panel
        folder = self.note.path if os.path.isfile(self.note.path / "run.toml") else None
        if panel is None or folder is None:
            if folder is None and self.child is not None and self.view.finished:
                self.banner.show_message(f"Its folder {self.note.path} was deleted meanwhile: the result is not kept.")
            self._show_result(None)
            return
        postprocessor = panel.postprocessor()  # it holds no reference to the panel, which must die on this thread
        self._job = Job(lambda: read_recorded(folder, postprocessor), self._show_result, self._on_result_error).start()
        self.state_changed.emit()

    def _show_result(self, recorded: Recorded | None) -> None:
        self._job = None
        if self.panel is not None:
            try:
                self._complete_events(recorded)
                self.panel.show_result(recorded)
            except Exception as error:  # a dashboard must not take the window with it
                self.logged.emit("warning", f"the result could not be shown: {error}")
        self.complete = True
        self.state_changed.emit()
        self.ready.emit()

    def _complete_events(self, recorded: Recorded | None) -> None:
        """Show the last numbers from the result where the record of the events is cut off before them."""
        if self.panel is None or recorded is None or recorded.result is None or self.view.finished:
            return
        cut_off = f"the record of the events is cut off at {seconds_text(self.panel.time)}"
        last = finished(recorded.result, max(self.panel.time, recorded.result.seconds))
        self.panel.feed([last])
        self.banner.show_message(f"{cut_off.capitalize()}. The last numbers come from the result.", "warning")
        self.logged.emit("warning", cut_off)

    def _on_result_error(self, error: Exception) -> None:
        self.logged.emit("warning", f"the result could not be read: {error}")
        self._show_result(None)

    def _on_stopping(self, how: str) -> None:
        self.view.state = "stopping"
        self.note.state = "stopping"
        if how != STOP_REQUESTED:
            self.logged.emit("warning", f"the solver process does not stop; {how}")
        self.state_changed.emit()

    # --- steering -----------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        return self.child is not None and self.child.running

    @property
    def owned(self) -> bool:
        """Whether a child of this window runs for this tab."""
        return self.child is not None and self.child.own and self.child.running

    @property
    def steerable(self) -> bool:
        """Whether there is something to pause."""
        return (self._pausable and self.view.state in ("running", "paused")) or (self.bar is not None)

    @property
    def _pausable(self) -> bool:
        return self.child is not None and self.child.running and self.child.pausable

    @property
    def over(self) -> bool:
        """Whether it is a replay that has ended."""
        return not self.live and self.bar is not None and self.player is not None and self.player.over

    @property
    def paused(self) -> bool:
        if self.live:
            return self.view.state == "paused"
        return self.player is not None and self.player.paused

    def pause(self) -> None:
        """Pause or resume the run, or its replay."""
        if self._pausable and self.child is not None:
            (self.child.resume if self.paused else self.child.pause)()
        elif self.bar is not None:
            self.bar.toggle()
            return
        self.state_changed.emit()

    def stop(self) -> None:
        """Stop the run; see :meth:`gui.runs.child.Child.stop`."""
        if self.live and self.child is not None:
            self.child.stop()

    def close_sources(self) -> None:
        """Stop reading events; a child that still runs is killed."""
        self._closed = True
        self._discard_job()
        if self.player is not None:
            self.player.close()
        if self.child is not None:
            self.child.close()

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        if self.panel is not None:
            self.panel.set_theme(theme)
