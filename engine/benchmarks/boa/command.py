"""``quintet bench boa``: checks and measures in one call; solved / total stands beside every time."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from ...adapters.ioh_suite import ALGORITHMS, reached_share, run_suite
from ...api.engine import Engine
from ...cli.options import bench_command, pool_options
from ...devices import Device, DevicePool, select
from ...references.boa import ReferenceRun
from ...reports.record import BenchConsole
from ...reports.scaling import Request, bench_scaling, scaling_options
from ...solvers.boa.device.programs import Shapes, shapes_for
from ...solvers.boa.device.worker import DevicePopulation
from ...solvers.boa.fitness.tables import trap
from ...solvers.boa.options import Counting, Options, Parameters, resolve
from ...solvers.boa.population import permutations
from ...solvers.boa.problem import BOA
from ..tables import median_seconds
from .best_known import best_known
from .evaluations import measure_evaluations
from .hard import hard_problems
from .scaling import scaling_cases

_SOLVE: dict[int, dict[str, Any]] = {  # genes: options that solve trap-5, 10 of 10
    100: {"population": 12_000, "max_parents": 4},
    200: {"population": 30_000, "max_parents": 4, "selection_fraction": 0.2},
    1000: {"population": 200_000, "max_parents": 4, "selection_fraction": 0.2},
    2000: {"population": 420_000, "max_parents": 4, "selection_fraction": 0.2},
}


@bench_command("boa")
@pool_options("Devices to measure together; all GPUs by default.", "auto")
@click.option("--quick", is_flag=True, help="Small sizes and few runs.")
@click.option("--genes", type=int, multiple=True, help="Sizes of the traps to solve (default 100, 200; GPUs to 2000).")
@click.option("--repeat", type=click.IntRange(1), default=None, help="Seeds a size (default 10, quick 3).")
@click.option("--counting", type=click.Choice(["auto", "popcount", "tensor"]), default="auto", help="Way to count.")
@click.option(
    "--set",
    "chosen",
    type=click.Choice(["paper", "hard", "evaluations"]),
    default="paper",
    show_default=True,
    help="paper: counting, learning and traps without local search; hard: what local search is for; "
    "evaluations: those that functions known by their values only need to their optimum.",
)
@click.option(
    "--suite", type=click.Choice(["pbo"]), help="The 25 pseudo-Boolean problems of IOHprofiler instead (package ioh)."
)
@click.option("--bits", type=click.IntRange(4), default=100, show_default=True, help="Of the suite's problems.")
@click.option("--budget", type=click.IntRange(32), default=10_000, show_default=True, help="Evaluations a run.")
@click.option("--problem", "problems", type=int, multiple=True, help="Of the suite, 1 to 25; may be repeated.")
@click.option("--logs", type=click.Path(file_okay=False), help="Folder for the logs of the suite, for IOHanalyzer.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="FILE[=TARGET]",
    help="For the hard set: an instance file and the value to reach (default: the optimum in the file, or the best "
    "known value of a public instance); may be repeated.",
)
@click.option(
    "--limit", type=click.FloatRange(0, min_open=True), default=60.0, help="Seconds for a run of the hard set."
)
@scaling_options
def bench(
    backend: Any,
    names: list[str] | None,
    quick: bool,
    genes: Sequence[int],
    repeat: int | None,
    counting: str,
    chosen: str,
    files: Sequence[str],
    suite: str | None,
    bits: int,
    budget: int,
    problems: Sequence[int],
    logs: str | None,
    limit: float,
    scaling: Request,
) -> int:
    """Check and measure the Bayesian optimization algorithm on this machine."""
    if scaling.wanted:
        return 0 if bench_scaling("boa", scaling_cases(quick), backend, names, scaling) else 1
    console = BenchConsole()
    infos = select(backend, names)
    if suite is not None:
        devices = [info.id for info in infos]
        _measure_suite(bits, budget, repeat or (2 if quick else 5), problems, logs, devices, console)
        return 0
    if chosen == "evaluations":
        return 0 if measure_evaluations(quick, repeat or (3 if quick else 20), console) else 1
    if chosen == "hard":
        given = [_given_problem(file) for file in files]
        with Engine(devices=[info.id for info in infos]) as engine:
            hard = [*hard_problems(quick), *given]
            return 0 if _measure_hard(hard, repeat or (3 if quick else 10), limit, engine, console) else 1
    gpu = any(info.capabilities.simt for info in infos)
    runs = repeat or (3 if quick else 10)
    good = True
    with DevicePool(infos[:1]) as pool:
        member = pool.members[0]
        good &= member.submit(_check, console).result()
        member.submit(_measure_counting, quick, console).result()
        member.submit(_measure_learning, console).result()
    with Engine(devices=[info.id for info in infos]) as engine:
        _measure_paper((200,) if quick or not gpu else (200, 1000), engine, counting, console)
        sizes = genes or ((100,) if quick else (100, 200, 1000, 2000) if gpu else (100, 200))
        good &= _measure_traps(sizes, engine, runs, counting, console)
    return 0 if good else 1


def _ways(device: Device) -> list[Counting]:
    tensor = device.capabilities.bit_tensor_cores
    return ["popcount", "histogram", "tensor"] if tensor else ["popcount", "histogram"]


def _worker(
    device: Device, parameters: Parameters, counting: Counting, shapes: Shapes | None = None
) -> DevicePopulation:
    """A worker whose selected individuals are ready to be learned from."""
    fitness = trap(parameters.n, 5)
    worker = DevicePopulation(
        device, shapes or shapes_for(device.capabilities), parameters, fitness, counting, parameters.n, 1
    )
    worker.draw(np.zeros((0, parameters.n), np.uint8))
    worker.evaluation.evaluate_population()
    worker.put_orders(permutations(parameters, 0, 1))
    worker.selection.select(0)
    return worker


def _check(device: Device, console: Console) -> bool:
    """Networks and offspring of every way of counting against the reference, edge for edge and bit for bit."""
    wrong = total = 0
    for counting in _ways(device):
        for n, population, k in ((30, 997, 3), (135, 1500, 3), (260, 777, 4)):
            parameters = resolve(Options(population=population, max_parents=k), n, population, seed=n)
            worker = _worker(device, parameters, counting)
            words = -(-parameters.offspring // 32)
            worker.learner.learn(0, n)
            worker.sample(0, 0, words)
            worker.evaluation.evaluate_offspring(0, words)
            worker.selection.replace()
            network, (_, keys) = worker.learner.network(), worker.population()
            worker.close()
            reference = ReferenceRun(parameters, trap(n, 5).keys)
            reference.step()
            assert reference.learned is not None
            own = [network.parents[node, : network.parent_count[node]].tolist() for node in range(n)]
            total += 1
            wrong += own != reference.learned.parents or not np.array_equal(keys, reference.keys)
    console.print(f"{device.info.id}: {total - wrong} of {total} generations equal to the NumPy reference")
    return wrong == 0


def _median_seconds(device: Device, task: Any, repeat: int = 5) -> float:
    def finish() -> None:
        task()
        device.sync()

    return median_seconds(finish, repeat)[0]


def _measure_counting(device: Device, quick: bool, console: Console) -> None:
    """Rate of counting all pairs, in bits ANDed and counted a second; a pair is counted once."""
    gpu = device.capabilities.simt
    sizes = ((4095, 32_768), (1000, 30_000)) if gpu and not quick else ((1000, 4096),) if gpu else ((200, 8192),)
    table = Table("genes", "selected", "counting", "ms", "bit-operations/s", title=f"{device.info.id}: pair counts")
    base = shapes_for(device.capabilities)
    for n, selected in sizes:
        n -= n % 5
        parameters = replace(resolve(Options(), n, 2 * selected, 0), selected=selected, max_parents=1)
        ways: list[tuple[str, Counting, Shapes]] = [(way, way, base) for way in _ways(device) if way != "histogram"]
        if gpu:
            ways += [("popcount, tiles of 128", "popcount", replace(base, count_each=8))]
        for label, way, shapes in ways:
            worker = _worker(device, parameters, way, shapes)
            seconds = _median_seconds(device, worker.learner.count_pairs)
            worker.close()
            rate = n * (n + 1) / 2 * selected / seconds
            table.add_row(f"{n}", f"{selected}", label, f"{1e3 * seconds:.3f}", f"{rate:.2e}")
    console.print(table)


def _measure_learning(device: Device, console: Console) -> None:
    """One network of the size that the issue names for CPUs, and of the paper's largest, on random traps."""
    table = Table("genes", "selected", "parents", "counting", "ms a network", title=f"{device.info.id}: learning")
    for n, selected, k in ((100, 2400, 3), (1000, 2400, 3)):
        if n > 100 and not device.capabilities.simt:
            continue
        parameters = replace(resolve(Options(max_parents=k), n, 2 * selected, 0), selected=selected)
        for way in _ways(device):
            worker = _worker(device, parameters, way)
            seconds = _median_seconds(device, lambda: worker.learner.learn(0, n), 3 if way == "histogram" else 5)  # noqa: B023
            worker.close()
            table.add_row(f"{n}", f"{selected}", f"{k}", way, f"{1e3 * seconds:.2f}")
    console.print(table)


def _given_problem(file: str) -> tuple[BOA, float]:
    """The problem of ``FILE`` or ``FILE=TARGET``, and the value to reach."""
    path, _, text = file.rpartition("=") if "=" in file else (file, "", "")
    try:
        given = float(text) if text else None
    except ValueError:
        raise click.UsageError(f"the value to reach must be a number; got '{text}' in --file {file}") from None
    problem = BOA.read(path)
    known = (given, problem.optimum, best_known(path), problem.bound)
    target = next((value for value in known if value is not None), None)
    if target is None:
        raise click.UsageError(f"no best known value of {path}: add one, as in {path}=VALUE")
    return problem, float(target)


def _measure_hard(
    problems: Iterable[tuple[BOA, float]], runs: int, limit: float, engine: Engine, console: Console
) -> bool:
    """Time to the optimum (or best known or given value) with nothing but defaults."""
    table = Table(
        *("problem", "target", "reached", "worst gap", "median s", "worst s", "populations", "flips"),
        title=f"default options, at most {limit:g} s a run",
    )
    good = True
    for problem, target in problems:
        engine.solve(problem, flips=1, max_generations=1, restarts=1)
        results = [engine.solve(problem, seed=seed, target=target, time_limit=limit) for seed in range(runs)]
        sign = -1 if problem.sense == "minimize" else 1
        short = [sign * (target - (result.objective or 0)) for result in results]
        reached = sum(gap <= 1e-9 for gap in short)
        good &= reached == runs
        seconds = [result.seconds for result in results]
        table.add_row(
            *(
                problem.name,
                f"{target:g}",
                f"{reached}/{runs}",
                f"{100 * max(0.0, *short) / max(1.0, abs(target)):.3f} %",
            ),
            *(f"{statistics.median(seconds):.3f}", f"{max(seconds):.3f}"),
            f"{statistics.median(result.counters['populations'] for result in results):.0f}",
            f"{statistics.median(result.counters['flips'] for result in results):.3g}",
        )
    console.print(table)
    return good


def _measure_suite(
    n: int,
    budget: int,
    runs: int,
    problems: Sequence[int],
    folder: str | None,
    devices: list[str],
    console: Console,
) -> None:
    """The suite of IOHprofiler: the mean of the best values, and the share of targets reached over evaluations."""
    found = run_suite(n, budget, runs, problems or None, folder, devices=devices)
    table = Table(
        "problem", *ALGORITHMS, title=f"mean of the best values (optima found of {runs}), {n} bits, {budget:,}"
    )
    for problem in dict.fromkeys(one.problem for one in found):
        cells = []
        for name in ALGORITHMS:
            group = [one for one in found if one.problem == problem and one.algorithm == name]
            mean = statistics.mean(float(one.best[-1]) for one in group)
            cells.append(f"{mean:.6g} ({sum(one.optimum_found for one in group)})")
        table.add_row(problem, *cells)
    console.print(table)
    if n % 5 and any(one.problem == "ConcatenatedTrap" for one in found):
        console.print("The package ioh states the right optimum of ConcatenatedTrap for multiples of 5 bits only.")
    table = Table("evaluations", *ALGORITHMS, title="share of targets reached")
    for count in sorted(count for count in {n, 5 * n, 25 * n, budget // 4, budget} if count <= budget):
        shares = reached_share(found, count)
        table.add_row(f"{count:,}", *(f"{shares[name]:.3f}" for name in ALGORITHMS))
    console.print(table)


def _measure_paper(sizes: Sequence[int], engine: Engine, counting: str, console: Console) -> None:
    """The paper's setting: trap-5, N = 4800, half selected, k = 3, 200 generations whatever they come to."""
    table = Table("genes", "seconds", "best", title="the paper's setting: N = 4800, k = 3, 200 generations")
    for n in sizes:
        problem = BOA("trap-5", n)
        options: dict[str, Any] = {
            "population": 4800,
            "selection_fraction": 0.5,
            "probabilities": "laplace",
            "patience": 1000,
            "max_generations": 200,
            "target": n + 1,
            "counting": counting,
            "local_search": "none",
        }
        engine.solve(problem, **options | {"max_generations": 3})
        result = engine.solve(problem, **options)
        assert result.counters["generations"] == 200
        table.add_row(f"{n}", f"{result.seconds:.3f}", f"{result.objective} of {n}")
    console.print(table)


def _measure_traps(sizes: Sequence[int], engine: Engine, runs: int, counting: str, console: Console) -> bool:
    """Time to solve trap-5, warm, with a population that solves it and with none given."""
    table = Table("genes", "population", "solved", "median s", "worst s", "generations", "evaluations", title="trap-5")
    good = True
    for n in sizes:
        problem = BOA("trap-5", n)
        nearest = min(_SOLVE, key=lambda known: abs(known - n))
        given = _SOLVE[nearest] if n == nearest else _SOLVE[nearest] | {"population": 180 * n}
        choices: tuple[dict[str, Any], ...] = (given, {})
        for chosen in choices:
            if not chosen and n > 1000:
                continue
            options = {"counting": counting, "local_search": "none", **chosen}
            engine.solve(problem, **options | {"max_generations": 2, "restarts": 2})
            results = [engine.solve(problem, seed=seed, **options) for seed in range(runs)]
            solved = [result for result in results if result.objective == n]
            good &= len(solved) == runs
            seconds = [result.seconds for result in results]
            table.add_row(
                f"{n}",
                f"{options.get('population', 'auto')}",
                f"{len(solved)}/{runs}",
                f"{statistics.median(seconds):.3f}",
                f"{max(seconds):.3f}",
                f"{statistics.median(result.counters['generations'] for result in results):.0f}",
                f"{statistics.median(result.counters['evaluations'] for result in results):.3g}",
            )
    console.print(table)
    return good
