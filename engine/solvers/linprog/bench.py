"""``quintet bench linprog``: is it right, how fast is it, and where is HiGHS faster."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from engine.api import Engine
from engine.devices import Device, DeviceInfo, DevicePool, select
from engine.numerics.linear_algebra import linear_algebra
from engine.results import Result
from engine.solvers.linprog.forms import shard_data
from engine.solvers.linprog.generators import GeneratorOptions, generate
from engine.solvers.linprog.interior import InteriorPoint, Settings
from engine.solvers.linprog.many import solve_many
from engine.solvers.linprog.prepare import Prepared, prepare
from engine.solvers.linprog.problem import LinearProgram
from engine.solvers.linprog.sparse import sp
from engine.solvers.linprog.system import System
from engine.solvers.linprog.twin import HostShard
from engine.solvers.linprog.updates import Updates

__all__ = ["bench"]

_CPU_SIZES = ((200, 400), (500, 1000))
_GPU_SIZES = ((500, 1000), (2000, 4000), (4000, 8000), (5000, 10_000))


@click.command("linprog", help="Check and measure linear programming on this machine, with HiGHS beside it.")
@click.option("--backend", type=click.Choice(["auto", "cuda", "opencl"]), default="auto", help="Which devices.")
@click.option("--devices", "names", multiple=True, help="Devices to measure, one by one; all GPUs by default.")
@click.option("--size", "sizes", multiple=True, help="Dense sizes, as 500x1000.")
@click.option("--repeat", type=click.IntRange(1), default=3, help="Runs of each; the median is told.")
@click.option("--highs-limit", type=float, default=60.0, help="Seconds for each run of HiGHS; 0 leaves it out.")
@click.option("--threads", type=int, default=1, help="Threads of HiGHS.")
@click.option("--netlib", type=click.Path(path_type=Path, exists=True), help="A folder of MPS files to solve, too.")
@click.option("--rows", type=int, default=500, help="Most rows of a file in that folder.")
@click.option("--updates/--no-updates", default=True, help="Also time the Sherman-Morrison updates.")
@click.option("--batch", type=int, default=1000, help="Programs of 20 x 40 to solve in one go; 0 leaves it out.")
def _command(
    backend: Any,
    names: Sequence[str],
    sizes: Sequence[str],
    repeat: int,
    highs_limit: float,
    threads: int,
    netlib: Path | None,
    rows: int,
    updates: bool,
    batch: int,
) -> int:
    console = Console(width=150)
    chosen = select(backend, names or None)
    gpu = any(info.capabilities.kind == "gpu" for info in chosen)
    shapes = [(int(m), int(n)) for m, n in (size.split("x") for size in sizes)] or (_GPU_SIZES if gpu else _CPU_SIZES)
    good = True
    for info in chosen:
        console.print(f"{info.id}: {info.name}, {info.driver}")
        with Engine(devices=[info.id]) as engine:
            good &= _check(engine, console)
            good &= _dense(engine, info, shapes, repeat, highs_limit, threads, console)
            good &= _sparse(engine, netlib, rows, highs_limit, threads, console)
        if updates:
            _updates(info, shapes[0] if not gpu else (2000, 4000), console)
        if batch:
            _batches(info, batch, console)
    return 0 if good else 1


def bench(arguments: list[str]) -> int:
    """Run the benchmark with command-line arguments; 0 if every check held."""
    return int(_command.main(arguments, prog_name="quintet bench linprog", standalone_mode=False) or 0)


def _highs(problem: LinearProgram, solver: str, limit: float, threads: int) -> tuple[float, float | None]:
    """Seconds and optimum (None beyond the limit) of HiGHS's ``"simplex"`` or ``"ipm"``, the model handed over."""
    highspy: Any = importlib.import_module("highspy")
    columns = sp.csc_array(problem.A)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = problem.n, problem.m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = problem.c, problem.lower, problem.upper
    lp.row_lower_, lp.row_upper_, lp.offset_ = problem.row_lower, problem.row_upper, problem.offset
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = columns.indptr, columns.indices, columns.data
    model = highspy.Highs()
    for name, value in (("output_flag", False), ("solver", solver), ("time_limit", limit), ("threads", threads)):
        model.setOptionValue(name, value)
    model.passModel(lp)
    highspy.Highs.resetGlobalScheduler(True)  # it keeps its first number of threads otherwise
    began = time.perf_counter()
    model.run()
    seconds = time.perf_counter() - began
    solved = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return seconds, float(model.getInfo().objective_function_value) if solved else None


def _check(engine: Engine, console: Console) -> bool:
    wrong = 0
    for seed in range(10):
        for kind in ("dense", "inequalities", "transport"):
            problem = generate(GeneratorOptions(type=kind, m=5 + seed, n=12 + 2 * seed, seed=seed))
            reference = _highs(problem, "simplex", 60.0, 1)[1]
            result = engine.solve(problem)
            wrong += not _agree(result, reference)
    console.print(f"checked 30 random programs against HiGHS: {30 - wrong} right, {wrong} wrong")
    return wrong == 0


def _agree(result: Result, optimum: float | None) -> bool:
    """Whether the result is HiGHS's optimum."""
    if optimum is None or result.objective is None or result.status != "optimal":
        return False
    return abs(result.objective - optimum) <= 1e-6 * (1 + abs(optimum))


def _numpy(problem: LinearProgram) -> float:
    """Seconds of the same algorithm in NumPy and SciPy, preparation included."""
    began = time.perf_counter()
    prepared = prepare(problem)
    assert isinstance(prepared, Prepared)
    data = shard_data([prepared.standard])
    method = InteriorPoint(System(data, [HostShard(data)]), prepared.standard.b[None], Settings())
    method.start()
    while True:
        method.measure()
        if (method.done | method.stuck).all():
            return time.perf_counter() - began
        method.iterate()


def _timed(call: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    call()  # the first compiles
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def _dense(
    engine: Engine,
    info: DeviceInfo,
    shapes: Sequence[tuple[int, int]],
    repeat: int,
    limit: float,
    threads: int,
    console: Console,
) -> bool:
    table = Table(title=f"dense random programs on {info.id}, seconds: medians of {repeat}")
    for heading in (
        "rows x columns",
        "quintet",
        "iterations",
        "ms an iteration",
        "NumPy",
        "HiGHS simplex",
        "HiGHS IPM",
    ):
        table.add_column(heading, justify="right")
    table.add_column("right")
    good = True
    for m, n in shapes:
        problem = generate(GeneratorOptions(m=m, n=n, seed=1))
        seconds, result = _timed(lambda p=problem: engine.solve(p), repeat)  # type: ignore[misc]
        counters = result.counters
        work = sum(counters[f"seconds_{phase}"] for phase in ("products", "form", "factor", "solve"))
        peer = f"{_numpy(problem):.3f}" if m <= 1000 else ""
        others, optimum = [], None
        for solver in ("simplex", "ipm"):
            if not limit:
                others.append("")
                continue
            taken, value = _highs(problem, solver, limit, threads)
            others.append(f"{taken:.2f}" if value is not None else f"> {taken:.0f}")
            optimum = value if value is not None else optimum
        right = result.status == "optimal"
        right &= optimum is None or abs(result.objective - optimum) <= 1e-6 * (1 + abs(optimum))
        good &= right
        table.add_row(
            f"{m} x {n}",
            f"{seconds:.3f}",
            str(counters["iterations"]),
            f"{1e3 * work / max(1, counters['factorizations']):.2f}",
            peer,
            *others,
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
    """Sparse programs, where a dense factor does too much: HiGHS is often faster, and the table says so."""
    problems = [generate(GeneratorOptions(type="transport", m=40, n=60, seed=1))]
    if folder is not None:
        files = sorted(path for path in folder.iterdir() if path.name.removesuffix(".gz").endswith(".mps"))
        problems += [problem for problem in map(LinearProgram.read, files) if problem.m <= rows]
    table = Table(title="sparse programs, seconds")
    for heading in ("program", "rows", "columns", "quintet", "HiGHS", "faster", "right"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    total, highs_total, faster, good = 0.0, 0.0, 0, True
    for problem in problems:
        engine.solve(problem)
        began = time.perf_counter()
        result = engine.solve(problem)
        seconds = time.perf_counter() - began
        taken, value = _highs(problem, "choose", limit or 60.0, threads)
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
                updates = Updates(device, algebra, columns, block)
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
        _highs(problem, "simplex", 60.0, 1)
    highs = time.perf_counter() - began
    solved = sum(result.status == "optimal" for result in results)
    console.print(
        f"{count} programs of 20 x 40 in one go: {seconds:.2f} s ({solved} optimal); "
        f"HiGHS one after another {highs:.2f} s"
    )
