"""``quintet bench cluster``: the coordinator with thousands of simulated workers."""

import math
import random
import resource
import struct
import time
from dataclasses import dataclass
from typing import Any

import click

from ...base.context import QuietContext
from ...base.division import ClusterInfo
from ...cli import tables
from ...cli.options import bench_command
from ...execution.dask.coordinator import Coordinator, Timing
from ...solvers.branch_and_bound.division import Batch, DividedSearch, Work
from ...solvers.branch_and_bound.intervals import digits_of
from ...solvers.branch_and_bound.options import FlowshopOptions
from ...solvers.branch_and_bound.problems.flowshop import Flowshop
from ...util.text import bytes_text
from .simulation import Mishaps, SimulatedTransport

_BATCHES = 8
_COST = struct.Struct("<d")


@dataclass
class SimulatedSearch:
    """Workers that search batches of a tree whose size, in seconds of work, is known to the simulation alone.

    A batch's data begin with the seconds of work in it. What a task leaves is divided unevenly among its batches, as
    subtrees are: shares are log-normal with the standard deviation ``spread``.
    """

    total: float
    batch_bytes: int = 20_000
    spread: float = 1.5
    speed_spread: float = 0.15  # of the workers' speeds
    overhead: float = 0.1  # seconds that a task takes besides its work
    seed: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - a simulation
        self._speeds: dict[str, float] = {}
        self._leaves = 0

    def compute(self, worker: str, work: Work, seconds: float, shared: Any) -> tuple[float, dict[str, Any]]:
        """How long a task of a simulated worker takes, and its answer."""
        speed = self._speeds.get(worker)
        if speed is None:
            speed = self._speeds[worker] = math.exp(self._random.gauss(0.0, self.speed_spread))
        leaves = sum(batch["leaves"] for batch in work["batches"])
        cost = sum(self._cost_of(batch) for batch in work["batches"])
        took = min(seconds, cost / speed)
        left = cost - took * speed
        batches = [] if left <= 1e-6 else self._divided(left, leaves, work["batches"][0]["bound"])
        open_leaves = sum(batch["leaves"] for batch in batches)
        counters = {"nodes": int(took * speed * 1e6), "leaves": 0, "pushed": int(took * speed * 1e6)}
        answer = {"explored": self._explored(leaves - open_leaves), "batches": batches, "counters": counters}
        return took + self.overhead, {**answer, "solution": None, "value": work["upper"]}

    def _cost_of(self, batch: Batch) -> float:
        if len(batch["data"]) == self.batch_bytes:
            return float(_COST.unpack_from(batch["data"])[0])
        return self.total * batch["leaves"] / math.factorial(50)  # of the beginning

    def _divided(self, cost: float, leaves: int, bound: int) -> list[Batch]:
        """Batches of what is left; half of the leaves are explored by a task that is not the last of its subtree."""
        shares = [math.exp(self._random.gauss(0.0, self.spread)) for _ in range(_BATCHES)]
        whole = sum(shares)
        each = max(1, leaves // (2 * _BATCHES))
        found: list[Batch] = []
        for share in shares[: min(_BATCHES, leaves)]:
            data = bytearray(self.batch_bytes)
            _COST.pack_into(data, 0, cost * share / whole)
            found.append({"data": bytes(data), "count": 1, "leaves": each, "bound": bound})
        return found

    def _explored(self, leaves: int) -> list[int]:
        found: list[int] = digits_of(leaves, 50).astype(int).tolist()
        return found


def _resident_bytes() -> int:
    """The most memory that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def simulate(workers: int, tasks: int, batch_bytes: int, mishaps: Mishaps, seed: int = 0) -> dict[str, Any]:
    """Run a search on simulated workers until it is done: how busy they were, and what the coordinator took."""
    timing = Timing()
    problem = Flowshop.taillard(56)
    context = QuietContext()
    parts = DividedSearch(problem, FlowshopOptions(upper_bound=3679), context, ClusterInfo(workers, True))
    parts._counters["nodes"] += 1  # the root, which is nobody's child
    search = SimulatedSearch(workers * tasks * timing.longest, batch_bytes, seed=seed)
    transport = SimulatedTransport(workers, search.compute, mishaps=mishaps, seed=seed)
    coordinator = Coordinator(transport, context, parts, timing, clock=transport.clock)
    before = _resident_bytes()
    began = time.perf_counter()
    coordinator.solve()
    statistics = coordinator.statistics
    return {
        "busy": transport.busy_share(),
        "seconds": transport.now,
        "tasks": statistics.accepted,
        "repeated": statistics.repeated,
        "dropped": statistics.dropped,
        "own_ms": 1e3 * statistics.own_seconds / max(1, statistics.accepted),
        "memory": _resident_bytes() - before,
        "real": time.perf_counter() - began,
        "killed": transport.killed,
        "frozen": transport.froze,
    }


@bench_command("cluster")
@click.option("--workers", type=int, multiple=True, default=(1000, 10_000), show_default=True, help="How many.")
@click.option("--tasks", type=int, default=20, show_default=True, help="Tasks of 30 s per worker.")
@click.option("--batch-bytes", type=int, default=20_000, show_default=True, help="An answer has eight batches.")
@click.option("--killed", type=float, default=0.002, show_default=True, help="Share of tasks whose worker dies.")
@click.option("--frozen", type=float, default=0.0002, show_default=True, help="Share of tasks whose worker freezes.")
def bench(workers: tuple[int, ...], tasks: int, batch_bytes: int, killed: float, frozen: float) -> int:
    """Simulate a search on many workers: how busy they are, and what the coordinator takes."""
    rows, good = [], True
    for count in workers:
        found = simulate(count, tasks, batch_bytes, Mishaps(killed=killed, frozen=frozen))
        good &= found["busy"] >= 0.95 and found["own_ms"] <= 1.0
        rows.append(
            (
                f"{count:,}",
                f"{found['seconds']:.0f}",
                f"{found['tasks']:,}",
                f"{found['killed']} + {found['frozen']}",
                f"{found['repeated']:,}",
                f"{100 * found['busy']:.2f} %",
                f"{found['own_ms']:.3f}",
                f"{found['tasks'] * found['own_ms'] / 1e3 / found['seconds']:.1%}",
                bytes_text(int(found["memory"])),
            )
        )
    titles = ("workers", "seconds", "tasks", "killed + frozen", "repeated", "busy", "ms a task", "load", "memory")
    tables.print_table(titles, rows, "coordinator on simulated workers (virtual seconds)")
    print(f"this process at most: {bytes_text(_resident_bytes())}")
    return 0 if good else 1
