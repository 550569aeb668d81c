"""The kernels of the Gibbs sampler: which shapes a device runs them in, and how they are compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.devices import Buffer, Capabilities, Device, Kernel
from engine.devices.variants import CPU, GPU, Variant, each_once
from engine.solvers.gibbs.layout import SHARDS, Layout

__all__ = ["STRETCHES", "Launcher", "Mode", "SweepShape", "kernel_variants", "sweep_shape"]

STRETCHES = 8
"""Columns stretched in an iteration of the kernel ellipse."""

Mode = Literal["draw", "score", "combine", "project"]

_STORAGE = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_MOST_REGISTERS = 96
_MOST_LOCAL = 48 * 1024  # what a CUDA kernel may declare, whatever a group may have
_TICKET_BYTES = 16
_SPARED, _SPARED_SMALL = 8, 24  # a long pass leaves one in so many multiprocessors to the factorisations beside it ...
_SMALL_COLUMNS = 256  # ... and fewer where these are small


@dataclass(frozen=True)
class SweepShape:
    """How a device's work-items share a tile of rows in the pass over the design; see sweep.mako.

    Attributes
    ----------
    serial : bool
        One work-item a group, for CPUs.
    lanes, row_lanes : int
        Work-items along a row, and rows side by side.
    chunks, rows : int
        16-byte chunks, and rows, of a work-item.
    reduction : {"local", "shuffle"}
        How a row's products are added up.
    groups_a_unit : int
        Groups that should fit a multiprocessor, as a bound on registers.
    """

    serial: bool
    lanes: int
    row_lanes: int
    chunks: int
    rows: int
    reduction: str
    groups_a_unit: int = 1

    @property
    def size(self) -> int:
        """Work-items a group."""
        return self.lanes * self.row_lanes

    def local_bytes(self, chains: int, storage: str, mode: Mode) -> int:
        """Local memory that ``gibbs/sweep`` declares for so many vectors at a time."""
        outputs, width = self.row_lanes * self.rows * chains, min(self.lanes, 32)
        if self.reduction == "shuffle":
            floats = outputs * (self.lanes // width)
        elif outputs < self.size:
            parts = self.size // outputs
            floats = self.rows * chains * (self.size + parts) + outputs * parts
        else:
            floats = self.rows * chains * self.size
        if mode != "project":
            floats += max(outputs, self.size)
            floats += self.size * _each(storage) if self.row_lanes > 1 else 0
        return 4 * floats + _TICKET_BYTES

    def constants(self, chains: int, storage: str, mode: Mode) -> tuple[str, dict[str, Any]]:
        """Template and constants for so many vectors at a time."""
        common = {"chains": chains, "storage": _STORAGE[storage], "mode": mode, "rows": self.rows}
        if self.serial:
            return "gibbs/sweep_serial", {**common, "block": 1}
        return "gibbs/sweep", {
            **common,
            "lanes": self.lanes,
            "row_lanes": self.row_lanes,
            "chunks": self.chunks,
            "reduction": self.reduction,
            "groups_a_unit": self.groups_a_unit,
        }


def _each(storage: str) -> int:
    """Values in 16 bytes."""
    return 4 if storage == "float32" else 8


def sweep_shape(
    capabilities: Capabilities, language: str, stride: int, strip_rows: int, chains: int, storage: str, mode: Mode
) -> SweepShape:
    """The shape that suits a device, for rows of ``stride`` values and so many vectors at a time."""
    if capabilities.kind == "cpu":
        return SweepShape(True, 1, 1, 1, min(8, strip_rows), "local")
    each = _each(storage)
    chunk_count = -(-stride // each)
    sums = 0 if mode == "project" else chains

    def cost(lanes: int) -> tuple[float, int]:
        """Idle lanes, too many registers, and lanes beyond 128, which wait for each other."""
        chunks = -(-chunk_count // lanes)
        idle = lanes * chunks / chunk_count
        crowded = max(0, chunks * each * (1 + sums) - _MOST_REGISTERS) / _MOST_REGISTERS
        return idle + crowded + 0.04 * chunks + 0.1 * max(0, lanes.bit_length() - 8), lanes

    most = min(capabilities.max_block, 1024)
    lanes = min((1 << bits for bits in range(2, most.bit_length())), key=cost)
    chunks = -(-chunk_count // lanes)
    size = max(lanes, min(128, most))
    rows = 8
    while rows > 1 and (rows * chunks * each > (64 if lanes >= 64 else 48) or rows * chains > 32):
        rows //= 2
    while size > lanes and size // lanes * rows > strip_rows:
        size //= 2
    while rows > 1 and size // lanes * rows > strip_rows:
        rows //= 2
    shuffle = language == "cuda" and 4 <= lanes < 64 and size >= 32
    shape = SweepShape(False, lanes, size // lanes, chunks, rows, "shuffle" if shuffle else "local")
    if not shuffle:
        room = capabilities.local_memory - 1024
        while shape.rows > 1 and 4 * shape.rows * chains * (size + 32) + 8 * size * each > room:
            shape = replace(shape, rows=shape.rows // 2)
    while shape.local_bytes(chains, storage, mode) > min(capabilities.local_memory, _MOST_LOCAL):
        if shape.rows > 1:
            shape = replace(shape, rows=shape.rows // 2)
        else:
            lanes = shape.lanes // 2
            shape = replace(shape, lanes=lanes, row_lanes=1, chunks=-(-chunk_count // lanes))
    return shape


_SWEEP = (
    *("buffer", "buffer", "buffer", "int64", "int64", "int64"),
    *("int32", "int32", "int32", "int32", "int32", "int32", "uint64", "uint32", "uint32"),
)
_TICKETS = ("buffer", "uint32")

_ENTRIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "update_scales": (
        "conditionals",
        (*("buffer",) * 7, "int32", "int32", "float64", "float64", "int32", "uint64", "uint32", "uint32"),
    ),
    "prepare_solution": (
        "conditionals",
        ("buffer", "int32", "int32", "int32", "buffer", "buffer", "int32", "int32"),
    ),
    "add_noise": (
        "conditionals",
        (
            *("buffer", "int32", "int32", "buffer", "int32", "int32", "int32", "int64", "buffer", "int32"),
            *("uint64", "uint32", "uint32"),
        ),
    ),
    "finish_coefficients": ("conditionals", (*("buffer",) * 6, "int32", "int32", "int32", "int32")),
    "narrow_coefficients": ("conditionals", ("buffer", "buffer", "int32", "int32", "int32")),
    "record_draw": ("conditionals", (*("buffer",) * 4, "int32", "int32", "int32", "int32")),
    "build_precision": ("precision", ("buffer", "buffer", "buffer", "int32", "int32", "float64")),
    "add_matrix": ("precision", ("buffer", "buffer", "int64")),
    "take_diagonal": ("precision", ("buffer", "buffer", "int32")),
    "count_failures": ("precision", ("buffer", "int32", "buffer")),
    "propose_points": (
        "slice",
        (*("buffer",) * 6, *("int32",) * 5, "float64", "float64", "uint64", "uint32", "uint32"),
    ),
    "weigh_points": ("slice", (*("buffer",) * 7, "int64", "int64", "int64", *("int32",) * 5)),
    "choose_point": (
        "slice",
        (
            *("buffer", "int32", "int32", *("buffer",) * 5, *("int32",) * 5),
            *("float64", "float64", "uint64", "uint32", "uint32"),
        ),
    ),
    "move_rows": ("slice", ("buffer", "buffer", "buffer", "int64", "int32", "int32", "int32")),
    "move_coefficients": (
        "slice",
        (*("buffer",) * 7, *("int32",) * 5, "float64", "uint64", "uint32", "uint32"),
    ),
    "slice_chains": (
        "slice_serial",
        (
            *("buffer",) * 13,
            *("int64", "int64", *("int32",) * 5, *("float64",) * 4, "uint64", "uint32", "uint32", "uint32"),
            *("int32",) * STRETCHES,
        ),
    ),
    "gather_reference": ("slice", ("buffer", "buffer", "int64", "int32")),
    "make_reference": ("slice", ("buffer", "buffer", "buffer", "int64", "int64", "int64", "float32")),
}

_SINGLE = ("propose_points", "choose_point", "count_failures")


@dataclass(frozen=True)
class _Blocks:
    """Work-items a group of the small kernels, and tries weighed at once."""

    vector: int
    rows: int
    tries: int
    columns: int
    weigh: int


def _blocks(capabilities: Capabilities) -> _Blocks:
    if capabilities.kind == "cpu":
        return _Blocks(1, 1, 2, 64, 1)
    return _Blocks(256, 256, 8, 1, 128)


def _constants(entry: str, blocks: _Blocks) -> tuple[int, dict[str, Any]]:
    template = _ENTRIES[entry][0]
    if template == "slice_serial":
        return 1, {"block": 1, "stretches": STRETCHES, "shards": SHARDS}
    if template == "slice":
        size = blocks.weigh if entry == "weigh_points" else blocks.vector
        return 1 if entry in _SINGLE else size, {"block": size, "tries": blocks.tries}
    return 1 if entry in _SINGLE else blocks.vector, {"block": blocks.vector}


def _expansion(block: int, storage: str) -> dict[str, Any]:
    return {"block": block, "storage": _STORAGE[storage], "columns": STRETCHES}


class Launcher:
    """Compiles and launches the kernels on one device; made and used on its thread.

    ``tickets`` are two zeros of uint32 on the device, by which the groups of a pass share its strips out.
    """

    def __init__(self, device: Device, layout: Layout, storage: str, tickets: Buffer) -> None:
        self.device = device
        self.layout = layout
        self.storage = storage
        self._tickets = tickets
        self._blocks = _blocks(device.capabilities)
        self._kernels: dict[Any, tuple[Kernel, int]] = {}
        self._sweeps: dict[tuple[int, Mode], tuple[Kernel, SweepShape, int]] = {}
        units = device.capabilities.compute_units
        self._most_groups = 8 * units if device.capabilities.kind == "cpu" else 32 * units
        self._spared = units // (_SPARED if layout.columns >= _SMALL_COLUMNS else _SPARED_SMALL)

    @property
    def tries(self) -> int:
        """Points weighed in one pass."""
        return self._blocks.tries

    def groups(self, entry: str, groups: int, *arguments: Buffer | int | float) -> None:
        """Launch a kernel with a number of groups of its own."""
        found = self._kernels.get(entry)
        if found is None:
            size, constants = _constants(entry, self._blocks)
            template, types = _ENTRIES[entry]
            kernel = self.device.kernel(f"gibbs/{template}", entry, types, **constants)
            found = self._kernels[entry] = kernel, size
        self.device.launch(found[0], groups, found[1], *arguments)

    def spread(self, entry: str, items: int, *arguments: Buffer | int | float) -> None:
        """Launch a kernel whose work-items share ``items``."""
        block = _constants(entry, self._blocks)[0]
        self.groups(entry, min(-(-items // block), self._most_groups), *arguments)

    def gather(
        self, value: str, partial: Buffer, count: int, bounds: Buffer, shards: Buffer, first: int, many: int
    ) -> None:
        """Add the strips' sums up, shard by shard."""
        key = ("gather", value)
        found = self._kernels.get(key)
        if found is None:
            block = 64 if self._blocks.columns == 1 else 1
            constants: dict[str, Any] = {"block": block, "columns": self._blocks.columns, "value": value}
            types = ("buffer", "int32", "buffer", "buffer", "int32")
            kernel = self.device.kernel("gibbs/gather", "gather_shards", types, **constants)
            found = self._kernels[key] = kernel, block
        tile = found[1] * self._blocks.columns
        self.device.launch(found[0], many * -(-count // tile), found[1], partial, count, bounds, shards, first)

    def expand(self, groups: int, *arguments: Buffer | int) -> None:
        """Rows of the design as f64."""
        block = self._blocks.rows
        types = ("buffer", "buffer", "buffer", "int64", "int64", *("int32",) * 4)
        constants = _expansion(block, self.storage)
        kernel = self.device.kernel("gibbs/expand", "expand_rows", types, **constants)
        self.device.launch(kernel, min(groups, self._most_groups), block, *arguments)

    def columns(
        self, design: Buffer, out: Buffer, first: int, line_rows: int, rows: int, columns: Sequence[int]
    ) -> None:
        """Up to :data:`STRETCHES` columns of the design as f32, each a line of ``line_rows`` from ``first`` on."""
        block = self._blocks.rows
        types = ("buffer", "buffer", "int64", "int64", "int64", "int32", "int32", *("int32",) * STRETCHES)
        constants = _expansion(block, self.storage)
        kernel = self.device.kernel("gibbs/expand", "take_columns", types, **constants)
        groups = min(-(-rows // block), self._most_groups)
        padded = [*columns, *[0] * (STRETCHES - len(columns))]
        numbers = (first, line_rows, rows, self.layout.stride, len(columns), *padded)
        self.device.launch(kernel, groups, block, design, out, *numbers)

    def sweep(
        self,
        mode: Mode,
        design: Buffer,
        beta: Buffer,
        out: Buffer,
        betas: int,
        *,
        first_row: int,
        out_rows: int,
        strips: int,
        strip_first: int,
        seed: int = 0,
        stream: int = 0,
        step: int = 0,
    ) -> None:
        """A pass over some strips of the design for all vectors, up to four (eight to project) at a time."""
        layout = self.layout
        chunk_count = layout.stride // (4 if self.storage == "float32" else 8)
        first = 0
        while first < betas:
            together = 1 << min((betas - first).bit_length() - 1, 3 if mode == "project" else 2)
            kernel, shape, most = self._sweep(together, mode)
            groups = min(strips, most)
            if shape.serial:
                groups = -(-strips // -(-strips // most)) if strips else 0  # as many strips for each group
            spared = self._spared if mode == "draw" and strips > most else 0
            self.device.launch(
                kernel,
                groups,
                shape.size,
                *(design, beta, out, first_row, layout.rows, out_rows, strips, strip_first, layout.strip_rows),
                *(chunk_count, first, betas, seed, stream, step),
                *(() if shape.serial else (self._tickets, spared)),
            )
            first += together

    def _sweep(self, together: int, mode: Mode) -> tuple[Kernel, SweepShape, int]:
        found = self._sweeps.get((together, mode))
        capabilities = self.device.capabilities
        if found is None:
            layout = self.layout
            shape = sweep_shape(
                *(capabilities, self.device.language, layout.stride, layout.strip_rows, together, self.storage, mode)
            )
            template, constants = shape.constants(together, self.storage, mode)
            most = self._most_groups if shape.serial else (6 if shape.lanes >= 64 else 4) * capabilities.compute_units
            types = _SWEEP if shape.serial else (*_SWEEP, *_TICKETS)
            found = self._sweeps[together, mode] = (
                self.device.kernel(template, "sweep", types, **constants),
                shape,
                most,
            )
        return found


@each_once
def kernel_variants() -> Iterator[Variant]:
    """Every template of this solver with sets of constants that cover what devices ask for."""
    cpu = replace(CPU, lanes=8)

    for capabilities in (cpu, GPU):
        blocks = _blocks(capabilities)
        for entry, (template, _) in _ENTRIES.items():
            if template == "slice_serial" and capabilities is GPU:
                continue
            yield f"gibbs/{template}", _constants(entry, blocks)[1]
        for value in ("f32", "f64"):
            block = 64 if blocks.columns == 1 else 1
            yield "gibbs/gather", {"block": block, "columns": blocks.columns, "value": value}
        for storage in _STORAGE:
            yield "gibbs/expand", _expansion(blocks.rows, storage)
        wanted: list[tuple[int, int, int, str, Mode]] = [
            (1008, 1024, 4, "float32", "draw"),
            (144, 2048, 4, "float32", "draw"),
            (16, 16, 1, "float32", "draw"),
            (1008, 1024, 1, "float16", "draw"),
            (1008, 1024, 4, "bfloat16", "draw"),
            (104, 16, 1, "float32", "score"),
            (104, 16, 1, "float16", "combine"),
            (64, 16, 8, "float32", "project"),
            (64, 16, 8, "float16", "project"),
            (10_008, 128, 4, "float32", "draw"),
        ]
        for stride, strip_rows, chains, storage, mode in wanted:
            shape = sweep_shape(capabilities, "opencl", stride, strip_rows, chains, storage, mode)
            yield shape.constants(chains, storage, mode)
    for kind in (
        "positive_normal",
        "positive_normal_in_parts",
        "gamma",
        "exponential",
        "normal",
        "log_normal_cdf",
        "log_normal_cdf_of_sixteen",
        "normal_hazard",
    ):
        for block in (1,) if kind == "log_normal_cdf_of_sixteen" else (1, 64):
            yield "gibbs/variates_fill", {"block": block, "kind": kind}
