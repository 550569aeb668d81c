"""A population of devices that read each other's memory: the same generations as on one device."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine.devices import Device, Member
from engine.solvers.boa.device import peers
from engine.solvers.boa.schema import SCHEMA
from tests.support.engines import engine_of
from tests.support.faults import failing
from tests.support.stopped_runs import history

OPTIONS: dict[str, Any] = {"population": 300, "seed": 4, "max_generations": 5, "target": 41, "flips": 10}


@pytest.fixture
def reading(device: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let members of one device read each other's memory; OpenCL's do where they have one context."""
    if device.info.language == "opencl":
        import pyopencl

        make: Any = pyopencl.Context
        contexts: dict[int, Any] = {}

        def shared(devices: list[Any]) -> Any:
            key = devices[0].int_ptr
            if key not in contexts:
                contexts[key] = make(devices)
            return contexts[key]

        def copy(self: Device, target: Any, source: Any, to: int, start: int, count: int) -> None:
            self.copy(target, source, to, start, count)

        monkeypatch.setattr(pyopencl, "Context", shared)
        monkeypatch.setattr(Device, "copy_from_peer", copy)
        monkeypatch.setattr(Device, "enable_peer", lambda self, index: None)
        monkeypatch.setattr(Member, "reads", lambda self, other: True)


def _rows(result: engine.Result) -> list[tuple[float, ...]]:
    """The history without its flips: those of a device that fails are made again."""
    return [tuple(row[: SCHEMA.column_index("flips")]) for row in history(result)]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("local_search", ["none", "tabu"])
def test_devices_that_read_each_other_take_the_way_of_one(
    device: Member, monkeypatch: pytest.MonkeyPatch, local_search: str
) -> None:
    problem = engine.BOA("trap-5", 40)
    alone = engine_of(device).solve(problem, local_search=local_search, **OPTIONS)
    generations: list[int] = []
    original = peers.finish_by_peers

    def noted(worker: Any, generation: int, *arguments: Any) -> Any:
        generations.append(generation)
        return original(worker, generation, *arguments)

    monkeypatch.setattr("engine.solvers.boa.population.finish_by_peers", noted)
    for count in (2, 3):
        generations.clear()
        shared = engine_of(device, count).solve(problem, share="always", local_search=local_search, **OPTIONS)
        assert history(shared) == history(alone)
        assert len(generations) == count * shared.counters["generations"]


@pytest.mark.few(2)
@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("at_launch", [3, 20, 40, 61, 63, 66, 68, 70, 73])
def test_a_device_that_fails_leaves_the_others_on_their_way(device: Member, at_launch: int) -> None:
    problem = engine.BOA("trap-5", 40)
    given = {**OPTIONS, "local_search": "none"}
    alone = engine_of(device).solve(problem, **given)
    with failing(f"{device.info.id}#2", at_launch=at_launch) as failures:
        left = engine_of(device, 3).solve(problem, share="always", **given)
    assert failures[0] > 0
    assert _rows(left) == _rows(alone)
    assert left.objective == alone.objective
