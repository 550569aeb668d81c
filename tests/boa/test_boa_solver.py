"""Whole runs: what must be solved, what must fail, and that nothing but the seed decides the trajectory."""

from __future__ import annotations

import runpy
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import engine
from engine.devices import Member
from engine.errors import AuditError, OptionError, ProblemError, RunFolderError
from engine.events import Event, Metric, Notice, Trace
from engine.solvers.boa import islands, record
from engine.solvers.boa.balance import Balance
from engine.solvers.boa.device.learner import Learner
from engine.solvers.boa.fitness import Snippet
from engine.solvers.boa.options import Options, resolve
from engine.solvers.boa.schema import COLUMNS
from tests.support.needs import several_devices
from tests.support.paper import PaperEngine, solve_as_paper
from tests.support.stopped_runs import history, stopped_and_resumed, stopped_at


@pytest.fixture(scope="module")
def running(device: Member) -> Iterator[engine.Engine]:
    with PaperEngine(devices=[device.info.id]) as opened:
        yield opened


def solved(running: engine.Engine, problem: engine.BOA, seeds: range, **options: Any) -> int:
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
def test_populations_of_the_published_size_find_the_optimum(
    running: engine.Engine,
    name: str,
    n: int,
    options: dict[str, Any],
    runs: int,
    least: int,
    generations: tuple[int, int],
) -> None:
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
def test_traps_are_not_solved_without_what_it_takes(
    running: engine.Engine, why: str, n: int, options: dict[str, Any], runs: int, most: int
) -> None:
    assert solved(running, engine.BOA("trap-5", n), range(runs), **options) <= most, why


def test_auto_ends_when_larger_populations_bring_nothing(running: engine.Engine) -> None:
    problem = engine.BOA.decomposable(20, [[gene] for gene in range(20)], [[0, 1]])
    result = running.solve(problem)
    assert result.objective == 20
    assert result.status is engine.Status.FEASIBLE  # nobody said that it is the optimum
    assert result.bound is None
    sizes, best = result.arrays["history"][:, 0], result.arrays["history"][:, 3]
    reached = [best[sizes == size].max() for size in np.unique(sizes)]
    assert len(reached) == result.counters["populations"] < Options().restarts
    assert reached[-3:] == [20, 20, 20]


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
def test_two_devices_go_the_way_of_one(device: Member, options: dict[str, Any]) -> None:
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
def test_all_devices_of_this_machine_together_go_the_way_of_one(islands: int) -> None:
    everyone = [info.id for info in several_devices(2)]
    problem, options = engine.BOA("trap-5", 50), {"population": 1000, "max_generations": 5, "islands": islands}
    alone = solve_as_paper(problem, devices=everyone[:1], **options)
    together = solve_as_paper(problem, devices=everyone, **options)
    assert history(alone) == history(together)


@pytest.mark.parametrize("devices", [1, 2, 3, 5])
def test_shares_cover_every_node_and_offspring_once(devices: int) -> None:
    parameters = resolve(Options(), 37, 1000, 0)
    balance = Balance(parameters, devices)
    random = np.random.default_rng(devices)
    for _ in range(20):
        nodes = [node for share in balance.shares for node in range(share.first_node, share.last_node)]
        words = [word for share in balance.shares for word in range(share.first_word, share.last_word)]
        assert nodes == list(range(37))
        assert words == list(range(-(-parameters.offspring // 32)))
        balance.note((10 ** random.uniform(-9, 3, devices)).tolist(), (10 ** random.uniform(-9, 3, devices)).tolist())


def test_shares_follow_the_speed_of_the_devices() -> None:
    parameters = resolve(Options(), 1000, 200_000, 0)
    balance = Balance(parameters, 3)
    speeds = np.array([6.0, 3.0, 1.0])
    for _ in range(20):
        learning = [share.pairs / speed for share, speed in zip(balance.shares, speeds, strict=True)]
        sampling = [share.words / speed for share, speed in zip(balance.shares, speeds[::-1], strict=True)]
        balance.note(learning, sampling)
    pairs, words = ([getattr(share, name) for share in balance.shares] for name in ("pairs", "words"))
    assert np.allclose(np.array(pairs) / sum(pairs), speeds / 10, atol=0.01)
    assert np.allclose(np.array(words) / sum(words), speeds[::-1] / 10, atol=0.01)


def test_unequal_shares_make_no_difference(device: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, options = engine.BOA("trap-5", 50), {"population": 700, "seed": 4, "max_generations": 6}
    alone = solve_as_paper(problem, devices=[device.info.id], **options)
    note = Balance.note
    random = np.random.default_rng(1)

    def wildly(balance: Balance, learning: list[float], sampling: list[float]) -> None:
        for _ in range(4):
            note(balance, (10 ** random.uniform(-3, 3, 3)).tolist(), (10 ** random.uniform(-3, 3, 3)).tolist())

    monkeypatch.setattr(Balance, "note", wildly)
    together = solve_as_paper(problem, devices=[device.info.id] * 3, **options)
    assert history(alone) == history(together)


def test_another_seed_goes_another_way(running: engine.Engine) -> None:
    problem = engine.BOA("trap-5", 30)
    one, same, other = (running.solve(problem, seed=seed, population=500) for seed in (1, 1, 2))
    assert history(one) == history(same)
    assert history(one) != history(other)


def test_stopped_run_resumes_to_the_same_end(running: engine.Engine, tmp_path: Path) -> None:
    problem = engine.BOA("trap-5", 60)
    options: dict[str, Any] = {"population": "auto", "seed": 3}
    whole = running.solve(problem, **options)
    assert whole.status is engine.Status.OPTIMAL
    resumed = stopped_and_resumed(running, problem, tmp_path / "run", 12, **options)
    assert history(resumed) == history(whole)
    assert resumed.objective == whole.objective
    assert resumed.counters == whole.counters


def test_known_individuals_are_part_of_the_first_population(running: engine.Engine) -> None:
    optimum = np.ones((2, 50), np.uint8)
    optimum[0, 3] = 0
    result = running.solve(engine.BOA("trap-5", 50, seeds=optimum), population=100)
    assert result.status is engine.Status.OPTIMAL
    assert result.counters["generations"] == 0
    assert np.array_equal(result.solution, optimum[1])
    many = engine.BOA("trap-5", 50, seeds=np.zeros((300, 50), np.uint8))
    with pytest.raises(OptionError, match="at least the number of known individuals, 300; got 100"):
        running.solve(many, population=100)
    assert running.solve(many, restarts=1).counters["population"] == 600


def ones(bits: np.ndarray) -> np.ndarray:
    return bits.sum(axis=1)


def ones_of_one(bits: np.ndarray) -> int:
    return int(bits.sum())


def test_python_functions_are_maximised_or_minimised(running: engine.Engine) -> None:
    most = running.solve(engine.BOA(ones, 30, optimum=30), population=300)
    least = running.solve(engine.BOA(lambda bits: bits.sum(axis=1) - 7.5, 30, minimize=True), population=300)
    each = running.solve(engine.BOA(lambda bits: int(bits.sum()), 30, each=True), population=300)
    assert (most.objective, least.objective, each.objective) == (30, -7.5, 30)
    assert most.status is engine.Status.OPTIMAL
    assert np.array_equal(least.solution, np.zeros(30))


def test_python_function_and_table_go_the_same_way(running: engine.Engine) -> None:
    table = running.solve(engine.BOA("onemax", 30), population=200, seed=5)
    function = running.solve(engine.BOA(ones, 30, optimum=30), population=200, seed=5)
    assert history(table) == history(function)


def test_function_one_by_one_may_be_shared_by_processes(running: engine.Engine) -> None:
    alone = running.solve(engine.BOA(ones, 12, optimum=12), population=64)
    shared = running.solve(engine.BOA(ones_of_one, 12, each=True, processes=2, optimum=12), population=64)
    assert history(shared) == history(alone)


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
def test_fitness_that_returns_nonsense_is_reported_with_the_individual(
    running: engine.Engine, function: Any, message: str
) -> None:
    with pytest.raises(ProblemError, match=message):
        running.solve(engine.BOA(function, 10), population=64)


def test_fitness_that_fails_later_keeps_the_best_so_far(running: engine.Engine) -> None:
    calls = []

    def fails(bits: np.ndarray) -> np.ndarray:
        calls.append(int(bits.sum(axis=1).max()))
        if len(calls) > 9 and len(bits) > 1:
            raise ValueError("no more")
        if len(calls) > 9 and bits[0, 0] == 1:
            raise ValueError("not this one")
        return bits.sum(axis=1)

    events: list[Event] = []
    result = running.solve(engine.BOA(fails, 40), population=100, on_event=events.append)
    assert result.status is engine.Status.INTERRUPTED
    assert result.objective == result.solution.sum() == max(calls[:9]) > 20
    warnings = [event.message for event in events if isinstance(event, Notice) and event.level == "warning"]
    assert any("raised ValueError: no more, for 1" in text for text in warnings)


def test_run_with_a_function_goes_on_once_the_function_is_given_again(running: engine.Engine, tmp_path: Path) -> None:
    problem, folder = engine.BOA(ones, 60), tmp_path / "run"
    options: dict[str, Any] = {"population": 400, "seed": 2}
    whole = running.solve(problem, **options)
    stopped = stopped_at(running, problem, folder, 5, **options)
    assert stopped.status is engine.Status.INTERRUPTED
    assert stopped.counters["generations"] > 0
    with pytest.raises((ProblemError, RunFolderError), match="the Python function ones, which a run folder cannot"):
        running.resume(folder)
    others = [engine.BOA(ones, 61), engine.BOA(ones, 60, minimize=True), engine.BOA(len, 60), engine.BOA("onemax", 60)]
    for other in others:
        with pytest.raises(RunFolderError, match="is not the one of the run in"):
            running.resume(folder, problem=other)
    resumed = engine.resume(folder, problem=problem, devices=list(stopped.devices))
    assert history(resumed) == history(whole)
    assert resumed.counters == whole.counters


@pytest.mark.full
def test_snippet_is_checked_with_the_function_it_was_said_to_be(running: engine.Engine) -> None:
    code = "for (i32 i = 0; i < N; ++i) fitness += BIT(i);"
    result = running.solve(engine.BOA(Snippet(code, 25, optimum=25, host=ones)), population=200)
    assert result.objective == 25
    with pytest.raises(AuditError, match="but the devices found 25"):
        running.solve(engine.BOA(Snippet(code, 25, optimum=25, host=lambda bits: 0 * ones(bits))), population=200)


@pytest.mark.full
def test_sample_functions_in_python_and_in_c_go_the_same_way(running: engine.Engine, device: Member) -> None:
    folder = Path(__file__).resolve().parents[2] / "samples" / "boa"
    python = runpy.run_path(str(folder / "autocorrelation.py"))["energy"]
    bits = np.random.default_rng(0).integers(0, 2, (50, 20)).astype(np.uint8)
    assert python(bits).tolist() == engine.LABS(20).evaluate(bits).tolist()
    in_c = engine.BOA.read(folder / "autocorrelation.boa")
    assert in_c.optimum == engine.LABS(20).optimum
    results = [running.solve(problem, seed=3) for problem in (in_c, engine.BOA(python, 20, minimize=True, optimum=26))]
    assert [result.objective for result in results] == [26, 26]
    assert history(results[0]) == history(results[1])


@pytest.mark.full
def test_every_sample_is_solved_with_nothing_but_defaults(running: engine.Engine) -> None:
    folder = Path(__file__).resolve().parents[2] / "samples" / "boa"
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py":
            continue
        problem = engine.BOA.read(path)
        result = running.solve(problem)
        if path.name == "matrix.qubo":
            every = (np.arange(1 << problem.n)[:, None] >> np.arange(problem.n) & 1).astype(np.uint8)
            assert result.objective == problem.fitness.value(int(problem.fitness.keys(every).max()))
        elif path.name != "cut.txt":  # nobody said what its optimum is
            assert result.status is engine.Status.OPTIMAL, path.name


def test_python_sample_runs_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).resolve().parents[2] / "samples" / "boa" / "autocorrelation.py"
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.startswith("optimal 26.0 ")


def test_result_has_the_network_of_the_last_generation(running: engine.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    result = running.solve(engine.BOA("trap-5", 30), population=2000)
    place = {int(gene): rank for rank, gene in enumerate(result.arrays["order"])}
    assert sorted(place) == list(range(30))
    edges = result.arrays["edges"].tolist()
    assert len(edges) == result.counters["edges"] > 0
    assert all(place[source] < place[target] for source, target in edges)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ModuleNotFoundError, match=r"network_graph needs the package networkx.*pip install networkx"):
        engine.network_graph(result)
    dot = engine.network_dot(result)
    assert dot.startswith("digraph boa {")
    assert all(f"  {source} -> {target};" in dot for source, target in edges)


def test_snapshots_show_network_and_individuals(running: engine.Engine) -> None:
    events: list[Event] = []
    result = running.solve(engine.BOA("trap-5", 30), population=50, on_event=events.append)
    traces = {event.name: event for event in events if isinstance(event, Trace)}  # the last of each
    assert set(traces) == {"gene_entropy", "edges", "population"}
    edges = np.array(traces["edges"].values, np.int32).reshape(-1, 2)
    assert np.array_equal(edges, result.arrays["edges"])
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


def test_networks_are_read_now_and_then_only(running: engine.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    read = Learner.network
    monkeypatch.setattr(Learner, "network", lambda learner: reads.append(learner) or read(learner))
    monkeypatch.setattr(record, "_SNAPSHOT_SECONDS", 1000)
    monkeypatch.setattr(islands, "SLICE_SECONDS", 1e-9)  # a slice has one generation
    result = running.solve(engine.BOA("trap-5", 50), population=500)
    assert len(reads) == 2 < result.counters["generations"]  # the first, and the last


def test_a_small_problem_whose_bound_is_out_of_reach_ends(running: engine.Engine) -> None:
    result = running.solve(engine.MaxSAT([[1], [-1], [2, 3]], n=3))
    assert (result.objective, result.bound, result.status) == (2, 3, engine.Status.ITERATION_LIMIT)
    assert result.counters["population"] == 128


def test_limits_end_a_run_where_they_say(running: engine.Engine) -> None:
    problem = engine.BOA("trap-5", 100)
    few = running.solve(problem, population=1000, max_generations=3)
    assert (few.status, few.counters["generations"]) == (engine.Status.ITERATION_LIMIT, 3)
    seen: list[Event] = []
    spent = running.solve(problem, population=1000, max_evaluations=3000, on_event=seen.append)
    advice = [event.message for event in seen if isinstance(event, Notice)]
    assert advice == [f"a limit was reached with the value {spent.objective}; to go further, try local_search = auto"]
    assert spent.counters["evaluations"] == 1000 + 2 * 700
    late: list[Event] = []
    pairs = [(a, b) for a in range(400) for b in range(a + 1, a + 20) if b < 400]
    endless = engine.BOA.decomposable(400, pairs, np.random.default_rng(1).integers(0, 9, (len(pairs), 4)).tolist())
    further: dict[str, Any] = {"target": 9 * len(pairs), "local_search": "steepest"}
    running.solve(endless, max_generations=1, restarts=1, **further)  # which compiles
    further["restarts"] = 18
    running.solve(endless, time_limit=0.5, on_event=late.append, **further)
    assert [e.message for e in late if isinstance(e, Notice) and e.message.endswith("try a longer time_limit")]
    with pytest.raises(OptionError, match="at least the 1,000 individuals that a run begins with; got 900"):
        running.solve(problem, population=1000, max_evaluations=900)
    for most in (40, 130, 700):
        automatic = running.solve(engine.BOA("trap-5", 20), target=21, max_evaluations=most)
        assert automatic.status is engine.Status.ITERATION_LIMIT
        assert most / 3 < automatic.counters["evaluations"] <= most
    target = running.solve(problem, population=1000, target=70)
    assert target.objective >= 70
    assert target.status is engine.Status.FEASIBLE
    stalled = running.solve(problem, population=200, probabilities="laplace", patience=4)
    best = stalled.arrays["history"][:, 3]
    assert best[-1] == best[-5]
    assert stalled.status is engine.Status.FEASIBLE


@pytest.mark.full
def test_every_stored_landscape_and_glass_is_solved_to_its_optimum(running: engine.Engine, shared_data: Path) -> None:
    """Their optima are stated; those of landscapes and of glasses up to 10 x 10 agree with the exact solvers."""
    samples = Path(__file__).resolve().parents[2] / "samples" / "boa"
    for path in [*sorted((shared_data / "boa" / "nk").iterdir()), samples / "nk.txt"]:
        assert solved(running, engine.BOA.read(path), range(1), population=8000, local_search="auto") == 1, path.name
    for path in [*sorted((shared_data / "boa" / "ising").iterdir()), samples / "ising.txt"]:
        glass = engine.BOA.read(path)
        assert solved(running, glass, range(2), population=3000 if glass.n <= 100 else 12_000) == 2, path.name


@pytest.mark.parametrize("call", ["join", "solve"])
def test_a_fitness_function_cannot_wait_for_a_run_of_the_engine_that_calls_it(call: str) -> None:
    errors: list[Exception] = []
    started = threading.Event()

    def fitness(strings: NDArray[np.uint8]) -> NDArray[np.float64]:
        started.wait(60.0)
        try:
            runs[0].join(1.0) if call == "join" else owner.solve(engine.Knapsack([2], [1], 1), variant="dense")
        except RuntimeError as error:
            errors.append(error)
        return strings.sum(axis=1).astype(float)

    with engine.Engine() as owner:
        runs = [owner.start(engine.BOA(fitness, 10), population=64, max_generations=1)]
        started.set()
        runs[0].wait(60.0)
    assert "cannot wait for a run of the engine that calls it" in str(errors[0])
