"""Starting runs in child processes: the queue, sweeps, the process that waits for the next run."""

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal

from engine.api.sweep import Sweep
from engine.base.problem import Problem
from engine.util.text import counted
from gui.problem.command_line import resume_words, solve_words
from gui.problem.standby import Standby
from gui.problem.sweep import SweepPlan, plan_sweep
from gui.runs.child import Child
from gui.runs.notes import RunNote
from gui.runs.recorded import read_problem_of
from gui.window.controller import Controller, Parts
from gui.window.run_tab import RunTab

_FAR_PATIENCE = (120.0, 30.0)
"""Seconds, as of :class:`gui.runs.child.Child`: a run on another host has to send its folder when it is stopped."""


@dataclass(frozen=True)
class _Entry:
    """A run that waits for its turn; ``shown`` if it has a tab from the start."""

    note: RunNote
    words: list[str]
    problem: Problem | None
    recorded: bool
    shown: bool


class Launcher(Controller):
    """Starts runs, and queues them while as many as are allowed are in progress; ``changed()`` when the queue has."""

    changed = Signal()

    def __init__(
        self,
        parts: Parts,
        targets: Callable[[], Sequence[RunNote]],
        command: Sequence[str] | None = None,
        standby: bool = False,
    ) -> None:
        super().__init__(parts)
        self._targets = targets
        self._queue: list[_Entry] = []
        self.held = False
        """Whether queued runs do not start."""
        self._command = list(command) if command is not None else None
        self.standby = Standby(command, standby, self)
        self.patience = Child.patience
        self.accepting = True
        """Whether new runs may be started; False while the window is closing."""
        self._tabs.changed.connect(self._start_queued)
        self._problems.changed.connect(self.prepare)
        self._problems.sweep_requested.connect(self.open_sweep)

    @property
    def handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "start": self.start,
            "retry": self.retry,
            "pause": self.pause,
            "stop": self.stop,
            "resume_run": self.resume,
            "queue_hold": self.hold,
            "queue_up": lambda: self.move(-1),
            "queue_down": lambda: self.move(1),
            "queue_remove": self.remove,
        }

    # --- new runs -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        pane = self._problems.pane
        instance = pane.instance
        if instance is None or not self._problems.ready or not self.accepting:
            return
        if errors := pane.errors():
            self._problems.focus()
            self._log.add("; ".join(errors), "error")
            return
        settings, options = pane.settings(), pane.options()
        note = self._library.new(
            instance.problem.name,
            solver=instance.solver.name,
            problem=instance.problem.describe(),
            source=str(instance.source),
            options=options,
            settings=settings,
            reading=dict(instance.reading),
        )
        self._enqueue(_Entry(note, _words(note), instance.problem, False, True))

    def retry(self) -> None:
        """Start the runs that have ended again, with the same options, as new runs."""
        for old in self._targets():
            if old.live or not self.accepting:
                continue
            source = Path(old.source) if old.source and os.path.isfile(old.source) else old.path
            if not os.path.exists(source):
                self._log.add("the problem's file and the run folder no longer exist", "error", old.title)
                continue
            settings = {name: value for name, value in old.settings.items() if name != "run_folder"}
            about = {"solver": old.solver, "problem": old.problem, "options": dict(old.options), "sweep": old.sweep}
            about["reading"] = (
                dict(old.reading) if source != old.path else {}
            )  # a run folder has the problem as it was read
            note = self._library.new(old.title, source=str(source), settings=settings, tags=list(old.tags), **about)
            self._enqueue(_Entry(note, _words(note), None, False, False))

    def resume(self) -> None:
        """Resume the first resumable run of the targets from its checkpoint."""
        for note in self._targets():
            if note.resumable:
                self._jobs.start(partial(read_problem_of, note.path), partial(self._resume, note))
                return

    def _resume(self, note: RunNote, problem: Problem) -> None:
        """Resume a run whose problem has been read, unless it was resumed or deleted meanwhile."""
        if not note.resumable or not self.accepting or self._library.find(note.key) is not note:
            return
        self._tabs.discard_run(note)
        self._enqueue(_Entry(note, resume_words(note.folder, note.settings), problem, True, True))

    # --- sweeps -------------------------------------------------------------------------------------------------

    def open_sweep(self, sweep: Sweep, name: str) -> None:
        """Queue all runs of a sweep, once its problems have been read and its options checked."""
        self._jobs.start(partial(plan_sweep, sweep), partial(self._queue_sweep, name))

    def _queue_sweep(self, name: str, plan: SweepPlan) -> None:
        if not self.accepting:
            return
        for error in plan.errors:
            self._log.add(error, "error")
        known, base = {note.sweep for note in self._library}, name
        for number in itertools.count(2):
            if name not in known:
                break
            name = f"{base} ({number})"
        for run in plan.runs:
            note = self._library.new(
                run.title,
                sweep=name,
                solver=run.solver,
                problem=run.description,
                source=str(run.source),
                options=run.options,
                settings=run.settings,
                reading=run.reading,
            )
            note.state, note.window = "queued", os.getpid()
            self._library.save(note)
            self._queue.append(_Entry(note, _words(note), None, False, False))
        self._log.add(f"queued {counted(len(plan.runs), 'run')}", run=name)
        self.changed.emit()
        self._start_queued()

    # --- the queue ----------------------------------------------------------------------------------------------

    def _enqueue(self, entry: _Entry) -> None:
        """Start a run, or queue it while as many as are allowed are in progress."""
        note = entry.note
        note.state, note.message, note.window = "starting", "", os.getpid()
        now = not self.held and not self._queue and len(self._tabs.running()) < self.most_at_once
        tab = self._tabs.add(note, hidden=not entry.shown) if entry.shown or now else None
        if entry.shown:
            self._list.select(note)
        if now:
            self._launch(entry)
        else:
            self._queue.append(entry)
            note.state = "queued"
            if tab is not None:
                tab.show_queued()
            else:
                self._library.save(note)
            self._log.add(f"queued as number {len(self._queue)}", run=note.title)
        if entry.shown and tab is not None:
            self._tabs.show(tab)
        self.changed.emit()

    def _launch(self, entry: _Entry) -> None:
        entry.note.state = "starting"
        tab = self._tabs.runs.get(entry.note.key) or self._tabs.add(entry.note, hidden=True)
        child = self.standby.take(entry.words) or Child(entry.words, command=self._command)
        child.patience = _FAR_PATIENCE if entry.note.settings.get("host") else self.patience
        self._log.add("started: quintet " + " ".join(entry.words), run=entry.note.title)
        tab.show_live(child, entry.problem, entry.recorded)

    def prepare(self) -> None:
        """Have a process wait for the next run, with the devices of the tool bar."""
        if not self._problems.ready or not self.accepting or self._tabs.running():
            return
        settings = self._problems.pane.settings()
        if settings.get("cluster") or settings.get("host"):  # which has the devices
            self.standby.release()
        else:
            self.standby.prepare(settings)

    def _start_queued(self) -> None:
        """Start queued runs as far as is allowed."""
        started = False
        self._show_queue()
        while self._queue and self.accepting and not self.held and len(self._tabs.running()) < self.most_at_once:
            self._launch(self._queue.pop(0))
            started = True
        if started:
            self._show_queue()
            self.changed.emit()
        if not self.standby.waiting:
            self.prepare()

    def _show_queue(self) -> None:
        """Say above the run list that the queue is held, and in the tabs of queued runs what they wait for."""
        self._list.show_held(len(self._queue) if self.held else None)
        others = len(self._tabs.running())
        for place, entry in enumerate(self._queue):
            if (tab := self._tabs.runs.get(entry.note.key)) is not None:
                tab.explain_wait(self.held, others + place)

    @property
    def queued(self) -> list[str]:
        """The keys of the queued runs, in the order in which they will start."""
        return [entry.note.key for entry in self._queue]

    def hold(self) -> None:
        """Start no queued runs, or start them again."""
        self.held = not self.held
        self._log.add("the queue is held: no queued run starts" if self.held else "queued runs start again")
        self.changed.emit()
        self._start_queued()

    def move(self, step: int) -> None:
        """Move the queued ones of the targets by one place, to the front for -1 and to the back for 1."""
        keys = {note.key for note in self._targets()}
        order = list(self._queue) if step < 0 else self._queue[::-1]
        for place in range(1, len(order)):
            if order[place].note.key in keys and order[place - 1].note.key not in keys:
                order[place - 1], order[place] = order[place], order[place - 1]
        self._queue = order if step < 0 else order[::-1]
        self.changed.emit()

    def remove(self) -> None:
        """Remove the queued ones of the targets from the queue."""
        for note in self._targets():
            self._cancel(note)

    def _cancel(self, note: RunNote) -> None:
        if note.key not in self.queued:
            return
        self._queue = [entry for entry in self._queue if entry.note is not note]
        tab: RunTab | None = self._tabs.runs.get(note.key)
        if tab is not None:
            tab.cancel()
        else:
            note.state = "cancelled"
            self._library.save(note)
            self._list.update_run(note)
        self.changed.emit()

    def cancel_queued(self) -> None:
        for entry in list(self._queue):
            self._cancel(entry.note)

    @property
    def most_at_once(self) -> int:
        """How many runs may be in progress at once; the others are queued."""
        return max(1, int(str(self._settings.value("runs_at_once", 1))))

    def set_most_at_once(self, count: int) -> None:
        self._settings.setValue("runs_at_once", count)
        self._start_queued()

    # --- runs in progress ---------------------------------------------------------------------------------------

    def pause(self) -> None:
        tab = self._tabs.current_run()
        if tab is not None and tab.steerable:
            tab.pause()

    def stop(self) -> None:
        """Stop the run of the current tab: request, then SIGTERM, then SIGKILL."""
        tab = self._tabs.current_run()
        if tab is not None and tab.queued:
            self._cancel(tab.note)
        elif tab is not None:
            tab.stop()

    def release(self) -> None:
        """Start no more runs; the window is closing."""
        self.accepting = False
        self.standby.close()


def _words(note: RunNote) -> list[str]:
    """The words after ``quintet`` that start a run."""
    return solve_words(note.source, {**note.settings, "run_folder": note.folder}, {**note.reading, **note.options})
