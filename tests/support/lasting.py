"""One problem for each solver that takes long enough to be stopped or killed on the way, and how answers compare."""

import functools
import multiprocessing
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import engine
from engine.base.context import Checkpoint
from engine.devices import available
from engine.runs.folder.run_folder import RunFolder
from engine.runs.folder.storage import RunFiles
from engine.runs.run import Run
from engine.solvers.branch_and_bound.search import coordinator
from engine.solvers.branch_and_bound.search.worker import SearchWorker
from engine.solvers.linprog.methods import interior


@dataclass(frozen=True)
class Case:
    """A problem, its options, and the parts of the result that a resumed run must give exactly as an unbroken one.

    ``counters`` are totals over all starts. ``history``: the history has as many rows, and numbers in the same places.
    ``solution`` is false where a resumed run may find another solution of the same value.
    ``under_way`` says of an event whether the run has something to keep by then.
    """

    problem: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)
    counters: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    solution: bool = True
    exact: bool = True
    history: bool = False
    under_way: Callable[[Any], bool] = lambda event: event.type == "metric"


def _in_progress(event):
    """A fifth of a phase is done, of one that writes checkpoints."""
    return bool(event.type == "progress" and event.phase != "mode" and event.done > 0.2 * event.total > 0)


def _knapsack():
    from engine.generators.knapsack import GeneratorOptions, generate

    return generate(GeneratorOptions(type="strongly-correlated", n=3000, seed=6))


def _probit():
    random = np.random.default_rng(4)
    X = random.normal(size=(200, 8))
    return engine.HorseshoeProbit(X, (X[:, 0] + random.normal(size=200) > 0).astype(int))


def _program():
    random = np.random.default_rng(5)
    A, x = random.random((400, 700)), random.random(700)
    return engine.LinearProgram(-random.random(700), A, A @ x + random.random(400), bounds=(0, 4))


CASES = {
    "knapsack": Case(_knapsack, {"reduce": False, "variant": "rows"}, solution=False, under_way=_in_progress),
    "branch_and_bound": Case(lambda: engine.Queens(14), {}, counters=("nodes", "leaves"), solution=False),
    "gibbs": Case(
        _probit,
        {"draws": 300, "warmup": 100},
        counters=("iterations", "passes", "draws", "worst_r_hat", "least_ess"),
        arrays=("beta", "log_tau"),
        under_way=_in_progress,
    ),
    "boa": Case(
        lambda: engine.BOA("trap", 150),
        {"population": 1500, "local_search": "none"},
        counters=("evaluations", "generations", "flips", "populations"),
        history=True,
    ),
    "linprog": Case(  # one method: which racer wins a race depends on the load of the machine
        _program, {"method": "mpc"}, counters=("iterations",), exact=False, history=True
    ),
}


def small_knapsack(items=60, heaviest=300):
    random = np.random.default_rng(8)
    weights = random.integers(20, heaviest, items)
    return engine.Knapsack(weights + random.integers(1, 30, items), weights, int(weights.sum() // 3))


def small_probit(rows=40, columns=3):
    X = np.random.default_rng(9).normal(size=(rows, columns))
    return engine.HorseshoeProbit(X, (X[:, 0] > 0).astype(int))


def small_program(rows=15, columns=25):
    random = np.random.default_rng(3)
    A = random.random((rows, columns))
    c = -random.random(columns)
    return engine.LinearProgram(c, A, A @ random.random(columns) + random.random(rows), bounds=(0, 4))


SMALL = {
    "knapsack": Case(small_knapsack, {"reduce": False, "variant": "rows"}),
    "branch_and_bound": Case(lambda: engine.Queens(7), {"ivms": 64}),
    "gibbs": Case(small_probit, {"draws": 8, "warmup": 8, "chains": 2}),
    "boa": Case(lambda: engine.BOA("trap", 30), {"population": 200, "max_generations": 5, "local_search": "none"}),
    "linprog": Case(small_program, {"method": "mpc"}),
}
"""Problems that are solved in some hundredths of a second, on the devices."""


def resident_bytes():
    """Bytes of memory of this process; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


@functools.cache
def solve_whole(name, devices):
    """The answer of a run that nothing interrupts, on a tuple of devices; kept."""
    case = CASES[name]
    return engine.solve(case.problem(), seed=7, devices=list(devices), **case.options)


def differences(name, result, whole):
    """Every way in which a resumed run's result is not that of an unbroken one."""
    case = CASES[name]
    pairs = {"status": (result.status, whole.status), "objective": (result.objective, whole.objective)}
    if not case.exact and None not in pairs["objective"] and np.isclose(*pairs["objective"], rtol=1e-6):
        del pairs["objective"]
    pairs |= {counter: (result.counters[counter], whole.counters[counter]) for counter in case.counters}
    found = [f"{what} {own}, not {other}" for what, (own, other) in pairs.items() if own != other]
    for array in case.arrays:
        if not np.array_equal(result.arrays[array], whole.arrays[array]):
            found.append(f"another array {array}")
    if case.history and not np.array_equal(*(np.isnan(one.arrays["history"]) for one in (result, whole))):
        found.append("other rows of history, or numbers of it are missing")
    if case.solution and case.exact and not np.array_equal(result.solution, whole.solution):
        found.append("another solution")
    if name == "knapsack" and result.solution is not None:
        value, weight = case.problem().evaluate(result.solution)[:2]
        if value != whole.objective:
            found.append(f"items of value {value} (weight {weight}), not {whole.objective}")
    return found


def stopped(name, path, devices, checkpoints=1):
    """The folder of a run that was stopped soon after it had begun to work.

    ``checkpoints``: 1 for the one that the stop writes, 2 for another before it. Slices are short, and those of a tree
    search wait until the run has looked at its controls, so that no run ends before.
    """
    case = CASES[name]
    interval = 1e6 if checkpoints == 1 else 0.01
    emit, poll, turn, under_way = Run.emit, Run.poll, SearchWorker.turn, False
    looked = threading.Event()

    def watched_emit(run, event):
        nonlocal under_way
        emit(run, event)
        under_way = under_way or case.under_way(event)

    def stopping_poll(run):
        """Stop on the thread of the run, which cannot end meanwhile."""
        if under_way and (checkpoints == 1 or _checkpoints(path)):
            run.stop()
        looked.set()
        poll(run)

    def patient_turn(search, task, *ask):
        looked.wait(1.0)  # the run does not look while it halts the devices
        looked.clear()
        return turn(search, task, *ask)

    with (
        engine.Engine(devices=list(devices)) as owner,
        mock.patch.multiple(Run, emit=watched_emit, poll=stopping_poll),
        mock.patch.object(SearchWorker, "turn", patient_turn),
        mock.patch.object(coordinator, "SLICE_SECONDS", 0.002),
        mock.patch.object(interior, "SLICE_SECONDS", 0.0),
    ):
        run = owner.start(case.problem(), seed=7, run_folder=path, checkpoint_interval=interval, **case.options)
        assert run.outcome().status == "interrupted", f"the run of {name} ended before the stop"
    return RunFolder.open(path)


def signed(folder, path, arrays, state):
    """A copy of a folder with this checkpoint alone, its digests right and its result gone."""
    shutil.copytree(folder.path, path)
    for file in [*path.glob("checkpoint-*"), *path.glob("result.*")]:
        file.unlink()
    files = RunFiles(path, folder.identity)
    object.__setattr__(files, "schema", _Unchecked(folder))
    files.save_checkpoint(Checkpoint(arrays, state, 1.0))


class _Unchecked:
    """The version of a solver's checkpoints without their declaration."""

    def __init__(self, folder):
        self.checkpoint = self
        schema = folder.schema
        self.version = schema.checkpoint.version if schema is not None and schema.checkpoint is not None else 0

    def check(self, arrays, state):
        return state


def _work(name, folder, devices):
    """Start a run, or resume it; in a process of its own, which has opened no device before."""
    case = CASES[name]
    with engine.Engine(devices=list(devices)) as owner:
        if os.path.exists(folder):
            owner.resume(folder).wait()
        else:
            owner.solve(case.problem(), seed=7, run_folder=folder, checkpoint_interval=0.05, **case.options)


def _checkpoints(folder):
    return sorted(path.name for path in folder.glob("checkpoint-*.json"))


def _recorded(folder):
    """How many bytes of events a run has recorded."""
    file = folder / "events.jsonl"
    return file.stat().st_size if file.exists() else 0


def kill_until_done(name, folder, devices, moments, longest, most):
    """Kill a run at random moments, at most so often, and let it end; its result, and how often it was killed.

    Each process is killed within ``longest`` seconds of a new checkpoint, of the begin of its work, or of its own
    begin, in turn, so that however long a process takes to start, some are killed at work.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    kills = 0
    while True:
        child = context.Process(target=_work, args=(name, str(folder), list(devices)), daemon=True)
        seen = [_checkpoints(folder), _recorded(folder), None]
        child.start()
        if kills < most:
            while child.is_alive() and [_checkpoints(folder), _recorded(folder), True][kills % 3] == seen[kills % 3]:
                child.join(0.005)
            child.join(moments.uniform(0.0, longest))
        else:
            child.join()
        if child.is_alive():
            child.kill()
            child.join()
            kills += 1
            if folder.exists():
                opened = RunFolder.open(folder)
                opened.result()
                opened.checkpoint()
                assert all(event.time >= 0 for event in opened.events())
            continue
        if child.exitcode != 0:
            raise RuntimeError(f"{name}: the run in {folder} ended with exit code {child.exitcode}")
        result = RunFolder.open(folder).result()
        if result is None:
            raise RuntimeError(f"{name}: the run in {folder} ended without a result")
        return result, kills


def slow_device():
    """The name of one device, a CPU if there is one: a GPU may solve these problems before they are stopped."""
    found = sorted(available()[0], key=lambda info: info.capabilities.kind != "cpu")
    return [info.id for info in found[:1]]
