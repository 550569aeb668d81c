"""Let the k-th launch of a device fail, and the k-th allocation, for every k: an answer or one clear error, soon.

``python -m tools.soak.failures --most 200 --devices opencl:0 --devices opencl:0 [SOLVER ...]``

Prints one line for each solver; exits with 1 if a run hangs, raises something else, or spoils the next run.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter

import click

import engine
from engine.errors import DeviceError
from tests.support.faults import failing
from tests.support.lasting import CASES, SMALL, differences


@click.command()
@click.argument("solvers", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--most", default=200, show_default=True, help="Largest k.")
@click.option("--devices", multiple=True, default=["opencl:0"], show_default=True, help="May be repeated.")
@click.option("--small", is_flag=True, help="Problems of some hundredths of a second.")
def main(solvers: tuple[str, ...], most: int, devices: tuple[str, ...], small: bool) -> None:
    """Let devices fail in runs of the SOLVERS, of all by default."""
    label = devices[-1] if devices.count(devices[-1]) == 1 else f"{devices[-1]}#{devices.count(devices[-1])}"
    bad = 0
    warnings.simplefilter("ignore", engine.QuintetWarning)
    for name in solvers or sorted(CASES):
        case, outcomes, slowest = (SMALL if small else CASES)[name], Counter[str](), 0.0
        whole = engine.solve(case.problem(), seed=7, devices=list(devices), **case.options)
        owner = engine.Engine(devices=list(devices))
        for limit in [{kind: k} for kind in ("at_launch", "at_allocation") for k in range(1, most + 1)]:
            with failing(label, **limit) as failures:
                run = owner.start(case.problem(), seed=7, **case.options)
                while not failures[0] and not run.join(0.001):
                    pass
                began = time.monotonic()
                if not run.join(300):
                    outcomes["HANGS"] += 1
                    bad += 1
                    run.stop()
                try:
                    result = run.wait(300)
                    right = result.objective == whole.objective or result.objective is None
                    outcomes[("answer" if right else "WRONG answer") if failures[0] else "not reached"] += 1
                    bad += not right
                except DeviceError as error:
                    clear = "fallen off the bus" in str(error)
                    outcomes["error" if clear else "UNCLEAR error"] += 1
                    bad += not clear
                    slowest = max(slowest, time.monotonic() - began)
                except Exception as error:
                    outcomes[f"WRONG {type(error).__name__}"] += 1
                    bad += 1
            if failures[0] and len(devices) > 1:  # the engine goes on without the device
                owner.close()
                owner = engine.Engine(devices=list(devices))
        with owner:
            again = owner.solve(case.problem(), seed=7, **case.options)
            found = (
                differences(name, again, whole) if not small else [] if again.objective == whole.objective else ["?"]
            )
            bad += len(found)
        click.echo(f"{name}: {dict(outcomes)}, slowest error after {slowest:.2f} s; afterwards {found or 'as before'}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
