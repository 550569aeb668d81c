"""``quintet bench knapsack``: checks and measures in one call, every ratio from runs side by side."""

import csv
import statistics
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from ...api.engine import Engine
from ...base.result import Status
from ...cli.options import bench_command, pool_options
from ...devices import DeviceInfo, available, by_backend, select
from ...devices.info import bytes_text
from ...generators.knapsack import GeneratorOptions, generate
from ...references.knapsack import optimal_value, optimum_by_cut_rows
from ...reports.record import BenchConsole
from ...reports.scaling import Request, bench_scaling, scaling_options
from ...solvers.knapsack.problem import Knapsack
from ..tables import median_seconds, number_table
from .family import measure_batches, measure_family
from .mip import measure_beside_highs
from .scaling import scaling_cases

_JOOKEN = Path("../shared/data/knapsack/jooken")
_CHU_BEASLEY = Path("../shared/data/knapsack/multiple_constraints/mknapcb1.txt")


@bench_command("knapsack")
@pool_options("Devices to measure, one by one; all GPUs by default.", "auto")
@click.option("--size", "sizes", type=int, multiple=True, help="Numbers of items (default 10000, and 100000 on GPUs).")
@click.option("--repeat", type=click.IntRange(1), default=3, help="Runs of each; the median is printed.")
@click.option("--numpy/--no-numpy", "with_numpy", default=True, help="Also time a NumPy row sweep (n = 10000).")
@click.option(
    "--instances",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Instead: solve every instance file of this folder, and compare with the optima.csv beside them.",
)
@click.option("--pattern", default="*", help="Which of the files.")
@click.option(
    "--set",
    "chosen_set",
    type=click.Choice(["paper", "jooken"]),
    default="paper",
    show_default=True,
    help="paper: instances as in the paper; jooken: Jooken's hard instances (EJOR 301, 2022), beside the published "
    "seconds of combo, from --instances or else from ../shared/data/knapsack/jooken.",
)
@click.option("--batch", type=click.IntRange(2), help="Instead: so many small problems at once through engine.map.")
@click.option("--family", is_flag=True, help="Instead: subset sums, multiple choice and two constraints.")
@click.option("--highs", is_flag=True, help="Instead: multiple choice and several constraints, beside HiGHS.")
@click.option("--limit", type=click.FloatRange(0, min_open=True), default=120.0, help="Seconds for one instance.")
@click.option("--quick", is_flag=True, help="Of --scaling, what a CPU does in seconds.")
@scaling_options
def bench(
    backend: Any,
    names: list[str] | None,
    sizes: Sequence[int],
    repeat: int,
    with_numpy: bool,
    instances: Path | None,
    pattern: str,
    chosen_set: str,
    batch: int | None,
    family: bool,
    highs: bool,
    limit: float,
    quick: bool,
    scaling: Request,
) -> int:
    """Check and measure the knapsack solver on this machine."""
    if scaling.wanted:
        return 0 if bench_scaling("knapsack", scaling_cases(quick), backend, names, scaling) else 1
    console = BenchConsole()
    if chosen_set == "jooken" and instances is None:
        if not _JOOKEN.is_dir():
            raise click.UsageError(f"there is no folder {_JOOKEN}; name the folder of the instances with --instances")
        instances = _JOOKEN
    if names:
        chosen = select(backend, names)
    else:
        found, _ = available(backend)
        gpus = [info for info in found if info.capabilities.simt]
        chosen = gpus or select(backend)
    if instances is not None or batch is not None or family or highs:
        good = True
        for info in chosen:
            with Engine(devices=[info.id]) as engine:
                if instances is not None:
                    good &= _solve_folder(engine, instances, pattern, limit, repeat, console)
                if batch is not None:
                    good &= measure_batches(engine, batch, repeat, console)
                if highs:
                    good &= measure_beside_highs(engine, limit, _CHU_BEASLEY, console)
                if family:
                    n = max(sizes, default=100_000 if info.capabilities.simt else 10_000)
                    good &= measure_family(engine, n, repeat, console)
        return 0 if good else 1
    good = all(_check(Engine(devices=[info.id] * count), console) for info in chosen for count in (1, 2))
    gpu = any(info.capabilities.simt for info in chosen)
    for n in sizes or ((10_000, 100_000) if gpu else (10_000,)):
        good &= _measure(n, chosen, repeat, with_numpy and n <= 10_000, console)
    return 0 if good else 1


def _check(engine: Engine, console: Console) -> bool:
    """Every variant against Bellman's recurrence in NumPy on small problems."""
    random = np.random.default_rng(7)
    wrong = 0
    with engine:
        for variant in ("auto", "rows", "tiles", "classes", "sparse"):
            for _ in range(10):
                n = int(random.integers(2, 300))
                weights = random.integers(1, int(random.choice([3, 50, 4000])), n, endpoint=True)
                problem = Knapsack(random.integers(1, 1000, n), weights, int(random.integers(1, weights.sum() + 1)))
                result = engine.solve(problem, variant=variant, reduce=False, minimum_share=1)
                wrong += result.objective != optimal_value(problem)
    labels = ", ".join(info.id for info in engine.device_infos)
    console.print(f"checked 50 random problems on {labels}: {50 - wrong} right, {wrong} wrong")
    return wrong == 0


def _published(folder: Path) -> dict[str, tuple[int | None, float | None]]:
    """Optimum and seconds of another solver by instance name, from ``optima.csv``; None (-1 there) if unknown."""
    path = folder / "optima.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in csv.reader(lines) if len(row) >= 4 and row[3].lstrip("-").isdigit()]
    return {
        row[0].removesuffix(".kp"): (
            int(row[3]) if int(row[3]) >= 0 else None,
            float(row[4]) if len(row) > 4 and float(row[4]) >= 0 else None,
        )
        for row in rows
    }


def _solve_folder(engine: Engine, folder: Path, pattern: str, limit: float, repeat: int, console: Console) -> bool:
    """Every instance of a folder: seconds, work, route, and whether the answer is the published one."""
    published = _published(folder)
    info = engine.device_infos[0]
    headings = ("instance", "seconds", "published s", "cells", "share of n C", "route", "value", "right")
    title = f"{folder.name} on {info.id}: medians of {repeat}, the first run of all not counted"
    table = number_table(title, headings, ("instance", "route"))
    good = True
    by_capacity: dict[int, list[tuple[float, float | None]]] = {}
    paths = [path for path in sorted(folder.glob(pattern)) if path.is_file() and path.suffix != ".csv"]
    for number, path in enumerate(paths):
        problem = Knapsack.read(path)
        solve = partial(engine.solve, problem, time_limit=limit)
        seconds, result = median_seconds(solve, repeat, unmeasured=number == 0)
        optimum, peer = published.get(problem.name, (None, None))
        by_capacity.setdefault(len(str(problem.capacity)) - 1, []).append((seconds, peer))
        optimum = problem.optimum if optimum is None else optimum
        proved = result.status is Status.OPTIMAL
        right = proved and optimum in (None, result.objective)
        good &= right
        cells = result.counters["cells"]
        table.add_row(
            problem.name,
            f"{seconds:.3f}",
            "" if peer is None else f"{peer:.3g}",
            f"{cells:.2g}",
            f"{100 * cells / max(1, problem.n * problem.capacity):.2g} %",
            str(result.arrays["route"]).split()[0],
            str(result.objective),
            "NO" if not right else "yes" if optimum is not None else "proved",
        )
    console.print(table)
    console.print(_by_capacity(by_capacity))
    return good


def _by_capacity(measured: Mapping[int, Sequence[tuple[float, float | None]]]) -> Table:
    table = Table(
        "capacity", "instances", "median s", "worst s", "published median s", "published worst s", title="By capacity"
    )
    for digits, pairs in sorted(measured.items()):
        seconds = [own for own, _ in pairs]
        peers = [peer for _, peer in pairs if peer is not None]
        table.add_row(
            f"1e{digits}",
            f"{len(pairs)}",
            *(f"{statistics.median(seconds):.3f}", f"{max(seconds):.3f}"),
            *((f"{statistics.median(peers):.3g}", f"{max(peers):.3g}") if peers else ("", "")),
        )
    return table


def _bound(problem: Knapsack) -> int:
    """What no solution of the paper's instances (p = w + 50) can beat: the capacity, and as many items as fit."""
    most = int(np.searchsorted(np.cumsum(np.sort(problem.weights)), problem.capacity, side="right"))
    return problem.capacity + 50 * most


def _measure(n: int, chosen: Sequence[DeviceInfo], repeat: int, with_numpy: bool, console: Console) -> bool:
    """One size of the paper's instances: variants, backends and numbers of devices side by side."""
    problem = generate(GeneratorOptions(type="strongly-correlated", n=n, seed=1))
    bound = _bound(problem)
    title = f"n = {n}, C = {problem.capacity}, p = w + 50, reduce off: medians of {repeat}"
    words = ("devices", "variant", "answer")
    numbers = ("seconds", "cells", "cells/s", "speed against", "exchanged", "memory", "right")
    table = number_table(title, (*words, *numbers), words)
    good = True
    base: dict[tuple[str, ...], float] = {}

    def add(devices: tuple[str, ...], variant: Any, items: bool, engine: Engine) -> None:
        nonlocal good
        solve = partial(engine.solve, problem, variant=variant, reduce=False, items=items)
        seconds, result = median_seconds(solve, repeat)
        right = result.objective == bound and (not items or result.solution is not None)
        good &= right
        key = (*devices, variant, str(items))
        base[key] = seconds
        peers = {
            "numpy (cut)": base.get(("numpy",)),
            "rows": base.get((*devices, "rows", "False")) if not items else None,
            "one device": base.get((devices[0], variant, str(items))) if len(devices) > 1 else None,
        }
        against = ", ".join(f"{peer / seconds:.1f}x {name}" for name, peer in peers.items() if peer is not None)
        cells = result.counters["cells"]
        exchanged = bytes_text(result.counters["exchanged_bytes"])
        name = " + ".join(devices)
        table.add_row(
            name,
            variant,
            "items" if items else "value",
            f"{seconds:.3f}",
            f"{cells:.3g}",
            f"{cells / seconds:.3g}",
            against,
            exchanged,
            f"{result.counters['device_bytes'] / (4 * (problem.capacity + 1)):.2f}",
            "yes" if right else "NO",
        )

    if with_numpy:
        for cut, name in ((False, "whole rows"), (True, "cut rows")):
            began = time.perf_counter()
            right = optimum_by_cut_rows(problem, cut) == bound
            base["numpy",] = time.perf_counter() - began
            good &= right
            table.add_row("numpy", name, "value", f"{base['numpy',]:.3f}", "", "", "", "", "", "yes" if right else "NO")
    for info in chosen:
        with Engine(devices=[info.id]) as engine:
            for variant in ("rows", "tiles", "classes", "auto"):
                add((info.id,), variant, False, engine)
            for variant in ("tiles", "auto"):
                add((info.id,), variant, True, engine)
    for infos in by_backend(chosen):
        same = tuple(info.id for info in infos)
        for count in (2, 4):
            if len(same) >= count:
                with Engine(devices=same[:count]) as engine:
                    for variant, items in (("rows", False), ("tiles", False), ("auto", False), ("auto", True)):
                        add(same[:count], variant, items, engine)
    console.print(table)
    console.print("memory: on each device, in arrays of C + 1 values of 4 bytes")
    for info in chosen:
        console.print(f"{info.id}: {info.name}, {info.driver}")
    return good
