"""Kill and freeze workers of a local cluster at random moments: every answer is that of one machine.

``python tests/soak/cluster.py --kills 500 --workers 3 --device opencl:0``

Solves counts, searches with a fixed bound, chains and batches in turn. Prints one line for each run; exits with 1 if an
answer differs.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]
import engine  # noqa: E402
from engine.cluster.coordinator import Timing  # noqa: E402
from engine.cluster.engine import ClusterEngine  # noqa: E402

TIMING = Timing(first=0.3, longest=1.0, least=0.1, patience=15.0, backup=5.0)


def cases() -> dict[str, Callable[[Any], Any]]:
    """Runs by name, each with what must be equal."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 8))
    regression = engine.HorseshoeProbit(X, X[:, 0] + rng.normal(size=200) > 0)
    flowshop = engine.Flowshop(rng.integers(1, 100, (5, 11)))
    many = [engine.Knapsack(w + 5, w, int(w.sum() // 2)) for w in rng.integers(1, 99, (60, 25))]

    def count(owner: Any) -> Any:
        result = owner.solve(engine.Queens(13))
        return result.objective, result.counters["nodes"]

    def search(owner: Any) -> Any:
        return owner.solve(flowshop, upper_bound=700).counters["nodes"]

    def chains(owner: Any) -> Any:
        result = owner.solve(regression, draws=100, warmup=100, chains=4)
        return result.arrays["beta"].tobytes()

    def batch(owner: Any) -> Any:
        return [result.objective for result in owner.map(many).results]

    return {"count": count, "search": search, "chains": chains, "batch": batch}


@click.command()
@click.option("--kills", default=500, show_default=True, help="How many workers are killed.")
@click.option("--workers", default=3, show_default=True)
@click.option("--device", default="opencl:0", show_default=True)
@click.option(
    "--between", default=15.0, show_default=True, help="Mean seconds between two kills; a restart takes some."
)
@click.option("--frozen", default=0.1, show_default=True, help="Share that is stopped for 20 s first.")
@click.option("--seed", default=0, show_default=True)
def main(kills: int, workers: int, device: str, between: float, frozen: float, seed: int) -> None:
    """Kill workers while runs are computed."""
    warnings.simplefilter("ignore")
    runs = cases()
    with engine.Engine(devices=[device]) as alone:
        expected = {name: run(alone) for name, run in runs.items()}
    killed, wrong, over = [0], 0, threading.Event()
    chance = random.Random(seed)

    with ClusterEngine(devices=[device], cluster=f"local:{workers}", timing=TIMING) as owner:
        client = owner.connection.client

        def kill() -> None:
            while not over.wait(chance.expovariate(1 / between)):
                with contextlib.suppress(Exception):
                    pid = chance.choice(sorted(client.run(os.getpid, on_error="ignore").values()))
                    if chance.random() < frozen:
                        os.kill(pid, signal.SIGSTOP)
                        over.wait(20)
                    os.kill(pid, signal.SIGKILL)
                    killed[0] += 1

        threading.Thread(target=kill, daemon=True).start()
        began = time.monotonic()
        while killed[0] < kills:
            for name, run in runs.items():
                same = run(owner) == expected[name]
                wrong += not same
                click.echo(
                    f"{time.monotonic() - began:7.1f} s  {killed[0]:4d} killed  {name}: {'same' if same else 'WRONG'}"
                )
        over.set()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
