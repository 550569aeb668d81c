"""Simulate faults: of devices, disk, cluster and child processes, alone and in pairs, each history from one integer.

``python -m tools.soak.simulate --count 100000``

Prints the integer of every history with a wrong answer, a hang, a foreign exception or lost work, which ``--repeat``
lives through again; at last the counts. Exits with 1 if there was one.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.support.lasting import slow_device
from tests.support.simulation import SCENARIOS, Simulator, history_of


@click.command()
@click.option("--count", default=100_000, show_default=True, help="How many histories.")
@click.option("--first", default=0, show_default=True, help="The first number.")
@click.option("--repeat", type=int, multiple=True, help="Only the history of this number; may be repeated.")
@click.option("--only", default="", help="Only histories whose scenario has this in its name.")
@click.option("--device", help="Name of an OpenCL device; a CPU by default. 'none' leaves devices out.")
@click.option("--minutes", default=1e9, help="At most so long.")
def main(count: int, first: int, repeat: tuple[int, ...], only: str, device: str | None, minutes: float) -> None:
    """Live through histories."""
    if device is None:
        device = next(iter(slow_device()), "none")
    shared = Path("/dev/shm")
    began, busy = time.monotonic(), time.process_time()
    with (
        tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as home,
        Simulator(Path(home), None if device == "none" else device) as simulator,
    ):
        last = first - 1
        with contextlib.suppress(KeyboardInterrupt):
            for number in repeat or range(first, first + count):
                if time.monotonic() - began > 60 * minutes:
                    break
                last, history = number, history_of(number)
                if only not in history.scenario or (device == "none" and SCENARIOS[history.scenario].devices):
                    continue
                if repeat:
                    click.echo(str(history))
                if simulator.live(history) is not None:
                    click.echo(simulator.report.violations[-1])
        report = simulator.report
    for name, many in sorted(report.histories.items()):
        click.echo(f"{many:8d} {name}")
    for name, many in sorted(report.faults.items()):
        click.echo(f"{many:8d} {name}")
    click.echo(
        f"{report.histories.total()} histories, the last {last}; {report.pairs} with two faults, {report.undisturbed} without; "
        f"{len(report.violations)} violations; {time.monotonic() - began:.0f} s, "
        f"{time.process_time() - busy:.0f} s of CPU time"
    )
    sys.exit(bool(report.violations))


if __name__ == "__main__":
    main()
