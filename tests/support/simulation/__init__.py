"""Simulation of faults: one integer decides what is run, which of its calls fail, and how; it repeats what was found.

A history is a run that is started under one fault or two, resumed under the rest of them, and at last resumed without.
Every start ends soon with the right answer or with one of this package's errors; no checkpoint or result that was said
to be written is lost; and the last one gives the right answer.
"""

import contextlib
import itertools
import logging
import shutil
import sys
import threading
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from random import Random
from unittest import mock

import numpy as np

import engine
from engine.errors import QuintetError, RunFolderError
from engine.runs.executor import Local
from engine.runs.folder.run_folder import RunFolder
from engine.runs.folder.storage import RunFiles
from engine.runs.run import Run
from engine.solvers import discover
from tests.support import counting
from tests.support.simulation.devices import Drivers
from tests.support.simulation.disk import Disk
from tests.support.simulation.plan import POINTS, Fault, Plan
from tests.support.simulation.scenarios import SCENARIOS, SEED, Host

_HANG_SECONDS = 120.0


class Violation(Exception):
    """What must not happen."""


@dataclass(frozen=True)
class History:
    """What a number decides: a scenario, and the faults of each start of its run."""

    number: int
    scenario: str
    label: int
    starts: tuple[tuple[Fault, ...], ...]

    def __str__(self):
        starts = "; then ".join(" and ".join(map(str, faults)) or "no fault" for faults in self.starts)
        return f"{self.number}: {self.scenario}: {starts}"


def history_of(number):
    random = Random(number)
    names = sorted(SCENARIOS)
    name = random.choices(names, [SCENARIOS[name].weight for name in names])[0]
    scenario = SCENARIOS[name]
    points = [point for point, found in POINTS.items() if found.call in scenario.calls]
    kinds = sorted({point.partition(".")[0] for point in points})
    shares = [1.0 if kind != "run" else 0.25 for kind in kinds]

    def fault():
        kind = random.choices(kinds, shares)[0]
        point = random.choice([point for point in points if point.startswith(f"{kind}.")])
        most = scenario.calls[POINTS[point].call]
        return Fault(point, 1 + int(most * random.random() ** 1.5))

    faults = [fault() for _ in range(random.choice((1, 2)))]
    starts = (tuple(faults),)
    if len(faults) == 2 and scenario.folder and random.random() < 0.5:
        starts = ((faults[0],), (faults[1],))
    return History(number, name, random.randrange(max(1, scenario.devices)), starts)


class Simulator:
    """Lives through histories, in a folder that is best in memory; without an OpenCL device, those that need none."""

    def __init__(self, home, device=None):
        self.histories, self.faults = Counter(), Counter()
        """How many there were of each scenario, and with each fault."""
        self._home, self._device = home, device
        self._engines = {}
        self._whole = {}
        self._thrown = []
        self._stack = contextlib.ExitStack()
        self._drivers = None
        self._count = itertools.count()

    def __enter__(self):
        enter = self._stack.enter_context
        enter(mock.patch.dict(discover(), {counting.SOLVER.name: counting.SOLVER}))
        enter(mock.patch.object(threading, "excepthook", self._threw))
        enter(warnings.catch_warnings())
        warnings.simplefilter("ignore", engine.QuintetWarning)
        log = logging.getLogger("quintet")
        self._stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)
        if self._device is not None:
            self._drivers = Drivers()
            self._drivers.install(self._stack)
            enter(engine.Engine(devices=[self._device])).open()  # keeps what is compiled
        return self

    def __exit__(self, *error):
        for owner in self._engines.values():
            owner.close()
        self._stack.__exit__(*error)

    def _threw(self, arguments):
        text = "".join(traceback.format_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback))
        self._thrown.append(f"a thread threw {text}")

    def live(self, history):
        """Live through a history; what must not have happened in it."""
        self._thrown.clear()
        life = _Life(self, history)
        found = None
        try:
            life.live()
        except Violation as violation:
            found = str(violation)
        except Exception as error:
            found = "".join(traceback.format_exception(error))
        if self._thrown:
            found = found or self._thrown[0]
        self.histories[history.scenario] += 1
        self.faults.update(fault.point for fault in life.occurred)
        if found is not None or life.lost:
            self._replace(SCENARIOS[history.scenario].devices)
        return found

    def whole(self, name):
        if name not in self._whole:
            one = SCENARIOS[name]
            self._whole[name] = self.engine(one).solve(one.problem(), seed=SEED, **one.options)
        return self._whole[name]

    def engine(self, scenario):
        """The engine that a scenario uses, kept from one history to the next."""
        count = scenario.devices
        if count not in self._engines:
            assert count == 0 or self._device is not None
            named = {"devices": [str(self._device)] * count} if count else {"executor": Host()}
            self._engines[count] = engine.Engine(**named)
        return self._engines[count]

    def _replace(self, count):
        owner = self._engines.pop(count, None)
        if owner is not None:
            owner.close(wait=not any(run.state != "ended" for run in owner._runs))

    def folder(self):
        path = self._home / str(next(self._count))
        path.mkdir()
        return path

    def failing(self, index, plan):
        if self._drivers is None:
            return contextlib.nullcontext()
        return self._drivers.failing(str(self._device) + ("" if index == 0 else f"#{index + 1}"), plan)


class _Life:
    def __init__(self, simulator, history):
        self._simulator, self._history = simulator, history
        self._scenario = scenario = SCENARIOS[history.scenario]
        self._engine = simulator.engine(scenario)
        self._chance = Random(f"{history.number} chance")
        self._root = simulator.folder()
        self._is_there = self._has_begun = False
        self._kept = None
        self._has_result = False
        self.occurred = []
        self.lost = False

    def live(self):
        """Every start, and the last one without faults."""
        try:
            for faults in (*self._history.starts, ()):
                self._start(Plan(faults))
        finally:
            for path in (self._root, self._root.with_name(f"{self._root.name}-cut")):
                shutil.rmtree(path, ignore_errors=True)

    def _start(self, plan):
        """Start or resume the run under some faults, and look at what is left."""
        self._has_begun = False
        had_ended = (self._root / "r" / "result.json").exists()
        disk = Disk(self._root, plan, self._chance) if self._scenario.folder else None
        with contextlib.ExitStack() as stack:
            enter = stack.enter_context
            enter(mock.patch.object(Run, "poll", self._polling(plan)))
            if self._scenario.devices:
                enter(self._simulator.failing(self._history.label, plan))
            if disk is not None:
                enter(mock.patch.multiple(RunFiles, **self._remembering(disk)))
                enter(disk.attached())
            error, result = self._outcome(disk)
        self.occurred += plan.occurred
        executor = self._engine.executor
        self.lost |= isinstance(executor, Local) and executor.is_open and len(executor.pool()) < self._scenario.devices
        self._judge(plan, error, result)
        if disk is not None:
            self._look_at(disk, result)
            if not plan.occurred and not had_ended:
                self._is_clean()

    def _outcome(self, disk):
        """How a start ends: with an error of this package, or with a result."""
        scenario, path = self._scenario, self._root / "r"
        try:
            if self._is_there:
                run = self._engine.resume(path, checkpoint_interval=1e-9)
            else:
                given = {"run_folder": path, "checkpoint_interval": 1e-9} if scenario.folder else {}
                run = self._engine.start(scenario.problem(), seed=SEED, **given, **scenario.options)
                self._is_there = scenario.folder and (disk is None or disk.cut is None)
            self._has_begun = True
            if not run.join(_HANG_SECONDS):
                raise Violation(f"the run hangs\n{_stacks()}")
            return None, run.outcome()
        except QuintetError as error:
            return error, None

    def _judge(self, plan, error, result):
        """A start has ended with the right answer, or with an error that its faults explain."""
        if error is not None:
            alone = self._scenario.devices == 1 or not self._has_begun  # a device that cannot be opened is named
            if not plan.ends and not (alone and plan.occurred):
                raise Violation(f"ended without an answer: {type(error).__name__}: {error}") from error
            return
        if result.status.stopped:
            if not any(fault.point == "run.stop" for fault in plan.occurred):
                raise Violation(f"the run was stopped by nobody: {result.status}")
            return
        found = self._differences(result)
        if found:
            raise Violation(f"wrong answer: {found}")

    def _differences(self, result):
        scenario = self._scenario
        if scenario.objective is not None:
            right = scenario.objective()
            return [] if result.objective == right else [f"{result.objective}, not {right}"]
        if scenario.gives_up and any(fault.point.startswith("device.") for fault in self.occurred):
            value = scenario.problem().evaluate(result.solution[None])[0]  # what is left is reported as it is
            return [] if value == result.objective else [f"{result.objective}, but the solution has {value}"]
        whole, found = self._simulator.whole(self._history.scenario), []
        if result.status != whole.status:
            found.append(f"status {result.status}, not {whole.status}")
        if not np.isclose(result.objective or 0.0, whole.objective or 0.0, rtol=1e-6):
            found.append(f"objective {result.objective}, not {whole.objective}")
        for name in scenario.arrays:
            if not np.array_equal(result.arrays[name], whole.arrays[name], equal_nan=True):
                found.append(f"another array {name}")
        return found

    def _remembering(self, disk):
        """Methods of a run folder, which remember what was said to be written."""
        save_checkpoint, save_result = RunFiles.save_checkpoint, RunFiles.save_result

        def checkpoint(files, given):
            save_checkpoint(files, given)
            if disk.cut is None:
                self._kept = max(self._kept or 0.0, given.elapsed)

        def result(files, given):
            save_result(files, given)
            if disk.cut is None and not given.status.stopped:
                self._has_result = True

        return {"save_checkpoint": checkpoint, "save_result": result}

    def _is_clean(self):
        """Nothing of earlier starts is left behind by one that has worked to its end."""
        left = [path.name for path in (self._root / "r").iterdir() if path.name.startswith(".")]
        if left or (self._root / "r" / "run.lock").exists():
            raise Violation(f"files are left behind: {left or 'run.lock'}")

    def _look_at(self, disk, result):
        """What the disk holds: nothing that was said to be written is lost."""
        if disk.cut is not None:
            shutil.rmtree(self._root)
            disk.cut.rename(self._root)
        path = self._root / "r"
        if disk.cut is not None:
            self._is_there = path.exists()
        if not self._is_there:
            if self._kept is not None or self._has_result:
                raise Violation("the run folder is lost")
            if path.exists():
                self._is_there = (path / "run.toml").exists()
            return
        try:
            folder = RunFolder.open(path)
            kept = folder.result()
            if self._has_result and kept is None:
                raise Violation("the result is lost")
            is_reported = result is not None and any(warning.kind == "StorageWarning" for warning in result.warnings)
            if result and not kept and not is_reported and disk.cut is None:
                raise Violation("it is not reported that the result is not kept")
            found = folder.checkpoint()
            list(folder.events())
        except RunFolderError as error:
            raise Violation(f"the run folder is damaged: {error}") from error
        if self._kept is not None and (found is None or found.elapsed < self._kept - 1e-9) and not self._has_result:
            raise Violation(f"a checkpoint is lost: of {self._kept:.6f} s; {found and found.elapsed}")

    @staticmethod
    def _polling(plan):
        poll = Run.poll

        def counted(run):
            if plan.due("poll") is not None:
                run.stop()
            poll(run)

        return counted


def _stacks():
    frames = sys._current_frames()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(f"{names.get(key)}:\n{''.join(traceback.format_stack(frame))}" for key, frame in frames.items())
