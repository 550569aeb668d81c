"""Every kernel equals the algorithm in NumPy, bit for bit, over whole generations."""

import dataclasses

import numpy as np
import pytest

from engine.references.boa import ReferenceRun, learn, permutation, sample
from engine.solvers.boa.device.programs import shapes_for
from engine.solvers.boa.device.state import Ending
from engine.solvers.boa.device.worker import DevicePopulation
from engine.solvers.boa.fitness import Hierarchy, Snippet
from engine.solvers.boa.fitness import tables as functions
from engine.solvers.boa.network import individuals
from engine.solvers.boa.options import Parameters

pytestmark = pytest.mark.usefixtures("unoptimized")

BASE = Parameters(n=30, population=1000, selected=333, max_parents=3, laplace=False, seed=7)

NEVER = Ending(None, 10**6)


def follow(device, parameters, fitness, counting="popcount", shapes=None, generations=3, slots=None):
    worker = DevicePopulation(
        device, shapes or shapes_for(device.capabilities), parameters, fitness, counting, slots or parameters.n, 1
    )
    reference = ReferenceRun(parameters, fitness.keys)
    words = -(-parameters.offspring // 32)
    try:
        worker.draw(np.zeros((0, parameters.n), np.uint8))
        worker.evaluation.evaluate_population()
        worker.summarise(0, 0, NEVER)
        same_population(worker, reference)
        for generation in range(generations):
            worker.select_by(permutation(parameters, generation)[None])
            worker.learner.learn(0, parameters.n)
            network = worker.learner.network()
            worker.sample(generation, 0, words)
            worker.evaluation.evaluate_offspring(0, words)
            worker.selection.replace()
            worker.summarise(generation + 1, 0, NEVER)
            reference.step()
            assert reference.learned is not None
            same_network(network, reference.learned.parents, reference.learned.counts)
            same_population(worker, reference)
            row = worker.history(1)[0]
            best = int(reference.keys.max())
            assert (row["best"], row["individual"]) == (best, int(np.argmax(reference.keys)))
            assert np.array_equal(worker.best(), reference.bits[row["individual"]])
    finally:
        worker.close()


def same_population(worker, reference):
    planes, keys = worker.population()
    assert np.array_equal(keys, reference.keys)
    assert np.array_equal(individuals(planes, reference.parameters.population), reference.bits)


def same_network(network, parents, counts):
    for node, own in enumerate(parents):
        assert network.parents[node, : network.parent_count[node]].tolist() == own
        assert np.array_equal(network.totals[node][: 2 << len(own)].reshape(-1, 2).T, counts[node])


VARIANTS = {
    "plain": {},
    "laplace": {"laplace": True, "max_parents": 4},
    "univariate": {"max_parents": 0},
    "one-parent": {"max_parents": 1},
    "six-parents": {"max_parents": 6, "population": 300, "selected": 100, "n": 20},
    "few-offspring": {"selected": 900},
    "another-chain": {"chain": 3},
}


def follow_traps(device, variant, *arguments, **options):
    parameters = dataclasses.replace(BASE, **VARIANTS[variant])
    device.submit(follow, parameters, functions.trap(parameters.n, 5), *arguments, **options).result()


def as_gpu(device):
    return shapes_for(dataclasses.replace(device.info.capabilities, simt=True, max_block=256))


@pytest.mark.few(4)
@pytest.mark.parametrize("variant", VARIANTS)
def test_generations_are_those_of_the_reference(device, variant):
    follow_traps(device, variant)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "fitness",
    [
        functions.onemax(30),
        functions.deceptive3(30),
        Hierarchy("hiff", 32),
        Hierarchy("htrap", 27),
        functions.Decomposable(33, [[0, 32, 5], [7], range(10, 20)], [range(8), [0, 0.25], np.arange(1024) % 7]),
        functions.Decomposable(31, [[0, 30]], [[0, 1e7, 0.125, 3]], minimize=True, constant=-1.5),
        Snippet(
            "for (i32 i = 0; i < N; ++i) fitness += BIT(i) * (i + 1);", 31, host=lambda bits: bits @ np.arange(1, 32)
        ),
    ],
)
def test_devices_and_host_agree_on_every_kind_of_fitness(device, fitness):
    device.submit(follow, dataclasses.replace(BASE, n=fitness.n), fitness, generations=1).result()


@pytest.mark.few(2)
@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("counting", ["popcount", "histogram", "tensor"])
def test_every_way_of_counting_learns_the_same_network_with_a_table_of_all_pairs_or_without(
    device, monkeypatch, counting, table
):
    if counting == "tensor" and not device.info.capabilities.bit_tensor_cores:
        pytest.skip("tensor cores that multiply bits need an NVIDIA GPU of compute capability 8.0")
    if not table:
        monkeypatch.setattr("engine.solvers.boa.device.memory._MOST_PAIR_BYTES", 0)
    for variant in ("plain",) if table or counting == "histogram" else ("plain", "six-parents", "one-parent"):
        follow_traps(device, variant, counting, generations=2, slots=7)  # nodes, learned a few at a time
    if counting == "popcount":
        follow_traps(device, "plain", shapes=as_gpu(device), generations=2, slots=11)


@pytest.mark.cpu
def test_shapes_that_a_cpu_cannot_compile_are_refused(device):
    with pytest.raises(ValueError, match="minutes for the shapes of GPUs with 4 parents"):
        follow_traps(device, "laplace", shapes=as_gpu(device))


def test_offspring_follow_the_joint_distribution_of_the_network():
    random = np.random.default_rng(5)
    first = random.random(4000) < 0.3
    second = np.where(first, random.random(4000) < 0.9, random.random(4000) < 0.2)
    third = (first ^ second) ^ (random.random(4000) < 0.1)
    bits = np.stack([first, second, third], axis=1).astype(np.uint8)
    parameters = dataclasses.replace(BASE, n=3, population=64_000, selected=4000, max_parents=2)
    network = learn(bits, permutation(parameters, 0), 2)
    assert sum(map(len, network.parents)) == 3
    weights = np.array([1, 2, 4])
    expected = np.bincount(bits @ weights, minlength=8) / 4000 * 60_000  # a complete network is the joint distribution
    counted = np.bincount(sample(parameters, network, 0) @ weights, minlength=8)
    chi_square = float(((counted - expected) ** 2 / expected).sum())
    assert chi_square < 24.3  # the 0.999 quantile for 7 degrees of freedom
