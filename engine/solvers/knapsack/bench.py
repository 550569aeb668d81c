"""``quintet bench knapsack``: checks and measures in one call, every ratio from runs side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from engine.api import Engine
from engine.cli_options import pool_options, run_command
from engine.devices import DeviceInfo, available, select
from engine.devices.info import bytes_text
from engine.solvers.knapsack.generators import GeneratorOptions, generate
from engine.solvers.knapsack.problem import Knapsack
from engine.solvers.knapsack.reference import optimal_value, optimum_by_cut_rows

__all__ = ["bench"]


@click.command("knapsack", help="Check and measure the knapsack solver on this machine.")
@pool_options("Devices to measure, one by one; all GPUs by default.", "auto")
@click.option("--size", "sizes", type=int, multiple=True, help="Numbers of items (default 10000, and 100000 on GPUs).")
@click.option("--repeat", type=click.IntRange(1), default=3, help="Runs of each; the median is told.")
@click.option("--numpy/--no-numpy", "with_numpy", default=True, help="Also time a NumPy row sweep (n = 10000).")
def _command(backend: Any, names: list[str] | None, sizes: Sequence[int], repeat: int, with_numpy: bool) -> int:
    console = Console(width=150)
    if names:
        chosen = select(backend, names)
    else:
        found, _ = available(backend)
        gpus = [info for info in found if info.capabilities.kind == "gpu"]
        chosen = gpus or select(backend)
    good = all(_check(Engine(devices=[info.id] * count), console) for info in chosen for count in (1, 2))
    gpu = any(info.capabilities.kind == "gpu" for info in chosen)
    for n in sizes or ((10_000, 100_000) if gpu else (10_000,)):
        good &= _measure(n, chosen, repeat, with_numpy and n <= 10_000, console)
    return 0 if good else 1


def bench(arguments: list[str]) -> int:
    """Run the benchmark with command-line arguments; 0 if every check held."""
    return run_command(_command, "quintet bench knapsack", arguments)


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


def _bound(problem: Knapsack) -> int:
    """What no solution of the paper's instances (p = w + 50) can beat: the capacity, and as many items as fit."""
    most = int(np.searchsorted(np.cumsum(np.sort(problem.weights)), problem.capacity, side="right"))
    return problem.capacity + 50 * most


def _measure(n: int, chosen: Sequence[DeviceInfo], repeat: int, with_numpy: bool, console: Console) -> bool:
    """One size of the paper's instances: variants, backends and numbers of devices side by side."""
    problem = generate(GeneratorOptions(type="strongly-correlated", n=n, seed=1))
    bound = _bound(problem)
    table = Table(title=f"n = {n}, C = {problem.capacity}, p = w + 50, reduce off: medians of {repeat}")
    for heading in (
        "devices",
        "variant",
        "answer",
        "seconds",
        "cells",
        "cells/s",
        "speed against",
        "exchanged",
        "memory",
        "right",
    ):
        table.add_column(heading, justify="left" if heading in ("devices", "variant", "answer") else "right")
    good = True
    base: dict[tuple[str, ...], float] = {}

    def add(devices: tuple[str, ...], variant: str, items: bool, engine: Engine) -> None:
        nonlocal good
        times = []
        for _ in range(repeat + 1):  # the first compiles
            began = time.perf_counter()
            result = engine.solve(problem, variant=variant, reduce=False, items=items)
            times.append(time.perf_counter() - began)
        seconds = statistics.median(times[1:])
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
    for language in sorted({info.language for info in chosen}):
        same = tuple(info.id for info in chosen if info.language == language)
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
