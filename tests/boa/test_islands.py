"""Islands equal their NumPy references, whatever the devices, the slices and the interruptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.devices import DevicePool, Member
from engine.errors import DeviceLost
from engine.references.boa import ReferenceRun, migrate
from engine.solvers.boa import islands as islands_module
from engine.solvers.boa.device.state import CONVERGED, MOST_GENERATIONS, STALLED, STATUS, Ending, Slice
from engine.solvers.boa.division import _advanced
from engine.solvers.boa.fitness.tables import onemax, trap
from engine.solvers.boa.islands import ISLAND_STRIDE, Islands
from engine.solvers.boa.network import bit_planes, individuals
from engine.solvers.boa.options import Migration, Options, resolve
from engine.solvers.boa.schema import COLUMNS
from engine.solvers.boa.validate import migration_for
from tests.support.faults import failing
from tests.support.paper import PaperEngine, solve_as_paper
from tests.support.stopped_runs import history, stopped_and_resumed


@pytest.fixture(scope="module")
def running(device: Member) -> Iterator[engine.Engine]:
    with PaperEngine(devices=[device.info.id]) as opened:
        yield opened


@given(count=st.integers(1, 70), n=st.integers(1, 9), seed=st.integers(0, 9))
def test_bit_planes_are_the_inverse_of_individuals(count: int, n: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (count, n)).astype(np.uint8)
    planes = bit_planes(bits, 3)
    assert planes.shape == (n, 3)
    assert np.array_equal(individuals(planes, count), bits)
    assert not individuals(planes, 96)[count:].any()


def test_a_long_slice_of_an_island_has_every_generation() -> None:
    def advance(count: int) -> Callable[[], Slice]:
        return lambda: Slice(np.zeros(count, STATUS.dtype), means=[0.5] * count)

    total = _advanced(cast(Any, SimpleNamespace(reason=0, advance=advance)), MOST_GENERATIONS + 6)
    assert len(total.history) == len(total.means) == MOST_GENERATIONS + 6


def test_the_last_island_that_goes_on_may_be_given_up(device: Member) -> None:
    parameters = resolve(Options(population=64, islands=2), 20, 64, seed=1)
    losses: list[DeviceLost] = []
    with (
        DevicePool([device.info, device.info]) as pool,
        Islands(
            *(pool, parameters, trap(20, 5), ["popcount"] * 2, NEVER, Migration(2, 5, 4)), on_loss=losses.append
        ) as islands,
    ):
        islands.begin(np.zeros((0, 20), np.uint8))
        islands._populations[0].reason = CONVERGED
        with failing(pool.members[1].label, at_launch=1):
            done = islands.advance(2)
        assert len(done.history) == 0
        assert (islands.numbers, islands.reason, len(losses)) == ([0], CONVERGED, 1)


@pytest.mark.few(1)
def test_islands_are_those_of_the_reference(device: Member) -> None:
    fitness, generations = trap(30, 5), 7
    chosen = Options(population=500, islands=3, migration_interval=3, migration_fraction=0.07)
    parameters = resolve(chosen, 30, 500, seed=11)
    migration = migration_for(chosen, parameters, 1)
    assert (migration.islands, migration.migrants) == (3, 35)
    references = []
    for island in range(3):
        own = resolve(chosen, 30, 500, seed=11, chain=island * ISLAND_STRIDE)
        references.append(ReferenceRun(own, fitness.keys))
    with (
        DevicePool([device.info]) as pool,
        Islands(pool, parameters, fitness, ["popcount"], NEVER, migration) as islands,
    ):
        islands.begin(np.zeros((0, 30), np.uint8))
        done = 0
        while done < generations:
            islands.advance(generations - done)
            while done < islands.step:
                for reference in references:
                    reference.step()
                done += 1
                if done % 3 == 0:
                    migrate(references, 35)
        for reference, state in zip(references, islands.states().values(), strict=True):
            assert np.array_equal(state.keys, reference.keys)
            assert np.array_equal(individuals(state.planes, 500), reference.bits)


NEVER = Ending(None, 10**6)

CASES: list[tuple[engine.BOA, dict[str, Any]]] = [
    (engine.BOA("trap-5", 40), {"population": 400, "islands": 3, "migration_interval": 2}),
    (engine.BOA("trap-5", 30), {"population": "auto", "islands": 2, "restarts": 3}),
    (engine.BOA(lambda bits: bits.sum(axis=1), 30), {"population": 64, "islands": 3, "max_generations": 12}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("problem", "options"), CASES, ids=["given", "auto", "function"])
def test_islands_do_not_depend_on_the_devices(device: Member, problem: engine.BOA, options: dict[str, Any]) -> None:
    alone = solve_as_paper(problem, devices=[device.info.id], seed=2, **options)
    pair = solve_as_paper(problem, devices=[device.info.id] * 2, seed=2, **options)
    assert history(alone) == history(pair)
    assert np.array_equal(alone.solution, pair.solution)
    for name in ("edges", "order", "population"):
        assert np.array_equal(alone.arrays[name], pair.arrays[name])
    assert set(alone.arrays["history"][:, COLUMNS.index("island")]) == set(range(options["islands"]))


def test_as_many_islands_as_devices_if_asked_for(device: Member) -> None:
    options = {"population": 200, "islands": "devices", "max_generations": 4}
    pair = solve_as_paper(engine.BOA("trap-5", 20), devices=[device.info.id] * 2, **options)
    assert pair.counters["islands"] == 2
    given = solve_as_paper(engine.BOA("trap-5", 20), devices=[device.info.id], **options | {"islands": 2})
    assert history(given) == history(pair)


@pytest.mark.full
def test_slices_do_not_change_what_islands_do(running: engine.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = engine.BOA("trap-5", 40)
    options: dict[str, Any] = {"population": 150, "islands": 4, "patience": 3, "migration_interval": 4}
    results = []
    for seconds in (1e-9, 10.0):
        monkeypatch.setattr(islands_module, "SLICE_SECONDS", seconds)
        results.append([running.solve(problem, seed=seed, **options) for seed in range(4)])
    for one_by_one, together in zip(*results, strict=True):
        assert history(one_by_one) == history(together)
        assert one_by_one.counters == together.counters


def test_island_that_has_ended_goes_on_when_it_is_sent_something_better(device: Member) -> None:
    fitness = onemax(40)
    parameters = resolve(Options(population=200), 40, 200, seed=1)
    reference = ReferenceRun(parameters, fitness.keys)
    migration = Migration(2, 5, 10)
    with (
        DevicePool([device.info]) as pool,
        Islands(pool, parameters, fitness, ["popcount"], Ending(None, 2), migration) as islands,
    ):
        best = np.ones((1, 40), np.uint8)
        best[0, :2] = 0
        islands.begin(best)  # nobody of the first island comes to more for two generations
        seen = []
        while islands.reason == 0 and islands.step < 60:
            done = islands.advance(1)
            seen += [(int(island), int(row["reason"])) for island, row in zip(done.islands, done.history, strict=True)]
    assert reference.keys.max() < 38
    assert any(reason == STALLED for _, reason in seen)
    ended = {island: seen.index((island, reason)) for island, reason in seen if reason}
    revived = [island for island, at in ended.items() if island in [other for other, _ in seen[at + 1 :]]]
    assert revived, seen


def test_stopped_islands_resume_to_the_same_end(running: engine.Engine, tmp_path: Path) -> None:
    problem = engine.BOA("trap-5", 60)
    options: dict[str, Any] = {"population": "auto", "islands": 2, "seed": 5, "migration_interval": 3}
    whole = running.solve(problem, **options)
    resumed = stopped_and_resumed(running, problem, tmp_path / "run", 9, devices=2, **options)
    assert history(resumed) == history(whole)
    assert resumed.counters == whole.counters


def test_migration_lets_small_populations_solve_what_one_of_them_cannot(running: engine.Engine) -> None:
    problem = engine.BOA("trap-5", 50)
    alone = sum(running.solve(problem, seed=seed, population=1200).objective == 50 for seed in range(6))
    together = sum(running.solve(problem, seed=seed, population=1200, islands=4).objective == 50 for seed in range(6))
    assert alone <= 1
    assert together >= 4
