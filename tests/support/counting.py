"""A solver that counts in slices, on a device that is not there: what the machinery around solvers is tested with."""

import dataclasses
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, Literal
from unittest import mock

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

import engine.devices.pool.pool  # noqa: F401 - patched below
from engine.base.context import StopRequested
from engine.base.problem import Problem
from engine.base.result import Result, Status
from engine.base.solver import Generator, MetricSpec, Solver, SolverOptions
from engine.devices import Capabilities, DeviceInfo, selection
from engine.devices.backends import backends
from engine.errors import AuditError, DeviceError, ProblemError
from engine.events import Started
from engine.solvers import discover

QUINTET = [sys.executable, "-W", "error", "-m", "tests.support.quintet_counting"]
"""``quintet`` in a process of its own, with the counting solver; its environment is to be ``with_root()``."""

_MODULUS = 2**61 - 1


class Counting(Problem):
    """Count from 0 to ``target`` and mix every number into a sum, so that a number lost or counted twice shows."""

    kind: ClassVar[str] = "counting"
    optimum: int | None = None

    def __init__(self, target, name="count"):
        if target < 0:
            raise ProblemError(f"target must be at least 0; got {target}")
        self.target = target
        self.name = name

    @classmethod
    def read(cls, path):
        words = Path(path).read_text(encoding="utf-8").split()
        if len(words) < 2 or not words[1].lstrip("-").isdigit():
            raise ProblemError("a count must be a whole number", path, 1)
        problem = cls(int(words[1]), Path(path).stem)
        problem.optimum = int(words[2]) if len(words) > 2 else None
        return problem

    @classmethod
    def recognizes(cls, path, head):
        return head.startswith("count ")

    def describe(self):
        return f"counting to {self.target}"

    def to_arrays(self):
        return {"target": np.array(self.target)}

    @classmethod
    def from_arrays(cls, arrays, name):
        return cls(int(arrays["target"]), name)


class Options(SolverOptions):
    slice_seconds: float = Field(default=0.005, ge=0, description="How long a slice takes.")
    step: int = Field(default=10, ge=1, description="How far a slice counts.")
    style: Literal["plain", "fancy"] = Field(default="plain", description="How to count.")
    aloud: bool = Field(default=True, description="Whether to emit metrics.")
    extra: int | None = Field(default=None, description="Nothing.")
    hold: int | None = Field(default=None, description="Where to wait for a stop or the time limit, unless resumed.")
    trouble: Literal["none", "device", "audit", "bug"] = Field(default="none", description="How to fail.")


def mixed(total, number, seed):
    return (total * 6364136223846793005 + number + seed) % _MODULUS


def expected(target, seed=0):
    total = 0
    for number in range(target):
        total = mixed(total, number, seed)
    return total


def solve(problem, options, pool, run):
    at, total = 0, 0
    if run.restored is not None:
        at = int(run.restored.arrays["at"])
        total = int(run.restored.state["total"])
    trouble = {"device": DeviceError("the abacus broke"), "audit": AuditError("miscounted"), "bug": KeyError("bead")}
    status = Status.OPTIMAL if problem.target else Status.INFEASIBLE
    try:
        while at < problem.target:
            run.poll()
            time.sleep(options.slice_seconds)
            if options.trouble in trouble:
                raise trouble[options.trouble]
            for number in range(at, min(at + options.step, problem.target)):
                total = mixed(total, number, run.seed)
            at = min(at + options.step, problem.target)
            run.progress("counting", at, problem.target, "numbers")
            if options.aloud:
                run.metric("at", at, device=run.devices[0])
                run.incumbent(at, problem.target)
            if run.checkpoint_due():
                run.save_checkpoint({"at": np.array(at)}, {"total": total})
            while options.hold is not None and at >= options.hold and run.restored is None:
                run.poll()
                time.sleep(0.002)
    except StopRequested as request:
        status = request.status
        run.save_checkpoint({"at": np.array(at)}, {"total": total})
    return Result(
        status=status,
        objective=np.int64(total) if at else None,
        bound=problem.target,
        solution=np.arange(min(at, 5)) if at else None,
        counters={"counted": at},
    )


class GeneratorOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    target: int = Field(default=20, ge=1, description="How far to count.")
    loud: bool = Field(default=False, description="Whether the name is in capitals.")


def _write(problem, path):
    path.write_text(f"count {problem.target}\n", encoding="utf-8")


SOLVER = Solver(
    name="counting",
    title="Counting",
    problems=(Counting,),
    options=Options,
    solve=solve,
    metrics=(MetricSpec("at", "Number reached", unit="numbers", per_device=True),),
    generators={"counting": Generator(GeneratorOptions, lambda options: Counting(options.target), _write)},
    bench=lambda arguments: len(arguments),
)


def start_function(owner, function, **arguments):
    """Start a run of a solver made of one function."""

    def solve(problem, options, pool, run):
        return function(run) or Result(Status.OPTIMAL, 1, 1, None)

    with mock.patch.dict(discover(), {SOLVER.name: dataclasses.replace(SOLVER, solve=solve)}):
        return owner.start(Counting(1), **arguments)


STARTED = Started(
    time=0, solver="counting", problem="c", name="n", description="d", sense="count", options={}, backend="opencl",
    devices=["opencl:0"], device_names=["Abacus"], seed=0,
)  # fmt: skip

ABACUS = DeviceInfo(
    language="opencl",
    index=0,
    name="Abacus 3000",
    platform="Wood",
    driver="1.0",
    uuid="beads",
    memory=10**9,
    max_allocation=10**8,
    capabilities=Capabilities(
        kind="cpu",
        fp64=True,
        int64_atomics=True,
        host_visible_memory=True,
        linear_algebra="lapack",
        compute_units=2,
        local_memory=32768,
        local_memory_per_unit=32768,
        preferred_block=64,
        max_block=1024,
    ),
)


def quiet_surroundings(patch, home):
    """No configuration of this machine, an empty folder to work in, and the counting solver on its abacus."""
    for name in list(os.environ):
        if name.startswith("QUINTET_"):
            patch.delenv(name)
    patch.setenv("HOME", str(home / "nobody"))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        patch.setenv(f"XDG_{name}_HOME", str(home / "nobody"))
    patch.chdir(home)
    install(patch)


def install(patch):
    """Put the solver and the device in place, by a ``MonkeyPatch``."""
    patch.setitem(discover(), SOLVER.name, SOLVER)
    devices = {"cuda": [], "opencl": [ABACUS]}
    found = {
        name: dataclasses.replace(backends()[name], list_devices=lambda name=name: devices[name]) for name in devices
    }
    patch.setattr(selection, "backends", lambda: found)
    patch.setattr(
        sys.modules["engine.devices.pool.pool"], "_open", lambda info: SimpleNamespace(info=info, close=lambda: None)
    )
