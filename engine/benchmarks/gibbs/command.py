"""``quintet bench gibbs``: checks and measures in one call."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits
from typing_extensions import override

from ...cli.options import bench_command, pool_options
from ...devices import DeviceInfo, DevicePool, select
from ...numerics.memory import Memory
from ...references.gibbs import BlasSampler, ReferenceChain
from ...reports.record import BenchConsole
from ...reports.scaling import Request, bench_scaling, scaling_options
from ...solvers.gibbs.design.matrix import Design, stored_values
from ...solvers.gibbs.device.sampler import Sampler
from ...solvers.gibbs.device.worker import Worker
from ...solvers.gibbs.families import AUXILIARY
from ...solvers.gibbs.options import REFRESH, Options
from ...solvers.gibbs.problem import HorseshoeProbit
from ...solvers.gibbs.validate import settings_for
from .mixing import measure_mixing, mixing_problems
from .peers import compare_peers

SIZES = ((10_000, 1000), (1_000_000, 1000), (1_295_848, 141))
HOST_SIZES = ((10_000, 100), (100_000, 1000))
_BLOCK_ROWS = 4096
_FOLLOWED = 20


@dataclasses.dataclass(frozen=True)
class Repeated(Design):
    """A design of any number of rows, made of one block again and again, so that making it takes no time."""

    @override
    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """The block's rows from where this row is in it, zeros from N on."""
        first = begin % _BLOCK_ROWS
        out = _block(self)[first : first + end - begin]
        if end > self.layout.rows:
            out = out.copy()
            out[max(0, self.layout.rows - begin) :] = 0
        return out


_BLOCKS: dict[Any, NDArray[Any]] = {}


def _block(design: Design) -> NDArray[Any]:
    key = design.layout.columns, design.layout.stride, design.storage
    if key not in _BLOCKS:
        random = np.random.default_rng(7)
        rows, layout = design.chunk_rows + _BLOCK_ROWS, design.layout
        few = random.standard_normal((_BLOCK_ROWS, layout.stride), dtype=np.float32)
        few[:, layout.columns :] = 0.0
        values = np.tile(few, (-(-rows // len(few)), 1))[:rows]
        if design.storage == "float16":
            _BLOCKS[key] = values.astype(np.float16).view(np.uint16)
        else:
            _BLOCKS[key] = values
    return _BLOCKS[key]


def repeated(rows: int, columns: int, options: Options) -> Design:
    """A design of standard normals of this size."""
    from ...solvers.gibbs.design.layout import layout_for

    problem = HorseshoeProbit(np.array([[0.0], [1.0]]), [0, 1])
    layout = layout_for(rows, columns)
    return Repeated(
        problem,
        np.arange(columns),
        np.zeros(columns),
        np.ones(columns),
        False,
        "float32" if options.storage == "auto" else options.storage,
        layout,
        np.zeros(columns),
    )


def chain_state(chains: int, q: int, seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """Where chains of ``q`` coefficients begin."""
    random = np.random.default_rng(seed)
    beta = 0.05 * random.standard_normal((chains, q))
    return {
        "beta": beta,
        "local_precision": np.ones((chains, q)),
        "nu": np.ones((chains, q)),
        "chain_state": np.ones((chains, 8)),
        "auxiliary": np.zeros((chains, AUXILIARY)),
    }


def time_iterations(
    infos: Sequence[DeviceInfo], rows: int, columns: int, options: Options, seconds: float = 0.5
) -> tuple[float, float]:
    """Seconds of an iteration of all chains, and of a pass over the rows by itself."""
    design = repeated(rows, columns, options)
    with DevicePool(infos) as pool, Sampler(pool, design, settings_for(design, options, 1)) as sampler:
        if options.kernel == "hmc":
            sampler.weigh_at(np.zeros(columns))
        sampler.make_gram(weighted=options.kernel == "hmc")
        sampler.set_state(chain_state(options.chains, columns))
        at = advance(sampler, 0, 2)
        began = time.perf_counter()
        at = advance(sampler, at, 3)
        each = (time.perf_counter() - began) / 3
        times = []
        for _ in range(3):
            count = int(min(2 * REFRESH, max(2, seconds / 3 / max(each, 1e-6))))
            began = time.perf_counter()
            at = advance(sampler, at, count)
            times.append((time.perf_counter() - began) / count)
        pass_ = max(sampler.workers.each(_time_pass, options.chains))
    return statistics.median(times), pass_


def advance(sampler: Sampler, first: int, count: int) -> int:
    """Some iterations, waited for."""
    end = first + count
    while first < end:
        some = min(end - first, REFRESH - first % REFRESH)
        sampler.advance(first, some, 1 << 40)
        first += some
    sampler.collect()
    return end


def _time_pass(worker: Worker, chains: int) -> float:
    memory = Memory(worker.device)
    partial = worker.rows.partial_sums(memory, chains)

    def sweep(step: int) -> None:
        worker.chains.set_iteration(step)
        numbers = {"seed": 0, "stream": 0, "iteration": worker.chains.iteration}
        worker.rows.sweep("draw", worker.chains.beta_f32, partial, chains, **numbers)

    sweep(1)
    worker.device.sync()
    times = []
    for _ in range(3):
        began = time.perf_counter()
        for step in range(3):
            sweep(step)
        worker.device.sync()
        times.append((time.perf_counter() - began) / 3)
    memory.release()
    return min(times)


def check(infos: Sequence[DeviceInfo], console: Console) -> bool:
    """Compare the kernels gibbs and px with the NumPy reference over the first iterations, for several shapes."""
    good = True
    shapes = ((50, 3), (1000, 37), (3000, 141), (700, 300), (400, 1100))
    for info in infos:
        for rows, columns in shapes:
            for kernel in ("gibbs", "px"):
                apart = follow(info, rows, columns, Options(kernel=kernel, chains=3))
                good &= apart < 1e-3
                console.print(
                    f"{info.id} {kernel} {rows}x{columns}: the chains are within {apart:.1e} of the reference's"
                )
    return good


def follow(info: DeviceInfo, rows: int, columns: int, options: Options, steps: int = _FOLLOWED) -> float:
    """The largest distance between a device's chains and the reference's, in units of the coefficients' spread."""
    random = np.random.default_rng(rows)
    X = random.standard_normal((rows, columns))
    y = X[:, 0] + random.standard_normal(rows) > 0
    design = Design.of(HorseshoeProbit(X, y.astype(int)), options)
    q = design.layout.columns
    settings = dataclasses.replace(settings_for(design, options, 11), wide=False)  # the reference factorises p x p
    with DevicePool([info]) as pool, Sampler(pool, design, settings) as sampler:
        sampler.make_gram(weighted=False)
        state = chain_state(options.chains, q)
        sampler.set_state(state)
        sampler.advance(0, steps, 1 << 40)
        _, draws, _ = sampler.collect()
    stored = stored_values(design.rows(0, rows), design.storage)[:, :q].astype(np.float64)
    worst = 0.0
    with threadpool_limits(1):  # its matrices are small
        for chain in range(options.chains):
            expected = ReferenceChain(stored, design.first, 11, expanded=options.kernel == "px", chain=chain)
            expected.beta = state["beta"][chain].copy()
            for step in range(steps):
                expected.step(step)
                spread = max(1e-12, float(np.abs(expected.beta).max()))
                worst = max(worst, float(np.abs(draws[step, chain, :q] - expected.beta).max()) / spread)
    return worst


def _time_blas(rows: int, columns: int) -> float:
    """Seconds of an iteration of one chain with NumPy and SciPy, whatever threads their BLAS uses."""
    random = np.random.default_rng(1)
    sampler = BlasSampler(random.standard_normal((rows, columns), dtype=np.float32), 1)
    sampler.step()
    return _repeat(sampler.step)


def _repeat(task: Callable[[], Any], least: float = 0.5) -> float:
    times: list[float] = []
    while sum(times) < least or len(times) < 3:
        began = time.perf_counter()
        task()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


@bench_command("gibbs")
@pool_options("Devices to measure together; all GPUs by default.", "auto")
@click.option("--quick", is_flag=True, help="Small sizes only.")
@click.option(
    "--mixing",
    multiple=True,
    help="Also how well kernels mix on a data file, or on generated data: 'all' or one kind, as one-hot.",
)
@click.option("--peers", is_flag=True, help="Instead: NUTS of NumPyro, BlackJAX and nutpie on the data of --mixing.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Time limit of each run on these data.")
@scaling_options
def bench(
    backend: Any,
    names: list[str] | None,
    quick: bool,
    mixing: tuple[str, ...],
    peers: bool,
    seconds: float,
    scaling: Request,
) -> int:
    """Check and measure the Gibbs sampler on this machine."""
    if scaling.wanted:
        from .scaling import scaling_cases

        return 0 if bench_scaling("gibbs", scaling_cases(quick), backend, names, scaling) else 1
    console = BenchConsole()
    infos = select(backend, names)
    problems = mixing_problems(mixing or ("noise", "scales", "tiny") * peers)
    if peers:
        ids = [info.id for info in infos]
        agree = [compare_peers(ids, problem, console, seconds=seconds) for problem in problems]
        return 0 if all(agree) else 1
    good = check(infos[:1], console)
    on_host = all(info.capabilities.shares_host_cores for info in infos)
    sizes = ((1000, 50),) if quick else HOST_SIZES if on_host else SIZES
    table = Table("rows", "columns", "kernel", "storage", "chains", "ms an iteration", "ms a chain", "pass ms", "GB/s")
    for rows, columns in sizes:
        for storage in ("float32", "float16") if not quick and not on_host else ("float32",):
            for kernel, chains in (("gibbs", 1), ("gibbs", 4), ("px", 4), ("hmc", 4)):
                options = Options.model_validate({"kernel": kernel, "chains": chains, "storage": storage})
                each, pass_ = time_iterations(infos, rows, columns, options)
                size = rows * columns * (4 if storage == "float32" else 2)
                numbers = (
                    f"{1e3 * each:.3f}",
                    f"{1e3 * each / chains:.3f}",
                    f"{1e3 * pass_:.3f}",
                    f"{size / pass_ / 1e9:.0f}",
                )
                table.add_row(f"{rows}", f"{columns}", kernel, storage, f"{chains}", *numbers)
        if on_host:
            each = 1e3 * _time_blas(rows, columns)
            table.add_row(f"{rows}", f"{columns}", "NumPy + SciPy", "float32", "1", *2 * (f"{each:.3f}",), "", "")
    console.print(table)
    for problem in problems:
        measure_mixing(infos, problem, console, seconds=seconds)
    return 0 if good else 1
