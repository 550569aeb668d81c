"""One device's rows of a sparse design: its entries by rows, and once more by columns, and the passes over them.

Neither the centres nor the scales of the columns fill the design in; see ``kernels/gibbs/sparse.mako``.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override

from ....devices import Buffer, Launcher
from ....errors import DeviceError
from ....numerics.exchange import Part
from ....numerics.memory import Memory
from ..design.entries import Entries, column_segments
from ..design.layout import chain_groups
from ..options import Settings
from .rows import Rows, some
from .sparse_programs import SparseMode, SparsePrograms, column_tiles


@dataclass
class Vectors:
    """Buffers of a pass for some vectors of one type."""

    betas: int
    coefficients: Buffer  # (q, betas)
    weighted: Buffer  # (rows, betas)
    offsets: Buffer  # float64, (tiles, betas)
    strip_sums: Buffer  # float64, (strips, 2, betas)
    partial: Buffer  # float64, (segments, betas), or for vectors of float64 twice that
    of_rows: Launcher = field(default_factory=Launcher)
    of_columns: Launcher = field(default_factory=Launcher)


class SparseRows(Rows):
    """The rows of a sparse design: :meth:`sweep` makes margins and weights of the rows, :meth:`gather` adds X'w up."""

    @override
    def _extend(self, settings: Settings) -> None:
        self.signs = self._memory.put(self.design.of_rows(self.design.signs(0, self.layout.rows)))
        self._vectors: dict[tuple[str, int], Vectors] = {}
        self._last: tuple[Vectors, str] | None = None

    @override
    def load(self) -> None:
        layout, design, memory = self.layout, self.design, self._memory
        self.streamed, self.blocks = False, []
        entries = Entries.of(design, self.first_row, self.first_row + self.count)
        self.between()
        shard_strips = np.array(layout.bounds[self.first_shard : self.last_shard + 1]) - self.first_strip
        segments = column_segments(entries, int(design.intercept), shard_strips * layout.strip_rows)
        self.between()
        needed, free = entries.nbytes + segments.nbytes, self.device.memory().free
        if needed > free:
            raise DeviceError(
                f"the entries of X need {needed:,} bytes on {self.device.info.id}, which has {free:,} free; "
                "use more devices"
            )
        self.factor, self.centre = memory.put(entries.factor), memory.put(entries.centre)
        self._row_start, self._columns = memory.put(entries.row_start), memory.put(some(entries.columns))
        self._segment_start, self._segment_row = memory.put(segments.start), memory.put(some(segments.row))
        self._rows_of, self._column_segment = memory.put(some(segments.rows_of)), memory.put(segments.column_segment)
        self._values: dict[str, Buffer] = {}
        self._column_values: dict[str, Buffer] = {}
        if entries.values is not None and segments.values is not None:
            self._values = {"values": memory.put(some(entries.values))}
            self._column_values = {"values": memory.put(some(segments.values))}
        self.segments = len(segments.row)
        self.sparse = SparsePrograms(self.device, design, entries, segments)
        self.tiles, self.tile = column_tiles(layout.columns)

    @staticmethod
    def places(chains: int) -> list[tuple[int, int]]:
        """The first, and the number, of the chains whose coefficients lie side by side, for each chain."""
        return [group for group in chain_groups(chains) for _ in range(group[1])]

    # --- passes ---------------------------------------------------------------------------------------------------

    def partial_sums(self, memory: Memory, betas: int) -> Buffer:
        """As :meth:`Rows.partial_sums`; one number: the sums of a pass are kept beside the entries."""
        return memory.empty(1, np.float32)

    def vectors(self, vector: str, betas: int) -> Vectors:
        """The buffers of passes for so many vectors of a type, f32 or f64."""
        found = self._vectors.get((vector, betas))
        if found is None:
            dtype = np.float32 if vector == "f32" else np.float64
            memory, q = self._memory, self.layout.columns
            found = self._vectors[vector, betas] = Vectors(
                betas,
                memory.empty(q * betas, dtype),
                memory.zeros(max(1, self.count) * betas, dtype),
                memory.empty(self.tiles * betas),
                memory.zeros(max(1, self.strips) * 2 * betas),
                memory.empty(max(1, self.segments) * betas * (1 if vector == "f32" else 2)),
            )
            found.of_rows, found.of_columns = self._launchers(found)
        return found

    def _launchers(self, vectors: Vectors) -> tuple[Launcher, Launcher]:
        """Launchers of the kernels of ``sparse_rows`` and of ``sparse_columns``."""
        layout = self.layout
        common = {
            "coefficients": vectors.coefficients,
            "offsets": vectors.offsets,
            "weighted": vectors.weighted,
            "strip_sums": vectors.strip_sums,
            "strips": self.strips,
            "q": layout.columns,
            "betas": vectors.betas,
        }
        of_rows = Launcher(
            **common,
            **self._values,
            row_start=self._row_start,
            columns=self._columns,
            tiles=self.tiles,
            signs=self.signs,
            first_row=self.first_row,
            row_count=layout.rows,
            strip_rows=layout.strip_rows,
        )
        of_columns = Launcher(
            **common,
            **self._column_values,
            factor=self.factor,
            centre=self.centre,
            partial=vectors.partial,
            segment_start=self._segment_start,
            segment_row=self._segment_row,
            rows_of=self._rows_of,
            rows=self.count,
            segments=self.segments,
            column_segment=self._column_segment,
            strip_bounds=self.bounds,
            first=int(self.design.intercept),
            width=layout.width,
            total=layout.total,
            first_shard=self.first_shard,
        )
        return of_rows, of_columns

    def sweep(self, mode: Any, beta: Buffer, out: Buffer, betas: int, **arguments: Any) -> None:
        """The first part of a pass: see ``kernels/gibbs/sparse_rows.mako``; beta has rows of the layout's stride."""
        self.between()
        vectors = self.vectors("f32", betas)
        self.spread(vectors, "f32", beta, self.layout.stride)
        self.pass_rows(mode, vectors, "f32", **arguments)

    def spread(self, vectors: Vectors, vector: str, beta: Buffer, stride: int) -> None:
        """Coefficients of the stored values, and the offset, of vectors beta."""
        sparse = self.sparse
        for first, count in chain_groups(vectors.betas):
            kernel = sparse.columns(count, vector).spread_coefficients
            own = {"beta": beta, "stride": stride, "tile": self.tile, "beta_first": first}
            vectors.of_columns(kernel, self.tiles, sparse.block, **own)

    def pass_rows(self, mode: SparseMode, vectors: Vectors, vector: str, **arguments: Any) -> None:
        """Margins and weights of the rows, for coefficients that are spread."""
        self._last = vectors, vector
        own = dict(self.programs.likelihood) if mode in ("score", "margins") else {}
        groups = self.sparse.row_groups(self.strips)
        for first, count in chain_groups(vectors.betas):
            kernel, block = self.sparse.rows(mode, count, vector)
            vectors.of_rows(kernel, groups, block, beta_first=first, **own, **arguments)

    def gather(self, partial: Buffer, count: int, shards: Buffer) -> None:
        """The second part of the last pass; see :meth:`Rows.gather`."""
        assert self._last is not None
        vectors, vector = self._last
        self._add_up(vectors, vector, "add_segments", "finish_columns", vectors.weighted, shards)

    def add_squares(self, vectors: Vectors, weights: Buffer, shards: Buffer) -> None:
        """sum_i w_i x_ij^2 of every column, as SHARDS rows, of float64 weights; the last pass has added these up."""
        self._add_up(vectors, "f64", "add_segment_squares", "finish_squares", weights, shards)

    def _add_up(
        self, vectors: Vectors, vector: str, segments: str, finish: str, weighted: Buffer, shards: Buffer
    ) -> None:
        """Sums over the segments, and of these; then of the other devices."""
        sparse, tile = self.sparse, self.sparse.finish_tile
        groups = (self.last_shard - self.first_shard) * -(-self.layout.width // tile)
        for first, chains in chain_groups(vectors.betas):
            program = sparse.columns(chains, vector)
            if self.segments:
                kernel, most = getattr(program, segments), sparse.segment_groups(self.segments)
                vectors.of_columns(kernel, most, sparse.block, weighted=weighted, beta_first=first)
            own = {"shards_out": shards, "tile": tile, "beta_first": first}
            vectors.of_columns(getattr(program, finish), groups, sparse.block, **own)
        if self.peer is not None:
            count = vectors.betas * self.layout.width
            self.peer.exchange(Part(shards, self.first_shard * count, self.last_shard * count))

    # --- X'X ------------------------------------------------------------------------------------------------------

    def _expand(self, first: int, most: int, weight: Buffer | None, wide: Buffer) -> int:
        layout, sparse = self.layout, self.sparse
        strips = min(most, self.strips - first)
        rows, row = strips * layout.strip_rows, first * layout.strip_rows
        sparse.expand.expand_rows(
            self.programs.spread(rows * sparse.block),
            sparse.block,
            row_start=self._row_start,
            columns=self._columns,
            **self._values,
            factor=self.factor,
            centre=self.centre,
            weight=self._no_weight if weight is None else weight,
            wide=wide,
            row=row,
            global_row=self.first_row + row,
            row_count=layout.rows,
            rows=rows,
            q=layout.columns,
            first=int(self.design.intercept),
            weighted=int(weight is not None),
        )
        return strips
