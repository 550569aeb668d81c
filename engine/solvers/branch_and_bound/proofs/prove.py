"""Proving a flowshop's optimal makespan: a schedule first, then a search below it, in parts, in a run folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....api.engine import Engine
from ....base.result import Result, Status
from ....errors import ProblemError, ProofError
from ....events import Event, Incumbent
from ....reports.machine import describe_machine
from ....runs.folder.run_folder import RunFolder
from ....runs.run import Run
from ....util.files import write_whole
from ..options import FlowshopOptions
from ..problems.flowshop import Flowshop
from ..tree import Tree
from .record import Instance, Proof, Subtree, times_digest
from .subtrees import SubtreeSearch

_SUBTREES = 8
_PARTS = 64
_SUBTREE_NODES = 20_000  # tools/check_flowshop_proof.py searches so many again


@dataclass
class Prover:
    """Proofs on the devices of one engine."""

    engine: Engine
    folder: Path
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    checkpoint_interval: float = 60.0

    def prove(self, problem: Flowshop, known: int | None, seconds: float, bound_only: bool = False) -> Proof | None:
        """A proof; None if the time is up before: the next call continues where this one ended.

        With ``bound_only`` no schedule of the makespan ``known`` is looked for, only a shorter one.
        """
        deadline = time.monotonic() + seconds
        if bound_only:
            if known is None:
                raise ProblemError(f"no makespan of {problem.name} is given to prove as a lower bound")
            lower = problem.tree().lower_bound()
            if known < lower:
                raise ProblemError(f"{problem.name} has no schedule of makespan {known}: its lower bound is {lower}")
            order, initial = [], known
        else:
            found = self._schedule(problem, known, seconds)
            if found is None:
                return None
            order, initial = found, problem.evaluate(found)
        result = self._start(problem, initial, "run", deadline - time.monotonic()).wait()
        if result.status.stopped:
            return None
        if result.solution is not None:
            order = result.solution.tolist()
        return self._record(problem, order, initial, result)

    def _schedule(self, problem: Flowshop, known: int | None, seconds: float) -> list[int] | None:
        """A schedule as short as the known one, kept in a file for later calls; None if the time is up."""
        path = self._path(problem, known, "schedule.json")
        if path.exists():
            try:
                kept: list[int] = json.loads(path.read_bytes())
                problem.evaluate(kept)
            except (OSError, ValueError, ProblemError) as error:
                raise ProofError(f"{path} does not contain a schedule of {problem.name}: {error}") from error
            return kept
        if known is None:
            found: NDArray[np.int64] | None = problem.first_solution("iterated_greedy", self.seed)
        else:
            result = self._start(problem, known + 1, "first", seconds, stops=True).wait()
            if result.status == Status.BOUND_PROVED:
                self.clear(problem, known)
                raise ProblemError(f"{problem.name} has no schedule of makespan {known}: the optimum is larger")
            found = result.solution
        if found is None:
            return None
        order: list[int] = found.tolist()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(order).encode())
        return order

    @property
    def _chosen(self) -> FlowshopOptions:
        return FlowshopOptions(**self.options)

    def _start(self, problem: Flowshop, upper: int, suffix: str, seconds: float, stops: bool = False) -> Run:
        """Start the search below a makespan, or its next part, in a folder of its own; ``stops``: at a solution."""
        folder, interval, limit = self._path(problem, upper, suffix), self.checkpoint_interval, max(seconds, 0.1)
        started = threading.Event()
        runs: list[Run] = []

        def stop(event: Event) -> None:
            if stops and isinstance(event, Incumbent) and event.objective is not None:
                started.wait()
                runs[0].stop()

        if folder.exists():
            checkpoint = RunFolder.open(folder).checkpoint()
            limit += 0.0 if checkpoint is None else checkpoint.elapsed
            run = self.engine.resume(folder, time_limit=limit, checkpoint_interval=interval, on_event=stop)
        else:
            run = self.engine.start(
                problem,
                upper_bound=upper,
                seed=self.seed,
                run_folder=folder,
                time_limit=limit,
                checkpoint_interval=interval,
                on_event=stop,
                **self.options,
            )
        runs.append(run)
        started.set()
        self._require_same(run, problem, upper)
        return run

    def _require_same(self, run: Run, problem: Flowshop, upper: int) -> None:
        """Refuse a run, which may have been continued, of another instance or search."""
        wanted = (self._chosen.bound, self._chosen.branching, upper, self.seed)
        found = tuple(getattr(run.options, name, None) for name in ("bound", "branching", "upper_bound"))
        same = isinstance(run.problem, Flowshop) and np.array_equal(run.problem.times, problem.times)
        if not same or (*found, run.seed) != wanted:
            run.stop()
            run.join()
            what = "of another search" if same else "of another instance"
            raise ProofError(f"{run.folder} is {what} than that of {problem.name}; remove it")

    def clear(self, problem: Flowshop, known: int | None, initial: int | None = None) -> None:
        """Remove what was kept of a search, once its proof is written."""
        if known is not None:
            shutil.rmtree(self._path(problem, known + 1, "first"), ignore_errors=True)
        if initial is not None:
            shutil.rmtree(self._path(problem, initial, "run"), ignore_errors=True)
        self._path(problem, known, "schedule.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _path(self, problem: Flowshop, upper: int | None, suffix: str) -> Path:
        """Where work on an instance with these options and this makespan is kept."""
        searched = (times_digest(problem.times), self._chosen.bound, self._chosen.branching, self.seed, upper)
        digest = hashlib.sha256(json.dumps(searched).encode()).hexdigest()[:12]
        return self.folder / f"{problem.name}-{digest}.{suffix}"

    def _record(self, problem: Flowshop, order: list[int], initial: int, result: Result) -> Proof:
        value = problem.evaluate(order) if order else initial
        options = self._chosen
        tree = problem.tree(options.bound, options.branching)
        nodes = int(result.counters["nodes"])  # 0 where the lower bound of all schedules is the makespan
        try:
            subtrees = sampled_subtrees(self.engine, tree, options, initial, value, self.seed, nodes) if nodes else []
        except ValueError as error:
            raise ProofError(f"the makespan {value} of {problem.name} is not optimal: {error}") from error
        return Proof(
            instance=Instance(name=problem.name, times=problem.times.tolist(), digest=times_digest(problem.times)),
            bound=options.bound,
            branching=options.branching,
            value=value,
            schedule=order,
            initial=initial,
            nodes=nodes,
            leaves=int(result.counters["leaves"]),
            explored=result.arrays["explored"].tolist(),
            subtrees=subtrees,
            seconds=round(float(result.seconds), 3),
            seed=self.seed,
            devices=list(result.devices),
            machine=describe_machine(self.engine.device_infos),
        ).signed()


def sampled_subtrees(
    engine: Engine,
    tree: Tree,
    options: FlowshopOptions,
    initial: int,
    upper: int,
    seed: int,
    nodes: int,
    count: int = _SUBTREES,
) -> list[Subtree]:
    """Up to so many random subtrees of a tree of ``nodes``, each searched by itself; a shorter schedule: ValueError."""
    random = np.random.Generator(np.random.PCG64(seed))
    most = max(1, min(_SUBTREE_NODES, nodes // _PARTS))

    def work(search: SubtreeSearch) -> list[Subtree]:
        found: list[Subtree] = []
        for _ in range(4 * count):  # a small tree has fewer
            if len(found) == count:
                break
            path, size = search.draw(random, most)
            if all(path != one.path for one in found):
                found.append(Subtree(path=path, nodes=size))
        return found

    return SubtreeSearch.on(engine, work, tree, options, initial, upper)
