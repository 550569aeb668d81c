"""An engine that is kept between calls of functions that have no engine of their own."""

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from ..api.engine import Engine
from ..api.functions import solve
from ..base.problem import Problem
from ..base.result import Result
from ..devices import Backend

_PATIENCE = 0.1  # seconds to wait for the engine while another thread uses it: about the time to open and close one


class _Kept:
    """An engine on CPUs, kept from one call to the next: opening one takes longer than solving a small program.

    Short calls of several threads use it one after the other. While a long call uses it, the others get an engine of
    their own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: Engine | None = None
        self._lent: Engine | None = None
        self._process = os.getpid()

    @contextlib.contextmanager
    def lent(self, backend: Backend | None, devices: Sequence[str] | None) -> Iterator[Engine]:
        """The engine that is kept, if it has the settings asked for and is free now or soon; else another one."""
        asked = Engine(backend, devices)
        if self._process != os.getpid():  # threads do not outlive a fork
            self._lock, self._owner, self._lent, self._process = threading.Lock(), None, None, os.getpid()
        lock, lent = self._lock, self._lent
        wait = _PATIENCE if lent is not None and lent.same_config(asked) else 0.0
        if not lock.acquire(timeout=wait):
            with asked:
                yield asked
            return
        try:
            before, self._owner = self._owner, None
            if before is not None and before.same_config(asked):
                asked = before
            elif before is not None:
                before.close()
            self._lent = asked
            with contextlib.ExitStack() as closing:
                closing.push(asked)
                yield asked
                if not asked.is_open or all(info.capabilities.shares_host_cores for info in asked.device_infos):
                    self._owner = asked
                    closing.pop_all()
        finally:
            self._lent = None
            lock.release()


KEPT = _Kept()
"""What ``linprog``, modelling languages and the estimators of scikit-learn solve with."""


def solve_kept(problem: Problem, options: dict[str, Any]) -> Result:
    """The result of :func:`engine.solve`; by the engine that is kept unless there are settings of its own."""
    options = dict(options)
    if "config_file" in options or options.get("cluster") is not None:
        return solve(problem, **options)
    with KEPT.lent(options.pop("backend", None), options.pop("devices", None)) as owner:
        return owner.solve(problem, **options)
