"""Kill and freeze workers and nannies of a cluster at random moments: every answer is that of one machine.

``python -m tools.soak.cluster --kills 500 --workers 2 --device opencl:0``

Solves counts, searches with a fixed bound, chains, islands and batches in turn. Workers are processes started with
``dask worker``; one whose nanny is gone is started again, as a batch system does with a job. A worker is killed only
after it has worked on a task, and how long it is left alone depends on how long workers take to come back on this
host. With ``--local`` the cluster is ``local:N``, which replaces its workers itself.

Prints one line for each run; exits with 1 if an answer differs, and ends with the stacks of all threads if a run hangs.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import Any

import click
import numpy as np

import engine
from engine.execution.dask.coordinator import Timing
from engine.execution.dask.executor import Dask
from tests.support.environment import ROOT

TIMING = Timing(first=0.3, longest=1.0, least=0.1, patience=15.0, backup=5.0)
FROZEN_SECONDS = 20.0  # longer than the coordinator waits for a silent worker
HANG_SECONDS = 900.0
ASK_SECONDS = 5.0
START_SECONDS = 120.0


def cases() -> dict[str, Callable[[Any], Any]]:
    """Runs by name, each with what must be equal."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 12))
    regression = engine.HorseshoeProbit(X, X[:, 0] + rng.normal(size=400) > 0)
    times = engine.Flowshop.taillard(24).times[:, :17]
    flowshop = engine.Flowshop(times)
    many = [engine.Knapsack(w + 5, w, int(w.sum() // 2)) for w in rng.integers(1, 99, (200, 25))]
    bits = engine.BOA("trap-5", 100)

    def count(owner: Any) -> Any:
        result = owner.solve(engine.Queens(15))
        return result.objective, result.counters["nodes"], result.counters["leaves"]

    def search(owner: Any) -> Any:
        result = owner.solve(flowshop, upper_bound=2020, bound="one_machine")
        return str(result.status), result.objective, result.counters["nodes"]

    def chains(owner: Any) -> Any:
        result = owner.solve(regression, draws=200, warmup=100, chains=4, kernel="gibbs")
        return result.arrays["beta"].tobytes(), result.counters["draws"], result.counters["passes"]

    def islands(owner: Any) -> Any:
        options = {"islands": 4, "population": 400, "migration_interval": 5, "max_generations": 60}
        result = owner.solve(bits, **options, local_search="none")
        return result.objective, result.counters, result.arrays["history"].tobytes()

    def batch(owner: Any) -> Any:
        return [result.objective for result in owner.map(many).results]

    return {"count": count, "search": search, "chains": chains, "islands": islands, "batch": batch}


def tasks_begun(dask_worker: Any = None) -> int:
    """Whether a worker has begun a task of a run, and the id of its process; on the worker."""
    busy = any(getattr(plugin, "workers", None) for plugin in dask_worker.plugins.values())
    return os.getpid() if busy else 0


class Workers:
    """Worker processes under nannies of their own, each in a process that is started again when it has ended.

    Parameters
    ----------
    address : str
        Of the scheduler.
    count : int
    """

    def __init__(self, address: str, count: int) -> None:
        self._address = address
        self._generation = 0
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._children = [self._started(place) for place in range(count)]
        self.replaced = 0

    def _started(self, place: int) -> subprocess.Popen[bytes]:
        self._generation += 1
        words = [sys.executable, "-m", "distributed.cli.dask_worker", self._address, "--nworkers", "1"]
        words += ["--nthreads", "2", "--no-dashboard", "--memory-limit", "0", "--name", f"w{place}-{self._generation}"]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths, "POCL_MAX_PTHREAD_COUNT": "1"}
        quiet = subprocess.DEVNULL
        return subprocess.Popen(words, env=environment, stdout=quiet, stderr=self._said, start_new_session=True)

    def said(self) -> str:
        """The end of what the workers have written to standard error."""
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 2000))
        return self._said.read().decode(errors="replace")

    def replace(self) -> None:
        """Start those again that have ended."""
        for place, child in enumerate(self._children):
            if child.poll() is not None:
                self._kill_group(child)
                self._children[place] = self._started(place)
                self.replaced += 1

    def nanny_of(self, pid: int) -> int | None:
        """The nanny of a worker's process."""
        with contextlib.suppress(ProcessLookupError):
            session = os.getsid(pid)
            return next((child.pid for child in self._children if child.pid == session), None)
        return None

    def close(self) -> None:
        """Kill them all."""
        for child in self._children:
            self._kill_group(child)
            child.wait()
        self._said.close()

    @staticmethod
    def _kill_group(child: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


class Killer:
    """Kills workers one after the other, each after it has begun a task.

    Parameters
    ----------
    client : distributed.Client
    workers : Workers, optional
        Without them only workers are killed, and somebody else replaces them.
    rest : float
        Mean of the seconds between a worker's first task and its end, in terms of how long workers take to come back.
    nannies, frozen : float
        Shares of what is done to a nanny, and of workers that are stopped.
    seed : int
    """

    def __init__(
        self, client: Any, workers: Workers | None, rest: float, nannies: float, frozen: float, seed: int
    ) -> None:
        self._client, self._workers, self._rest = client, workers, rest
        self._nannies, self._frozen = nannies, frozen
        self._chance = random.Random(seed)
        self._recovery = 5.0
        self._over = threading.Event()
        self._stopped: dict[int, threading.Timer] = {}
        self._threads = ThreadPoolExecutor(8)
        self.done: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._work, daemon=True)

    @property
    def total(self) -> int:
        """How many workers and nannies were killed or stopped so far."""
        return self.done.total()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Kill no more; what is stopped is killed."""
        self._over.set()
        self._thread.join(60)
        for pid, timer in list(self._stopped.items()):
            timer.cancel()
            self._end_of(pid, signal.SIGKILL)

    def _work(self) -> None:
        since = time.monotonic()
        while not self._over.is_set():
            if self._workers is not None:
                self._workers.replace()
            able = self._able()
            if not able:
                self._over.wait(0.3)
                continue
            self._recovery += 0.1 * (time.monotonic() - since - self._recovery)
            self._over.wait(self._chance.expovariate(1.0 / max(0.3, self._rest * self._recovery)))
            self._strike(self._chance.choice(able))
            since = time.monotonic()

    def _able(self) -> list[int]:
        """Processes of workers that have begun a task; those that do not answer in time are left out."""
        with contextlib.suppress(Exception):
            addresses = list(self._client.scheduler_info(n_workers=-1)["workers"])
            answers = [self._threads.submit(self._ask, address) for address in addresses]
            pids = [self._answer(one) for one in answers]
            return [pid for pid in pids if pid and pid not in self._stopped]
        return []

    def _ask(self, address: str) -> int:
        found: dict[str, Any] = self._client.run(tasks_begun, workers=[address], on_error="ignore")
        return int(found.get(address) or 0)

    @staticmethod
    def _answer(one: Future[int]) -> int:
        try:
            return one.result(ASK_SECONDS)
        except (TooLate, OSError, ValueError):
            return 0

    def _strike(self, pid: int) -> None:
        chance = self._chance.random()
        nanny = None if self._workers is None else self._workers.nanny_of(pid)
        if chance < self._nannies and nanny is not None:
            self._end_of(nanny, signal.SIGKILL)
            self.done["nannies killed"] += 1
        elif chance < self._nannies + self._frozen:
            self._end_of(pid, signal.SIGSTOP)
            last = self._chance.choice([signal.SIGKILL, signal.SIGCONT])  # continued workers answer late
            timer = threading.Timer(FROZEN_SECONDS, self._end_of, (pid, last))
            self._stopped[pid] = timer
            timer.start()
            self.done["workers stopped"] += 1
        else:
            self._end_of(pid, signal.SIGKILL)
            self.done["workers killed"] += 1

    def _end_of(self, pid: int, what: signal.Signals) -> None:
        self._stopped.pop(pid, None)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)


@contextlib.contextmanager
def cluster_of(count: int, device: str, local: bool) -> Iterator[tuple[engine.Engine, Workers | None]]:
    """An engine on a cluster, and its worker processes."""
    if local:
        with engine.Engine(executor=Dask(f"local:{count}", devices=[device], timing=TIMING)) as owner:
            yield owner, None
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, processes=True, dashboard_address=":0", silence_logs=50) as cluster:
        workers = Workers(cluster.scheduler_address, count)
        try:
            deadline = time.monotonic() + START_SECONDS
            while len(cluster.scheduler_info["workers"]) < count:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the workers have not started in {START_SECONDS:.0f} s:\n{workers.said()}")
                time.sleep(0.2)
            with engine.Engine(executor=Dask(cluster.scheduler_address, devices=[device], timing=TIMING)) as owner:
                yield owner, workers
        finally:
            workers.close()


@click.command()
@click.option("--kills", default=500, show_default=True, help="How many workers and nannies are killed or stopped.")
@click.option("--workers", default=2, show_default=True)
@click.option("--device", default="opencl:0", show_default=True)
@click.option("--rest", default=0.5, show_default=True, help="Mean time to the next kill / time to come back.")
@click.option("--nannies", default=0.2, show_default=True, help="Share of nannies among what is killed.")
@click.option("--frozen", default=0.15, show_default=True, help="Share that is stopped for 20 s.")
@click.option("--minutes", default=1e9, help="At most so long.")
@click.option("--local", is_flag=True, help="Use local:N, and kill its workers.")
@click.option("--seed", default=0, show_default=True)
def main(
    kills: int,
    workers: int,
    device: str,
    rest: float,
    nannies: float,
    frozen: float,
    minutes: float,
    local: bool,
    seed: int,
) -> None:
    """Kill workers while runs are computed."""
    warnings.simplefilter("ignore")
    runs = cases()
    began, wrong, solved = time.monotonic(), 0, 0
    expected: dict[str, Any] = {}
    with engine.Engine(devices=[device]) as alone:
        for name, run in runs.items():
            at = time.monotonic()
            expected[name] = run(alone)
            click.echo(f"{name} on one machine: {time.monotonic() - at:.1f} s")
    with cluster_of(workers, device, local) as (owner, processes):
        killer = Killer(owner.executor.connect().client, processes, rest, nannies, frozen, seed)
        killer.start()
        while killer.total < kills and time.monotonic() - began < 60 * minutes:
            for name, run in runs.items():
                faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
                at, before = time.monotonic(), killer.total
                same = run(owner) == expected[name]
                wrong += not same
                solved += 1
                click.echo(
                    f"{time.monotonic() - began:7.1f} s  {killer.total:4d} kills, {killer.total - before} in "
                    f"{time.monotonic() - at:5.1f} s  {name}: {'same' if same else 'WRONG'}"
                )
        faulthandler.cancel_dump_traceback_later()
        killer.close()
    replaced = 0 if processes is None else processes.replaced
    click.echo(f"{solved} runs, {wrong} wrong; {dict(killer.done)}, {replaced} processes replaced")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
