"""A device that fails in the middle of a run: the others continue, exactly where they share one population."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.devices import Member
from engine.errors import DeviceError
from engine.events import Event, Notice
from engine.solvers.boa.schema import SCHEMA
from tests.support.engines import engine_of
from tests.support.faults import failing
from tests.support.stopped_runs import history

OPTIONS: dict[str, Any] = {"population": 300, "seed": 4, "max_generations": 6, "target": 41, "flips": 10}


@pytest.fixture(scope="module")
def alone(device: Member) -> Callable[[str], engine.Result]:
    """The run of one device that does not fail, by local search."""
    found: dict[str, engine.Result] = {}

    def result(local_search: str) -> engine.Result:
        if local_search not in found:
            running = engine_of(device)
            found[local_search] = running.solve(engine.BOA("trap-5", 40), local_search=local_search, **OPTIONS)
        return found[local_search]

    return result


def run_with_failure(
    device: Member, problem: engine.BOA, at_launch: int, **options: Any
) -> tuple[engine.Result, list[str]]:
    """The result of two devices of which the second fails at some launch, and the warnings of the run."""
    seen: list[Event] = []
    with failing(f"{device.info.id}#2", at_launch=at_launch) as failures:
        result = engine_of(device, 2).solve(problem, share="always", on_event=seen.append, **options)
    assert failures[0] > 0
    return result, [event.message for event in seen if isinstance(event, Notice) and event.level == "warning"]


@pytest.mark.few(1)
@pytest.mark.parametrize("at_launch", [1, 4, 60, 61, 62, 63, 64, 75])
@pytest.mark.parametrize("local_search", ["none", "tabu"])
def test_shared_population_takes_the_same_way_without_the_failed_device(
    device: Member, alone: Callable[[str], engine.Result], at_launch: int, local_search: str
) -> None:
    whole = alone(local_search)
    problem = engine.BOA("trap-5", 40)
    left, warnings = run_with_failure(device, problem, at_launch, local_search=local_search, **OPTIONS)
    flips = SCHEMA.column_index("flips")  # those of the failed device are made again
    assert [row[:flips] for row in history(left)] == [row[:flips] for row in history(whole)]
    assert left.objective == whole.objective
    assert any("the run continues without it" in text for text in warnings)


@pytest.mark.parametrize("at_launch", [2, 70])
def test_islands_of_a_failed_device_are_given_up(device: Member, at_launch: int) -> None:
    problem = engine.BOA("trap-5", 40)
    options: dict[str, Any] = {"population": 300, "islands": 4, "max_generations": 9, "target": 41, "seed": 2}
    result, warnings = run_with_failure(device, problem, at_launch, local_search="none", **options)
    last = [row for row in history(result) if row[1] == 9]
    assert {row[SCHEMA.column_index("island")] for row in last} == {0, 2}
    assert result.objective == problem.evaluate(result.solution[None])[0]
    assert len(warnings) == 2


def test_last_device_that_fails_ends_the_run_with_its_error_and_keeps_the_checkpoint(
    device: Member, tmp_path: Path
) -> None:
    problem = engine.BOA("trap-5", 60)
    options: dict[str, Any] = {
        "population": 600,
        "seed": 4,
        "local_search": "none",
        "max_generations": 12,
        "target": 61,
    }
    folder = tmp_path / "run"
    with (
        failing(device.info.id, at_launch=150) as failures,
        pytest.raises(DeviceError, match="has fallen off the bus"),
    ):
        engine_of(device).solve(problem, run_folder=folder, checkpoint_interval=1e-9, **options)
    assert failures[0] > 0
    whole = engine_of(device).solve(problem, **options)
    resumed = engine_of(device).resume(folder).wait()
    assert history(resumed) == history(whole)
