"""What a user writes, for type checkers: every line must pass, but those marked ``# error``."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np

import engine
import engine.devices.pool
import quintet as qt
from quintet.devices import DeviceInfo
from quintet.errors import OptionError
from quintet.events import Progress


def knapsack(path: Path) -> int:
    problem = engine.Knapsack.read(path)
    assert_type(problem, engine.Knapsack)
    result = engine.solve(problem, backend="opencl", devices=["opencl:0"], time_limit=1.5, variant="tiles")
    assert_type(result, engine.Result)
    assert result.status is engine.Status.OPTIMAL
    assert isinstance(result.objective, int)
    return result.objective


def posterior() -> float:
    problem = engine.HorseshoeProbit(np.zeros((3, 2)), [0, 1, 1], names=["a", "b"])
    result = engine.solve(problem, draws=100)
    with engine.Engine() as owner:
        assert owner.solve(problem).summary
        assert owner.start(problem).wait().summary
    return result.summary[0].mean


def steered(events: list[object]) -> engine.Result:
    with engine.Engine(backend="opencl") as owner:
        run = owner.start(engine.Queens(8), on_event=events.append, run_folder=Path("r"))
        assert_type(run, engine.Run)
        run.pause()
        run.resume()
        run.stop()
        return run.wait()


def refused() -> None:
    try:
        engine.resume("folder")
    except engine.RunFolderError as error:
        assert isinstance(error, engine.QuintetError)
    engine.Knapsak  # error
    engine.solve(3)  # error
    engine.solve(engine.Queens(8), seed="x")  # error
    engine.solve(engine.Queens(8)).summary  # error


def under_its_own_name(seen: list[DeviceInfo], progress: Progress) -> float | None:
    problem = qt.Knapsack([1, 2], [3, 4], 5)
    assert_type(problem, engine.Knapsack)
    try:
        assert_type(qt.solve(problem), engine.Result)
    except OptionError as error:
        raise SystemExit(seen[0].name) from error
    qt.Knapsak  # error
    return progress.seconds_left


def there() -> list[str]:
    names = [info.name for info in engine.available_devices()] + list(engine.available_solvers())
    return [*names, engine.__version__, engine.devices.pool.DevicePool.__name__]
