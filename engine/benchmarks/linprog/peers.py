"""HiGHS with its own settings, for benchmarks."""

from __future__ import annotations

import importlib
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from ...generators.linprog import GeneratorOptions, generate
from ...solvers.linprog.highs import child
from ...solvers.linprog.highs.model import model_of
from ...solvers.linprog.problem import LinearProgram
from ...util.quirks.highspy_banner import quiet_highs

__all__ = ["HighsRun", "highs", "highs_apart"]

HighsSolver = Literal["choose", "simplex", "ipm"]
_GRACE_SECONDS = 10.0  # HiGHS looks at its clock now and then


@dataclass(frozen=True)
class HighsRun:
    """What a run of HiGHS took, in seconds, and the optimum it found; None if it found none within its limit."""

    seconds: float
    optimum: float | None

    def __str__(self) -> str:
        return f"{self.seconds:.2f}" if self.optimum is not None else f"> {self.seconds:.0f}"


def highs(problem: LinearProgram, solver: HighsSolver, limit: float, threads: int) -> HighsRun:
    """Solve with HiGHS here; the model is handed over before the clock starts."""
    highspy: Any = importlib.import_module("highspy")
    lp = child.to_highs(model_of(problem))
    sign = -1.0 if problem.maximize else 1.0
    parallel = "on" if threads > 1 else "off"
    model = quiet_highs(solver=solver, time_limit=limit, threads=threads, parallel=parallel)
    model.resetGlobalScheduler(True)  # it keeps its first number of threads otherwise, and refuses another
    model.passModel(lp)
    began = time.perf_counter()
    status = model.run()
    seconds = time.perf_counter() - began
    if status == highspy.HighsStatus.kError:
        raise RuntimeError(f"HiGHS could not run with {threads} threads")
    solved = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return HighsRun(seconds, sign * float(model.getInfo().objective_function_value) if solved else None)


def highs_apart(options: GeneratorOptions, solver: HighsSolver, limit: float, threads: int) -> HighsRun:
    """Solve a generated program with HiGHS in a process of its own, which is ended if HiGHS overruns its limit."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_child, args=(theirs, options, solver, limit, threads), daemon=True)
    child.start()
    theirs.close()
    try:
        if ours.recv() != "begun":
            raise EOFError
        if ours.poll(limit + _GRACE_SECONDS):
            found: HighsRun = ours.recv()
            return found
        return HighsRun(limit + _GRACE_SECONDS, None)
    except EOFError:
        raise RuntimeError(f"HiGHS ({solver}, {threads} threads) ended without an answer") from None
    finally:
        ours.close()
        child.kill()
        child.join()


def _child(connection: Connection, options: GeneratorOptions, solver: HighsSolver, limit: float, threads: int) -> None:
    problem = generate(options)
    connection.send("begun")
    connection.send(highs(problem, solver, limit, threads))
