"""A user-defined permutation problem: quadratic assignment, searched by branch and bound on every device.

    python samples/branch_and_bound/assignment.py

Facility i goes to location p[i]; the cost is the sum over all i, j of flow[i, j] * distance[p[i], p[j]]. The tree
assigns facilities 0, 1, ... in turn, so an item is a location. A node's bound is, after Gilmore and Lawler, what the
placed facilities cost among themselves, and for every other facility the least it can cost with the placed ones
wherever it goes, plus the smallest scalar product of its flows to other open facilities with the distances from any
location. To stay short, every open facility
takes its cheapest location, where Gilmore and Lawler solve an assignment problem.

The tree is written twice: as the class ``AssignmentTree`` in Python, and as the functions in ``KERNEL`` for CUDA and
OpenCL. ``engine.references.branch_and_bound.search`` searches with the first; both must visit the same nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import engine
from engine.devices import Capabilities
from engine.formats import qaplib
from engine.solvers.branch_and_bound.tree import DeviceTree, PermutationProblem, Tree

# A Mako template, rendered with `items`, `leaf_depth` and the constants of device(). Types: i32, mask_t (a set of
# items); ITEMS, ONE, LOWEST(set) and INDEX_OF_LOWEST(set) are there too. `table` is the int32 array that device()
# returns. `place` makes a child's state of its parent's; `bound` returns the items whose children have a bound
# below `upper`.
KERNEL = """
#define FLOW(i, j) table[(i) * ${items} + (j)]
#define DISTANCE(k, l) table[${items**2} + (k) * ${items} + (l)]
#define AMONG_OPEN(depth, i) table[${2 * items**2} + (depth) * ${items} + (i)]

typedef struct {
    i32 cost;
    u8 location[ITEMS];
} state_t;

FUNCTION void init(state_t* state, table_t table)
{
    state->cost = 0;
    for (i32 i = 0; i < ITEMS; ++i)
        state->location[i] = 0;
}

// What facility i at location k costs with those placed.
FUNCTION i32 with_placed(const state_t* state, i32 depth, i32 i, i32 k, table_t table)
{
    i32 cost = FLOW(i, i) * DISTANCE(k, k);
    for (i32 j = 0; j < depth; ++j) {
        const i32 l = state->location[j];
        cost += FLOW(i, j) * DISTANCE(k, l) + FLOW(j, i) * DISTANCE(l, k);
    }
    return cost;
}

FUNCTION void place(state_t* state, i32 depth, i32 item, i32 before, i32 side, table_t table)
{
    state->cost += with_placed(state, depth, depth, item, table);
    state->location[depth] = (u8)item;
}

FUNCTION mask_t bound(const state_t* state, i32 depth, mask_t open, i32 upper, i32 initial, i32* side, table_t table)
{
    mask_t kept = 0;
    for (mask_t left = open; left; left &= left - ONE) {
        state_t child = *state;
        place(&child, depth, INDEX_OF_LOWEST(left), -1, 0, table);
        const mask_t rest = open ^ LOWEST(left);
        i32 total = child.cost;
        for (i32 i = depth + 1; i < ITEMS; ++i) {
            i32 least = 2147483647;
            for (mask_t free = rest; free; free &= free - ONE) {
                const i32 cost = with_placed(&child, depth + 1, i, INDEX_OF_LOWEST(free), table);
                least = MIN(least, cost);
            }
            total += least + AMONG_OPEN(depth + 1, i);
        }
        if (total < upper)
            kept |= LOWEST(left);
    }
    return kept;
}

FUNCTION i32 leaf(const state_t* state, mask_t open, table_t table)
{
    return state->cost + with_placed(state, LEAF_DEPTH, LEAF_DEPTH, INDEX_OF_LOWEST(open), table);
}
"""


class Assignment(PermutationProblem):
    """Quadratic assignment. A solution lists the location of every facility."""

    kind = "assignment"

    def __init__(self, flow: NDArray[np.int64], distance: NDArray[np.int64], name: str = "assignment") -> None:
        self.flow = np.asarray(flow, np.int64)
        self.distance = np.asarray(distance, np.int64)
        self.name = name

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A QAPLIB file."""
        return cls(*qaplib.read(path), name=Path(path).stem)

    def describe(self) -> str:
        """One line."""
        return f"quadratic assignment {self.name}: {len(self.flow)} facilities"

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Both matrices."""
        return {"flow": self.flow, "distance": self.distance}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        return cls(arrays["flow"], arrays["distance"], name)

    def tree(self, bound: str = "auto", branching: str = "auto") -> AssignmentTree:
        """The only tree there is."""
        return AssignmentTree(self.flow, self.distance)


class AssignmentTree(Tree):
    """State: the locations of the facilities placed so far, and what these cost."""

    def __init__(self, flow: NDArray[np.int64], distance: NDArray[np.int64]) -> None:
        self.flow, self.distance = flow, distance
        self.items = len(flow)
        self.leaf_depth = self.items - 1
        self.among_open = np.array([[self._scalar(depth, i) for i in range(self.items)] for depth in range(self.items)])

    def _scalar(self, depth: int, i: int) -> int:
        """The least facility i can cost with the facilities from ``depth`` on, counting only its own outward flow."""
        flows = np.sort([self.flow[i, j] for j in range(depth, self.items) if j != i])[::-1]
        away = [np.sort(np.delete(self.distance[k], k))[: len(flows)] for k in range(self.items)]
        return int(min(row @ flows for row in away)) if i >= depth else 0

    def device(self, capabilities: Capabilities) -> DeviceTree:
        """The instance, and the table of scalar products, as one array."""
        parts = (self.flow.ravel(), self.distance.ravel(), self.among_open.ravel())
        table = np.concatenate(parts).astype(np.int32)
        return DeviceTree("", KERNEL, {}, table, local_table=False)

    def root(self) -> tuple[int, tuple[int, ...]]:
        """Nothing placed."""
        return 0, ()

    def _with_placed(self, placed: tuple[int, ...], i: int, k: int) -> int:
        cost = int(self.flow[i, i] * self.distance[k, k])
        for j, location in enumerate(placed):
            cost += int(self.flow[i, j] * self.distance[k, location] + self.flow[j, i] * self.distance[location, k])
        return cost

    def place(self, state: Any, depth: int, item: int, side: int) -> tuple[int, tuple[int, ...]]:
        """The next facility at location ``item``."""
        cost, placed = state
        return cost + self._with_placed(placed, depth, item), (*placed, item)

    def bound(
        self, state: Any, depth: int, open_items: Sequence[int], upper: int, initial: int
    ) -> tuple[int, list[int]]:
        """The bound of the module's first lines."""
        kept = []
        for item in open_items:
            total, placed = self.place(state, depth, item, 0)
            rest = [location for location in open_items if location != item]
            for i in range(depth + 1, self.items):
                total += min(self._with_placed(placed, i, k) for k in rest) + int(self.among_open[depth + 1, i])
            if total < upper:
                kept.append(item)
        return 0, kept

    def leaf(self, state: Any, open_items: Sequence[int]) -> int:
        """The last facility takes the last location."""
        cost, placed = state
        return int(cost) + self._with_placed(placed, self.leaf_depth, open_items[0])

    def lower_bound(self) -> int:
        """That of the root."""
        return self.bound_of(())

    def bound_of(self, path: Sequence[int]) -> int:
        """Optional: the same bound for any node; a run derives its proven bound from it."""
        depth = len(path)
        free = np.setdiff1d(np.arange(self.items), path)
        among = (self.flow[:depth, :depth] * self.distance[np.ix_(path, path)]).sum()
        own = np.outer(np.diag(self.flow)[depth:], np.diag(self.distance)[free])
        outward = self.flow[depth:, :depth] @ self.distance[np.ix_(free, path)].T
        inward = self.flow[:depth, depth:].T @ self.distance[np.ix_(path, free)]
        return int(
            among + (own + outward + inward).min(axis=1, initial=2**40).sum() + self.among_open[depth, depth:].sum()
        )

    def evaluate(self, solution: NDArray[np.int64]) -> int:
        """The cost, from the definition."""
        return int((self.flow * self.distance[np.ix_(solution, solution)]).sum())


def grid(rows: int, columns: int, seed: int) -> Assignment:
    """Random flows between facilities on a grid with Manhattan distances."""
    y, x = np.divmod(np.arange(rows * columns), columns)
    distance = abs(x[:, None] - x) + abs(y[:, None] - y)
    flow = np.triu(np.random.default_rng(seed).integers(0, 6, distance.shape), 1)
    return Assignment(flow + flow.T, distance, f"grid-{rows}x{columns}-seed{seed}")


if __name__ == "__main__":
    result = engine.solve(grid(2, 5, seed=1))
    print(result.status, result.objective, result.solution.tolist(), f"{result.counters['nodes']} nodes")
