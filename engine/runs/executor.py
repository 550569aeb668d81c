"""Where runs work: :class:`Executor`, and :class:`Local` for the devices of this machine."""

from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ..base.batch import Failure, Item
from ..base.problem import Problem
from ..base.result import Result
from ..base.solver import Solver, SolverOptions
from ..devices import Backend, DeviceInfo, DevicePool, select
from ..errors import DeviceError, QuintetError
from .child.far_run import needs_isolation, solve_in_child

if TYPE_CHECKING:
    from .run import Run

_PATIENCE = 0.05
"""Seconds for the devices of a run that had to end, which a user does not wait for longer."""


class Executor(ABC):
    """Where the runs of an engine work: given to ``engine.Engine(executor=...)``, and closed with it.

    A subclass says which devices there are, and works a run. Runs of one engine take turns.
    """

    @property
    @abstractmethod
    def device_infos(self) -> list[DeviceInfo]:
        """The devices that runs are worked on."""

    @abstractmethod
    def execute(self, run: Run) -> Result:
        """Work a run, on a thread of its own, and return its result.

        Parameters
        ----------
        run : Run
            With problem, solver and options. What is found is reported to it, and its ``poll`` says when it must end,
            as to a solver: see :class:`engine.base.context.RunContext`. If what ``poll`` raises is not caught here, the
            run ends with the best that was reported.
        """

    def validate(self, solver: Solver, problem: Problem[Any], options: SolverOptions) -> None:
        """Refuse what cannot be solved on these devices, before any of them is used.

        Parameters
        ----------
        solver : Solver
        problem : Problem
        options : SolverOptions

        Raises
        ------
        engine.errors.InputError
        """
        if solver.validate is not None:
            solver.validate(problem, options, self.device_infos)

    def prepare(self, run: Run) -> None:  # noqa: B027
        """What is done with a run before it begins, on the caller's thread."""

    def begin(self, run: Run) -> None:
        """What is done once a run's turn has come, on its thread, before its first event: it gets the devices."""
        run.pool = self.pool()
        run.pool.drain()

    def pool(self) -> DevicePool:
        """The devices of this process that a run has; by default none."""
        return DevicePool([])

    def solve_items(
        self, items: Sequence[Item], common: dict[str, Any], time_limit: float | None, report: Any
    ) -> tuple[dict[int, Result | Failure], QuintetError | None] | None:
        """Solve the items of a batch; None where they are runs, one after the other.

        Parameters
        ----------
        items : sequence of Item
        common : dict
            Options of all; ``seed`` among them, if given.
        time_limit : float, optional
            Seconds of each.
        report : BatchProgress

        Returns
        -------
        tuple or None
            The entries by index (results and failures), and the error that ended the batch early, or None.
        """
        return None

    def ended(self, run: Run) -> None:  # noqa: B027
        """What is done once a run has ended, whatever ended it."""

    def close(self, stopped: bool = False) -> None:  # noqa: B027
        """Leave what it uses; ``stopped`` if a run had to end early, whose devices are not waited for."""

    def describe(self) -> dict[str, str]:
        """What the run folder and the engine's text say of it."""
        return {}


class Local(Executor):
    """The devices of this machine, opened when they are first needed."""

    def __init__(self, backend: Backend, devices: Sequence[str] | None = None) -> None:
        self._backend, self._devices = backend, devices
        self._pool: DevicePool | None = None
        self._opening = threading.RLock()

    @functools.cached_property
    @override
    def device_infos(self) -> list[DeviceInfo]:
        return select(self._backend, self._devices)

    @property
    def is_open(self) -> bool:
        """Whether devices have been opened, and not closed since."""
        return self._pool is not None

    def pool(self) -> DevicePool:
        """The devices, opened."""
        with self._opening:
            if self._pool is None:
                self._pool = DevicePool(self.device_infos)
            return self._pool

    def execute(self, run: Run) -> Result:
        """In this process; what has C code of the user's and a CPU in a child process."""
        if needs_isolation(run.solver, run.problem, self.device_infos):
            return solve_in_child(run)
        return run.solver.solve(run.problem, run.options, run.pool, run)

    def take_over(self, other: Local) -> None:
        """Take the opened devices of another, if they are those of this one."""
        with other._opening, self._opening:
            if self._pool is None and self.device_infos == other.device_infos:
                self._pool, other._pool = other._pool, None

    def ended(self, run: Run) -> None:
        """Close the devices if one has failed: the next run opens them again."""
        if not isinstance(run.error, DeviceError):
            return
        try:
            self.close()
        except Exception as error:
            run.notice(f"closing the devices: {error}", level="warning")

    def close(self, stopped: bool = False) -> None:
        """Close the devices; they are opened again when they are needed."""
        with self._opening:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                pool.close(_PATIENCE if stopped else None)
