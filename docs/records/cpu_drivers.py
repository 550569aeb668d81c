"""Record of both OpenCL drivers for CPUs: ``python docs/records/cpu_drivers.py FILE``; needs the extra ``cpu-fast``.

Each driver has a process of its own. What is measured is the processor time of the second run of each problem, which
other work on the machine disturbs less than the time by the clock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import engine
from engine.generators.knapsack import GeneratorOptions, generate
from engine.reports.machine import describe_machine
from engine.reports.report import Report, Section, Table

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(20_000, 40))
CASES = {
    "horseshoe probit 20 000 x 40, gibbs, 200 iterations": (
        engine.HorseshoeProbit(X, X[:, 0] + RANDOM.normal(size=len(X)) > 0),
        {"kernel": "gibbs", "warmup": 100, "draws": 100},
    ),
    "trap-5, 100 genes, 4800 individuals, 50 generations": (
        engine.BOA("trap-5", 100),
        {"population": 4800, "local_search": "none", "max_generations": 50, "patience": 50, "target": 101},
    ),
    "knapsack, 3000 items, tiles": (
        generate(GeneratorOptions(n=3000, seed=1)),
        {"reduce": False, "variant": "tiles", "items": False},
    ),
    "queens 14": (engine.Queens(14), {}),
    "dense linear program 60 x 180, mpc": (
        engine.LinearProgram(np.ones(180), A_ub=-np.abs(X[:60, :30]).repeat(6, axis=1), b_ub=-np.ones(60)),
        {"method": "mpc", "presolve": False},
    ),
}


def measure() -> None:
    """Print the seconds of this process's driver as JSON."""
    seconds = {}
    with engine.Engine(backend="opencl") as owner:
        for name, (problem, options) in CASES.items():
            first = time.process_time()
            owner.solve(problem, **options)
            second = time.process_time()
            owner.solve(problem, **options)
            seconds[name] = (second - first, time.process_time() - second)
        print(json.dumps({"driver": owner.device_infos[0].platform, "seconds": seconds}))


def main(path: Path) -> None:
    """Measure both drivers and write the record."""
    found = {}
    for driver in ("pocl", "intel"):
        output = subprocess.run(
            [sys.executable, "-W", "ignore", __file__], env={**os.environ, "QUINTET_CPU_DRIVER": driver},
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        found[driver] = json.loads(output.splitlines()[-1])
    rows = [
        (name, *(f"{found[driver]['seconds'][name][place]:.2f}" for place in (1, 0) for driver in ("pocl", "intel")))
        for name in CASES
    ]
    columns = ("problem", "PoCL", "Intel", "first run, PoCL", "first run, Intel")
    machine = describe_machine(engine.available_devices("opencl"))
    table = Table("Processor seconds by driver", columns, tuple(rows), "the first run compiles its kernels")
    report = Report(
        "cpu-drivers", "OpenCL drivers for CPUs", "python docs/records/cpu_drivers.py FILE", "bench", machine,
        sections=[Section("drivers", [table])],
    )  # fmt: skip
    path.write_text(json.dumps(report.to_dict(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1])) if len(sys.argv) > 1 else measure()
