"""Whole runs: what must be solved, what must fail, and that nothing but the seed decides the trajectory."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import OptionError, ProblemError, RunFolderError
from engine.events import Metric, Notice, Trace
from engine.solvers.boa.balance import Balance
from engine.solvers.boa.options import Options
from engine.solvers.boa.schema import COLUMNS
from tests.support.needs import several_devices
from tests.support.paper import PaperEngine, solve_as_paper
from tests.support.stopped_runs import history, stopped_at

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "boa"


@pytest.fixture(scope="module")
def running(device):
    with PaperEngine(devices=[device.info.id]) as opened:
        yield opened


def solved(running, problem, seeds, **options):
    return sum(running.solve(problem, seed=seed, **options).objective == problem.bound for seed in seeds)


HALF = {"selection_fraction": 0.5}
MUST_SUCCEED = [  # problem, options, runs, successes at least; generations from .. to
    ("trap-5", 20, {"population": 2000, **HALF}, 10, 10, (4, 8)),
    ("trap-5", 30, {"population": 2000, **HALF}, 10, 9, (5, 10)),
    ("trap-5", 50, {"population": 6000, "max_parents": 4}, 10, 10, (5, 7)),
    ("trap-5", 100, {"population": 12000, "max_parents": 4}, 5, 5, (9, 12)),
    ("onemax", 100, {"population": 400, **HALF}, 10, 10, (18, 24)),
    ("deceptive-3", 60, {"population": 4000, **HALF}, 5, 5, (12, 18)),
    ("hiff", 64, {"population": 4000, "max_parents": 4}, 3, 3, (5, 20)),
    ("htrap", 27, {"population": 3000, "max_parents": 4}, 3, 3, (3, 20)),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "n", "options", "runs", "least", "generations"), MUST_SUCCEED)
def test_populations_of_the_published_size_find_the_optimum(running, name, n, options, runs, least, generations):
    problem = engine.BOA(name, n)
    results = [running.solve(problem, seed=seed, **options) for seed in range(runs)]
    found = [result for result in results if result.objective == problem.optimum]
    assert len(found) >= least
    assert all(result.status is engine.Status.OPTIMAL for result in found)
    counts = [result.counters["generations"] for result in found]
    assert generations[0] <= np.median(counts) <= generations[1], counts


MUST_FAIL = [
    ("no network", 50, {"population": 4800, "max_parents": 0, **HALF}, 5, 0),
    ("half the individuals", 100, {"population": 4800, **HALF}, 5, 2),
    ("a third of the individuals", 50, {"population": 1000, **HALF}, 5, 2),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("why", "n", "options", "runs", "most"), MUST_FAIL)
def test_traps_are_not_solved_without_what_it_takes(running, why, n, options, runs, most):
    assert solved(running, engine.BOA("trap-5", n), range(runs), **options) <= most, why


def test_auto_ends_when_larger_populations_bring_nothing(running):
    problem = engine.BOA.decomposable(20, [[gene] for gene in range(20)], [[0, 1]])
    result = running.solve(problem)
    assert (result.objective, result.bound) == (20, None)
    assert result.status is engine.Status.FEASIBLE  # nobody said that it is the optimum
    sizes, best = result.arrays["history"][:, 0], result.arrays["history"][:, 3]
    reached = [best[sizes == size].max() for size in np.unique(sizes)]
    assert len(reached) == result.counters["populations"] < Options().restarts
    assert reached[-3:] == [20, 20, 20]
    assert running.solve(problem, target=21, restarts=7).counters["populations"] == 7  # who names a target means it
    result = running.solve(engine.MaxSAT([[1], [-1], [2, 3]], n=3))  # its bound is out of reach
    assert (result.objective, result.bound, result.status) == (2, 3, engine.Status.ITERATION_LIMIT)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "options",
    [
        {"local_search": "none"},
        {"local_search": "tabu", "flips": 90, "share": "always"},
        {"local_search": "tabu", "flips": 90, "islands": 2},
        {"mixing": "partition", "share": "always"},
    ],
)
def test_two_devices_go_the_way_of_one(device, options):
    problem = engine.BOA.nk(60, 4, 1, seed=2)
    given = {"population": 150, "seed": 3, "max_generations": 4, "target": 1e9}
    alone = engine.solve(problem, devices=[device.info.id], **given, **options)
    pair = engine.solve(problem, devices=[device.info.id] * 2, **given, **options)
    assert history(alone) == history(pair)
    assert np.array_equal(alone.solution, pair.solution)
    assert np.array_equal(alone.arrays["edges"], pair.arrays["edges"])
    assert alone.counters == pair.counters
    assert (alone.counters["flips"] > 0) == (options.get("local_search") != "none")


@pytest.mark.parametrize("islands", [1, 3])
def test_all_devices_of_this_machine_together_go_the_way_of_one(islands):
    everyone = [info.id for info in several_devices(2)]
    problem, options = engine.BOA("trap-5", 50), {"population": 1000, "max_generations": 5, "islands": islands}
    alone = solve_as_paper(problem, devices=everyone[:1], **options)
    assert history(alone) == history(solve_as_paper(problem, devices=everyone, **options))


def test_unequal_shares_make_no_difference(device, monkeypatch):
    problem, options = engine.BOA("trap-5", 50), {"population": 700, "seed": 4, "max_generations": 6}
    alone = solve_as_paper(problem, devices=[device.info.id], **options)
    note, random = Balance.note, np.random.default_rng(1)

    def wildly(balance, learning, sampling):
        for _ in range(4):
            note(balance, (10 ** random.uniform(-3, 3, 3)).tolist(), (10 ** random.uniform(-3, 3, 3)).tolist())

    monkeypatch.setattr(Balance, "note", wildly)
    assert history(alone) == history(solve_as_paper(problem, devices=[device.info.id] * 3, **options))


def test_known_individuals_are_part_of_the_first_population(running):
    optimum = np.ones((2, 50), np.uint8)
    optimum[0, 3] = 0
    result = running.solve(engine.BOA("trap-5", 50, seeds=optimum), population=100)
    assert (result.status, result.counters["generations"]) == (engine.Status.OPTIMAL, 0)
    assert np.array_equal(result.solution, optimum[1])
    many = engine.BOA("trap-5", 50, seeds=np.zeros((300, 50), np.uint8))
    assert running.solve(many, restarts=1).counters["population"] == 600


def ones(bits):
    return bits.sum(axis=1)


def ones_of_one(bits):
    return int(bits.sum())


def test_python_functions_go_the_way_of_a_table_all_at_once_one_by_one_and_in_processes(running):
    options = {"population": 200, "seed": 5}
    table = running.solve(engine.BOA("onemax", 30), **options)
    for function, how in ((ones, {}), (ones_of_one, {"each": True}), (ones_of_one, {"each": True, "processes": 2})):
        result = running.solve(engine.BOA(function, 30, optimum=30, **how), **options)
        assert (history(result), result.status) == (history(table), engine.Status.OPTIMAL)
    least = running.solve(engine.BOA(lambda bits: bits.sum(axis=1) - 7.5, 30, minimize=True), population=300)
    assert (least.objective, least.solution.any()) == (-7.5, False)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda bits: bits.sum(), "must return a value for each string, here 64"),
        (lambda bits: np.where(bits[:, 0] == 1, np.nan, 1.0), r"returned nan for 1[01]{9}"),
        (lambda bits: 1 / bits.sum(axis=1, keepdims=True), "array of shape"),
        (lambda bits: ["x"] * len(bits), "must be real numbers"),
        (lambda bits: bits.sum(axis=1) * 1j, "must be real numbers: complex numbers have no order"),
    ],
)
def test_fitness_that_returns_nonsense_is_reported_with_the_individual(running, function, message):
    with pytest.raises(ProblemError, match=message):
        running.solve(engine.BOA(function, 10), population=64)


def test_fitness_that_fails_later_keeps_the_best_so_far(running):
    calls, events = [], []

    def fails(bits):
        calls.append(int(bits.sum(axis=1).max()))
        if len(calls) > 9 and (len(bits) > 1 or bits[0, 0] == 1):
            raise ValueError("no more" if len(bits) > 1 else "not this one")
        return bits.sum(axis=1)

    result = running.solve(engine.BOA(fails, 40), population=100, on_event=events.append)
    assert result.status is engine.Status.INTERRUPTED
    assert result.objective == result.solution.sum() == max(calls[:9]) > 20
    warnings = [event.message for event in events if isinstance(event, Notice) and event.level == "warning"]
    assert any("raised ValueError: no more, for 1" in text for text in warnings)


def test_run_with_a_function_goes_on_once_the_function_is_given_again(running, tmp_path):
    problem, folder, options = engine.BOA(ones, 60), tmp_path / "run", {"population": 400, "seed": 2}
    whole = running.solve(problem, **options)
    stopped = stopped_at(running, problem, folder, 5, **options)
    assert stopped.counters["generations"] > 0
    with pytest.raises((ProblemError, RunFolderError), match="the Python function ones, which a run folder cannot"):
        running.resume(folder)
    others = [engine.BOA(ones, 61), engine.BOA(ones, 60, minimize=True), engine.BOA(len, 60), engine.BOA("onemax", 60)]
    for other in others:
        with pytest.raises(RunFolderError, match="is not the one of the run in"):
            running.resume(folder, problem=other)
    resumed = engine.resume(folder, problem=problem, devices=list(stopped.devices))
    assert (history(resumed), resumed.counters) == (history(whole), whole.counters)


@pytest.mark.full
def test_every_sample_is_solved_with_nothing_but_defaults(running):
    for path in sorted(SAMPLES.iterdir()):
        if path.suffix == ".py":
            continue
        problem = engine.BOA.read(path)
        result = running.solve(problem)
        if path.name == "matrix.qubo":
            every = (np.arange(1 << problem.n)[:, None] >> np.arange(problem.n) & 1).astype(np.uint8)
            assert result.objective == problem.fitness.value(int(problem.fitness.keys(every).max()))
        elif path.name != "cut.txt":  # nobody said what its optimum is
            assert result.status is engine.Status.OPTIMAL, path.name


def test_the_python_sample_is_labs_and_runs_by_itself(capsys):
    energy = runpy.run_path(str(SAMPLES / "autocorrelation.py"), run_name="__main__")["energy"]
    assert capsys.readouterr().out.startswith("optimal 26.0 ")
    bits = np.random.default_rng(0).integers(0, 2, (50, 20)).astype(np.uint8)
    assert energy(bits).tolist() == engine.LABS(20).evaluate(bits).tolist()
    assert engine.BOA.read(SAMPLES / "autocorrelation.boa").optimum == engine.LABS(20).optimum == 26


@pytest.mark.full
def test_every_stored_landscape_and_glass_is_solved_to_its_optimum(running, shared_data):
    """Their optima are stated; those of landscapes and of glasses up to 10 x 10 agree with the exact solvers."""
    for path in [*sorted((shared_data / "boa" / "nk").iterdir()), SAMPLES / "nk.txt"]:
        assert solved(running, engine.BOA.read(path), range(1), population=8000, local_search="auto") == 1, path.name
    for path in [*sorted((shared_data / "boa" / "ising").iterdir()), SAMPLES / "ising.txt"]:
        glass = engine.BOA.read(path)
        assert solved(running, glass, range(2), population=3000 if glass.n <= 100 else 12_000) == 2, path.name


def test_snapshots_show_network_and_individuals(running):
    events = []
    result = running.solve(engine.BOA("trap-5", 30), population=50, on_event=events.append)
    traces = {event.name: event for event in events if isinstance(event, Trace)}  # the last of each
    assert set(traces) == {"gene_entropy", "edges", "population"}
    assert np.array_equal(np.array(traces["edges"].values, np.int32).reshape(-1, 2), result.arrays["edges"])
    image = engine.population_image(traces["population"].values, 30)
    assert np.array_equal(image[:50], result.arrays["population"])
    assert not image[50:].any()
    values = engine.BOA("trap-5", 30).evaluate(result.arrays["population"])  # with 50 individuals, this is all of them
    row = dict(zip(COLUMNS, result.arrays["history"][-1].tolist(), strict=True))
    assert (values.max(), values.min()) == (row["best"], row["worst"])
    assert values.mean() == pytest.approx(row["mean"])
    assert np.mean(traces["gene_entropy"].values) == pytest.approx(row["entropy"], abs=1e-4)
    assert result.arrays["history"][0, COLUMNS.index("entropy")] == 1
    assert {"entropy", "mean", "worst", "sampling_seconds"} <= {e.name for e in events if isinstance(e, Metric)}


def test_the_result_has_the_network_of_the_last_generation(running, monkeypatch):
    result = running.solve(engine.BOA("trap-5", 30), population=2000)
    place = {int(gene): rank for rank, gene in enumerate(result.arrays["order"])}
    edges = result.arrays["edges"].tolist()
    assert len(edges) == result.counters["edges"] > 0
    assert all(place[source] < place[target] for source, target in edges)
    assert all(f"  {source} -> {target};" in engine.network_dot(result) for source, target in edges)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ModuleNotFoundError, match=r"network_graph needs the package networkx.*pip install networkx"):
        engine.network_graph(result)


def test_limits_end_a_run_where_they_say(running):
    problem, seen, late = engine.BOA("trap-5", 100), [], []
    few = running.solve(problem, population=1000, max_generations=3)
    assert (few.status, few.counters["generations"]) == (engine.Status.ITERATION_LIMIT, 3)
    spent = running.solve(problem, population=1000, max_evaluations=3000, on_event=seen.append)
    advice = [event.message for event in seen if isinstance(event, Notice)]
    assert advice == [f"a limit was reached with the value {spent.objective}; to go further, try local_search = auto"]
    assert spent.counters["evaluations"] == 1000 + 2 * 700
    pairs = [(a, b) for a in range(400) for b in range(a + 1, a + 20) if b < 400]
    endless = engine.BOA.decomposable(400, pairs, np.random.default_rng(1).integers(0, 9, (len(pairs), 4)).tolist())
    further = {"target": 9 * len(pairs), "local_search": "steepest"}
    running.solve(endless, max_generations=1, restarts=1, **further)  # which compiles
    running.solve(endless, time_limit=1.5, on_event=late.append, restarts=18, **further)
    assert [e.message for e in late if isinstance(e, Notice) and e.message.endswith("try a longer time_limit")]
    with pytest.raises(OptionError, match="at least the 1,000 individuals that a run begins with; got 900"):
        running.solve(problem, population=1000, max_evaluations=900)
    for most in (40, 130, 700):
        automatic = running.solve(engine.BOA("trap-5", 20), target=21, max_evaluations=most)
        assert automatic.status is engine.Status.ITERATION_LIMIT
        assert most / 3 < automatic.counters["evaluations"] <= most
    target = running.solve(problem, population=1000, target=70)
    assert target.objective >= 70
    stalled = running.solve(problem, population=200, probabilities="laplace", patience=4)
    best = stalled.arrays["history"][:, 3]
    assert best[-1] == best[-5]
    assert target.status is stalled.status is engine.Status.FEASIBLE
