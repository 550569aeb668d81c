"""Tree sizes by stochastic enumeration: some nodes of every level are decomposed, and stand for all of their level.

The children of the nodes drawn on one level, each with its node's weight, are the candidates of the next. They are
divided into strata by their lower bounds, for nodes with low bounds are rare and have large subtrees; as many are drawn
from each stratum, in proportion to their weights, and share its weight evenly. The sum of all weights is an unbiased
estimate of the number of nodes.

References
----------
D. E. Knuth, "Estimating the efficiency of backtrack programs", Mathematics of Computation 29 (1975) 122-136.
P. C. Chen, "Heuristic sampling: a method for predicting the performance of tree searching programs", SIAM Journal on
Computing 21 (1992) 295-315.
R. Rubinstein, "Stochastic enumeration method for counting NP-hard problems", Methodology and Computing in Applied
Probability 15 (2013) 249-291.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.devices import Capabilities, Device
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.search.ivms import Ivms
from engine.solvers.branch_and_bound.search.programs import Programs, shapes_for
from engine.solvers.branch_and_bound.tree import Tree

__all__ = ["TreeSampler"]

_SMALL_TREE = 25


@dataclass(frozen=True)
class _Plan:
    """Independent estimates, nodes drawn on a level for all of them together, and strata of lower bounds."""

    replicates: int
    nodes: int
    strata: int


_PLANS = (_Plan(8, 2048, 32), _Plan(4, 8192, 64))
"""For trees of up to 25 items, and for larger ones, whose estimates need more."""


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one level: the items of their paths, shape (nodes, level), their sides as masks, and their weights."""

    paths: NDArray[np.int64]
    sides: NDArray[np.uint64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sides)

    def drawn(self, count: int, strata: NDArray[np.int64] | None, random: np.random.Generator) -> _Nodes:
        """About ``count`` nodes that stand for all: as many of each stratum, by systematic sampling within it."""
        if len(self) <= count:
            return self
        if strata is None:
            strata = np.zeros(len(self), np.int64)
        order = np.argsort(strata, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(strata[order])) + 1)
        chosen, weights = [], []
        left = count
        for index, part in enumerate(sorted(parts, key=len)):  # what small strata leave is for the larger ones
            share = max(1, left // (len(parts) - index))
            drawn, weight = _systematic(part, self.weights[part], share, random)
            left = max(0, left - len(drawn))
            chosen.append(drawn)
            weights.append(weight)
        nodes = np.concatenate(chosen)
        return _Nodes(self.paths[nodes], self.sides[nodes], np.concatenate(weights))


def _systematic(
    nodes: NDArray[np.intp], weights: NDArray[np.float64], count: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """At most ``count`` of some nodes in proportion to their weights, and the weights they have then."""
    if len(nodes) <= count:
        return nodes, weights
    sums = np.cumsum(weights)
    total = float(sums[-1])
    marks = (random.random() + np.arange(count)) * (total / count)
    places = np.minimum(np.searchsorted(sums, marks, side="right"), len(nodes) - 1)
    return nodes[places], np.full(count, total / count)


class TreeSampler:
    """Estimates on one device; made, used and released on its thread.

    Parameters
    ----------
    device : Device
    tree : Tree
    options : Options
    initial : int
        The initial upper bound, on which branching depends.
    capabilities : Capabilities, optional
        What kernels and shapes are chosen by, if not the device's own.
    """

    def __init__(
        self, device: Device, tree: Tree, options: Options, initial: int, capabilities: Capabilities | None = None
    ) -> None:
        traits = capabilities or device.capabilities
        device_tree = tree.device(traits)
        self._plan = _PLANS[tree.items > _SMALL_TREE]
        wanted = self._plan.nodes
        shapes = dataclasses.replace(shapes_for(traits, tree, device_tree, wanted), exports=0)
        programs = Programs(device, tree, device_tree, None, shapes)
        self._device = device
        self._tree = tree
        self._ivms = Ivms(device, tree, device_tree, programs, shapes, initial, options.strategy, 1)

    def release(self) -> None:
        """Free the device's memory."""
        self._ivms.release()

    def estimates(self, upper: int, seed: int) -> NDArray[np.float64]:
        """Independent estimates of the number of decomposed nodes of the whole tree under an upper bound."""
        self._ivms.set_upper(upper)
        random = np.random.Generator(np.random.PCG64(seed))
        none = np.zeros((1, 0), np.int64)
        groups = [_Nodes(none, np.zeros(1, np.uint64), np.ones(1)) for _ in range(self._plan.replicates)]
        each = self._plan.nodes // self._plan.replicates
        found = np.zeros(self._plan.replicates)
        for level in range(self._tree.leaf_depth):
            drawn = self._drawn(groups, each, upper, random)
            found += [group.weights.sum() for group in drawn]
            ends = np.cumsum([len(group) for group in drawn])
            if ends[-1] == 0:
                break
            paths = np.concatenate([group.paths for group in drawn])
            sides = np.concatenate([group.sides for group in drawn])
            rows, turned = self._decomposed(paths, sides, level)
            pieces = zip(drawn, np.split(rows, ends[:-1]), np.split(turned, ends[:-1]), strict=True)
            groups = [self._children(*piece) for piece in pieces]
        return found

    def _drawn(self, groups: list[_Nodes], count: int, upper: int, random: np.random.Generator) -> list[_Nodes]:
        """Nodes that stand for each group, of every stratum of lower bounds."""
        strata = None
        if any(len(group) > count for group in groups):
            paths = np.concatenate([group.paths for group in groups])
            sides = np.concatenate([group.sides for group in groups])
            levels = np.arange(paths.shape[1], dtype=np.uint64)
            strata = self._tree.strata(paths, (sides[:, None] >> levels & np.uint64(1)).astype(np.int64))
        if strata is None:
            return [group.drawn(count, None, random) for group in groups]
        least = int(strata.min())
        width = max(1.0, (min(upper, int(strata.max()) + 1) - least) / self._plan.strata)
        number = ((strata - least) / width).astype(np.int64)
        ends = np.cumsum([len(group) for group in groups])[:-1]
        parts = zip(groups, np.split(number, ends), strict=True)
        return [group.drawn(count, part, random) for group, part in parts]

    def _children(self, nodes: _Nodes, rows: NDArray[np.uint64], sides: NDArray[np.uint64]) -> _Nodes:
        """The children that are not pruned."""
        bits = np.arange(self._tree.items, dtype=np.uint64)
        parents, items = np.nonzero(rows[:, None] >> bits & np.uint64(1))
        paths = np.column_stack([nodes.paths[parents], items])
        return _Nodes(paths, sides[parents], nodes.weights[parents])

    def _decomposed(
        self, paths: NDArray[np.int64], sides: NDArray[np.uint64], level: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """One step of the search for each node: its children as masks, and the sides with that of its own level."""
        ivms, device, count = self._ivms, self._device, len(paths)
        slots, mask = ivms.shapes.slots, ivms.sides.dtype
        if level:
            rows = np.zeros((level, slots), mask)
            rows[:, :count] = (np.uint64(1) << paths.T.astype(np.uint64)).astype(mask)
            device.put(rows.ravel(), ivms.rows)
        device.put(sides.astype(mask), ivms.sides)
        depths = np.full(slots, -1, np.int32)
        depths[:count] = level
        device.put(depths, ivms.depths)
        device.put(np.array([count], np.int32), ivms.control)
        ivms.settle_steps(1)
        ivms.explore()
        below = device.get(ivms.depths, 0, count) == level + 1
        children = device.get(ivms.rows, level * slots, count).astype(np.uint64)
        return np.where(below, children, np.uint64(0)), device.get(ivms.sides, 0, count).astype(np.uint64)
