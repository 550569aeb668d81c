"""What a user writes, for type checkers: every line must pass, but those marked ``# error``."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

import engine
import quintet as qt
import quintet.solvers.knapsack.problem
from engine.errors import InputError
from quintet.devices import DeviceInfo
from quintet.errors import OptionError
from quintet.events import Progress
from quintet.solvers.knapsack.options import ChoiceOptions


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
        assert issubclass(InputError, qt.QuintetError)
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


def with_options(owner: qt.Engine, options: dict[str, Any]) -> None:
    flowshop, program = qt.Flowshop([[3, 2, 4], [1, 5, 2]]), qt.LinearProgram([1.0, 2.0], [[-1.0, -1.0]], [-1.0])
    qt.solve(flowshop, initial=[0, 1, 2], bound="two_machine", upper_bound=12)
    qt.solve(program, method="mpc", initial=np.zeros(2), **options)
    owner.start(flowshop, checkpoint_interval=1, strategy="ring")
    owner.solve(program, basis=True, seed=3, run_folder="r")
    owner.map([program, program], method="pdhg", seed=1)
    qt.estimate(flowshop, time_limit=1, branching="max_sum")
    qt.solve_many(program, b_ub=np.ones((3, 1)), tolerance=1e-6).objective.sum()
    qt.minimize_bits(np.sum, 8, budget=100, local_search="none")
    qt.solve(program, time_limt=3)  # error
    qt.solve(program, metod="mpc")  # error
    qt.solve(program, method="mcp")  # error
    owner.start(flowshop, stratgy="ring")  # error
    owner.solve(program, time_limt=3)  # error
    owner.map([program], time_limt=3)  # error
    qt.map([program], sed=1)  # error
    qt.estimate(flowshop, branchin="max_sum")  # error
    qt.solve_many([program], tolerence=1e-6)  # error
    qt.minimize_bits(np.sum, 8, budgett=100)  # error


def adapted() -> float:
    found = qt.linprog(c=[-1, 4], A_ub=[[-3, 1], [1, 2]], b_ub=[6, 4], bounds=[(None, None), (-3, None)])
    assert_type(found.x, NDArray[np.float64])
    assert_type(found.ineqlin.marginals, NDArray[np.float64])
    qt.linprog([1.0], method="simplx")  # error
    qt.linprog([1.0], a_ub=[[1.0]])  # error
    posterior = qt.solve(qt.HorseshoeLogit(np.zeros((3, 2)), [0, 1, 1]), draws=100)
    assert_type(qt.to_arviz(posterior), DataTree)
    qt.to_arviz(posterior.summary)  # error
    return found.fun


def in_its_module(options: ChoiceOptions) -> str:
    assert_type(quintet.solvers.knapsack.problem.Knapsack([1], [1], 1), qt.Knapsack)
    return options.naem  # error
