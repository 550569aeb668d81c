"""One device's rows of the design, and the passes over them; sums over rows meet those of the other devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, StreamEvent
from engine.errors import DeviceError
from engine.numerics.linear_algebra import LinearAlgebra
from engine.numerics.memory import Memory
from engine.solvers.gibbs.design import Design
from engine.solvers.gibbs.exchange import Part, Party
from engine.solvers.gibbs.kernels import Launcher, Mode
from engine.solvers.gibbs.layout import SHARDS

__all__ = ["Rows"]

STREAM_LATENT = 0
_LANE = 5  # of copies to the device; those before are for factorisations
_WIDE = 1 << 24  # values of the design widened at a time for X'WX


@dataclass
class _Block:
    """Some strips of the design: on the device, or in host memory to be sent there at every pass."""

    first_strip: int
    strips: int
    buffer: Buffer | None
    host: NDArray[Any] | None = None


class Rows:
    """The rows of some shards, on the device or in host memory to be sent there at every pass.

    Parameters
    ----------
    memory : Memory
        Of the device.
    design : Design
    shards : (int, int)
        Which shards are this device's, of :data:`SHARDS`.
    streaming : {"auto", "never", "always"}
    party : Party or None
        None for a single device.
    """

    def __init__(
        self,
        memory: Memory,
        design: Design,
        shards: tuple[int, int],
        streaming: str,
        party: Party | None = None,
    ) -> None:
        self.device, self.design, self.layout = memory.device, design, design.layout
        self._memory, self._streaming = memory, streaming
        self.party = party
        self.first_shard, self.last_shard = shards
        layout = self.layout
        self.first_strip, last_strip = layout.bounds[shards[0]], layout.bounds[shards[1]]
        self.strips = last_strip - self.first_strip
        self.count = self.strips * layout.strip_rows
        self.first_row = self.first_strip * layout.strip_rows
        bounds = np.array(layout.bounds[shards[0] : shards[1] + 1]) - self.first_strip
        self.bounds = memory.put(bounds.astype(np.int32))
        self.launcher = Launcher(self.device, layout, design.storage, memory.zeros(2, np.uint32))

    def load(self) -> None:
        """Take the rows over, once all else has its memory."""
        self.blocks = self._load()

    def _load(self) -> list[_Block]:
        """The rows of the design, on the device or ready to be sent."""
        layout, design, device = self.layout, self.design, self.device
        dtype = np.float32 if design.storage == "float32" else np.uint16
        strip_bytes = layout.strip_rows * layout.stride * np.dtype(dtype).itemsize
        largest = max(1, min(self.device.info.max_allocation, 1 << 36) // strip_bytes)
        free = self.device.memory().free
        streamed = self._streaming == "always" or (
            self._streaming == "auto" and self.strips * strip_bytes > 0.95 * free
        )
        if self._streaming == "never" and self.strips * strip_bytes > free:
            raise DeviceError(
                f"X needs {self.strips * strip_bytes:,} bytes on {device.info.id}, which has {free:,} free; "
                "use streaming = auto, storage = float16, or more devices"
            )
        self.streamed = streamed
        if streamed:
            largest = min(largest, max(1, min(free // 4, 1 << 30) // strip_bytes), max(1, -(-self.strips // 2)))
        blocks: list[_Block] = []
        chunk = max(1, design.chunk_rows // layout.strip_rows) * layout.strip_rows
        for first in range(0, self.strips, largest):
            strips = min(largest, self.strips - first)
            rows = strips * layout.strip_rows
            begin = self.first_row + first * layout.strip_rows
            if streamed:
                host = self._memory.pinned(rows * layout.stride, dtype).reshape(rows, layout.stride)
                for at in range(0, rows, chunk):
                    end = min(rows, at + chunk)
                    host[at:end] = design.rows(begin + at, begin + end)
                blocks.append(_Block(first, strips, None, host.reshape(-1)))
                continue
            buffer = self._memory.empty(rows * layout.stride, dtype)
            for at in range(0, rows, chunk):
                end = min(rows, at + chunk)
                device.put(design.rows(begin + at, begin + end).reshape(-1), buffer, at * layout.stride)
            blocks.append(_Block(first, strips, buffer))
        if streamed and blocks:
            size = max(block.strips for block in blocks) * layout.strip_rows * layout.stride
            self._ring = [self._memory.empty(size, dtype) for _ in range(2)]
            self._used: list[StreamEvent | None] = [None, None]
        return blocks

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
            with device.stream(_LANE):
                if used is not None:
                    device.wait_for_event(used)
                assert block.host is not None
                device.put_async(block.host, self._ring[ring])
                there = device.record_event()
            device.wait_for_event(there)
            yield block, self._ring[ring]
            self._used[ring] = device.record_event()

    def sweep(self, mode: Mode, beta: Buffer, out: Buffer, betas: int, seed: int = 0, step: int = 0) -> None:
        """One pass over this device's rows."""
        for block, buffer in self._each_block():
            self.launcher.sweep(
                mode,
                buffer,
                beta,
                out,
                betas,
                first_row=self.first_row + block.first_strip * self.layout.strip_rows,
                out_rows=self.count,
                strips=block.strips,
                strip_first=block.first_strip,
                seed=seed,
                stream=STREAM_LATENT,
                step=step,
            )

    def take_columns(self, columns: Sequence[int], lines: Buffer, line: int) -> None:
        """Up to :data:`STRETCHES` columns of the design as consecutive lines of shape (lines, rows), in one pass."""
        strip_rows = self.layout.strip_rows
        for block, buffer in self._each_block():
            first = line * self.count + block.first_strip * strip_rows
            self.launcher.columns(buffer, lines, first, self.count, block.strips * strip_rows, columns)

    def gather(self, value: str, partial: Buffer, count: int, shards: Buffer) -> None:
        """Sums over all rows, of all devices, as SHARDS rows of ``count``."""
        many = self.last_shard - self.first_shard
        self.launcher.gather(value, partial, count, self.bounds, shards, self.first_shard, many)
        if self.party is not None:
            self.party.swap(Part(shards, self.first_shard * count, self.last_shard * count))

    def make_gram(self, algebra: LinearAlgebra, gram: Buffer, weight: Buffer | None) -> NDArray[np.float64]:
        """This device's part of X'X, or of X'WX, shard by shard; ``gram`` is overwritten.

        Returns
        -------
        ndarray, shape (shards, q, q)
            For the coordinator to add up, shard by shard. Empty on a single device, where they are added up in the
            same order in ``gram``.
        """
        device, layout = self.device, self.layout
        q = layout.columns
        wide_strips = max(1, _WIDE // (layout.strip_rows * layout.stride))
        wide = device.empty((wide_strips * layout.strip_rows, q), np.float64)
        part, total = device.empty((q, q), np.float64), device.empty((q, q), np.float64)
        device.zero(gram)
        parts = []
        for shard in range(self.first_shard, self.last_shard):
            device.zero(total)
            begin, end = (layout.bounds[shard + i] - self.first_strip for i in (0, 1))
            at = begin
            while at < end:
                block = next(b for b in self.blocks if b.first_strip <= at < b.first_strip + b.strips)
                strips = min(wide_strips, end - at, block.first_strip + block.strips - at)
                rows = strips * layout.strip_rows
                buffer, offset = block.buffer, (at - block.first_strip) * layout.strip_rows
                if buffer is None:
                    assert block.host is not None
                    values = block.host[offset * layout.stride : (offset + rows) * layout.stride]
                    device.sync()
                    buffer, offset = device.put(values, self._ring[0]), 0
                self.launcher.expand(
                    rows,
                    *(buffer, self.bounds if weight is None else weight, wide, offset, at * layout.strip_rows, rows),
                    *(layout.stride, q, int(weight is not None)),
                )
                used = Buffer(wide.handle, wide.argument, (rows, q), wide.dtype)
                algebra.gram_columns(used, None, part)
                self.launcher.spread("add_matrix", q * q, total, part, q * q)
                at += strips
            if self.party is None:
                self.launcher.spread("add_matrix", q * q, gram, total, q * q)
            else:
                parts.append(device.get(total))
        for buffer in (wide, part, total):
            device.release(buffer)
        return np.array(parts)

    def score(self, beta: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Gradient of the log-likelihood at one beta, and the log-likelihood."""
        layout, device = self.layout, self.device
        narrow = np.zeros(layout.stride, np.float32)
        narrow[: layout.columns] = beta
        vector = device.put(narrow)
        shards = device.empty((SHARDS, layout.width), np.float64)
        partial = device.empty(max(1, self.strips) * layout.width, np.float32)
        self.sweep("score", vector, partial, 1)
        self.gather("f32", partial, layout.width, shards)
        sums = device.get(shards).sum(axis=0)
        for buffer in (vector, shards, partial):
            device.release(buffer)
        return sums[: layout.columns], float(sums[layout.stride])
