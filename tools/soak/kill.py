"""Kill runs at random moments until a number of kills is reached, and compare every answer with an unbroken run's.

``python -m tools.soak.kill --kills 1000 --devices opencl:0 --devices opencl:0 [SOLVER ...]``

Prints one line for each solver; exits with 1 if an answer differs.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.support.lasting import CASES, differences, kill_until_done, solve_whole


@click.command()
@click.argument("solvers", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--kills", default=1000, show_default=True, help="Kills of each solver's runs.")
@click.option("--devices", multiple=True, default=["opencl:0"], show_default=True, help="May be repeated.")
@click.option("--seed", default=0, show_default=True, help="Of the moments of the kills.")
@click.option("--minutes", default=600.0, show_default=True, help="Begin no further run of a solver after this time.")
def main(solvers: tuple[str, ...], kills: int, devices: tuple[str, ...], seed: int, minutes: float) -> None:
    """Kill runs of the SOLVERS, of all by default."""
    wrong = 0
    for name in solvers or sorted(CASES):
        moments = random.Random(f"{seed} {name}")
        solve_whole.__wrapped__(name, devices)  # which fills the caches
        whole = solve_whole(name, devices)
        longest, began = 0.5 * whole.seconds, time.monotonic()
        done = runs = 0
        with tempfile.TemporaryDirectory() as home:
            while done < kills and time.monotonic() - began < 60 * minutes:
                folder = Path(home) / f"run{runs}"
                result, killed = kill_until_done(name, folder, devices, moments, longest, min(20, kills - done))
                done, runs = done + killed, runs + 1
                found = differences(name, result, whole)
                wrong += len(found)
                for difference in found:
                    click.echo(f"{name}: run {runs}: {difference}")
        click.echo(f"{name}: {done} kills of {runs} runs on {', '.join(devices)}, {time.monotonic() - began:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
