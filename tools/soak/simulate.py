"""Simulate faults: of devices and disk, alone and in pairs, each history from one integer.

``python -m tools.soak.simulate --count 100000``

Prints the integer of every history with a wrong answer, a hang, a foreign exception or lost work, which ``--repeat``
lives through again, or that ends the process; at last the counts. Exits with 1 if there was one.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
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
@click.option("--home", type=Path, hidden=True)
def main(
    count: int, first: int, repeat: tuple[int, ...], only: str, device: str | None, minutes: float, home: Path | None
) -> None:
    """Live through histories."""
    if home is None:
        sys.exit(watched())
    if device is None:
        device = next((name for name in slow_device() if name.startswith("opencl")), "none")
    began, last, violations = time.monotonic(), first - 1, 0
    with (
        Simulator(home, None if device == "none" else device) as simulator,
        (home / "number").open("w") as present,
        contextlib.suppress(KeyboardInterrupt),
    ):
        for number in repeat or range(first, first + count):
            if time.monotonic() - began > 60 * minutes:
                break
            last, history = number, history_of(number)
            if only not in history.scenario or (device == "none" and SCENARIOS[history.scenario].devices):
                continue
            present.seek(0)
            present.write(f"{history}\n")
            present.flush()
            if repeat:
                click.echo(str(history))
            if (found := simulator.live(history)) is not None:
                violations += 1
                click.echo(f"{history}\n{found}")
    for name, many in [*sorted(simulator.histories.items()), *sorted(simulator.faults.items())]:
        click.echo(f"{many:8d} {name}")
    count = simulator.histories.total()
    click.echo(f"{count} histories up to {last}; {violations} violations; {time.monotonic() - began:.0f} s")
    sys.exit(violations > 0)


def watched() -> int:
    """The same in a process of its own: if that is ended by a signal, the history is printed; its exit code."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as home:
        child = subprocess.Popen([sys.executable, "-m", "tools.soak.simulate", *sys.argv[1:], "--home", home])
        while child.returncode is None:
            with contextlib.suppress(KeyboardInterrupt):  # the child prints its counts
                child.wait()
        if child.returncode < 0:
            lived = (Path(home) / "number").read_text().partition("\n")[0]
            click.echo(f"{lived}\nended the process by the signal {signal.Signals(-child.returncode).name}")
    return int(child.returncode != 0)


if __name__ == "__main__":
    main()
