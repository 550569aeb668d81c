"""Islands equal their NumPy references, whatever the devices, the slices and the interruptions."""

import numpy as np
import pytest

import engine
from engine.devices import DevicePool
from engine.references.boa import ReferenceRun, migrate
from engine.solvers.boa import islands as islands_module
from engine.solvers.boa.device.state import Ending
from engine.solvers.boa.fitness.tables import trap
from engine.solvers.boa.islands import ISLAND_STRIDE, Islands
from engine.solvers.boa.network import individuals
from engine.solvers.boa.options import Options, resolve
from engine.solvers.boa.schema import COLUMNS
from engine.solvers.boa.validate import migration_for
from tests.support.paper import PaperEngine, solve_as_paper
from tests.support.stopped_runs import history, stopped_and_resumed

NEVER = Ending(None, 10**6)


@pytest.fixture(scope="module")
def running(device):
    with PaperEngine(devices=[device.info.id]) as opened:
        yield opened


@pytest.mark.few(1)
def test_islands_are_those_of_the_reference(device):
    fitness, generations = trap(30, 5), 7
    chosen = Options(population=500, islands=3, migration_interval=3, migration_fraction=0.07)
    parameters = resolve(chosen, 30, 500, seed=11)
    migration = migration_for(chosen, parameters, 1)
    assert (migration.islands, migration.migrants) == (3, 35)
    chains = [resolve(chosen, 30, 500, seed=11, chain=island * ISLAND_STRIDE) for island in range(3)]
    references = [ReferenceRun(own, fitness.keys) for own in chains]
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


CASES = [
    (engine.BOA("trap-5", 40), {"population": 400, "islands": 3, "migration_interval": 2}),
    (engine.BOA("trap-5", 30), {"population": "auto", "islands": 2, "restarts": 3}),
    (engine.BOA("trap-5", 20), {"population": 200, "islands": "devices", "max_generations": 4}),
    (engine.BOA(lambda bits: bits.sum(axis=1), 30), {"population": 64, "islands": 3, "max_generations": 12}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("problem", "options"), CASES)
def test_islands_do_not_depend_on_the_devices(device, problem, options):
    pair = solve_as_paper(problem, devices=[device.info.id] * 2, seed=2, **options)
    count = 2 if options["islands"] == "devices" else options["islands"]
    assert set(pair.arrays["history"][:, COLUMNS.index("island")]) == set(range(count))
    alone = solve_as_paper(problem, devices=[device.info.id], seed=2, **options | {"islands": count})
    assert history(alone) == history(pair)
    assert np.array_equal(alone.solution, pair.solution)
    for name in ("edges", "order", "population"):
        assert np.array_equal(alone.arrays[name], pair.arrays[name])


@pytest.mark.full
def test_slices_do_not_change_what_islands_do(running, monkeypatch):
    options = {"population": 150, "islands": 4, "patience": 3, "migration_interval": 4}
    results = []
    for seconds in (1e-9, 10.0):
        monkeypatch.setattr(islands_module, "SLICE_SECONDS", seconds)
        results.append([running.solve(engine.BOA("trap-5", 40), seed=seed, **options) for seed in range(4)])
    for one_by_one, together in zip(*results, strict=True):
        assert (history(one_by_one), one_by_one.counters) == (history(together), together.counters)


def test_stopped_islands_resume_to_the_same_end(running, tmp_path):
    options = {"population": "auto", "islands": 2, "seed": 5, "migration_interval": 3}
    whole = running.solve(engine.BOA("trap-5", 60), **options)
    resumed = stopped_and_resumed(running, engine.BOA("trap-5", 60), tmp_path / "run", 9, devices=2, **options)
    assert (history(resumed), resumed.counters) == (history(whole), whole.counters)


def test_migration_lets_small_populations_solve_what_one_of_them_cannot(running):
    solved = {1: 0, 4: 0}
    for islands, seed in [(islands, seed) for islands in solved for seed in range(6)]:
        result = running.solve(engine.BOA("trap-5", 50), seed=seed, population=1200, islands=islands)
        solved[islands] += result.objective == 50
    assert solved[1] <= 1
    assert solved[4] >= 4
