"""The state of the chains on a device, the settings of their iterations, and the copies of draws to the host."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, StreamEvent
from ....devices.kernels.program import BoundKernel
from ....numerics.memory import Memory
from ..options import REFRESH, Settings
from .records import AUXILIARIES, CHAIN
from .rows import Rows

STATE = ("beta", "local_precision", "nu", "chain_state", "auxiliary")
"""The state of a chain as arrays of float64: beta, lambda^-2 and nu^-1 of shape (chains, q); the fields of
:data:`.records.CHAIN`; the family's own parameters among (chains, AUXILIARY)."""

_RECORDS = {"chain_state": CHAIN, "auxiliary": AUXILIARIES}

Recorded = tuple[list[int], NDArray[np.float64], int]
"""Which iterations the rows are; draws of shape (rows, chains, numbers); factorisations that have failed so far."""


class Chains:
    """The state of all chains; ``beta_f32`` is beta as float32 rows of the stride, ``iteration`` one uint32."""

    def __init__(self, memory: Memory, rows: Rows, settings: Settings) -> None:
        self._rows, self.count = rows, settings.chains
        q, chains = rows.layout.columns, settings.chains
        self.beta, self.local_precision, self.nu = (memory.empty((chains, q)) for _ in range(3))
        self.chain_state = memory.empty(chains, CHAIN.dtype)
        self.auxiliary = memory.zeros(chains, AUXILIARIES.dtype)
        self.beta_f32 = memory.zeros((chains, rows.layout.stride), np.float32)
        self.iteration = memory.zeros(1, np.uint32)
        self._set_iteration: BoundKernel | None = None

    def set_iteration(self, number: int) -> None:
        """Let kernels that read the number of the iteration from :attr:`iteration` find this one."""
        if self._set_iteration is None:
            self._set_iteration = self._rows.programs.conditionals.set_iteration.bind(iteration=self.iteration)
        self._set_iteration(1, 1, step=number)

    def set_state(self, state: dict[str, NDArray[np.float64]]) -> None:
        """Every chain from the host; see :data:`STATE`."""
        for name in STATE:
            numbers = np.ascontiguousarray(state[name], np.float64)
            record = _RECORDS.get(name)
            self._rows.device.put(numbers if record is None else record.view(numbers), getattr(self, name))
        self.round_beta()

    def round_beta(self) -> None:
        """Let ``beta_f32`` be beta."""
        layout, programs = self._rows.layout, self._rows.programs
        programs.conditionals.round_coefficients(
            self.count, programs.block, beta=self.beta, beta_f32=self.beta_f32, q=layout.columns, stride=layout.stride
        )

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Every chain, on the host."""
        found = {name: self._rows.device.get(getattr(self, name)) for name in STATE}
        return found | {name: record.numbers(found[name]) for name, record in _RECORDS.items()}


@dataclass
class _Batch:
    record: Buffer
    host: NDArray[np.float64]
    failed: NDArray[np.int32]
    done: StreamEvent | None = None
    iterations: list[int] = field(default_factory=list)
    record_draw: BoundKernel | None = None


class DrawBuffer:
    """Two batches of draws, filled in turn: one is recorded while the other is copied to the host."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, settings: Settings) -> None:
        self._device, self._programs, self._chains, self._settings = memory.device, rows.programs, chains, settings
        q, keep = rows.layout.columns, settings.options.keep_scales
        self._columns, self._auxiliaries = q, len(rows.design.auxiliary_names())
        self.width = q + len(CHAIN.names) + self._auxiliaries + (q if keep else 0)
        numbers = REFRESH * settings.chains * self.width
        self._batches = [
            _Batch(memory.empty(numbers), memory.pinned(numbers, np.float64), memory.pinned(1, np.int32))
            for _ in range(2)
        ]
        self._turn = 0

    def begin(self) -> None:
        """Begin another batch."""
        self._turn = 1 - self._turn
        self._batches[self._turn].iterations = []

    def record(self, iteration: int) -> None:
        """The chains as they are now."""
        batch, chains, settings = self._batches[self._turn], self._chains, self._settings
        if batch.record_draw is None:
            batch.record_draw = self._programs.conditionals.record_draw.bind(
                beta=chains.beta,
                chain_state=chains.chain_state,
                local_precision=chains.local_precision,
                record=batch.record,
                q=self._columns,
                chains=settings.chains,
                scales=int(settings.options.keep_scales),
                auxiliary=chains.auxiliary,
                auxiliaries=self._auxiliaries,
            )
        batch.record_draw(settings.chains, self._programs.block, row=len(batch.iterations))
        batch.iterations.append(iteration)

    def send(self, failed: Buffer) -> None:
        """Begin to copy the batch to the host, with a count of failures."""
        batch = self._batches[self._turn]
        used = len(batch.iterations) * self._settings.chains * self.width
        self._device.get_async(batch.record, batch.host[:used])
        self._device.get_async(failed, batch.failed)
        batch.done = self._device.record_event()

    def collect(self, last: bool) -> Recorded:
        """Wait for the last whole batch, or for the one before it, and take its draws; none if there are none."""
        batch = self._batches[self._turn if last else 1 - self._turn]
        if last and batch.done is None:
            batch = self._batches[1 - self._turn]
        shape = (len(batch.iterations), self._settings.chains, self.width)
        if batch.done is None:
            return [], np.zeros((0, *shape[1:])), 0
        self._device.synchronize_event(batch.done)
        batch.done = None
        iterations, batch.iterations = batch.iterations, []
        rows = batch.host[: shape[0] * shape[1] * shape[2]].reshape(shape).copy()
        return iterations, rows, int(batch.failed[0])
