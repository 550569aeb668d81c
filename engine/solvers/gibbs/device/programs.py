"""The programs of the Gibbs sampler: the shapes in which devices run the kernels, the constants of the templates."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ....devices import Buffer, Capabilities, Device, Launcher
from ....devices.kernels.program import Kernel, Program
from ....devices.kernels.variants import unique_variants
from ..design.layout import chain_groups
from ..design.matrix import Design
from ..families import FAMILIES, THRESHOLD_SCALE, WIDE_FAMILIES
from ..priors import Prior, PriorName
from .records import records_of
from .sparse_programs import sparse_variants

Mode = Literal["draw", "score", "margins"]
"""What a pass over the rows computes; see ``kernels/gibbs/sweep.mako``."""

STORAGE = {"float32": "f32", "float16": "f16"}
"""What the templates call the storage of dense rows."""

CONJUGATE_BLOCK = 256
"""Work-items of a group of ``gibbs/dense_conjugate``, and of ``gibbs/sweep_twice``, where they run in lanes."""

LONG = 4096
"""Columns from which a group of a chain is as large as it can be."""

TWICE = 21_000
"""Sums of a pass, columns times vectors, from which GPUs read dense rows twice: registers hold no more."""

CHANGES = 32
"""Moves of lambda after which products of columns are brought up to date."""

MOST_LOCAL = 512
"""Columns beside wide X whose lambda is moved with beta integrated out: more take longer than they are worth."""

_MOST_REGISTERS = 96
_QUEUE_BYTES = 16
_SPARED, _SPARED_SMALL = 8, 24  # a long pass leaves one in so many multiprocessors to the factorisations beside it ...
_SMALL_COLUMNS = 256  # ... and fewer where these are small
_SERIAL_COLUMNS = 32  # that a group of one work-item adds up together


@dataclass(frozen=True)
class SweepShape:
    """How a device's work-items share a tile of rows in the pass over the design; see sweep.mako."""

    serial: bool  # one work-item a group, for CPUs
    lanes: int  # work-items along a row
    row_lanes: int  # rows side by side
    chunks: int  # of 16 bytes, of a work-item
    rows: int  # of a work-item
    reduction: str  # of a row's products: local or shuffle

    @property
    def size(self) -> int:
        """Work-items a group."""
        return self.lanes * self.row_lanes

    def local_bytes(self, chains: int, storage: str) -> int:
        """Local memory that ``gibbs/sweep`` declares for so many vectors at a time."""
        outputs, width = self.row_lanes * self.rows * chains, min(self.lanes, 32)
        if self.reduction == "shuffle":
            floats = outputs * (self.lanes // width)
        elif outputs < self.size:
            parts = self.size // outputs
            floats = self.rows * chains * (self.size + parts) + outputs * parts
        else:
            floats = self.rows * chains * self.size
        floats += max(outputs, self.size)
        floats += self.size * _each(storage) if self.row_lanes > 1 else 0
        return 4 * floats + _QUEUE_BYTES

    def constants(self, chains: int, storage: str, mode: Mode, family: str) -> tuple[str, dict[str, Any]]:
        """Template and constants for so many vectors at a time."""
        common = {"chains": chains, "storage": STORAGE[storage], "mode": mode, "rows": self.rows, **_of_family(family)}
        if self.serial:
            return "gibbs/sweep_serial", {**common, "block": 1}
        return "gibbs/sweep", {
            **common,
            "lanes": self.lanes,
            "row_lanes": self.row_lanes,
            "chunks": self.chunks,
            "reduction": self.reduction,
        }


def _each(storage: str) -> int:
    return 4 if storage == "float32" else 8


def sweep_shape(capabilities: Capabilities, stride: int, strip_rows: int, chains: int, storage: str) -> SweepShape:
    """The shape that suits a device, for rows of ``stride`` values that are read once, and so many vectors."""
    if not capabilities.simt:
        return SweepShape(True, 1, 1, 1, min(8, strip_rows), "local")
    each = _each(storage)
    chunk_count = -(-stride // each)

    def cost(lanes: int) -> tuple[float, int]:
        """Idle lanes, too many registers, and lanes beyond 128, which wait for each other."""
        chunks = -(-chunk_count // lanes)
        idle = lanes * chunks / chunk_count
        crowded = max(0, chunks * each * (1 + chains) - _MOST_REGISTERS) / _MOST_REGISTERS
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
    shuffle = capabilities.shuffle and 4 <= lanes < 64 and size >= 32
    shape = SweepShape(False, lanes, size // lanes, chunks, rows, "shuffle" if shuffle else "local")
    if not shuffle:
        room = capabilities.local_memory - 1024
        while shape.rows > 1 and 4 * shape.rows * chains * (size + 32) + 8 * size * each > room:
            shape = replace(shape, rows=shape.rows // 2)
    return shape


def reads_twice(capabilities: Capabilities, columns: int, vectors: int) -> bool:
    """Whether a pass over dense rows for up to four vectors reads each twice, with ``gibbs/sweep_twice``."""
    return capabilities.simt and columns * min(4, vectors) >= TWICE


def _block(capabilities: Capabilities) -> int:
    return 256 if capabilities.simt else 1


def gather_constants(capabilities: Capabilities, value: str) -> dict[str, Any]:
    """Constants of ``gibbs/gather`` for sums of a type; a work-item adds up ``columns`` of them."""
    block, columns = (64, 1) if capabilities.simt else (1, 64)
    return {"block": block, "columns": columns, "value": value}


def conjugate_constants(block: int, chains: int, mode: str, storage: str, family: str) -> dict[str, Any]:
    """Constants of ``gibbs/dense_conjugate`` and ``gibbs/sweep_twice``."""
    return {"block": block, "chains": chains, "mode": mode, "storage": STORAGE[storage], **_of_family(family)}


def _long_block(capabilities: Capabilities) -> int:
    """Work-items of a group where one has very many columns."""
    return min(1024, capabilities.max_block) if capabilities.simt else 1


def _of_family(family: str) -> dict[str, Any]:
    return {"family": family, "records": records_of(family)}


def _wide_constants(block: int, family: str) -> dict[str, Any]:
    return {"block": block, "linear": FAMILIES[family].scaled, "records": records_of(family)}


def _local_constants(block: int, family: str) -> dict[str, Any]:
    return {"block": block, "most": MOST_LOCAL, "most_changes": CHANGES, "records": records_of(family)}


def _auxiliary_constants(block: int, family: str) -> dict[str, Any]:
    return {"block": block, "threshold_scale": THRESHOLD_SCALE, **_of_family(family)}


class Programs:
    """The programs of one device, and the number of groups and work-items to launch their kernels with."""

    def __init__(
        self, device: Device, design: Design, prior: Prior, queue: Buffer, row_weights: Buffer | None = None
    ) -> None:
        layout, storage, family = design.layout, design.storage, design.problem.family
        self.layout, self.storage, self.family = layout, storage, family
        self._weighted = {"weighted": True} if design.problem.weights is not None else {}
        self.likelihood: dict[str, Any] = {}  # what passes take for a family with a target, and rows with weights
        self._device, self._queue, self._row_weights = device, queue, row_weights
        block = self.block = _block(device.capabilities)
        of_prior, of_rows = {**prior.constants(), "records": records_of(family)}, _of_family(family) | self._weighted
        self._constants: dict[str, dict[str, Any]] = {
            "conditionals": {"block": block, **of_prior},
            "scales": {"block": block, **of_prior},
            "trajectory": {"block": block, **of_rows},
            "precision": {"block": block},
            "wide": _wide_constants(block, family),
            "wide_latent": {"block": block},
            "wide_scales": {"block": block, **_of_family(family)},
            "wide_local": _local_constants(block, family),
            "lines": {"block": block, **of_rows, **of_prior},
            "independence": {"block": block, **of_prior},
            "rescale": {"block": block, **of_rows, **of_prior},
            "auxiliary": {**_auxiliary_constants(block, family), **self._weighted},
            "expand": {"block": block, "storage": STORAGE.get(storage, "f32")},
        }
        self._gathers: dict[str, tuple[Program, dict[str, Any]]] = {}
        self.wide_columns = block if block > 1 else _SERIAL_COLUMNS
        self._sweeps: dict[tuple[int, Mode], tuple[Kernel, SweepShape, int]] = {}
        units = device.capabilities.compute_units
        self._most_groups = 32 * units if device.capabilities.simt else 8 * units
        self._spared = units // (_SPARED if layout.columns >= _SMALL_COLUMNS else _SPARED_SMALL)

    def __getattr__(self, name: str) -> Program:
        """The template of that name, rendered when it is first asked for."""
        constants = self.__dict__.get("_constants", {}).get(name)
        if constants is None:
            raise AttributeError(name)
        program = self._device.program(f"gibbs/{name}", **constants)
        setattr(self, name, program)
        return program

    @property
    def long_block(self) -> int:
        """Work-items of a group that goes over all columns or rows of a chain alone."""
        return _long_block(self._device.capabilities) if self.layout.columns >= LONG else self.block

    def with_long_block(self, name: str) -> Program:
        """A template for groups of :attr:`long_block` work-items."""
        return self.variant(name, block=self.long_block)

    def variant(self, name: str, **own: Any) -> Program:
        """A template with constants of its own in place of the usual ones."""
        return self._device.program(f"gibbs/{name}", **self._constants[name] | own)

    def spread(self, items: int) -> int:
        """Groups of ``block`` work-items that share so many items."""
        return min(-(-items // self.block), self._most_groups)

    def begin_gather(self, value: str) -> None:
        """Compile :meth:`gather` for sums of a type, in the background where the device can."""
        constants = gather_constants(self._device.capabilities, value)
        self._gathers[value] = self._device.program("gibbs/gather", **constants), constants

    def gather(self, partial: Buffer, count: int, bounds: Buffer, shards: Buffer, first: int, many: int) -> None:
        """Add up the ``count`` sums of every strip to those of the shards [first, first + many)."""
        program, constants = self._gathers["f32" if partial.dtype == np.float32 else "f64"]
        program.gather_shards(
            many * -(-count // (constants["block"] * constants["columns"])),
            constants["block"],
            partial=partial,
            count=count,
            bounds=bounds,
            shards=shards,
            first_shard=first,
        )

    def sweep(
        self, mode: Mode, betas: int, *, strips: int, design: Buffer, beta: Buffer, out: Buffer, **arguments: Any
    ) -> None:
        """A pass over some strips of the design for all vectors beta (float32), up to four at a time."""
        layout = self.layout
        chunk_count = layout.stride // _each(self.storage)
        for first, count in chain_groups(betas):
            if self._reads_twice(count):
                here = {"design": design, "beta": beta, "out": out, "beta_first": first, "betas": betas}
                self._sweep_twice(mode, count, strips, **here, **arguments)
                continue
            kernel, shape, most = self._sweep(count, mode)
            groups, extra = min(strips, most), dict(self.likelihood) if mode in ("score", "margins") else {}
            if shape.serial:
                groups = -(-strips // -(-strips // most)) if strips else 0  # as many strips for each group
            else:
                extra |= {"queue": self._queue, "spared": self._spared if mode == "draw" and strips > most else 0}
            kernel(
                groups,
                shape.size,
                design=design,
                beta=beta,
                out=out,
                row_count=layout.rows,
                strips=strips,
                strip_rows=layout.strip_rows,
                chunk_count=chunk_count,
                beta_first=first,
                betas=betas,
                **extra,
                **arguments,
            )

    def _sweep_twice(self, mode: Mode, count: int, strips: int, **arguments: Any) -> None:
        program, layout, block = self._twice(mode, count), self.layout, CONJUGATE_BLOCK
        rows, chunks = strips * layout.strip_rows, layout.stride // _each(self.storage)
        own = dict(self.likelihood) if mode in ("score", "margins") else {}
        launch = Launcher(
            weights=self._row_weights,
            rows=rows,
            row_count=layout.rows,
            strip_rows=layout.strip_rows,
            chunk_count=chunks,
            **own,
            **arguments,
        )
        launch(program.weigh_rows, min(rows // 8, 8 * self._device.capabilities.compute_units), block)
        launch(program.add_rows, strips * -(-chunks // block), block)

    def _reads_twice(self, count: int) -> bool:
        return reads_twice(self._device.capabilities, self.layout.columns, count)

    def _twice(self, mode: Mode, count: int) -> Program:
        weighted = self._weighted if mode in ("score", "margins") else {}
        constants = conjugate_constants(CONJUGATE_BLOCK, count, mode, self.storage, self.family)
        return self._device.program("gibbs/sweep_twice", **constants, **weighted)

    def begin_sweep(self, mode: Mode, betas: int) -> None:
        """Compile the passes over the rows for so many vectors, in the background where the device can."""
        for _, count in chain_groups(betas):
            if self._reads_twice(count):
                self._twice(mode, count)
            else:
                self._sweep_program(count, mode)

    def _sweep_program(self, count: int, mode: Mode) -> tuple[Program, SweepShape]:
        shape = sweep_shape(self._device.capabilities, self.layout.stride, self.layout.strip_rows, count, self.storage)
        template, constants = shape.constants(count, self.storage, mode, self.family)
        if mode in ("score", "margins"):
            constants |= self._weighted
        return self._device.program(template, **constants), shape

    def _sweep(self, count: int, mode: Mode) -> tuple[Kernel, SweepShape, int]:
        found = self._sweeps.get((count, mode))
        if found is None:
            program, shape = self._sweep_program(count, mode)
            each = 6 if shape.lanes >= 64 else 4
            most = self._most_groups if shape.serial else each * self._device.capabilities.compute_units
            found = self._sweeps[count, mode] = program.sweep, shape, most
        return found


_CONJUGATE = (
    ("augment", 4, "float32", "probit"),
    ("augment", 2, "float16", "logit"),
    ("augment", 1, "float16", "probit"),
    ("product", 4, "float32", "probit"),
    ("product", 2, "float16", "logit"),
)
_VARIATES = (
    *("positive_normal", "positive_normal_in_parts", "gamma", "exponential", "normal"),
    *("local_precision", "log_horseshoe_density", "polya_gamma"),
)
_LIKELIHOODS = ("log_likelihood", "slope")
_VECTORS = ("log_likelihood_of_eight", "score_of_eight", "slope_of_eight")


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with sets of constants that cover what a device asks for."""
    block = _block(capabilities)
    yield "gibbs/precision", {"block": block}
    yield "gibbs/wide_latent", {"block": block}
    for wide_family in WIDE_FAMILIES:
        for collapsed in (False, True):
            yield "gibbs/wide", _wide_constants(block, wide_family) | {"linear": collapsed or wide_family != "probit"}
        yield "gibbs/wide_scales", {"block": block, **_of_family(wide_family)}
    for size in (block, _long_block(capabilities)):
        yield "gibbs/wide_local", _local_constants(size, "normal")
    horseshoe = Prior().constants()
    priors = [Prior(name, 3.0).constants() for name in get_args(PriorName) if name != "horseshoe"]
    for constants in (horseshoe, *priors):
        for size in (block, _long_block(capabilities)):
            yield "gibbs/conditionals", {"block": size, "records": records_of("probit"), **constants}
            yield "gibbs/scales", {"block": size, "records": records_of("probit"), **constants}
            yield "gibbs/independence", {"block": size, "records": records_of("probit"), **constants}
    of_families = [*((family, horseshoe) for family in FAMILIES), *(("probit", other) for other in priors)]
    for weighted in ({}, {"weighted": True}):
        for family, constants in of_families[: len(FAMILIES)] if weighted else of_families:
            of_rows = {"block": block, **_of_family(family), **weighted}
            yield "gibbs/trajectory", of_rows
            yield "gibbs/lines", {**of_rows, **constants}
            yield "gibbs/rescale", {**of_rows, **constants}
            if FAMILIES[family].targeted:
                yield "gibbs/auxiliary", {**_auxiliary_constants(block, family), **weighted}
    for family, constants in of_families:
        yield "gibbs/rescale", {"block": _long_block(capabilities), **_of_family(family), **constants}
    yield "gibbs/gather", gather_constants(capabilities, "f32")
    for storage in STORAGE:
        yield "gibbs/expand", {"block": block, "storage": STORAGE[storage]}
    wanted: list[tuple[int, int, int, str, Mode]] = [
        (1008, 1024, 4, "float32", "draw"),
        (144, 2048, 4, "float32", "draw"),
        (16, 16, 1, "float32", "draw"),
        (1008, 1024, 1, "float16", "draw"),
        (1008, 1024, 4, "float16", "draw"),
        (104, 16, 1, "float32", "score"),
        (104, 16, 1, "float16", "score"),
        (64, 16, 4, "float32", "margins"),
        (64, 16, 4, "float16", "margins"),
        (128, 32, 2, "float16", "margins"),
    ]
    for stride, strip_rows, chains, storage, mode in wanted:
        shape = sweep_shape(capabilities, stride, strip_rows, chains, storage)
        binary = ("probit", "logit") if mode in ("score", "margins") else ("probit",)
        for family in FAMILIES if len(binary) > 1 and storage == "float32" else binary:
            template, constants = shape.constants(chains, storage, mode, family)
            yield template, constants
            if len(binary) > 1 and storage == "float32":
                yield template, {**constants, "weighted": True}
            if capabilities.simt and chains != 2:
                yield "gibbs/sweep_twice", conjugate_constants(CONJUGATE_BLOCK, chains, mode, storage, family)
    yield from sparse_variants(capabilities)
    yield "gibbs/gather", gather_constants(capabilities, "f64")
    conjugate_block = CONJUGATE_BLOCK if capabilities.simt else 1
    for mode_, chains, storage, family in _CONJUGATE:
        yield "gibbs/dense_conjugate", conjugate_constants(conjugate_block, chains, mode_, storage, family)
    fill = 64 if capabilities.simt else 1
    for constants in (horseshoe, *priors):
        yield "gibbs/priors_fill", {"block": fill, **constants}
    for kind in _VARIATES:
        yield "gibbs/variates_fill", {"block": fill, "kind": kind, "family": "probit"}
    for kind in _LIKELIHOODS if capabilities.simt else (*_LIKELIHOODS, *_VECTORS):
        for family in ("probit", "logit"):
            yield "gibbs/variates_fill", {"block": fill, "kind": kind, "family": family}
