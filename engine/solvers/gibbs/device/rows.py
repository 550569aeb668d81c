"""One device's rows of the design and the passes over them; sums over rows are combined with those of other devices."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, StreamEvent
from ....errors import DeviceError
from ....numerics.exchange import Part, Peer
from ....numerics.linear_algebra import LinearAlgebra
from ....numerics.memory import Memory
from ....numerics.threads import in_order
from ..design.layout import SHARDS
from ..design.matrix import Design
from ..options import Settings
from .programs import Mode, Programs, reads_twice
from .records import QUEUE

_UPLOAD_STREAM = 5  # copies to the device; the streams before are for factorisations
_WIDE = 1 << 24  # values of the design widened to float64 at a time for X'WX


@dataclass
class _Block:
    """Some strips of the design: on the device, or in host memory to be sent there at every pass."""

    first_strip: int
    strips: int
    buffer: Buffer | None
    host: NDArray[Any] | None = None


class Rows:
    """The rows of the shards [shards[0], shards[1]), on the device or in host memory to be sent there at every pass."""

    def __init__(
        self,
        memory: Memory,
        design: Design,
        settings: Settings,
        shards: tuple[int, int],
        peer: Peer | None,
        between: Callable[[], None],  # called before each pass and while X is sent, and may raise
    ) -> None:
        self.device, self.design, self.layout = memory.device, design, design.layout
        self._memory, self.peer, self.between = memory, peer, between
        self._streaming = "never" if settings.single_device else settings.options.streaming
        self._no_weight = memory.zeros(1, np.float32)  # stands for weights which are not read
        self._scoring: tuple[Buffer, Buffer, Buffer] | None = None
        self.first_shard, self.last_shard = shards
        layout = self.layout
        self.first_strip, last_strip = layout.bounds[shards[0]], layout.bounds[shards[1]]
        self.strips = last_strip - self.first_strip
        self.count = self.strips * layout.strip_rows
        self.first_row = self.first_strip * layout.strip_rows
        bounds = np.array(layout.bounds[shards[0] : shards[1] + 1]) - self.first_strip
        self.bounds = memory.put(bounds.astype(np.int32))
        self.target = memory.put(design.of_rows(design.target()))  # of the rows of all devices, as their weights are
        prior, weights = settings.options.chosen_prior, design.problem.weights
        row_weights = None
        if design.storage != "sparse" and reads_twice(self.device.capabilities, layout.columns, settings.chains):
            row_weights = memory.empty(2 * max(1, self.count) * min(4, settings.chains), np.float32)
        self.programs = Programs(self.device, design, prior, memory.zeros(1, QUEUE.dtype), row_weights)
        self.own_weight: Buffer | None = None
        if weights is not None:
            padded = design.of_rows(weights)
            self.own_weight = memory.put(padded[self.first_row : self.first_row + max(1, self.count)])
            self.programs.likelihood = {"row_weight": memory.put(padded)}
        self._extend(settings)

    def _extend(self, settings: Settings) -> None:
        if settings.options.kernel == "hmc":
            _ = self.programs.with_long_block("rescale"), self.programs.lines  # which take longest to compile
        self.programs.begin_gather("f32")
        if settings.options.kernel == "hmc":
            self.programs.begin_sweep("margins", settings.chains)
        self.programs.begin_sweep("score", 1)

    def read_shape(self, shape: Buffer) -> None:
        """Let the passes take the numbers of the chains' likelihoods from a buffer of a record a chain."""
        if self.design.family.targeted:
            self.programs.likelihood |= {"target": self.target, "shape": shape}

    def load(self) -> None:
        """Take the rows over, once all else has its memory."""
        layout, device = self.layout, self.device
        dtype = np.dtype(np.float32 if self.design.storage == "float32" else np.uint16)
        strip_bytes = layout.strip_rows * layout.stride * dtype.itemsize
        largest = max(1, min(device.info.max_allocation, 1 << 36) // strip_bytes)
        free, needed = device.memory().free, self.strips * strip_bytes
        self.streamed = self._streaming == "always" or (self._streaming == "auto" and needed > 0.95 * free)
        if self._streaming == "never" and needed > free:
            raise DeviceError(
                f"X needs {needed:,} bytes on {device.info.id}, which has {free:,} free; "
                "use streaming = auto, storage = float16, or more devices"
            )
        if self.streamed:
            largest = min(largest, max(1, min(free // 4, 1 << 30) // strip_bytes), max(1, -(-self.strips // 2)))
        self.blocks = [
            self._load_block(first, min(largest, self.strips - first), dtype)
            for first in range(0, self.strips, largest)
        ]
        if self.streamed and self.blocks:
            size = max(block.strips for block in self.blocks) * layout.strip_rows * layout.stride
            self._ring = [self._memory.empty(size, dtype) for _ in range(2)]
            self._used: list[StreamEvent | None] = [None, None]

    def _load_block(self, first: int, strips: int, dtype: np.dtype[Any]) -> _Block:
        """Some strips on the device, or in pinned host memory ready to be sent."""
        layout, design = self.layout, self.design
        rows, begin = strips * layout.strip_rows, self.first_row + first * layout.strip_rows
        chunk = max(1, design.chunk_rows // layout.strip_rows) * layout.strip_rows

        def stored(at: int) -> tuple[int, NDArray[Any]]:
            self.between()
            return at, design.rows(begin + at, begin + min(rows, at + chunk))

        if self.streamed:
            host = self._memory.pinned(rows * layout.stride, dtype).reshape(rows, layout.stride)
            for at, part in in_order(stored, range(0, rows, chunk)):
                host[at : at + len(part)] = part
            return _Block(first, strips, None, host.reshape(-1))
        buffer = self._memory.empty(rows * layout.stride, dtype)
        for at, part in in_order(stored, range(0, rows, chunk)):
            self.device.put(part.reshape(-1), buffer, at * layout.stride)
        return _Block(first, strips, buffer)

    def _each_block(self) -> Iterator[tuple[_Block, Any]]:
        """The design's buffers one after the other, sent ahead of use where they are streamed."""
        if not self.streamed:
            for block in self.blocks:
                yield block, block.buffer
            return
        device = self.device
        for number, block in enumerate(self.blocks):
            ring = number % 2
            used = self._used[ring]
            with device.stream(_UPLOAD_STREAM):
                if used is not None:
                    device.wait_for_event(used)
                assert block.host is not None
                device.put_async(block.host, self._ring[ring])
                sent = device.record_event()
            device.wait_for_event(sent)
            yield block, self._ring[ring]
            self._used[ring] = device.record_event()

    def sweep(self, mode: Mode, beta: Buffer, out: Buffer, betas: int, **arguments: Any) -> None:
        """One pass over this device's rows; see :meth:`Programs.sweep`."""
        self.between()
        for block, buffer in self._each_block():
            self.programs.sweep(
                mode,
                betas,
                strips=block.strips,
                design=buffer,
                beta=beta,
                out=out,
                first_row=self.first_row + block.first_strip * self.layout.strip_rows,
                strip_first=block.first_strip,
                **arguments,
            )

    def partial_sums(self, memory: Memory, betas: int) -> Buffer:
        """A buffer for what :meth:`sweep` leaves to :meth:`gather`, for so many vectors."""
        return memory.zeros(max(1, self.strips) * betas * self.layout.width, np.float32)  # passes leave gaps

    def gather(self, partial: Buffer, count: int, shards: Buffer) -> None:
        """Sums over all rows, of all devices, as SHARDS rows of ``count``."""
        many = self.last_shard - self.first_shard
        self.programs.gather(partial, count, self.bounds, shards, self.first_shard, many)
        if self.peer is not None:
            self.peer.exchange(Part(shards, self.first_shard * count, self.last_shard * count))

    def share_margins(self, margins: Buffer, chains: int) -> None:
        """Let every device have the margins of all rows."""
        pitch = self.layout.pitch
        firsts = [chain * pitch + self.first_row for chain in range(chains)]
        if self.peer is not None:
            self.peer.exchange(*(Part(margins, first, first + self.count) for first in firsts))

    def make_gram(self, algebra: LinearAlgebra, gram: Buffer, weight: Buffer | None) -> NDArray[np.float64]:
        """The device's part of X'X or X'WX, (shards, q, q); empty on a single device, which adds up in ``gram``."""
        device, layout, programs = self.device, self.layout, self.programs
        q = layout.columns
        wide_strips = max(1, _WIDE // (layout.strip_rows * layout.stride))
        wide = device.empty((wide_strips * layout.strip_rows, q), np.float64)
        part, total = device.empty((q, q), np.float64), device.empty((q, q), np.float64)
        device.zero(gram)
        parts = []

        def add(to: Buffer, summand: Buffer) -> None:
            programs.precision.add_matrix(programs.spread(q * q), programs.block, total=to, part=summand, q=q)

        for shard in range(self.first_shard, self.last_shard):
            device.zero(total)
            begin, end = (layout.bounds[shard + i] - self.first_strip for i in (0, 1))
            at = begin
            while at < end:
                self.between()
                strips = self._expand(at, min(wide_strips, end - at), weight, wide)
                used = Buffer(wide.handle, wide.argument, (strips * layout.strip_rows, q), wide.dtype)
                algebra.gram_columns(used, None, part)
                add(total, part)
                at += strips
            if self.peer is None:
                add(gram, total)
            else:
                parts.append(device.get(total))
        for buffer in (wide, part, total):
            device.release(buffer)
        return np.array(parts)

    def _expand(self, first: int, most: int, weight: Buffer | None, wide: Buffer) -> int:
        """Rows from a strip on as float64, each times the square root of its weight; how many strips it were."""
        layout, programs = self.layout, self.programs
        block = next(b for b in self.blocks if b.first_strip <= first < b.first_strip + b.strips)
        strips = min(most, block.first_strip + block.strips - first)
        rows, stride = strips * layout.strip_rows, layout.stride
        buffer, offset = block.buffer, (first - block.first_strip) * layout.strip_rows
        if buffer is None:
            assert block.host is not None
            self.device.sync()
            buffer = self.device.put(block.host[offset * stride : (offset + rows) * stride], self._ring[0])
            offset = 0
        programs.expand.expand_rows(
            programs.spread(rows * programs.block),
            programs.block,
            design=buffer,
            weight=self._no_weight if weight is None else weight,
            wide=wide,
            row=offset,
            weight_row=first * layout.strip_rows,
            rows=rows,
            stride=stride,
            q=layout.columns,
            weighted=int(weight is not None),
        )
        return strips

    def score(self, beta: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Gradient of the log-likelihood at one beta, and the log-likelihood."""
        layout, device = self.layout, self.device
        beta_f32 = np.zeros(layout.stride, np.float32)
        beta_f32[: layout.columns] = beta
        if self._scoring is None:  # kept: the start asks hundreds of times
            memory = self._memory
            shards = memory.empty((SHARDS, layout.width))
            self._scoring = memory.empty(layout.stride, np.float32), shards, self.partial_sums(memory, 1)
        vector, shards, partial = self._scoring
        device.put(beta_f32, vector)
        self.sweep("score", vector, partial, 1)
        self.gather(partial, layout.width, shards)
        sums = device.get(shards).sum(axis=0)
        return sums[: layout.columns], float(sums[layout.total])


def some(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or one element in place of none: buffers are not empty."""
    return array if len(array) else np.zeros(1, array.dtype)
