"""One device's part of a run: its rows of the design, the state of every chain, and an iteration's work.

Everything runs on the device's thread. With several devices each has some of the rows and all of what has the size of
beta; sums over rows are exchanged, and every device repeats what follows from them, with the same random numbers.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device, Mark
from engine.errors import DeviceError
from engine.numerics.linear_algebra import LinearAlgebra, linear_algebra
from engine.solvers.gibbs.design import Design
from engine.solvers.gibbs.kernels import Launcher, Mode
from engine.solvers.gibbs.layout import SHARDS
from engine.solvers.gibbs.options import KernelName

__all__ = ["REPORT", "STATE", "Exchange", "Settings", "Worker"]

STATE = ("beta", "local", "nu", "whole")
"""What a chain is: beta, lambda^-2 and nu^-1 of shape (chains, q), and tau^-2, xi^-1 among (chains, 8) numbers."""

REPORT = ("tau_precision", "xi_rate", "expansion", "log_likelihood", "slice_tries", "rescale_tries", "", "")
"""What the 8 numbers of a draw are."""

STREAM_LATENT, STREAM_SCALES, STREAM_NOISE, STREAM_SLICE, STREAM_RESCALE = 0, 1, 4, 6, 7
STREAM_STRETCH = 16
_STRETCHES = 4  # coefficients stretched in an iteration
_STRETCH_WIDTH = 4.0
_WHOLE = len(REPORT)
_JITTER = 1e-12
_WIDE = 1 << 24  # values of the design widened at a time for X'WX
_ALONE_FROM = 200  # columns from which a chain's factorisation is worth a lane of its own
_MOST_LANES = 4
_MOST_TRIES = 40


@dataclass(frozen=True)
class Settings:
    """What the iterations of a run need to know.

    ``prior_precision`` is that of the intercept; ``tau_scale`` the half-Cauchy's; ``provider`` None for the best.
    """

    kernel: KernelName
    chains: int
    seed: int
    prior_precision: float
    tau_scale: float
    keep_scales: bool
    provider: str | None
    streaming: str
    batch: int
    thin: int


class Exchange:
    """Where the devices of a run meet: each leaves its shards' sums and takes those of the others, on the host."""

    def __init__(self, parties: int) -> None:
        self.parties = parties
        self._barrier = threading.Barrier(parties)
        self._rooms: dict[tuple[str, int], NDArray[np.float64]] = {}
        self._lock = threading.Lock()
        self._turn = [0] * parties

    def swap(self, party: int, kind: str, mine: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
        """All shards' sums, shape (SHARDS, n), once every device has left its own, shards [first, last)."""
        self._turn[party] += 1
        key = kind, self._turn[party] % 2  # the room of the meeting before may still be read
        with self._lock:
            room = self._rooms.get(key)
            if room is None or room.shape[1] != mine.shape[1]:
                room = self._rooms[key] = np.zeros((SHARDS, mine.shape[1]))
        room[first:last] = mine
        self._barrier.wait()
        return room

    def abort(self) -> None:
        """Let nobody wait for a device that has failed."""
        self._barrier.abort()


@dataclass
class _Block:
    """Some strips of the design: on the device, or in host memory to be sent there at every pass."""

    first_strip: int
    strips: int
    buffer: Buffer | None
    host: NDArray[Any] | None = None


@dataclass
class _Group:
    """Chains whose matrices are factorised together, on a lane of their own."""

    lane: int
    first: int
    count: int
    algebra: LinearAlgebra
    matrix: Buffer
    rhs: Buffer
    noise: Buffer | None
    status: Buffer


@dataclass
class _Batch:
    """Draws on their way to the host."""

    rows: int = 0
    host: NDArray[np.float64] | None = None
    failed: NDArray[np.int32] | None = None
    done: Mark | None = None
    iterations: list[int] = field(default_factory=list)


class Worker:
    """State on one device.

    Parameters
    ----------
    device : Device
    design : Design
    settings : Settings
    shards : (int, int)
        Which shards of the rows are this device's.
    party : int
        Its number among the devices.
    exchange : Exchange or None
        None for a single device.
    """

    def __init__(
        self,
        device: Device,
        design: Design,
        settings: Settings,
        shards: tuple[int, int],
        party: int = 0,
        exchange: Exchange | None = None,
    ) -> None:
        self.device, self.design, self.settings = device, design, settings
        self.layout = layout = design.layout
        self.first_shard, self.last_shard = shards
        self.party, self.exchange = party, exchange
        self.first_strip, last_strip = layout.bounds[shards[0]], layout.bounds[shards[1]]
        self.strips = last_strip - self.first_strip
        self.rows = self.strips * layout.strip_rows
        self.first_row = self.first_strip * layout.strip_rows
        self._buffers: list[Buffer] = []
        self._staging: list[NDArray[Any]] = []
        self._algebras: list[LinearAlgebra] = []
        self.launcher = Launcher(device, layout, design.storage)
        self._beside = device.capabilities.kind != "cpu"
        self.host_driven = device.capabilities.kind == "cpu" or exchange is not None
        q, chains = layout.columns, settings.chains
        empty = self._empty
        self.beta, self.local, self.nu = empty((chains, q)), empty((chains, q)), empty((chains, q))
        self.whole = empty((chains, _WHOLE))
        self.scale, self.prior = empty((chains, q)), empty((chains, q))
        self.diagonal, self.gram = empty(q), empty((q, q))
        self.latent_diagonal, self.latent_gram = self.diagonal, self.gram
        self.narrow = empty((chains, layout.stride), np.float32)
        device.zero(self.narrow)
        bounds = np.array(layout.bounds[shards[0] : shards[1] + 1], np.int32) - self.first_strip
        self.bounds = self._put(bounds.astype(np.int32))
        self.partial = empty(max(1, self.strips) * chains * layout.width, np.float32)
        self.shards = empty((SHARDS, chains * layout.width))
        self.record = [empty((settings.batch, chains, self.record_width)) for _ in range(2)]
        self.failed = empty(1, np.int32)
        device.zero(self.failed)
        self._batches = [_Batch(), _Batch()]
        for batch in self._batches:
            batch.host = self._pinned(settings.batch * chains * self.record_width, np.float64)
            batch.failed = self._pinned(1, np.int32)
        self._turn = 0
        if settings.kernel == "ellipse":
            self.eta = empty(chains * max(1, self.rows), np.float32)
            self.lines = empty((2 * chains + 2) * max(1, self.rows), np.float32)
            self.slope, self.weight = (empty(max(1, self.rows), np.float32) for _ in range(2))
            self.lines_narrow = empty((2 * chains, layout.stride), np.float32)
            device.zero(self.lines_narrow)
            self.middle, self.along = empty((chains, q)), empty((chains, q))
            self.slice = empty((chains, 16))
            self.places = empty(chains * 3 * (self.launcher.tries + 1), np.float32)
            count = chains * (self.launcher.tries + 1)
            self.weighed = empty(max(1, self.strips) * count)
            self.weighed_shards = empty((SHARDS, count))
            self.reference = empty((SHARDS, layout.width))
            self.averages = empty(3 * max(1, self.rows), np.float32)
            self.averaging = False
            self.slow: list[int] = []
            self.latent_gram, self.latent_diagonal = empty((q, q)), empty(q)
            self.restart_averages()
            self.rescale_width = 3.0
        self._groups = self._grouped()
        self.blocks = self._load()
        if settings.kernel == "ellipse":
            self.take_intercept()

    # --- memory -------------------------------------------------------------------------------------------------

    def _empty(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> Buffer:
        self._buffers.append(self.device.empty(shape, dtype))
        return self._buffers[-1]

    def _put(self, array: NDArray[Any]) -> Buffer:
        self._buffers.append(self.device.put(array))
        return self._buffers[-1]

    def _pinned(self, count: int, dtype: Any) -> NDArray[Any]:
        self._staging.append(self.device.staging(count, dtype))
        return self._staging[-1]

    @property
    def record_width(self) -> int:
        """Numbers a draw is."""
        q = self.layout.columns
        return q + _WHOLE + (q if self.settings.keep_scales else 0)

    def release(self) -> None:
        """Give the memory back."""
        self.device.sync()
        for algebra in self._algebras:
            algebra.close()
        for buffer in self._buffers:
            self.device.release(buffer)
        for array in self._staging:
            self.device.release_staging(array)

    def _algebra(self) -> LinearAlgebra:
        self._algebras.append(linear_algebra(self.device, self.settings.provider))  # type: ignore[arg-type]
        return self._algebras[-1]

    def _grouped(self) -> list[_Group]:
        """Large matrices in lanes of their own where lanes overlap; small ones together."""
        q, chains = self.layout.columns, self.settings.chains
        alone = self.device.capabilities.kind != "cpu" and q >= _ALONE_FROM and chains > 1
        count = min(chains, _MOST_LANES) if alone else 1
        edges = [chains * i // count for i in range(count + 1)]
        ellipse = self.settings.kernel == "ellipse"
        groups = []
        for lane, (first, last) in enumerate(itertools.pairwise(edges), start=1):
            many = last - first
            groups.append(
                _Group(
                    lane if self._beside else 0,
                    first,
                    many,
                    self._algebra(),
                    self._empty((many, q, q)),
                    self._empty((many, q)),
                    self._empty((many, q)) if ellipse else None,
                    self._empty(many, np.int32),
                )
            )
        return groups

    def _load(self) -> list[_Block]:
        """The rows of the design, on the device or ready to be sent."""
        layout, design, device = self.layout, self.design, self.device
        dtype = np.float32 if design.storage == "float32" else np.uint16
        strip_bytes = layout.strip_rows * layout.stride * np.dtype(dtype).itemsize
        largest = max(1, min(self.device.info.max_allocation, 1 << 36) // strip_bytes)
        free = self.device.memory().free
        streamed = self.settings.streaming == "always" or (
            self.settings.streaming == "auto" and self.strips * strip_bytes > 0.95 * free
        )
        if self.settings.streaming == "never" and self.strips * strip_bytes > free:
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
                host = self._pinned(rows * layout.stride, dtype).reshape(rows, layout.stride)
                for at in range(0, rows, chunk):
                    end = min(rows, at + chunk)
                    host[at:end] = design.rows(begin + at, begin + end)
                blocks.append(_Block(first, strips, None, host.reshape(-1)))
                continue
            buffer = self._empty(rows * layout.stride, dtype)
            for at in range(0, rows, chunk):
                end = min(rows, at + chunk)
                device.put(design.rows(begin + at, begin + end).reshape(-1), buffer, at * layout.stride)
            blocks.append(_Block(first, strips, buffer))
        if streamed and blocks:
            size = max(block.strips for block in blocks) * layout.strip_rows * layout.stride
            self._ring = [self._empty(size, dtype) for _ in range(2)]
            self._used: list[Mark | None] = [None, None]
        return blocks

    # --- passes over the rows -----------------------------------------------------------------------------------

    def _each_block(self) -> Any:
        """The design's buffers one after the other, sent ahead of use where they are streamed."""
        if not self.streamed:
            for block in self.blocks:
                yield block, block.buffer
            return
        device = self.device
        for number, block in enumerate(self.blocks):
            ring = number % 2
            used = self._used[ring]
            with device.lane(_MOST_LANES + 1):
                if used is not None:
                    device.after(used)
                assert block.host is not None
                device.put_later(block.host, self._ring[ring])
                there = device.mark()
            device.after(there)
            yield block, self._ring[ring]
            self._used[ring] = device.mark()

    def sweep(self, mode: Mode, beta: Buffer, out: Buffer, betas: int, step: int = 0) -> None:
        """One pass over this device's rows."""
        for block, buffer in self._each_block():
            self.launcher.sweep(
                mode,
                buffer,
                beta,
                out,
                betas,
                first_row=self.first_row + block.first_strip * self.layout.strip_rows,
                out_rows=self.rows,
                strips=block.strips,
                strip_first=block.first_strip,
                seed=self.settings.seed,
                stream=STREAM_LATENT,
                step=step,
            )

    def gather(self, value: str, partial: Buffer, count: int, shards: Buffer) -> None:
        """Sums over all rows, of all devices, as SHARDS rows of ``count``."""
        many = self.last_shard - self.first_shard
        self.launcher.gather(value, partial, count, self.bounds, shards, self.first_shard, many)
        if self.exchange is not None:
            mine = self.device.get(shards, self.first_shard * count, many * count).reshape(many, count)
            full = self.exchange.swap(self.party, value, mine, self.first_shard, self.last_shard)
            self.device.put(full.reshape(-1), shards)

    def make_gram(self, weighted: bool) -> NDArray[np.float64]:
        """This device's part of X'X, or X'WX with the reference's weights, by shard; the device's gram is overwritten.

        Returns
        -------
        ndarray, shape (shards, q, q)
            For the coordinator to add up, shard by shard, and hand to :meth:`set_gram`. Empty on a single device, where
            they are added up in the same order in place.
        """
        device, layout, algebra = self.device, self.layout, self._groups[0].algebra
        q = layout.columns
        wide_strips = max(1, _WIDE // (layout.strip_rows * layout.stride))
        wide = device.empty((wide_strips * layout.strip_rows, q), np.float64)
        part, total = device.empty((q, q), np.float64), device.empty((q, q), np.float64)
        device.zero(self.gram)
        parts = []
        weight = self.weight if weighted else self.narrow
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
                    rows, buffer, weight, wide, offset, at * layout.strip_rows, rows, layout.stride, q, int(weighted)
                )
                used = Buffer(wide.handle, wide.argument, (rows, q), wide.dtype)
                algebra.gram_columns(used, None, part)
                self.launcher.spread("add_matrix", q * q, total, part, q * q)
                at += strips
            if self.exchange is None:
                self.launcher.spread("add_matrix", q * q, self.gram, total, q * q)
            else:
                parts.append(device.get(total))
        for buffer in (wide, part, total):
            device.release(buffer)
        if self.exchange is None:
            self.take_gram(weighted)
        return np.array(parts)

    def take_gram(self, weighted: bool) -> None:
        """Let the matrix that was made be that of the draws; X'X itself is kept for the latent iterations."""
        q = self.layout.columns
        self.launcher.spread("take_diagonal", q, self.gram, self.diagonal, q)
        if not weighted and self.latent_gram is not self.gram:
            self.device.copy(self.latent_gram, self.gram)
            self.device.copy(self.latent_diagonal, self.diagonal)

    def set_gram(self, gram: NDArray[np.float64], weighted: bool) -> None:
        """Take the matrix over from the coordinator."""
        self.device.put(gram, self.gram)
        self.take_gram(weighted)

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

    # --- solving with a fixed prior, for the start --------------------------------------------------------------

    def factorise(self, prior: NDArray[np.float64]) -> None:
        """L of (gram + diag(prior)), scaled, in the first group's first matrix."""
        group, q = self._groups[0], self.layout.columns
        scale = 1.0 / np.sqrt(self.device.get(self.diagonal) + prior)
        self.device.put(np.tile(scale, self.settings.chains), self.scale)
        self._build(group)
        group.algebra.cholesky(group.matrix, group.status)
        if self.device.get(group.status).any():
            raise DeviceError("X'X plus its prior has no Cholesky factor")
        self._scale_of_start = scale
        del q

    def precondition(self, vectors: NDArray[np.float64], half: bool = False) -> NDArray[np.float64]:
        """(gram + diag(prior))^-1 v of one vector; with ``half`` L^-T v, a draw if v is normal. Shape (q,)."""
        group, q = self._groups[0], self.layout.columns
        rhs = np.zeros((group.count, q))
        rhs[0] = vectors if half else vectors * self._scale_of_start
        self.device.put(rhs, group.rhs)
        if not half:
            group.algebra.solve_lower(group.matrix, group.rhs)
        group.algebra.solve_lower_transposed(group.matrix, group.rhs)
        solved: NDArray[np.float64] = self.device.get(group.rhs)[0] * self._scale_of_start
        return solved

    def curvature(self) -> NDArray[np.float64]:
        """The diagonal of X'X times the curvature of log Phi at 0, 2 / pi: about that of the log-likelihood."""
        curvature: NDArray[np.float64] = self.device.get(self.diagonal) * (2.0 / np.pi)
        return curvature

    # --- the state ----------------------------------------------------------------------------------------------

    def set_state(self, state: dict[str, NDArray[np.float64]]) -> None:
        """Every chain from the host; see :data:`STATE`."""
        for name in STATE:
            self.device.put(np.ascontiguousarray(state[name], np.float64), getattr(self, name))
        self.launcher.groups(
            "narrow_coefficients", self.settings.chains, self.beta, self.narrow, self.layout.columns, self.layout.stride
        )

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Every chain, on the host."""
        return {name: self.device.get(getattr(self, name)) for name in STATE}

    def refer_to(self, beta: NDArray[np.float64]) -> None:
        """Let the Gaussian that stands in for the likelihood have its slope and curvature at one beta."""
        layout, device = self.layout, self.device
        narrow = np.zeros(layout.stride, np.float32)
        narrow[: layout.columns] = beta
        vector = device.put(narrow)
        self.sweep("project", vector, self.eta, 1)
        device.release(vector)
        self.restart_averages()
        self._gather_reference(1)
        self.refer_to_averages()

    def average(self, on: bool) -> None:
        """Whether the chains' points are averaged for another stand-in."""
        self.averaging = on

    def set_slow(self, columns: list[int]) -> None:
        """Columns that are stretched more often than the others."""
        self.slow = columns

    def restart_averages(self) -> None:
        """Forget what was averaged of the chains' points."""
        self.device.zero(self.averages)
        self.averaged = 0

    def _gather_reference(self, chains: int) -> None:
        self.launcher.spread("gather_reference", max(1, self.rows), self.eta, self.averages, self.rows, chains)
        self.averaged += chains

    def refer_to_averages(self) -> None:
        """Let the stand-in have the mean slope and curvature over what was averaged."""
        arguments = (self.averages, self.slope, self.weight, self.first_row, self.layout.rows, self.rows)
        self.launcher.spread("make_reference", max(1, self.rows), *arguments, 1.0 / self.averaged)
        self.restart_averages()

    def linear_term(self) -> None:
        """X'a, a the slopes of the stand-in's rows: what its Gaussian's mean comes from."""
        self.sweep("combine", self.slope, self.partial, 1)
        self.gather("f32", self.partial, self.layout.width, self.reference)

    def reference_rows(self) -> dict[str, NDArray[Any]]:
        """The stand-in and the averages of this device's rows, for a checkpoint."""
        arrays = {"slope": self.device.get(self.slope), "weight": self.device.get(self.weight)}
        return {**arrays, "averages": self.device.get(self.averages).reshape(3, -1)}

    def set_reference_rows(self, arrays: dict[str, NDArray[Any]], averaged: int) -> None:
        """The inverse of :meth:`reference_rows`, from the arrays of all rows."""
        here = slice(self.first_row, self.first_row + max(1, self.rows))
        self.device.put(arrays["slope"][here], self.slope)
        self.device.put(arrays["weight"][here], self.weight)
        self.device.put(arrays["averages"][:, here].reshape(-1), self.averages)
        self.averaged = averaged

    def set_rescale_width(self, width: float) -> None:
        """The bracket of log c."""
        self.rescale_width = width

    # --- an iteration -------------------------------------------------------------------------------------------

    def _build(self, group: _Group, gram: Buffer | None = None) -> None:
        q = self.layout.columns
        arguments = (gram or self.gram, self.scale, group.matrix, q, group.first, _JITTER)
        self.launcher.groups("build_precision", group.count * q, *arguments)

    def _update_scales(self, step: int, diagonal: Buffer) -> None:
        design, settings = self.design, self.settings
        self.launcher.groups(
            "update_scales",
            settings.chains,
            *(self.beta, self.local, self.nu, self.whole, self.scale, self.prior, diagonal),
            *(self.layout.columns, design.first, settings.prior_precision, settings.tau_scale**-2),
            *(int(settings.kernel == "ellipse"), settings.seed, STREAM_SCALES, step),
        )

    def _mark(self) -> Mark | None:
        """A mark where lanes are used: on CPUs the pass over the rows has every core, and one order costs less."""
        return self.device.mark() if self._beside else None

    def _after(self, mark: Mark | None) -> None:
        if mark is not None:
            self.device.after(mark)

    def _factorise_all(self, scaled: Mark | None) -> list[Mark | None]:
        """Each group's matrix on its lane, after the scales are known."""
        device = self.device
        marks: list[Mark | None] = []
        for group in self._groups:
            with device.lane(group.lane):
                self._after(scaled)
                group.algebra.cholesky(group.matrix, group.status)
                self.launcher.groups("count_failures", 1, group.status, group.count, self.failed)
                marks.append(self._mark())
        return marks

    def _scales_beside(self, step: int, gram: Buffer, diagonal: Buffer) -> Mark | None:
        """lambda, tau, nu, xi given beta, and the matrices, on the first group's lane."""
        device = self.device
        begun = self._mark()
        with device.lane(int(self._beside)):
            self._after(begun)
            self._update_scales(step, diagonal)
            for group in self._groups:
                self._build(group, gram)
            return self._mark()

    def iterate(self, step: int) -> None:
        """One iteration of every chain.

        ``ellipse`` does the slices in even iterations, and in odd ones what ``px`` does: where the likelihood is far
        from any Gaussian the first makes short moves, and where classes are rare the second does.
        """
        if self.settings.kernel == "ellipse" and step % 2 == 0:
            self._iterate_ellipse(step)
        else:
            self._iterate_latent(step)

    def _iterate_latent(self, step: int) -> None:
        """The paper: latent normals and beta; lambda, tau and the factorisation run beside the pass over the rows."""
        device, layout, settings, launcher = self.device, self.layout, self.settings, self.launcher
        q, chains = layout.columns, settings.chains
        scaled = self._scales_beside(step, self.latent_gram, self.latent_diagonal)
        self.sweep("draw", self.narrow, self.partial, chains, step)
        self._factorise_all(scaled)
        self.gather("f32", self.partial, chains * layout.width, self.shards)
        gathered = self._mark()
        done: list[Mark | None] = []
        for group in self._groups:
            with device.lane(group.lane):
                self._after(gathered)
                launcher.groups(
                    "prepare_solution",
                    group.count,
                    *(self.shards, SHARDS, chains, layout.width, self.scale, group.rhs, q, group.first),
                )
                group.algebra.solve_lower(group.matrix, group.rhs)
                launcher.groups(
                    "add_noise",
                    group.count,
                    *(group.rhs, q, group.first, self.shards, SHARDS, chains, layout.width, layout.rows, self.whole),
                    *(int(settings.kernel != "gibbs"), settings.seed, STREAM_NOISE, step),
                )
                group.algebra.solve_lower_transposed(group.matrix, group.rhs)
                launcher.groups(
                    "finish_coefficients",
                    group.count,
                    *(group.rhs, self.scale, self.beta, group.status, self.beta, self.narrow),
                    *(q, layout.stride, group.first, 0),
                )
                done.append(self._mark())
        for mark in done:
            self._after(mark)

    def _iterate_ellipse(self, step: int) -> None:
        """An elliptical slice about the stand-in for the likelihood, then beta and tau together."""
        device, layout, settings, launcher = self.device, self.layout, self.settings, self.launcher
        q, chains = layout.columns, settings.chains
        scaled = self._scales_beside(step, self.gram, self.diagonal)
        self._factorise_all(scaled)
        done: list[Mark | None] = []
        for group in self._groups:
            assert group.noise is not None
            with device.lane(group.lane):
                launcher.groups(
                    "prepare_solution",
                    group.count,
                    *(self.reference, SHARDS, 1, layout.width, self.scale, group.rhs, q, group.first),
                )
                group.algebra.solve(group.matrix, group.rhs)
                device.zero(group.noise)
                launcher.groups(
                    "add_noise",
                    group.count,
                    *(group.noise, q, group.first, group.noise, 0, chains, 0, layout.rows, self.whole),
                    *(0, settings.seed, STREAM_NOISE, step),
                )
                group.algebra.solve_lower_transposed(group.matrix, group.noise)
                for rhs, out, first in ((group.rhs, self.middle, 0), (group.noise, self.along, chains)):
                    launcher.groups(
                        "finish_coefficients",
                        group.count,
                        *(rhs, self.scale, self.beta, group.status, out, self.lines_narrow),
                        *(q, layout.stride, group.first, first),
                    )
                done.append(self._mark())
        for mark in done:
            self._after(mark)
        self.sweep("project", self.lines_narrow, self.lines, 2 * chains)
        self.sweep("project", self.narrow, self.eta, chains)
        self._slice(0, STREAM_SLICE, step)
        self._slice(1, STREAM_RESCALE, step)
        inside = q - self.design.first
        for turn in range(_STRETCHES):
            column = self.design.first + (step // 2 * _STRETCHES + turn) % inside
            if turn % 2 and self.slow:
                column = self.slow[(step // 2 * (_STRETCHES // 2) + turn // 2) % len(self.slow)]
            self._take_column(column, 2 * chains + 1)
            self._slice(2, STREAM_STRETCH + turn, step, column)
        if self.averaging:
            self._gather_reference(chains)

    def _take_column(self, column: int, line: int) -> None:
        """A column of the design as one of the lines."""
        strip_rows = self.layout.strip_rows
        for block, buffer in self._each_block():
            first = line * self.rows + block.first_strip * strip_rows
            self.launcher.column(buffer, self.lines, first, block.strips * strip_rows, column)

    def take_intercept(self) -> None:
        """The intercept's column as the line that does not change; zeros if there is none."""
        self.device.zero(self.lines)
        if self.design.first:
            self._take_column(0, 2 * self.settings.chains)

    def _slice(self, move: int, stream: int, step: int, column: int = 0) -> None:
        """One slice of every chain, and the move to the point it chose: 0 ellipse, 1 rescale, 2 stretch of a column."""
        device, layout, settings, launcher = self.device, self.layout, self.settings, self.launcher
        q, chains, tries, inside = layout.columns, settings.chains, launcher.tries, self.design.first
        width = _STRETCH_WIDTH if move == 2 else self.rescale_width
        shift = float(self.design.shift[column - inside]) if move == 2 else 0.0
        inverse_width = settings.tau_scale**-2
        random = (settings.seed, stream, step)
        for first in range(0, _MOST_TRIES, tries):
            launcher.groups(
                "propose_points",
                chains,
                *(self.slice, self.places, self.beta, self.whole, self.local, q, inside, column, shift, first, move),
                *(width, inverse_width, *random),
            )
            launcher.groups(
                "weigh_points",
                min(self.strips * chains, 1 << 20),
                *(self.eta, self.lines, self.slope, self.weight, self.places, self.slice, self.weighed),
                *(self.first_row, layout.rows, self.rows, self.strips, layout.strip_rows, chains, move),
            )
            self.gather("f64", self.weighed, chains * (tries + 1), self.weighed_shards)
            launcher.groups(
                "choose_point",
                chains,
                *(
                    self.weighed_shards,
                    SHARDS,
                    chains,
                    self.slice,
                    self.beta,
                    self.whole,
                    self.local,
                    q,
                    inside,
                    column,
                ),
                *(shift, first, move, settings.prior_precision, inverse_width, *random),
            )
            if self.host_driven and device.get(self.slice)[:, 4].all():
                break
        launcher.spread("move_rows", max(1, self.rows), self.eta, self.lines, self.slice, self.rows, chains, move)
        launcher.groups(
            "move_coefficients",
            chains,
            *(self.beta, self.middle, self.along, self.slice, self.whole, self.local, self.narrow, q, layout.stride),
            *(inside, column, move, inverse_width, *random),
        )

    # --- batches ------------------------------------------------------------------------------------------------

    def advance(self, first: int, count: int, kept_from: int) -> tuple[list[int], NDArray[np.float64], int]:
        """Begin ``count`` iterations from number ``first`` on, and return the draws of the batch before.

        An iteration is recorded if it is a multiple of ``thin`` behind ``kept_from``, or before it.

        Returns
        -------
        iterations : list of int
            Which iterations the rows are, none if there was no batch before.
        draws : ndarray, shape (rows, chains, numbers)
        failed : int
            Factorisations that have failed so far.
        """
        device, settings = self.device, self.settings
        turn, self._turn = self._turn, 1 - self._turn
        batch = self._batches[turn]
        batch.iterations = []
        for step in range(first, first + count):
            self.iterate(step)
            if step < kept_from or (step - kept_from + 1) % settings.thin == 0:
                self.launcher.groups(
                    "record_draw",
                    settings.chains,
                    *(self.beta, self.whole, self.local, self.record[turn], self.layout.columns),
                    *(len(batch.iterations), settings.chains, int(settings.keep_scales)),
                )
                batch.iterations.append(step)
        assert batch.host is not None
        assert batch.failed is not None
        used = len(batch.iterations) * settings.chains * self.record_width
        device.get_later(self.record[turn], batch.host[:used])
        device.get_later(self.failed, batch.failed)
        batch.done = device.mark()
        return self._collect(self._batches[1 - turn])

    def collect(self) -> tuple[list[int], NDArray[np.float64], int]:
        """Wait for the last batch and return its draws."""
        return self._collect(self._batches[1 - self._turn])

    def _collect(self, batch: _Batch) -> tuple[list[int], NDArray[np.float64], int]:
        shape = (len(batch.iterations), self.settings.chains, self.record_width)
        if batch.done is None:
            return [], np.zeros((0, *shape[1:])), 0
        assert batch.host is not None
        assert batch.failed is not None
        self.device.wait(batch.done)
        batch.done = None
        iterations, batch.iterations = batch.iterations, []
        rows = batch.host[: shape[0] * shape[1] * shape[2]].reshape(shape).copy()
        return iterations, rows, int(batch.failed[0])
