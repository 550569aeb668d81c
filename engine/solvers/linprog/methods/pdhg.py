"""The primal-dual hybrid gradient method in a race."""

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....base.context import RunContext
from ....devices import DevicePool, Member
from ....devices.pool.group import Communicator, WorkerGroup
from ..forms.scaled import scaled
from ..highs.threads import start_thread
from ..interior.driver import Counters
from ..interior.method import LEAST_GOAL
from ..options import Options
from ..pdhg import PdhgMeasures, PdhgWorker, Rank
from ..problem import LinearProgram
from ..schema import SCHEMA, CheckpointState
from ..validate import Point
from .base import Method, MethodUpdate

Vector = NDArray[np.float64]
_RAYS = 16  # slices until certificates are looked for, and after powers of two


class Abandoned(Exception):
    """The run has ended while the program was being scaled."""


class PdhgMethod(Method):
    """The primal-dual hybrid gradient method, on one device or on several that share the program."""

    def __init__(
        self,
        program: LinearProgram,
        *,
        sign: float,
        options: Options,
        pool: DevicePool,
        members: Sequence[Member],
        certificates: bool,
        restored: tuple[dict[str, NDArray[Any]], CheckpointState] | None,
        initial: Point | None = None,
    ) -> None:
        self.name = "pdhg"
        self._sign, self._options, self._certificates = sign, options, certificates
        self.history: list[list[float]] = []
        self.measures: PdhgMeasures | None = None
        self._goal, self._began = options.tolerance, 0.0
        self._slices = 0
        x, y = initial if initial is not None else (None, None)
        if x is not None and y is None:
            y = np.zeros(program.m)
        weight = 1.0
        self._before = 0
        self._restored: tuple[Vector, Vector, int, float] | None = None
        if restored is not None and restored[1].pdhg:
            x, y, weight = restored[0]["pdhg_x"], restored[0]["pdhg_y"], restored[1].pdhg_weight
            self._before = restored[1].pdhg_iteration
            self._restored = x, y, self._before, weight
        self._ended = threading.Event()
        self._pool, self._members, self._start = pool, list(members), (x, y, weight)
        self._group: WorkerGroup[PdhgWorker] | None = None
        self._caller: ThreadPoolExecutor | None = None
        self._opening: Future[WorkerGroup[PdhgWorker]] = start_thread(lambda: self._open(program))
        self.future: Future[Any] = self._opening

    def _raise_if_ended(self) -> None:
        if self._ended.is_set():
            raise Abandoned

    def _open(self, given: LinearProgram) -> WorkerGroup[PdhgWorker]:
        """Scale the program; the workers on their devices."""
        program = scaled(given, self._raise_if_ended)
        count = len(self._members)
        communicator = Communicator(count)
        direct = count > 1 and self._pool.enable_peers()
        places = [Rank(rank, communicator, direct) if count > 1 else None for rank in range(count)]
        group = WorkerGroup(self._members, PdhgWorker, [(program, *self._start, place) for place in places])
        group.on_failure(communicator.abort)
        if count > 1:
            self._caller = ThreadPoolExecutor(1, "quintet-pdhg")
        return group

    def _submit(self) -> None:
        """Work for a slice; what the measures call for is read at its end, for which nobody waits."""
        group, most = self._group, max(0, self._options.pdhg_iterations - self._before)
        assert group is not None
        self._slices += 1
        rays = self._certificates and self._slices >= _RAYS and self._slices.bit_count() == 1
        given = most, self._goal, rays
        if self._caller is None:
            self.future = group.submit(0, PdhgWorker.advance, *given)
        else:
            self.future = self._caller.submit(lambda: group.each(PdhgWorker.advance, *given)[0])

    @override
    def collect(self) -> MethodUpdate:
        if self._group is None:
            self._group, self._began = self._opening.result(), time.perf_counter()
            self._submit()
            return MethodUpdate()
        found, point, directions = self.future.result()
        self.measures = found
        self.error = found.error
        nothing = float("nan")
        self.history.append(
            [
                float(self._before + found.iteration),
                self._sign * found.primal_objective,
                self._sign * found.dual_objective,
                found.gap,
                found.primal_infeasibility,
                found.dual_infeasibility,
                *(nothing,) * 4,
            ]
        )
        if found.error <= self._goal:
            return MethodUpdate(point=point, final=self._goal <= LEAST_GOAL)
        if point is not None and directions is None:
            return MethodUpdate(point=point, final=True, ended=True)
        self._submit()
        if point is None or directions is None:
            return MethodUpdate()
        ray, farkas = map(_of_size_one, directions)
        return MethodUpdate(farkas=farkas, ray=ray, witness=point[0])

    def _point(self) -> tuple[Vector, Vector]:
        """The point that was last measured; every device has all of it."""
        assert self._group is not None
        return self._group.each(PdhgWorker.point)[0]

    @override
    def present_point(self) -> tuple[Vector, Vector] | None:
        """Waits for the end of the slice."""
        return None if self.measures is None else self._point()

    @override
    def refine(self) -> None:
        self._goal *= 0.1
        self._submit()

    def save(self) -> tuple[Vector, Vector, int, float] | None:
        """The last measured point, or that of a resumed run, or None; its iteration and weight. Waits for the slice."""
        if self.measures is None:
            return self._restored
        x, y = self._point()
        return x, y, self._before + self.measures.iteration, self.measures.primal_weight

    @property
    def seconds_left(self) -> float:
        """Until the goal, if the logarithm of the error goes on falling as from the start; inf if it has not fallen."""
        error, goal = self.error, self._goal
        if not goal < error < 1.0:
            return 0.0 if error <= goal else math.inf
        return (time.perf_counter() - self._began) * (math.log(goal) / math.log(error) - 1.0)

    @override
    def report(self, run: RunContext) -> None:
        found = self.measures
        if found is None:
            return
        run.metric("pdhg_error", found.error)
        run.metric("pdhg_primal_weight", found.primal_weight)
        if self._options.method == "pdhg":
            for column, value in zip(SCHEMA.history[1:6], self.history[-1][1:6], strict=True):
                run.metric(column.name, value)
            iteration, most = self._before + found.iteration, self._options.pdhg_iterations
            run.progress("iterations", iteration, most, "iterations", limit=True)

    @override
    def count(self, counters: Counters) -> None:
        if self.measures is not None:
            counters["pdhg_iterations"] = counters.get("pdhg_iterations", 0) + self.measures.iteration
            counters["pdhg_restarts"] = counters.get("pdhg_restarts", 0) + self.measures.restarts

    @override
    def close(self) -> None:
        self._ended.set()
        if self._group is None:
            with suppress(Abandoned):
                self._group = self._opening.result()
        if self._caller is not None:
            self._caller.shutdown()
        if self._group is not None:
            self._group.__exit__(None, None, None)


def _of_size_one(direction: Vector) -> Vector:
    """A direction whose largest entry is 1 or -1: those of a program without optimum may grow without end."""
    largest = float(np.abs(direction).max(initial=0.0))
    return direction / largest if 0.0 < largest < np.inf else direction
