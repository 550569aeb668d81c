"""The sparse table of one run: its passes, the items of the best solution, checkpoints, a device that fails."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ....devices import Communicator, DeviceInfo
from ....devices.pool.group import WorkerGroup
from ....devices.pool.pool import Member
from ....errors import AuditError, DeviceLost, OutOfDeviceMemory
from ..checkpoint import StartTiles, save
from ..checks import device_shortage
from ..presolve import Reduced
from ..problem import Knapsack
from ..programs import TILE, SparseShapes
from ..task import TableTask
from .buffers import fixed_bytes
from .items import SparseItems
from .passes import Found, Pass
from .shared import SharedWorker

_LEAST_TILES = 64


def usable_memory(member: Member) -> int:
    """Bytes of a device's free memory that a table may use."""
    return member.memory().free * (50 if member.info.capabilities.host_visible_memory else 90) // 100


def sparse_items(problem: Knapsack, reduced: Reduced) -> SparseItems:
    """The open items, as the sparse table takes them."""
    items = reduced.open
    return SparseItems.of(items, problem.weights[items], problem.profits[items], reduced.capacity)


def preference(info: DeviceInfo) -> int:
    """Devices with the least number are asked first."""
    return 0 if info.capabilities.simt else 1


def fault(items: SparseItems, info: DeviceInfo) -> str | None:
    """Why a sparse table of these items is impossible on a device; None if it is not."""
    if not items.fits:
        return "its weights and profits are too large for 64-bit arithmetic"
    if items.capacity // TILE + 1 >= 2**31:
        return f"a capacity of {items.capacity:,} has more than 2^31 tiles of {TILE}"
    cell_bytes = 4 if items.value == "i32" else 8
    needed = fixed_bytes(items) + _LEAST_TILES * TILE * cell_bytes * 4
    return device_shortage("it", needed, 4 * (items.capacity // TILE + 1), info)


class SparseTable:
    """The block-sparse dynamic program of one run; fills in what is known."""

    def __init__(self, task: TableTask, start: StartTiles | None = None) -> None:
        self._task = task
        self.run, self.progress = task.run, task.progress
        self._start = start
        self._members: list[Member] = sorted(task.pool.members, key=lambda member: preference(member.info))
        self._fixed = int(task.problem.profits[task.reduced.taken].sum())
        self._devices, self._on_host = 1, False
        self._later: Reduced | None = None  # what is left to a later pass, once the optimum is known

    @property
    def places(self) -> str:
        """What beyond one device's memory has held the table, for the route."""
        shared = f", shared by {self._devices} devices" if self._devices > 1 else ""
        return shared + (", partly in the host's memory" if self._on_host else "")

    def solve(self) -> None:
        """Prove the best solution known optimal, or find a better one that is."""
        reduced = self._task.reduced
        items = sparse_items(self._task.problem, reduced)
        found = self._pass(items, reduced.objective - self._fixed, self._start)
        if found is None:
            reduced.close()
            self._task.publish()
            return
        profit = self._fixed + found.profit
        reduced.bound = profit
        self._task.publish()
        if self._task.options.items:
            reduced.improve(self._complete(items, found), profit)
            reduced.close()

    def _complete(self, items: SparseItems, found: Found) -> NDArray[np.int64]:
        """All items of a solution, by solving the smaller problems whose decisions are not kept."""
        known = self._task.reduced
        chosen = [known.taken, found.chosen]
        profit = found.profit
        while found.count:
            profit -= int(self._task.problem.profits[found.chosen].sum())
            first = slice(found.count)
            items = SparseItems.of(items.indices[first], items.weights[first], items.profits[first], found.cell)
            taken = np.concatenate(chosen)
            self._later = Reduced(taken, items.indices, found.cell, known.best, known.objective, known.bound)
            again = self._pass(items, profit - 1, None)
            if again is None or again.profit != profit:
                raise AuditError(f"{found.count} items of profit {profit} within {found.cell} were not found again")
            found = again
            chosen.append(found.chosen)
        return np.concatenate(chosen)

    def _pass(self, items: SparseItems, incumbent: int, start: StartTiles | None) -> Found | None:
        """The best solution of profit more than ``incumbent``; None if there is none. Goes on if a device fails."""
        if len(items) == 0 or int(items.weights.sum()) <= items.capacity:
            total = int(items.profits.sum())
            return Found(total, items.indices, 0, 0) if total > incumbent else None
        while True:
            members = self._suitable(items)
            decisions = self._task.options.keep_memory
            kept = None if decisions is None else int(decisions * 1e6)
            communicator = Communicator(len(members))
            direct = len(members) > 1 and self._task.pool.enable_peers()
            _ = items.relaxations  # once for all devices
            shapes = [SparseShapes.of(member.info.capabilities, items.value) for member in members]
            handles = Counter(member.info.id for member in members)
            room = [usable_memory(member) // handles[member.info.id] for member in members]
            arguments = [
                (communicator, rank, direct, shape, items, incumbent, memory, kept)
                for rank, (shape, memory) in enumerate(zip(shapes, room, strict=True))
            ]
            try:
                with WorkerGroup(members, SharedWorker, arguments, tolerant=True) as workers:
                    workers.on_failure(communicator.abort)
                    one = Pass(self, workers, items, incumbent, start, kept)
                    try:
                        return one.run()
                    finally:
                        self._devices = max(self._devices, len(members) if one.shared else 1)
                        self._on_host = self._on_host or one.on_host
            except DeviceLost as lost:
                if isinstance(lost.__cause__, OutOfDeviceMemory) or len(self._members) == 1:
                    raise lost.__cause__ or lost from None
                self._members = [member for member in self._members if member.label != lost.label]
                names = ", ".join(member.label for member in self._members)
                self._task.run.notice(f"{lost}; the table starts again on {names}", level="warning")
                start = None

    def _suitable(self, items: SparseItems) -> list[Member]:
        """The devices that can hold a table: GPUs, or CPUs where there are none."""
        faults = {member: fault(items, member.info) for member in self._members}
        fitting = [member for member in self._members if faults[member] is None]
        if not fitting:
            why = faults[self._members[0]]
            raise OutOfDeviceMemory(f"the sparse table is impossible: {why}; add memory or devices")
        return [member for member in fitting if preference(member.info) == preference(fitting[0].info)]

    def improved(self, found: Found) -> bool:
        """Take over a solution of the first pass before it is proved optimal; whether its items are known."""
        if found.count or self._later is not None:
            return False
        chosen = np.concatenate([self._task.reduced.taken, found.chosen])
        self._task.reduced.improve(chosen, self._fixed + found.profit)
        self._task.publish()
        return True

    def save(self, start: StartTiles | None) -> None:
        """A checkpoint: of the first pass with its table, of a later one only which smaller problem is left."""
        if self._later is None:
            save(self._task.run, self._task.progress, self._task.reduced, start)
        else:
            save(self._task.run, self._task.progress, self._later)
