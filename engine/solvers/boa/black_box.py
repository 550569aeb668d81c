"""Solving one problem that is known by its values only: the population pyramid as a run of the solver."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext, StopRequested
from ...base.result import Result, Status
from ...errors import ProblemError, RunFolderError
from .fitness import Function, Keys
from .options import Options
from .problem import BOA
from .pyramid import BitSearch
from .record import Record
from .schema import SCHEMA
from .validate import initial_individuals

ALGORITHM = "population pyramid, as the function is known by its values only"
_PATIENCE, _LEAST_PATIENCE = 10, 100  # times the evaluations of the last improvement; at least so many a bit
_WITH_TARGET = 20  # times as long, as more is known to be there
_ROW_EVALUATIONS = 1000
_SHOWN = 64


def is_stagnant(search: BitSearch, improved: int, has_target: bool) -> bool:
    """Whether nine tenths of the evaluations, or 199 of 200 with a target, have brought no improvement."""
    most = max(_LEAST_PATIENCE * search.n, _PATIENCE * improved)
    return search.evaluations > (_WITH_TARGET * most if has_target else most)


def search_black_box(problem: BOA, options: Options, run: RunContext, mapped: Callable[..., Any]) -> Result:
    """As :func:`.solve.solve`, without devices; ``mapped`` gives strings to a Python function one by one."""
    fitness = problem.fitness
    record = Record(fitness, ALGORITHM if isinstance(fitness, Function) else "population pyramid")
    run.offer(lambda status: problem.answer(record.result(status)))
    target = fitness.best_key if options.target is None else fitness.key(options.target)
    parallel = fitness.processes if isinstance(fitness, Function) else 1
    search = BitSearch(problem.n, seed=run.seed, parallel=parallel, seeds=initial_individuals(problem, options))
    steps = _Steps(search, record, run, mapped)
    try:
        steps.restore()
        status = steps.until(target, options.max_evaluations)
    except StopRequested as stop:
        steps.save()
        status = stop.status
    except ProblemError as error:
        if record.best is None:
            raise
        run.notice(f"the run ends with its best so far: {error}", level="warning")
        status = Status.INTERRUPTED
    steps.report()
    if target is not None and record.best_key is not None and record.best_key >= target:
        status = Status.OPTIMAL if record.best_key == fitness.best_key else Status.FEASIBLE
    if record.is_surpassed:
        record.notice_if_surpassed(run)
        status = Status.FEASIBLE
    return problem.answer(record.result(status))


class _Steps:
    """The search step by step, with what is recorded and kept of it."""

    def __init__(self, search: BitSearch, record: Record, run: RunContext, mapped: Callable[..., Any]) -> None:
        self._search, self._record, self._run, self._mapped = search, record, run, mapped
        self._improved = 0
        self._values: list[NDArray[np.float64]] = []  # since the last row of the history
        self._unreported = 0

    def until(self, target: int | None, most: int | None) -> Status:
        """Search until the target or a limit, or for lack of improvement."""
        search, record, run = self._search, self._record, self._run
        while target is None or record.best_key is None or record.best_key < target:
            run.poll()
            if run.checkpoint_due():
                self.save()
            if most is not None:
                if search.evaluations >= most:
                    return Status.ITERATION_LIMIT
                run.progress("evaluations", search.evaluations, most, "evaluations", limit=True)
            elif is_stagnant(search, self._improved, target is not None):
                return Status.FEASIBLE if target is None else Status.ITERATION_LIMIT
            strings = search.ask()
            if not len(strings):
                return Status.OPTIMAL
            if most is not None and len(strings) > most - search.evaluations:
                strings = strings[: most - search.evaluations]
            self._evaluate(strings)
        return Status.FEASIBLE

    def _evaluate(self, strings: NDArray[np.uint8]) -> None:
        record, search, fitness = self._record, self._search, self._record.fitness
        keys: Keys | None = None
        if isinstance(fitness, Function):
            values = fitness.evaluated(strings, self._mapped)
        else:
            keys = fitness.keys(strings)
            values = np.array([fitness.value(key) for key in keys.tolist()], np.float64)
        before, signed = search.best_value, -values if fitness.minimize else values
        search.tell(strings, signed)
        record.evaluations = search.evaluations
        record.population, record.generations, record.populations = search.sizes()
        self._values.append(values)
        self._unreported += len(values)
        if search.best_value != before:
            best = int(signed.argmax())
            record.best_key = fitness.key(float(values[best])) if keys is None else int(keys[best])
            record.best = strings[best].copy()
            self._improved = record.evaluations
            self._run.incumbent(record.value, record.bound)
        if self._unreported >= _ROW_EVALUATIONS:
            self.report()

    def report(self) -> None:
        """A row of the history, of the strings since the last one."""
        if not self._values:
            return
        record, values = self._record, np.concatenate(self._values)
        row = {
            "population": record.population,
            "generation": record.generations,
            "evaluations": record.evaluations,
            "best": record.value or 0,
            "mean": float(values.mean()),
            "worst": float(values.max() if record.fitness.minimize else values.min()),
        }
        record.take_row(self._run, row, self._search.members(_SHOWN))
        self._values.clear()
        self._unreported = 0

    # --- checkpoints --------------------------------------------------------------------------------------------

    def save(self) -> None:
        record = self._record
        if record.best is None:
            return
        self.report()
        record.population = max(1, record.population)
        assert SCHEMA.checkpoint is not None
        none: dict[str, NDArray[Any]] = {  # no islands
            array.name: np.zeros([self._search.n if size == "genes" else 0 for size in array.shape or ()], array.dtype)
            for array in SCHEMA.checkpoint.arrays
            if not array.optional
        }
        self._run.save_checkpoint(none | record.arrays() | self._search.log(), record.state(0).model_dump())

    def restore(self) -> None:
        """Repeat the search of a checkpoint, without evaluations."""
        restored = self._run.restored
        if restored is None:
            return
        if "told" not in restored.arrays:
            raise RunFolderError("the checkpoint is not of a population pyramid; resume with search = network")
        record, arrays = self._record, restored.arrays
        best, rows = arrays["best"], arrays["rows"]
        try:
            self._improved = self._search.replay(arrays)
        except ValueError as error:
            raise RunFolderError(f"the checkpoint is inconsistent: {error}") from error
        found = self._search.best
        if found is None or not np.array_equal(found, best):
            raise RunFolderError("the best individual of the checkpoint is not the best of its strings")
        record.best, record.rows = best, rows.tolist()
        record.best_key, record.evaluations = int(restored.state.best_key), self._search.evaluations
