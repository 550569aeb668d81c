"""Mixed runs of all solvers for some minutes in one process: solved, stopped and resumed at random moments.

``python -m tools.soak.mixed --minutes 20 --devices cuda:0``

Prints runs, wrong answers, errors, and the growth of memory after the first tenth; exits with 1 if an answer differs.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import click

import engine
from tests.support.lasting import CASES, differences, resident_bytes, solve_whole


@click.command()
@click.option("--minutes", default=20.0, show_default=True)
@click.option("--devices", multiple=True, default=["opencl:0"], show_default=True, help="May be repeated.")
@click.option("--seed", default=0, show_default=True)
def main(minutes: float, devices: tuple[str, ...], seed: int) -> None:
    """Run mixed problems."""
    warnings.simplefilter("ignore", engine.QuintetWarning)
    moments, counts = random.Random(seed), Counter[str]()
    whole = {name: solve_whole(name, devices) for name in CASES}
    began, settled = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as home, engine.Engine(devices=list(devices)) as owner:
        while time.monotonic() - began < 60 * minutes:
            name = moments.choice(sorted(CASES))
            case, folder = CASES[name], Path(home) / f"run{counts['runs']}"
            stop, early = moments.random() < 0.5, False
            run = owner.start(case.problem(), seed=7, run_folder=folder, checkpoint_interval=0.1, **case.options)
            counts["runs"] += 1
            while stop and not run.join(moments.uniform(0, 1.2 * whole[name].seconds)):
                run.stop()
                counts["stops"] += 1
                if not run.wait().status.stopped:  # what it had was good enough, after less work
                    counts["good enough"] += 1
                    early = True
                    break
                run = owner.resume(folder)
                stop = moments.random() < 0.5
            found = [
                difference
                for difference in differences(name, run.wait(), whole[name])
                if not early or difference.startswith(("status", "objective", "items"))
            ]
            counts["wrong"] += len(found)
            for difference in found:
                click.echo(f"{name} in {folder}: {difference}")
            if not settled and time.monotonic() - began > 6 * minutes:
                settled = resident_bytes()
    counts["growth_megabytes"] = (resident_bytes() - settled) // 10**6
    counts["threads"] = threading.active_count()
    click.echo(json.dumps(counts))
    sys.exit(counts["wrong"] > 0)


if __name__ == "__main__":
    main()
