"""Solve small problems again and again in one engine: memory, threads and open files do not grow.

``python -m tools.soak.many --count 10000 --devices opencl:0 [SOLVER ...]``

Prints for each solver the growth per solve in the last three quarters, and exits with 1 if it is more than --most
bytes, if threads or open files have grown, or if an answer changes.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import warnings

import click
import numpy as np

import engine
from tests.support.lasting import SMALL, resident_bytes


def open_files() -> int:
    """How many files this process has open; 0 where the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


@click.command()
@click.argument("solvers", nargs=-1, type=click.Choice(sorted(SMALL)))
@click.option("--count", default=10_000, show_default=True, help="Solves in all.")
@click.option("--devices", multiple=True, default=["opencl:0"], show_default=True, help="May be repeated.")
@click.option("--most", default=2048.0, show_default=True, help="Bytes that memory may grow per solve.")
def main(solvers: tuple[str, ...], count: int, devices: tuple[str, ...], most: float) -> None:
    """Solve problems of the SOLVERS, of all by default."""
    warnings.simplefilter("ignore", engine.QuintetWarning)
    names = solvers or sorted(SMALL)
    each, bad = max(8, count // len(names)), False
    with engine.Engine(devices=list(devices)) as owner:
        for name in names:
            case, memory = SMALL[name], []
            problem = case.problem()
            first, began = owner.solve(problem, seed=7, **case.options), time.monotonic()
            before: tuple[int, int] | None = None
            for number in range(each):
                result = owner.solve(problem, seed=7, **case.options)
                if result.objective != first.objective:
                    click.echo(f"{name}: solve {number}: objective {result.objective}, not {first.objective}")
                    bad = True
                if number == each // 4:
                    before = threading.active_count(), open_files()
                if number % max(1, each // 50) == 0:
                    gc.collect()
                    memory.append((number, resident_bytes()))
            settled = np.array(memory[len(memory) // 4 :], float)
            slope = float(np.polyfit(settled[:, 0], settled[:, 1], 1)[0])
            after = threading.active_count(), open_files()
            click.echo(
                f"{name}: {each} solves in {time.monotonic() - began:.0f} s; memory {memory[0][1] / 1e6:.1f} to "
                f"{memory[-1][1] / 1e6:.1f} MB, {slope:.0f} bytes a solve; threads and files {before} then {after}"
            )
            bad |= slope > most or (before is not None and (after[0] > before[0] or after[1] > before[1]))
    sys.exit(bad)


if __name__ == "__main__":
    main()
