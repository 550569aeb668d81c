"""The programs of passes over a sparse design, and the number of work-items that share a row or a column of it."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from ....devices import Capabilities, Device
from ....devices.kernels.program import Kernel, Program
from ..design.entries import SEGMENT, Entries, Segments
from ..design.layout import SHARDS
from ..design.matrix import Design
from ..families import FAMILIES
from .records import records_of

SparseMode = Literal["draw", "score", "margins", "augment", "product"]

_BLOCK = 128
_MOST_TILES = 64
_LEAST_TILE = 512  # columns
_FINISH_TILE = {True: 256, False: 4096}


def _lanes(mean: float, most: int) -> int:
    """Work-items that share a list of entries: a power of two, about a quarter of their mean number."""
    lanes = 1
    while lanes < most and 4 * lanes < mean:
        lanes *= 2
    return lanes


def column_tiles(columns: int) -> tuple[int, int]:
    """Parts of the columns that groups take one of, and how many columns each has."""
    tiles = max(1, min(_MOST_TILES, -(-columns // _LEAST_TILE)))
    return tiles, -(-columns // tiles)


def shares_rows(capabilities: Capabilities) -> bool:
    """Whether work-items share rows and columns; else each takes whole ones, with vectors."""
    return capabilities.simt


def _types(start: Any, index: Any, values: Any) -> dict[str, Any]:
    return {
        "start": "i32" if start.dtype == np.int32 else "i64",
        "index": "u16" if index.dtype == np.uint16 else "i32",
        "implicit": values is None,
    }


class SparsePrograms:
    """The programs of one device."""

    def __init__(self, device: Device, design: Design, entries: Entries, segments: Segments) -> None:
        layout, whole = design.layout, design.entries
        self._device, self._layout, self._family = device, layout, design.problem.family
        capabilities = device.capabilities
        self._simt = shares_rows(capabilities)
        self._units = capabilities.compute_units
        self.block = _BLOCK if self._simt else 1
        self.finish_tile = _FINISH_TILE[self._simt]  # columns of a group of finish_columns
        self._shuffle = capabilities.shuffle
        self._row_types = _types(entries.row_start, entries.columns, entries.values)
        self._column_types = _types(segments.start, segments.rows_of, segments.values)
        self._row_lanes = self._column_lanes = 1
        if self._simt:  # of all devices' rows, so that any number of devices adds up in the same order
            count, pieces = whole.total, np.minimum(whole.counts, SHARDS) + whole.counts // SEGMENT
            self._row_lanes = max(_lanes(count / layout.rows, 32), _lanes(whole.longest_row / 64, 32))
            self._column_lanes = _lanes(count / max(1, int(pieces.sum())), 32)
        self._weighted = {"weighted": True} if design.problem.weights is not None else {}
        self.expand = device.program("gibbs/sparse_expand", block=self.block, **self._row_types)
        self._kernels: dict[tuple[str, int, str], tuple[Kernel, int]] = {}

    def rows(self, mode: SparseMode, chains: int, vector: str) -> tuple[Kernel, int]:
        """The kernel of the first part of a pass for so many vectors, and the work-items of a group."""
        found = self._kernels.get((mode, chains, vector))
        if found is None:
            block = self.block if not self._simt else max(32, min(_BLOCK, self._layout.strip_rows * self._row_lanes))
            constants = _row_constants(block, self._row_lanes, chains, mode, self._family, vector, self._shuffle)
            if mode in ("score", "margins"):
                constants |= self._weighted
            program = self._device.program("gibbs/sparse_rows", **constants, **self._row_types)
            found = self._kernels[mode, chains, vector] = program.pass_rows, block
        return found

    def columns(self, chains: int, vector: str) -> Program:
        """The kernels of the second part."""
        constants = _column_constants(self.block, self._column_lanes, chains, vector, self._shuffle)
        return self._device.program("gibbs/sparse_columns", **constants, **self._column_types)

    def row_groups(self, strips: int) -> int:
        """Groups of the first part."""
        return max(1, min(strips, (16 if self._simt else 8) * self._units))

    def segment_groups(self, segments: int) -> int:
        """Groups of ``add_segments``."""
        each = self.block // self._column_lanes if self._simt else 1
        return max(1, min(-(-segments // each), (16 if self._simt else 8) * self._units))


def _row_constants(
    block: int, lanes: int, chains: int, mode: str, family: str, vector: str, shuffle: bool
) -> dict[str, Any]:
    common = {"chains": chains, "mode": mode, "family": family, "records": records_of(family), "vector": vector}
    return {"block": block, "lanes": lanes, "shuffle": shuffle and lanes > 1, **common}


def _column_constants(block: int, lanes: int, chains: int, vector: str, shuffle: bool) -> dict[str, Any]:
    return {"block": block, "lanes": lanes, "chains": chains, "vector": vector, "shuffle": shuffle and lanes > 1}


def sparse_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """The templates of this module with sets of constants that cover what a device asks for."""
    simt = capabilities.simt
    block = _BLOCK if simt else 1
    short = {"start": "i32", "index": "u16", "implicit": True}
    long = {"start": "i64", "index": "i32", "implicit": False}
    yield "gibbs/conjugate", {"block": 256 if simt else 1}
    for types in (short, long):
        yield "gibbs/sparse_expand", {"block": block, **types}
    wanted: list[tuple[SparseMode, int, int, dict[str, Any]]] = [
        ("margins", 4, 8, short),
        ("margins", 2, 1, long),
        ("margins", 1, 32, long),
        ("score", 1, 4, short),
        ("draw", 4, 4, long),
        ("augment", 4, 32, long),
        ("augment", 2, 4, short),
        ("product", 4, 16, long),
        ("product", 1, 1, short),
    ]
    for mode, chains, most, types in wanted:
        lanes = most if simt else 1
        vector = "f64" if mode in ("augment", "product") else "f32"
        families = FAMILIES if mode in ("score", "margins") and types is short else ("probit", "logit")
        for family in families:
            constants = _row_constants(block, lanes, chains, mode, family, vector, capabilities.shuffle)
            yield "gibbs/sparse_rows", {**constants, **types}
            if mode == "margins" and types is short:
                yield "gibbs/sparse_rows", {**constants, **types, "weighted": True}
        constants = _column_constants(block, lanes, chains, vector, capabilities.shuffle)
        yield "gibbs/sparse_columns", {**constants, **types}
