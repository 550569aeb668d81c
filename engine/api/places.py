"""Where an engine works: the executor that an argument of :class:`engine.Engine` is short for."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..base.solver import LazyImport
from ..devices import Backend
from ..errors import ClusterError, InputError
from ..runs.executor import Executor
from ..util.paths import PACKAGE

EXECUTORS = {"cluster": ("execution.dask.executor", "Dask"), "host": ("execution.ssh", "Ssh")}
"""The executors of the room above, by the argument that names them: a test imports each."""


def executor_of(places: Mapping[str, Any], backend: Backend | None, devices: Sequence[str] | None) -> Executor | None:
    """The executor that is given, or that an argument of :data:`EXECUTORS` is short for; None for this process."""
    given = [name for name, value in places.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"runs work in one place: give one of {', '.join(places)}; got {' and '.join(given)}")
    if not given or given == ["executor"]:
        return cast("Executor | None", places["executor"])
    module, name = EXECUTORS[given[0]]
    try:
        kind = cast("type[Any]", LazyImport(f"{PACKAGE}.{module}", name).load())
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] == PACKAGE:
            raise
        raise ClusterError(
            f"a cluster needs the package {error.name}, which is not installed: Quintet's extra cluster has it"
        ) from error
    executor: Executor = kind(places[given[0]], backend, devices)
    return executor
