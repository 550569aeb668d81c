"""What a multifrontal factorization takes on a device: where fronts are kept, and which groups of a launch do what."""

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .symbolic import Fronts, heights

Index = NDArray[np.int64]

BLOCK = 64  # pivots, rows and columns of a tile of the kernels
SPAN = 256  # pivots of a wide front that a launch of the solution takes
LARGE_FRONT = 3e8  # multiplications from which on a front is factorised alone, by products over the whole device
_PRODUCT_SCRATCH = 1 << 30  # bytes that products for large fronts may take
_LONG_ROWS = 256  # rows of a front from which on a larger group assembles one
_GATHERED = 256  # rows that a group of the solution gathers


@dataclass(frozen=True)
class Tasks:
    """Consecutive tasks of one launch: their place in :attr:`Plan.tasks`, how many, and the block of pivots."""

    first: int
    count: int
    step: int = 0


@dataclass
class Level:
    """The launches for fronts whose children are finished."""

    assemble: Tasks
    assemble_long: Tasks
    update_rest: Tasks
    forward: Tasks
    gather: Tasks
    backward: Tasks
    multiplications: float  # of all fronts but the large ones
    # of each block of pivots: `update_block` (none for the first), `factor_block`, `solve_rows`
    steps: list[tuple[Tasks, Tasks, Tasks]] = field(default_factory=list)
    large: list[int] = field(default_factory=list)  # fronts that are factorised alone, after the others
    # of each of them `factor_block` and `solve_rows` for each block of pivots
    large_steps: list[tuple[list[Tasks], list[Tasks]]] = field(default_factory=list)
    forward_spans: list[Tasks] = field(default_factory=list)
    backward_spans: list[Tasks] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """Places in the device's buffers, and tasks."""

    panel_at: Index  # (count,): where the columns, the update and the rows of each front begin
    update_at: Index
    rows_at: Index
    panel_size: int  # elements in all
    update_size: int
    rows_size: int
    has_children: NDArray[np.int32]  # (count,)
    # rows of children's updates by the row of the parent that they are added to, children in ascending order
    contribution_starts: NDArray[np.int32]
    contribution_front: NDArray[np.int32]
    contribution_row: NDArray[np.int32]
    tasks: NDArray[np.int32]  # (tasks, 2): A front, and a tile of it
    levels: list[Level]  # children first

    @property
    def launches(self) -> int:
        """Launches of a factorization, roughly."""
        large = sum(len(own) for level in self.levels for own, _ in level.large_steps)
        return 2 + 2 * len(self.levels) + 3 * sum(len(level.steps) for level in self.levels) + 4 * large

    @property
    def solution_launches(self) -> int:
        """Launches of a solution."""
        once = sum(bool(own.count) for level in self.levels for own in (level.forward, level.gather, level.backward))
        return once + sum(len(level.forward_spans) + len(level.backward_spans) for level in self.levels)

    @property
    def nbytes(self) -> int:
        """Bytes on the device, without the matrix A."""
        indices = self.tasks.nbytes + self.contribution_starts.nbytes + 2 * self.contribution_front.nbytes
        scratch = _PRODUCT_SCRATCH if any(level.large for level in self.levels) else 0
        fronts = 8 * (self.panel_size + self.update_size + self.rows_size)
        return fronts + scratch + indices + 48 * self.panel_at.size

    @property
    def largest(self) -> int:
        """Bytes of the largest buffer."""
        return 8 * max(self.panel_size, self.update_size, self.rows_size)


def make_plan(fronts: Fronts) -> Plan:
    """Plan the factorization of these fronts."""
    sizes, widths = fronts.sizes, fronts.widths
    level = heights(fronts.parent)
    panel, rows = sizes * widths, sizes
    update_at, update_size = _place_updates(fronts, level)
    rows_at = np.cumsum(rows) - rows
    has_children = np.zeros(fronts.count, np.int32)
    has_children[fronts.parent[fronts.parent >= 0]] = 1
    child = np.repeat(np.arange(fronts.count), np.diff(fronts.starts))
    child_row = np.arange(fronts.below.size) - fronts.starts[child]
    target = rows_at[fronts.parent[child]] + fronts.relative
    by_target = np.argsort(target, kind="stable")
    starts = np.searchsorted(target[by_target], np.arange(int(rows.sum()) + 1))
    builder = _Builder()
    by_level = np.argsort(level, kind="stable")
    cuts = np.searchsorted(level[by_level], np.arange(int(level.max(initial=-1)) + 2))
    levels = [_level(builder, fronts, has_children, by_level[a:b]) for a, b in itertools.pairwise(cuts)]
    return Plan(
        panel_at=np.cumsum(panel) - panel,
        update_at=update_at,
        rows_at=rows_at,
        panel_size=int(panel.sum()),
        update_size=update_size,
        rows_size=int(rows.sum()),
        has_children=has_children,
        contribution_starts=starts.astype(np.int32),
        contribution_front=child[by_target].astype(np.int32),
        contribution_row=child_row[by_target].astype(np.int32),
        tasks=builder.tasks(),
        levels=levels,
    )


class _Builder:
    """Tasks of all launches, one after another."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int32]] = []
        self._count = 0

    def add(self, fronts: Index, tiles: Index, step: int = 0) -> Tasks:
        """A launch with the tiles 0, 1, ... of each front."""
        front = np.repeat(fronts, tiles)
        tile = np.arange(front.size) - np.repeat(np.cumsum(tiles) - tiles, tiles)
        return self.add_pairs(front, tile, step)

    def add_pairs(self, front: Index, tile: Index, step: int = 0) -> Tasks:
        """A launch with these tasks."""
        first = self._count
        self._parts.append(np.stack([front, tile], axis=1).astype(np.int32).reshape(-1, 2))
        self._count += front.size
        return Tasks(first, int(front.size), step)

    def tasks(self) -> NDArray[np.int32]:
        """All tasks."""
        return np.concatenate(self._parts) if self._parts else np.zeros((0, 2), np.int32)


def _tiles(rows: Index) -> Index:
    return -(-rows // BLOCK)


def _below(fronts: Fronts, chosen: Index, step: int) -> Index:
    """Rows below a block of pivots of these fronts."""
    return fronts.sizes[chosen] - np.minimum(fronts.widths[chosen], BLOCK * (step + 1))


def _level(builder: _Builder, fronts: Fronts, has_children: NDArray[np.int32], chosen: Index) -> Level:
    sizes, widths = fronts.sizes, fronts.widths
    parents = chosen[has_children[chosen] > 0]
    is_long = sizes[parents] > _LONG_ROWS
    is_large = widths[chosen].astype(np.float64) * sizes[chosen] ** 2 > LARGE_FRONT
    small = chosen[~is_large]
    narrow = chosen[widths[chosen] <= BLOCK]
    wide = chosen[widths[chosen] > BLOCK]
    found = Level(
        assemble=builder.add(parents[~is_long], sizes[parents[~is_long]]),
        assemble_long=builder.add(parents[is_long], sizes[parents[is_long]]),
        update_rest=_update_tasks(builder, small, _tiles(sizes[small] - widths[small])),
        forward=builder.add(narrow, np.maximum(1, _tiles(sizes[narrow] - widths[narrow]))),
        gather=builder.add(wide, -(-sizes[wide] // _GATHERED)),
        backward=builder.add(chosen, _tiles(widths[chosen])),
        multiplications=float((widths[small].astype(np.float64) * sizes[small] ** 2).sum()),
        large=chosen[is_large].tolist(),
    )
    for front in found.large:
        one = np.array([front])
        blocks = range(-(-int(widths[front]) // BLOCK))
        found.large_steps.append(
            (
                [builder.add(one, np.ones(1, np.int64), step) for step in blocks],
                [builder.add(one, _tiles(_below(fronts, one, step)), step) for step in blocks],
            )
        )
    for step in range(int(_tiles(widths[chosen]).max(initial=0))):
        rest = sizes - BLOCK * step
        some = small[widths[small] > BLOCK * step]
        if some.size:
            wide_here = some if step else some[:0]
            found.steps.append(
                (
                    builder.add(wide_here, _tiles(rest[wide_here]), step),
                    builder.add(some, np.ones_like(some), step),
                    builder.add(some, _tiles(_below(fronts, some, step)), step),
                )
            )
    for step in range(-(-int(widths[wide].max(initial=0)) // SPAN)):
        some = wide[widths[wide] > SPAN * step]
        below = _tiles(sizes[some] - np.minimum(widths[some], SPAN * (step + 1)))
        found.forward_spans.append(builder.add(some, np.maximum(1, below), step))
        found.backward_spans.append(builder.add(some, np.full_like(some, max(1, step * (SPAN // BLOCK))), step))
    return found


def _update_tasks(builder: _Builder, chosen: Index, tiles: Index) -> Tasks:
    """All lower tiles of the updates."""
    if not chosen.size:
        return builder.add_pairs(chosen, chosen)
    triangles = [np.tril_indices(count) for count in range(int(tiles.max()) + 1)]
    codes = [row * 65536 + column for row, column in triangles]
    front = np.repeat(chosen, tiles * (tiles + 1) // 2)
    return builder.add_pairs(front, np.concatenate([codes[count] for count in tiles.tolist()]))


def _place_updates(fronts: Fronts, level: Index) -> tuple[Index, int]:
    """Where each update is kept from its level to that of its parent; memory is used again after that."""
    places = np.zeros(fronts.count, np.int64)
    rest = (fronts.sizes - fronts.widths) ** 2
    above = fronts.parent
    until = np.where(above >= 0, level[above], level)
    lasting = np.flatnonzero(rest > 0)
    blocks = np.unique(np.stack([level[lasting], until[lasting]], axis=1), axis=0) if lasting.size else np.zeros((0, 2))
    key = level * (int(level.max(initial=0)) + 1) + until
    free = _FreeList()
    ends: list[tuple[int, int, int]] = []  # last level, place and size of what is in use
    for begin, end in blocks.astype(np.int64).tolist():
        for item in [item for item in ends if item[0] < begin]:
            ends.remove(item)
            free.give_back(item[1], item[2])
        members = lasting[key[lasting] == begin * (int(level.max(initial=0)) + 1) + end]
        size = int(rest[members].sum())
        place = free.take(size)
        ends.append((end, place, size))
        places[members] = place + np.cumsum(rest[members]) - rest[members]
    return places, free.size


class _FreeList:
    """First-fit places in a buffer that grows as needed."""

    def __init__(self) -> None:
        self.size = 0
        self._gaps: list[tuple[int, int]] = []  # begin and end, ascending

    def take(self, size: int) -> int:
        """A place of this size."""
        for index, (begin, end) in enumerate(self._gaps):
            if end - begin >= size or end == self.size:
                self.size = max(self.size, begin + size)
                self._gaps[index : index + 1] = [(begin + size, end)] if end - begin > size else []
                return begin
        begin, self.size = self.size, self.size + size
        return begin

    def give_back(self, begin: int, size: int) -> None:
        """Leave a place to others."""
        merged: list[tuple[int, int]] = []
        for gap in sorted([*self._gaps, (begin, begin + size)]):
            if merged and merged[-1][1] == gap[0]:
                merged[-1] = merged[-1][0], gap[1]
            else:
                merged.append(gap)
        self._gaps = merged
