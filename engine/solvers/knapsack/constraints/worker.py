"""The kernel of the branch and bound on one device, and what of its state the host reads and writes."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Capabilities, Device, DeviceInfo
from ....devices.kernels.variants import unique_variants
from .core import Core

MOST_ROWS = 32  # of the kernel, among them one for the number of items

FRESH, DONE = 0, 2  # phases of a search

COUNTS = ("depth", "decided", "age", "phase", "nodes", "pivots", "number")
"""Numbers of a search, in the order in which its state has them."""

_UNBOUNDED = 1e300


def _constants(capabilities: Capabilities) -> dict[str, Any]:
    lanes, block = (1, min(32, capabilities.max_block)) if capabilities.simt else (4, 1)
    return {"lanes": lanes, "block": block, "rows": MOST_ROWS, "counts": COUNTS}


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every set of constants that a device may ask for."""
    if capabilities.fp64:
        yield "knapsack/branch", _constants(capabilities)


class Searches:
    """The integers of all searches, shape (searches, fields): decisions, levels of the tree, and counts."""

    def __init__(self, n: int, rows: int, columns: int, count: int) -> None:
        self.n, self.rows, self.columns, self.count = n, rows, columns, count
        self._levels = 3 * columns
        self._counts = 3 * columns + 5 * n + rows
        self.fields = self._counts + len(COUNTS)
        self.values = np.zeros((count, self.fields), np.int32)
        self.number("phase")[:] = DONE
        self._roots: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}  # what each search began with

    def level(self, name: str) -> NDArray[np.int32]:
        """A property of the levels of every search, shape (searches, n): "variable", "value" or "open"."""
        first = self._levels + (1 + ("variable", "value", "open").index(name)) * self.n
        return self.values[:, first : first + self.n]

    def number(self, name: str) -> NDArray[np.int32]:
        """A count of every search, shape (searches,)."""
        return self.values[:, self._counts + COUNTS.index(name)]

    def begin(self, search: int, number: int, items: NDArray[np.int32], decisions: NDArray[np.int32]) -> None:
        """A new search for ``number`` items (-1: any) below decisions: 1 leaves an item, 2 takes it."""
        self.values[search] = 0
        self._roots[search] = (items, decisions)
        self.values[search, items] = decisions
        self.number("number")[search] = number

    def split(self, donor: int, level: int, search: int) -> None:
        """Give the open child of a level to another search."""
        items = self.level("variable")[donor, : level + 1].copy()
        decisions = self.level("value")[donor, : level + 1].copy()
        decisions[level] = 3 - decisions[level]
        self.level("open")[donor, level] = 0
        root = (np.concatenate(pair) for pair in zip(self._roots[donor], (items, decisions), strict=True))
        self.begin(search, int(self.number("number")[donor]), *root)


class BranchWorker:
    """A number of searches on one device."""

    def __init__(self, device: Device, core: Core) -> None:
        self.device = device
        constants = _constants(device.capabilities)
        self._block, self._lanes = int(constants["block"]), int(constants["lanes"])
        self._kernel = device.program("knapsack/branch", **constants).search_trees
        m, n = core.weights.shape
        self.n, self.rows = n, m + 1
        self.columns = -(-(n + m + 1) // self._lanes) * self._lanes
        self._reals_each = 4 * self.columns + n + self.rows * (2 + self.rows) + 2
        self.count = self._room(device.info)
        self.searches = Searches(n, self.rows, self.columns, self.count)
        unit, row_units = core.divisors
        profits = np.zeros(self.columns)
        profits[:n] = core.profits // unit
        weights = np.zeros((self.rows, self.columns))
        weights[:m, :n] = core.weights // row_units[:, None]
        weights[m, :n] = 1
        weights[:, n : n + self.rows] = np.eye(self.rows)
        ranges = np.ones(self.columns)
        ranges[n : n + self.rows] = _UNBOUNDED
        capacities = np.append(core.capacities // row_units, 0).astype(np.float64)
        arrays = {"profits": profits, "weights": weights, "ranges": ranges, "capacities": capacities}
        self._data = {name: device.put(np.ascontiguousarray(array)) for name, array in arrays.items()}
        self._reals = device.put(np.zeros(self.count * self._reals_each))
        self._integers = device.put(self._flat(self.searches.values))
        self._values = device.put(np.full(self.count, -1.0))
        self._solutions = device.put(np.zeros(self.count * n, np.uint8))

    def _room(self, info: DeviceInfo) -> int:
        """How many searches: enough to look in many places; on a GPU as many as hide its latency."""
        units = info.capabilities.compute_units
        if not info.capabilities.simt:
            return 16 * units
        each = 8 * self._reals_each + 4 * (3 * self.columns + 6 * self.n)
        return int(max(32, min(64 * units, info.memory // 8 // each) // 32 * 32))

    def _flat(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values if self._lanes > 1 else values.T).reshape(-1)

    def _square(self, values: NDArray[Any]) -> NDArray[Any]:
        if self._lanes > 1:
            return values.reshape(self.count, -1)
        return np.ascontiguousarray(values.reshape(-1, self.count).T)

    def close(self) -> None:
        """Give the memory back."""
        for buffer in (*self._data.values(), self._reals, self._integers, self._values, self._solutions):
            self.device.release(buffer)

    def advance(self, incumbent: float, most_pivots: int) -> tuple[NDArray[np.float64], float]:
        """Continue the searches; the best value of each, in units of the profits' divisor (-1: none), and seconds."""
        device, searches = self.device, self.searches
        device.put(self._flat(searches.values), self._integers)
        began = time.perf_counter()
        self._kernel(
            -(-self.count // self._block),
            self._block,
            n=self.n,
            rows=self.rows,
            columns=self.columns,
            searches=self.count,
            **self._data,
            reals=self._reals,
            integers=self._integers,
            reals_each=self._reals_each,
            integers_each=searches.fields,
            incumbent=incumbent,
            most_pivots=most_pivots,
            values=self._values,
            solutions=self._solutions,
        )
        device.sync()
        seconds = time.perf_counter() - began
        searches.values = self._square(device.get(self._integers))
        return device.get(self._values), seconds

    def solution(self, search: int) -> NDArray[np.bool_]:
        """The best solution of a search, shape (n,)."""
        return np.asarray(self.device.get(self._solutions, search * self.n, self.n) == 1)

    def multipliers(self) -> NDArray[np.float64]:
        """The multipliers of the rows in the present relaxation of the last search, shape (rows,)."""
        reals = self._square(self.device.get(self._reals))
        first = 4 * self.columns + self.n + self.rows
        return np.array(reals[-1, first : first + self.rows])

    def open_bounds(self) -> NDArray[np.float64]:
        """Upper bounds on what each search may still find, shape (searches,), in units of the profits' divisor."""
        reals = self._square(self.device.get(self._reals))
        levels = reals[:, 4 * self.columns : 4 * self.columns + self.n]
        depths = self.searches.number("depth")[:, None]
        is_open = (self.searches.level("open") > 0) & (np.arange(self.n) < depths)
        return np.asarray(np.maximum(np.where(is_open, levels, -np.inf).max(axis=1), reals[:, -1]))
