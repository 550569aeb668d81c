"""Local search of functions that are known by evaluation only: on devices as on the host, counted, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.devices import Device, Member
from engine.runs.run import Run
from engine.solvers.boa.device.programs import shapes_for
from engine.solvers.boa.device.worker import DevicePopulation
from engine.solvers.boa.division import refusal
from engine.solvers.boa.fitness import Fitness, Hierarchy, Snippet
from engine.solvers.boa.options import Options, resolve
from tests.support.stopped_runs import history, stopped_and_resumed

pytestmark = pytest.mark.usefixtures("unoptimized")

CODE = "for (i32 i = 0; i + 1 < N; ++i) fitness += BIT(i) == BIT(i + 1) ? 4 : (3 * i) % 7;"


def values(bits: np.ndarray) -> np.ndarray:
    """What the code computes."""
    same = bits[:, :-1] == bits[:, 1:]
    return np.asarray(np.where(same, 4, 3 * np.arange(bits.shape[1] - 1) % 7).sum(axis=1))


class Counted:
    """The same function, which counts its evaluations and may stop a run."""

    def __init__(self, stops_after: float = np.inf) -> None:
        self.evaluations = 0
        self.calls_after = 0
        self.run: Run | None = None
        self._stops_after = stops_after

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        self.evaluations += len(bits)
        if self.evaluations > self._stops_after and self.run is not None:
            self.calls_after += self.run.state == "stopping"
            self.run.stop()
        return values(bits)


FITNESSES = (
    Snippet(CODE, 37, host=values),
    Snippet(CODE, 37, host=lambda bits: values(bits) / 2, minimize=True, scale=2),
    Hierarchy("hiff", 64),
    Hierarchy("htrap", 27),
)


def flipped(device: Device, fitness: Fitness, bits: np.ndarray, genes: np.ndarray) -> np.ndarray:
    parameters = resolve(Options(population=32), fitness.n, 32, 1)
    population = DevicePopulation(
        device, shapes_for(device.capabilities), parameters, fitness, "popcount", fitness.n, 1
    )
    try:
        return population.evaluation.flipped_keys(bits, genes)
    finally:
        population.close()


@pytest.mark.few(2)
@pytest.mark.parametrize("fitness", FITNESSES, ids=lambda fitness: f"{fitness.text} {fitness.scale}")
def test_devices_evaluate_flips_as_the_host_does(device: Member, fitness: Fitness) -> None:
    random = np.random.default_rng(5)
    for count, each in ((1, fitness.n), (33, 1), (70, 9)):
        bits = random.integers(0, 2, (count, fitness.n)).astype(np.uint8)
        genes = random.integers(0, fitness.n, (count, each))
        strings = np.repeat(bits, each, axis=0)
        strings[np.arange(count * each), genes.ravel()] ^= 1
        found = device.submit(flipped, fitness, bits, genes).result()
        assert np.array_equal(found, fitness.keys(strings).reshape(count, each))


@pytest.mark.full
def test_a_snippet_has_the_run_of_the_same_function_in_python(device: Member) -> None:
    given: dict[str, Any] = {"local_search": "first", "population": 60, "max_generations": 5, "seed": 4, "flips": 300}
    function = Counted()
    python = engine.solve(engine.BOA(function, 30), devices=[device.info.id], **given)
    snippet = engine.BOA.snippet(CODE, 30, host=values)
    for devices, options in ((1, {}), (2, {"share": "always"})):
        result = engine.solve(snippet, devices=[device.info.id] * devices, **given, **options)
        assert np.array_equal(result.solution, python.solution)
        assert result.counters == python.counters
        assert history(result) == history(python)
    assert python.counters["evaluations"] == function.evaluations
    assert python.counters["flips"] > 0
    assert "local search (first" in str(python.arrays["algorithm"])


@pytest.mark.few(1)
@pytest.mark.parametrize("islands", [1, 2])
def test_evaluations_of_flips_keep_the_limit_and_a_resumed_run_is_the_same(
    device: Member, tmp_path: Path, islands: int
) -> None:
    problem = engine.BOA("hiff", 64)
    options: dict[str, Any] = {
        "local_search": "first",
        "population": 40,
        "patience": 100,
        "seed": 3,
        "islands": islands,
    }
    options |= {"max_evaluations": 9000, "max_generations": 30, "target": 1e9}
    with engine.Engine(devices=[device.info.id]) as running:
        whole = running.solve(problem, **options)
        resumed = stopped_and_resumed(running, problem, tmp_path / "run", 4, **options)
    assert whole.counters["evaluations"] <= 9000
    assert whole.counters["evaluations"] > 40 * islands + 28 * whole.counters["generations"], "flips are counted"
    assert resumed.counters == whole.counters
    assert history(resumed) == history(whole)
    assert np.array_equal(resumed.solution, whole.solution)


@pytest.mark.few(1)
def test_a_stop_ends_a_local_search_and_the_resumed_run_does_its_generation_anew(
    device: Member, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"local_search": "first", "local_search_share": 1.0, "population": 40, "patience": 100}
    options |= {"max_generations": 4, "flips": 1200, "devices": [device.info.id]}
    whole = engine.solve(engine.BOA(Counted(), 300), **options)
    first = history(whole)[1][2]  # evaluations up to the first generation
    function = Counted(stops_after=first + 100)
    with engine.Engine(devices=[device.info.id]) as running:
        del options["devices"]
        function.run = running.start(engine.BOA(function, 300), run_folder=tmp_path / "run", **options)
        stopped = function.run.wait()
    assert stopped.status is engine.Status.INTERRUPTED
    assert stopped.counters["evaluations"] == function.evaluations < first + 100 + 2 * 300 * 219
    assert function.calls_after == 0, "the function is not called once the run is stopping"
    assert len(history(stopped)) == 2
    assert stopped.objective == values(stopped.solution[None])[0]
    resumed = engine.resume(tmp_path / "run", problem=engine.BOA(Counted(), 300), devices=[device.info.id])
    assert history(resumed) == history(whole)
    assert resumed.counters == whole.counters


def test_noise_and_local_search_keep_the_budget_together(device: Member) -> None:
    random, seen = np.random.default_rng(1), []

    def noisy(bits: np.ndarray) -> np.ndarray:
        seen.append(len(bits))
        return values(bits) + random.standard_normal(len(bits))

    given: dict[str, Any] = {"local_search": "first", "local_search_share": 0.1, "devices": [device.info.id]}
    result = engine.maximize_bits(noisy, 16, noise=True, budget=1200, **given)
    assert result.evaluations == sum(seen) <= 1200
    assert result.samples > 1
    assert result.run.counters["flips"] > 0


def test_a_limit_of_evaluations_that_workers_cannot_keep_is_not_divided_among_them() -> None:
    problem = engine.BOA.snippet(CODE, 20)
    options = Options(islands=3, local_search="first", max_evaluations=1000)
    assert "workers cannot keep max_evaluations" in str(refusal(problem, options))
    assert refusal(problem, options.model_copy(update={"max_evaluations": None})) is None
    assert refusal(problem, options.model_copy(update={"local_search": "auto"})) is None
