"""What is simulated: small runs on devices, and one on the host alone, with a run folder and without.

Answers of the host's runs are known by brute force; those of devices must be the ones of a run without faults.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import engine
from engine.runs.executor import Executor
from tests.support import counting
from tests.support.lasting import small_knapsack, small_probit, small_program

SEED = 7

DISK = {"open": 12, "write": 24, "fsync": 22, "rename": 11, "unlink": 5, "mkdir": 1, "disk": 70}
POLL = {"poll": 5}


@dataclass(frozen=True)
class Scenario:
    """A run, the calls in it that may fail, and how many of each it makes at most.

    ``devices`` is 0 for a run on the host alone; ``weight`` is its share of all histories; ``gives_up``: what was on a
    device that fails is given up, as islands are.
    """

    weight: float
    problem: Callable[[], Any]
    calls: dict[str, int]
    options: dict[str, Any] = field(default_factory=dict)
    devices: int = 0
    folder: bool = True
    objective: Callable[[], Any] | None = None
    arrays: tuple[str, ...] = ()
    gives_up: bool = False


class Host(Executor):
    """Works runs without devices."""

    @property
    def device_infos(self):
        return []

    def validate(self, *_):
        """No device has to be fit for it."""

    def execute(self, run):
        return run.solver.solve(run.problem, run.options, run.pool, run)


@functools.cache
def _flowshop():
    return engine.Flowshop(np.random.default_rng(11).integers(1, 30, (3, 5)))


_FEW_DRAWS = {"draws": 4, "warmup": 4, "chains": 2, "kernel": "gibbs"}
_COUNT = {"slice_seconds": 0.0, "aloud": False, "step": 7}


def _device(launches, others):
    calls = {"launch": launches, "driver": 2 * launches + others, "allocate": others}
    return {**calls, "copy": 4, "wait": 2 * launches, "event": 4, "build": 8}


def _on_devices():
    """Five solvers, on one device and on two, with a run folder and without."""
    cases = {
        "knapsack": (lambda: small_knapsack(24, 100), {"reduce": False, "variant": "rows"}, (), 60),
        "queens": (lambda: engine.Queens(6), {"ivms": 16}, (), 20),
        "flowshop": (_flowshop, {"ivms": 16, "initial": "infinity"}, (), 20),
        "gibbs": (lambda: small_probit(12, 2), _FEW_DRAWS, ("beta",), 150),
        "boa": (
            lambda: engine.BOA("trap", 20),
            {"population": 60, "max_generations": 3, "local_search": "none"}, ("history",), 60,
        ),
        "islands": (
            lambda: engine.BOA("trap", 20),
            {"population": 40, "max_generations": 4, "local_search": "none", "islands": 2, "migration_interval": 2},
            ("history",), 80,
        ),
        "linprog": (lambda: small_program(5, 8), {"method": "mpc"}, (), 80),
    }  # fmt: skip
    return {
        f"{name} on {count}{' in a folder' if folder else ''}": Scenario(
            0.25, problem, {**_device(launches, 30), **(DISK | POLL if folder else {})}, options,
            devices=count, folder=folder, arrays=arrays, gives_up=name == "islands",
        )
        for name, (problem, options, arrays, launches) in cases.items()
        for count in (1, 2)
        for folder in (False, True)
    }  # fmt: skip


def _count():
    return counting.Counting(20)


def _total():
    return counting.expected(20, SEED)


SCENARIOS = {
    "disk": Scenario(30.0, _count, DISK | POLL, _COUNT, objective=_total),
    **_on_devices(),
}  # fmt: skip
