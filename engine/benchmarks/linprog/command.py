"""``quintet bench linprog``: is it right, how fast is it, and where is HiGHS faster."""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from ...adapters.linprog_batches import solve_many
from ...api.engine import Engine
from ...base.result import Result
from ...cli.options import bench_command, pool_options
from ...devices import Device, DeviceInfo, DevicePool, select
from ...devices.host import host_cores
from ...generators.linprog import GeneratorOptions, generate
from ...numerics.linear_algebra import linear_algebra
from ...references.linprog import HostShard
from ...reports.record import BenchConsole
from ...reports.scaling import Request, bench_scaling, scaling_options
from ...solvers.linprog.forms.standard import Prepared, prepare, shard_data
from ...solvers.linprog.interior.method import InteriorPoint, Settings
from ...solvers.linprog.interior.system import System
from ...solvers.linprog.problem import LinearProgram
from ...solvers.linprog.systems.updates import ShermanMorrison
from ..tables import median_seconds, number_table
from .collection import bench_collection, programs
from .peers import Answer, highs, highs_apart, peers
from .scaling import scaling_cases

_CPU_SIZES = ((200, 400), (500, 1000))
_WHOLE_SIZES = ((5000, 10_000),)
_GPU_SIZES = ((500, 1000), (2000, 4000), (4000, 8000), (5000, 10_000))


@bench_command("linprog")
@pool_options("Devices to measure, one by one; all GPUs by default.", "auto")
@click.option("--size", "sizes", multiple=True, help="Dense sizes, as 500x1000.")
@click.option("--repeat", type=click.IntRange(1), default=3, help="Runs of each; the median is reported.")
@click.option("--highs-limit", type=float, default=60.0, help="Seconds for each run of HiGHS; 0 leaves it out.")
@click.option("--threads", type=click.IntRange(1), help="Threads of HiGHS; 1, or all cores up to 16 with --whole.")
@click.option(
    "--whole", is_flag=True, help="Only the large dense comparison, 5000x10000 unless sizes are given, with HiGHS."
)
@click.option("--netlib", type=click.Path(path_type=Path, exists=True), help="A folder of MPS files to solve, too.")
@click.option("--rows", type=int, default=500, help="Most rows of a file in that folder.")
@click.option(
    "--set",
    "collection",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Only a folder of MPS files with their optima in optima.csv, with HiGHS and what else is named.",
)
@click.option("--families", is_flag=True, help="Also, or only, generated sparse programs: up to 1e6 variables.")
@click.option("--method", "methods", multiple=True, help="Methods for --set and --families; auto by default.")
@click.option("--limit", type=float, default=60.0, help="Seconds for each program and solver of these.")
@click.option(
    "--cuopt",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Also cuOpt: the folder its wheels are installed in.",
)
@click.option(
    "--cupdlpx",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, executable=True),
    help="Also cuPDLPx: its program.",
)
@click.option("--updates/--no-updates", default=True, help="Also time the Sherman-Morrison updates.")
@click.option("--batch", type=int, default=1000, help="Programs of 20 x 40 to solve as a batch; 0 leaves it out.")
@click.option("--quick", is_flag=True, help="Of --scaling and --families, what a CPU does in seconds.")
@scaling_options
def bench(
    backend: Any,
    names: list[str] | None,
    sizes: Sequence[str],
    repeat: int,
    highs_limit: float,
    threads: int | None,
    whole: bool,
    netlib: Path | None,
    rows: int,
    collection: Path | None,
    families: bool,
    methods: Sequence[str],
    limit: float,
    cuopt: Path | None,
    cupdlpx: Path | None,
    updates: bool,
    batch: int,
    quick: bool,
    scaling: Request,
) -> int:
    """Check and measure linear programming on this machine, with HiGHS beside it."""
    if scaling.wanted:
        return 0 if bench_scaling("linprog", scaling_cases(quick), backend, names, scaling) else 1
    console = BenchConsole()
    chosen = select(backend, names)
    gpu = any(not info.capabilities.shares_host_cores for info in chosen)
    usual = _WHOLE_SIZES if whole else _GPU_SIZES if gpu else _CPU_SIZES
    shapes = [_shape(size) for size in sizes] or list(usual)
    used = threads or (min(16, host_cores()) if whole else 1)
    good = True
    for info in chosen:
        console.print(f"{info.id}: {info.name}, {info.driver}")
        if collection is not None or families:
            used = threads or min(16, host_cores())
            others = list(peers(used if highs_limit else 0, cuopt, cupdlpx))
            with Engine(devices=[info.id]) as engine:
                found = programs(collection, families, quick)
                good &= bench_collection(engine, found, list(methods) or ["auto"], others, limit, console)
            continue
        with Engine(devices=[info.id]) as engine:
            good &= _check(engine, console)
            good &= _dense(engine, info, shapes, repeat, highs_limit, used, whole, console)
            if whole:
                continue
            good &= _sparse(engine, netlib, rows, highs_limit, used, console)
        if updates:
            _updates(info, shapes[0] if not gpu else (2000, 4000), console)
        if batch:
            _batches(info, batch, console)
    return 0 if good else 1


def _shape(text: str) -> tuple[int, int]:
    try:
        m, n = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise click.BadParameter(f"a size is written as 500x1000; got '{text}'") from None
    if not 1 <= m <= n:
        raise click.BadParameter(f"a size needs at least one row and no fewer columns than rows; got '{text}'")
    return m, n


def _check(engine: Engine, console: Console) -> bool:
    wrong = 0
    for seed in range(10):
        for kind in ("dense", "inequalities", "transport"):
            problem = generate(GeneratorOptions(type=kind, m=5 + seed, n=12 + 2 * seed, seed=seed))
            reference = highs(problem, "simplex", 60.0, 1).claimed
            result = engine.solve(problem)
            wrong += not _agree(result, reference)
    console.print(f"checked 30 random programs against HiGHS: {30 - wrong} right, {wrong} wrong")
    return wrong == 0


def _agree(result: Result, optimum: float | None) -> bool:
    if optimum is None or result.objective is None or result.status != "optimal":
        return False
    return abs(result.objective - optimum) <= 1e-6 * (1 + abs(optimum))


def _interleaved(calls: Sequence[Callable[[], Any]], repeat: int) -> tuple[list[float], Any]:
    """Median seconds of each call, interleaved so that all see the same load; what the first one returned."""
    times: list[list[float]] = [[] for _ in calls]
    first: Any = None
    for turn in range(repeat + 1):
        for place, call in enumerate(calls):
            began = time.perf_counter()
            found = call()
            if turn:  # the first one compiles
                times[place].append(time.perf_counter() - began)
            if place == 0:
                first = found
    return [statistics.median(values) for values in times], first


def _dense(
    engine: Engine,
    info: DeviceInfo,
    shapes: Sequence[tuple[int, int]],
    repeat: int,
    limit: float,
    threads: int,
    apart: bool,
    console: Console,
) -> bool:
    ours = ("rows x columns", "quintet", "iterations", "ms an iteration", "NumPy", "quintet / NumPy")
    title = f"dense random programs on {info.id}, seconds: medians of {repeat}; HiGHS: {threads} threads"
    table = number_table(title, (*ours, "HiGHS simplex", "HiGHS IPM", "best HiGHS / quintet", "right"), ["right"])
    good = True
    for m, n in shapes:
        problem = generate(GeneratorOptions(m=m, n=n, seed=1))
        calls: list[Callable[[], Any]] = [lambda p=problem: engine.solve(p)]  # type: ignore[misc]
        if m <= 1000:
            calls.append(lambda p=problem: _numpy_seconds(p))  # type: ignore[misc]
        (seconds, *peer), result = _interleaved(calls, repeat)
        counters = result.counters
        own = counters.get("factorizations", 0)  # none where HiGHS has solved it before our methods begin
        work = sum(counters.get(f"seconds_{phase}", 0.0) for phase in ("products", "form", "factor", "solve"))
        others: list[Answer] = []
        for solver in ("simplex", "ipm") if limit else ():
            run = (highs_apart if apart else highs)(problem, solver, limit, threads)
            others.append(run)
            console.print(f"  {m} x {n}: HiGHS {solver}, {threads} threads: {run} s")
        right = result.status == "optimal"
        for run in others:
            right &= run.claimed is None or _agree(result, run.claimed)
        good &= right
        best = min((run.seconds for run in others if run.claimed is not None), default=None)
        least = f"{best / seconds:.1f}" if best is not None else ""
        if others and best is None:
            least = f"> {min(run.seconds for run in others) / seconds:.0f}"
        table.add_row(
            f"{m} x {n}",
            f"{seconds:.3f}",
            str(counters["iterations"]) if own else "",
            f"{1e3 * work / own:.2f}" if own else "",
            f"{peer[0]:.3f}" if peer else "",
            f"{seconds / peer[0]:.2f}" if peer else "",
            *([str(run) for run in others] or ["", ""]),
            least,
            "yes" if right else "NO",
        )
        console.print(
            f"  {m} x {n}: "
            + ", ".join(
                f"{name[8:]} {counters[name]:.3f} s" for name in sorted(counters) if name.startswith("seconds_")
            )
        )
    console.print(table)
    return good


def _sparse(engine: Engine, folder: Path | None, rows: int, limit: float, threads: int, console: Console) -> bool:
    """Sparse programs, where a dense factor does too much: the table has HiGHS beside it."""
    problems = [generate(GeneratorOptions(type="transport", m=40, n=60, seed=1))]
    if folder is not None:
        files = sorted(path for path in folder.iterdir() if path.name.removesuffix(".gz").endswith(".mps"))
        problems += [problem for problem in map(LinearProgram.read, files) if problem.m <= rows]
    headings = ("program", "rows", "columns", "quintet", "HiGHS", "faster", "right")
    table = number_table("sparse programs, seconds", headings, ["program"])
    total, highs_total, faster, good = 0.0, 0.0, 0, True
    for problem in problems:
        seconds, result = median_seconds(partial(engine.solve, problem), repeat=1)
        other = highs(problem, "choose", limit or 60.0, threads)
        taken, value = other.seconds, other.claimed
        ends = result.status in ("infeasible", "unbounded")
        right = ends if value is None else _agree(result, value)
        total, highs_total, faster = total + seconds, highs_total + taken, faster + (taken < seconds)
        good &= right
        who = "HiGHS" if taken < seconds else "quintet"
        table.add_row(
            problem.name,
            str(problem.m),
            str(problem.n),
            f"{seconds:.3f}",
            f"{taken:.3f}",
            f"{who} {max(taken, seconds) / max(1e-9, min(taken, seconds)):.1f}x",
            "yes" if right else "NO",
        )
    console.print(table)
    console.print(
        f"{len(problems)} sparse programs: quintet {total:.2f} s, HiGHS {highs_total:.2f} s; "
        f"HiGHS is faster on {faster} of them"
    )
    return good


def _updates(info: DeviceInfo, shape: tuple[int, int], console: Console) -> None:
    """The paper's updates for one D, against the memory traffic of its own count and against a Cholesky factor."""
    m, n = shape
    columns = np.random.default_rng(1).standard_normal((n, m))
    d = 10.0 ** np.random.default_rng(2).uniform(-2, 2, n)

    def work(device: Device) -> dict[str, float]:
        found = {}
        with linear_algebra(device) as algebra:
            matrix, theta = device.put(np.ascontiguousarray(columns.T)), device.put(d)
            normal, status = device.empty((m, m), np.float64), device.empty(1, np.int32)
            source, target = device.empty(1 << 25, np.float64), device.empty(1 << 25, np.float64)

            def timed(call: Callable[[], None]) -> float:
                best = np.inf
                for _ in range(3):
                    device.sync()
                    began = time.perf_counter()
                    call()
                    device.sync()
                    best = min(best, time.perf_counter() - began)
                return best

            def factorise() -> None:
                algebra.gram(matrix, theta, normal)
                algebra.cholesky(normal, status)

            found["copy"] = timed(lambda: device.copy(target, source))
            found["Cholesky"] = timed(factorise)
            for block in (1, 64, 128):
                updates = ShermanMorrison(device, algebra, columns, block)
                found[f"block {block}"] = timed(lambda u=updates: u.update(d))  # type: ignore[misc]
                updates.close()
            for buffer in (matrix, theta, normal, status, source, target):
                device.release(buffer)
        return found

    with DevicePool([info]) as pool:
        found = pool.members[0].submit(work).result()
    bandwidth = 2 * 8 * (1 << 25) / found.pop("copy")
    floor = 8 * m * n * n / bandwidth
    console.print(
        f"updates for one D, {m} x {n}: "
        + ", ".join(f"{name} {1e3 * seconds:.1f} ms" for name, seconds in found.items())
        + f"; floor of the rank-one updates at the measured {bandwidth / 1e9:.0f} GB/s: {1e3 * floor:.1f} ms "
        f"({found['block 1'] / floor:.2f} of it taken)"
    )


def _batches(info: DeviceInfo, count: int, console: Console) -> None:
    problems = [generate(GeneratorOptions(m=20, n=40, seed=seed)) for seed in range(count)]
    solve_many(problems[:2], devices=[info.id])
    began = time.perf_counter()
    results = solve_many(problems, devices=[info.id])
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    for problem in problems:
        highs(problem, "simplex", 60.0, 1)
    others = time.perf_counter() - began
    solved = sum(result.status == "optimal" for result in results)
    base = problems[0]
    sides = np.random.default_rng(0).random((count, base.n)) @ base.A.T
    began = time.perf_counter()
    family = solve_many(base, row_lower=sides, row_upper=sides, devices=[info.id])
    together = time.perf_counter() - began
    optimal = int((family.status == "optimal").sum())
    console.print(
        f"{count} programs of 20 x 40 as a batch: {seconds:.2f} s ({solved} optimal); "
        f"with one matrix {together:.2f} s ({optimal} optimal); HiGHS one after another {others:.2f} s"
    )


def _numpy_seconds(problem: LinearProgram) -> float:
    """Seconds of the same algorithm in NumPy and SciPy, preparation included."""
    began = time.perf_counter()
    prepared = prepare(problem)
    assert isinstance(prepared, Prepared)
    data = shard_data(prepared.standard)
    method = InteriorPoint(System(data, [HostShard(data)]), prepared.standard.b, Settings())
    method.start()
    while True:
        method.measure()
        if method.done or method.stuck:
            return time.perf_counter() - began
        method.iterate()
