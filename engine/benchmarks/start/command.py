"""``quintet bench start``: each sample in a process of its own, first with empty caches, then with those it left."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ...cli.options import bench_command
from ...cli.samples import samples
from ...errors import OptionError, QuintetError, nearest
from ...reports.record import BenchConsole

_TIMES = {
    "first_wall": "first value (s)",
    "answer_wall": "answer (s)",
    "end_wall": "end (s)",
    "first": "first value (CPU s)",
    "answer": "answer (CPU s)",
    "end": "end (CPU s)",
    "beside": "beside (CPU s)",
    "compiling": "of which compiling (s)",
}
_COUNTS = ("programs", "kernels", "used")


@bench_command("start")
@click.argument("names", metavar="[SAMPLE]...", nargs=-1)
@click.option("--backend", default="auto", show_default=True, help="auto, cuda or opencl.")
@click.option("--repeat", default=1, show_default=True, help="How often; the smallest time counts.")
def bench(names: tuple[str, ...], backend: str, repeat: int) -> int:
    """Measure how long the bundled samples take from the start of a process: with empty caches, and with full ones.

    Times are seconds, and CPU seconds of all threads: to the first value that is shown, to the answer (of a regression:
    to 100 draws of a chain) and to the end. Kernels are those of all programs that were compiled, and those of them
    that were used. Beside: of the process that optimises kernels for PoCL, which may take longer. Each sample is
    started once before anything is measured: Python has the bytecode of all files then.
    """
    paths = {path.stem: path for path in samples()}
    for name in names:
        if name not in paths:
            raise OptionError(f"unknown sample '{name}'{nearest(name, paths)} (known: {', '.join(paths)})")
    chosen = names or tuple(paths)
    for name in chosen:
        start(paths[name], backend)
    table = Table("sample", "caches", *_TIMES.values(), *_COUNTS, title="Starts of the samples")
    for name in chosen:
        for caches, found in measure(paths[name], backend, repeat).items():
            times = [f"{found[key]:.2f}" for key in _TIMES]
            table.add_row(name, caches, *times, *(str(found[key]) for key in _COUNTS))
    BenchConsole().print(table)
    return 0


def measure(path: Path, backend: str = "auto", repeat: int = 1) -> dict[str, dict[str, Any]]:
    """What the starts with ``"empty"`` and ``"full"`` caches report; see :mod:`.child`."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            # NVIDIA's driver keeps what it compiles from OpenCL in a folder of its own
            places = {
                "XDG_CACHE_HOME": folder,
                "POCL_CACHE_DIR": f"{folder}/pocl",
                "CUDA_CACHE_PATH": f"{folder}/nvidia",
            }
            for caches in ("empty", "full"):
                found = start(path, backend, environment=places)
                if caches not in best or found["end"] < best[caches]["end"]:
                    best[caches] = found
    return best


def start(
    path: Path, backend: str, devices: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What one start of a sample, in a process of its own, reports; see :mod:`.child`."""
    words = [sys.executable, "-m", f"{__package__}.child", str(time.time()), str(path), backend, *devices]
    done = subprocess.run(words, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise QuintetError(f"the start of {path.stem} failed: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
