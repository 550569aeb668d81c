"""Tree sizes by stochastic enumeration: some nodes of every level, drawn by weights and scores, stand for all of it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....devices import Device
from ..intervals import Units
from ..masks import Masks, bits_of, bytes_for, empty, lowest_of, masks_of
from ..options import Options
from ..tree import Tree
from .frontier import FrontierSnapshot
from .ivms import Ivms

Weights = NDArray[np.float64]

_SMALL_TREE = 25
_CANDIDATES = 8
_LAUNCHES = 1.7
_FEWEST = 8
_IVMS_LOOKED_AT = 4096
_SHARES = (1 / 3, 1 / 12)  # the shares of all children that the two lower upper bounds should leave
_GAPS = (0.25, 0.5)
_ADAPTATION = 1.3
_GAIN = 4.0
_DEVIATIONS = 1.3
_PRIOR_VALUES, _PRIOR_ITEMS = 2, 40
_HOST_RATE = 1e9  # bytes a second, of sets by level, that the host's part of a sample handles


class _Halted(Exception):
    """The search is halted within a sample."""


@dataclass(frozen=True)
class SamplePlan:
    """How many nodes are drawn on a level: of the first third, where most of the error arises, and of the others."""

    passes: int
    nodes: int
    deep_nodes: int

    @property
    def candidates(self) -> int:
        """The most candidates on a level."""
        return _CANDIDATES * max(self.nodes, self.deep_nodes)

    def within(self, seconds: float, rate: float, items: int) -> SamplePlan | None:
        """The plan with as many nodes as so many seconds allow at this rate; None if these are too few."""
        plan = self._times(min(1.0, seconds * rate / self._decomposed(items)))
        return plan if plan.deep_nodes >= _FEWEST else None

    def within_host(self, seconds: float, items: int) -> SamplePlan:
        """The plan with as many nodes as the host handles in about so many seconds, but not too few."""
        part = seconds * _HOST_RATE / (items * bytes_for(items)) / self._decomposed(items)
        return self._times(min(1.0, max(part, _FEWEST / self.deep_nodes)))

    def _times(self, part: float) -> SamplePlan:
        return dataclasses.replace(self, nodes=int(part * self.nodes), deep_nodes=int(part * self.deep_nodes))

    def _decomposed(self, items: int) -> float:
        """Nodes that the passes decompose, roughly."""
        return _LAUNCHES * _CANDIDATES / 2 * self.passes * self.drawn(items)

    def drawn(self, items: int) -> int:
        """The most nodes that a pass draws from a tree."""
        first = -(-items // 3)
        return first * self.nodes + (items - first) * self.deep_nodes

    def coarseness(self, items: int) -> float:
        """How many times fewer nodes a pass draws than one whose deviation is the typical one; at least 1."""
        usual = _USUAL_SMALL if items <= _SMALL_TREE else _USUAL
        return max(1.0, usual.drawn(items) / self.drawn(items))

    def drawn_at(self, level: int, items: int) -> int:
        """Nodes drawn on a level, counted from the root's 0."""
        return self.nodes if 3 * level < items else self.deep_nodes


_USUAL_SMALL, _USUAL = SamplePlan(2, 512, 512), SamplePlan(2, 1024, 128)


def plan_for(items: int, simt: bool) -> SamplePlan:
    """The plan of an estimate before a search."""
    if items <= _SMALL_TREE:
        return SamplePlan(4, 1024, 1024) if simt else SamplePlan(4, 512, 512)
    return SamplePlan(4, 8192, 512) if simt else SamplePlan(4, 2048, 256)


def short_plan_for(items: int, simt: bool) -> SamplePlan:
    """The plan of an estimate during a search."""
    if items <= _SMALL_TREE:
        return SamplePlan(2, 1024, 1024) if simt else SamplePlan(2, 128, 128)
    return SamplePlan(2, 8192, 512) if simt else SamplePlan(2, 1024, 128)


def error_factor(
    values: Weights, items: int, weights: Weights | None = None, coarseness: Weights | None = None
) -> float:
    """By which factor the mean of estimates, shape (rounds, passes), may be wrong, with a probability of about 80 %.

    The error is that of logarithms; a typical deviation for trees of so many items counts as two values. Its square is
    in proportion to the ``coarseness`` of the plans, shape (rounds,).
    """
    logarithms = np.log(np.maximum(values, 1.0))
    weights = np.ones(len(values)) if weights is None else weights
    count = float(weights.sum() ** 2 / (weights**2).sum()) * values.shape[1]
    middle = float(weights @ logarithms.mean(axis=1) / weights.sum())
    variance = float(weights @ ((logarithms - middle) ** 2).mean(axis=1) / weights.sum())
    typical = (items / _PRIOR_ITEMS) ** 2
    if coarseness is not None:
        typical *= float(weights @ coarseness / weights.sum())
    pooled = (count * variance + _PRIOR_VALUES * typical) / (count + _PRIOR_VALUES - 1)
    return float(np.exp(_DEVIATIONS * np.sqrt(pooled / count)))


@dataclass(frozen=True)
class _Nodes:
    """Nodes of one level: the chosen item of each level above as a set, shape (level, nodes, words); sides; weights."""

    rows: Masks
    sides: Masks
    weights: Weights

    def __len__(self) -> int:
        return len(self.sides)

    def __getitem__(self, index: NDArray[np.intp]) -> _Nodes:
        return _Nodes(self.rows[:, index], self.sides[index], self.weights[index])

    def joined(self, other: _Nodes) -> _Nodes:
        if not len(other):
            return self
        return _Nodes(
            np.concatenate([self.rows, other.rows], axis=1),
            np.concatenate([self.sides, other.sides]),
            np.concatenate([self.weights, other.weights]),
        )

    def thinned(self, most: int, random: np.random.Generator) -> _Nodes:
        """At most so many, any as probably as another."""
        if len(self) <= most:
            return self
        kept = self[random.choice(len(self), most, replace=False)]
        return dataclasses.replace(kept, weights=kept.weights * (len(self) / most))


class TreeSampler:
    """Estimates on one device, on its thread."""

    def __init__(self, device: Device, tree: Tree, options: Options, initial: int, plan: SamplePlan) -> None:
        self.plan = plan
        self._device, self._tree = device, tree
        self._ivms = Ivms(device, tree, options, initial, plan.candidates)
        self._width = 0

    def close(self) -> None:
        """Free the device's memory."""
        self._ivms.close()

    def estimates(self, upper: int, seed: int, expired: Callable[[], bool] = lambda: False) -> Weights:
        """Independent estimates of all nodes under an upper bound, shape (passes,), until ``expired`` says so."""
        items = self._tree.items
        root = _Nodes(empty((0, 1), items), empty((1,), items), np.ones(1))
        none = root[np.zeros(0, np.intp)]
        return self._passes(upper, seed, lambda level, _: none if level else root, expired)

    def remaining(
        self,
        frontier: FrontierSnapshot,
        upper: int,
        seed: int,
        units: Units | None = None,
        weight: float = 1.0,
        halted: Callable[[], bool] = lambda: False,
    ) -> Weights | None:
        """Estimates of the nodes left, shape (passes,); None if halted.

        ``units`` are intervals that no IVM has, in random order, each of which stands for ``weight`` such.
        """
        parts, decomposed = [(frontier, 1.0)], 0
        if units is not None and len(units):
            used = min(len(units), self._ivms.shapes.ivms)
            units, weight = units[slice(used)], weight * len(units) / used
            stored, decomposed = self._taken_up(units, upper)
            parts.append((stored, weight))

        def opened(level: int, random: np.random.Generator) -> _Nodes:
            if halted():
                raise _Halted
            most = self._most_at(level) // len(parts)
            return functools.reduce(_Nodes.joined, (_open_nodes(*part, level, most, random) for part in parts))

        try:
            return self._passes(upper, seed, opened) + weight * decomposed
        except _Halted:
            return None

    def _taken_up(self, units: Units, upper: int) -> tuple[FrontierSnapshot, int]:
        """The open nodes of intervals once IVMs have taken them up, and the nodes decomposed for that."""
        ivms, device = self._ivms, self._device
        before = ivms.nodes()
        device.put(np.array([upper], np.int32), ivms.best)
        device.put(np.full(ivms.shapes.slots, -1, np.int32), ivms.depths)
        packed = device.put(units.packed())
        targets = device.put(np.arange(len(units), dtype=np.int32))
        ivms.initialize(packed, targets, len(units))
        device.sync()
        device.release(packed)
        device.release(targets)
        return ivms.frontier(self._tree.items), ivms.nodes() - before

    def _most_at(self, level: int) -> int:
        # of the children of drawn nodes on a level, and of the open nodes that come to the next
        return _CANDIDATES * self.plan.drawn_at(level, self._tree.items) // 2

    def _passes(
        self,
        upper: int,
        seed: int,
        opened: Callable[[int, np.random.Generator], _Nodes],
        expired: Callable[[], bool] = lambda: False,
    ) -> Weights:
        random = np.random.Generator(np.random.PCG64(seed))
        found = [self._pass(upper, opened, random)]
        while len(found) < self.plan.passes and not expired():
            found.append(self._pass(upper, opened, random))
        return np.array(found)

    def _pass(
        self, upper: int, opened: Callable[[int, np.random.Generator], _Nodes], random: np.random.Generator
    ) -> float:
        """One estimate; ``opened`` gives the candidates of a level that are not children of others."""
        gaps = [max(1.0, (upper - self._tree.lower_bound()) * part) for part in _GAPS]
        total = 0.0
        nodes = opened(0, random)
        for level in range(self._tree.leaf_depth):
            total += float(nodes.weights.sum())
            if len(nodes):
                nodes = self._children(nodes, level, upper, gaps, random)
            else:
                items = self._tree.items
                nodes = _Nodes(empty((level + 1, 0), items), empty((0,), items), np.zeros(0))
            if level + 1 < self._tree.leaf_depth:
                nodes = nodes.joined(opened(level + 1, random))
        return total

    def _children(
        self, nodes: _Nodes, level: int, upper: int, gaps: list[float], random: np.random.Generator
    ) -> _Nodes:
        """The children of nodes that are drawn."""
        self._load(nodes, level)
        children, sides = self._decomposed(np.ones(len(nodes), np.bool_), level, upper)
        count = bits_of(children).sum(axis=-1, dtype=np.float64)
        parents = np.flatnonzero(count)
        scores = count + self._scores_below(nodes, level, upper, count, gaps)
        drawn, most = self.plan.drawn_at(level, self._tree.items), self._most_at(level)
        chosen, weights = _drawn(nodes.weights[parents], scores[parents], count[parents], drawn, most, random)
        chosen = parents[chosen]
        owners, items = np.nonzero(bits_of(children[chosen]))
        row = masks_of(items, self._tree.items)
        owned = chosen[owners]
        rows = np.concatenate([nodes.rows[:, owned], row[None, :]])
        return _Nodes(rows, sides[owned], weights[owners]).thinned(most, random)

    def _scores_below(
        self, nodes: _Nodes, level: int, upper: int, count: Weights, gaps: list[float]
    ) -> NDArray[np.float64]:
        """What the children left under lower upper bounds add to the scores; ``gaps`` are adapted to leave shares."""
        scores = np.zeros(len(nodes))
        if self._tree.counts:
            return scores
        whole = float(nodes.weights @ count)
        left, gain = count > 0, 1.0
        for index, share in enumerate(_SHARES):
            if not left.any():
                break
            gain *= _GAIN
            lower = max(int(upper - gaps[index]), min(0, upper))  # no objective is less; kernels take 16 or 32 bits
            children, _ = self._decomposed(left, level, lower)
            below = bits_of(children).sum(axis=-1, dtype=np.float64)
            scores += gain * below
            grows = float(nodes.weights @ below) > share * whole
            gaps[index] = max(1.0, gaps[index] * (_ADAPTATION if grows else 1 / _ADAPTATION))
            left = below > 0
        return scores

    def _load(self, nodes: _Nodes, level: int) -> None:
        ivms, device, count = self._ivms, self._device, len(nodes)
        self._width = min(ivms.shapes.slots, max(self._ivms.shapes.block, 1 << (count - 1).bit_length()))
        if level:
            rows = empty((level, self._width), self._tree.items)
            rows[:, :count] = nodes.rows
            device.put(rows.ravel(), ivms.rows)
        device.put(nodes.sides.ravel(), ivms.sides)

    def _decomposed(self, chosen: NDArray[np.bool_], level: int, upper: int) -> tuple[Masks, Masks]:
        """One step of the search for each loaded node that is chosen: the children as sets, and the sides."""
        ivms, device, count = self._ivms, self._device, len(chosen)
        depths = np.full(self._width, -1, np.int32)
        depths[:count][chosen] = level
        device.put(depths, ivms.depths)
        ivms.set_active(int(chosen.sum()))
        device.put(np.array([upper], np.int32), ivms.best)
        ivms.begin_step()
        ivms.explore(self._width)
        below = device.get(ivms.depths, 0, count) == level + 1
        children, sides = ivms.children(level * self._width, count)
        children[~below] = 0
        return children, sides


def _drawn(
    weights: Weights, scores: Weights, children: Weights, count: int, most: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], Weights]:
    """About ``count`` nodes with at most ``most`` children, drawn by weights and scores, and their weights then."""
    if len(weights) <= count and children.sum() <= most:
        return np.arange(len(weights)), weights
    sizes = weights * scores
    count = min(count, max(1, int(most * sizes.sum() / (sizes @ children))))
    certain = np.zeros(len(sizes), np.bool_)
    while True:  # nodes that are drawn for certain leave less to the others
        left = count - int(certain.sum())
        rest = float(sizes[~certain].sum())
        more = ~certain & (sizes * left >= rest)
        if not more.any() or left <= 0:
            break
        certain |= more
    probabilities = np.where(certain, 1.0, sizes * (max(left, 0) / max(rest, 1e-300)))
    order = np.argsort(scores, kind="stable")
    sums = np.cumsum(probabilities[order])
    marks = random.random() + np.arange(int(np.ceil(sums[-1])))
    places = np.searchsorted(sums, marks[marks < sums[-1]], side="right")
    chosen = order[np.unique(np.minimum(places, len(order) - 1))]
    return chosen, weights[chosen] / probabilities[chosen]


def _open_nodes(
    frontier: FrontierSnapshot, weight: float, level: int, most: int, random: np.random.Generator
) -> _Nodes:
    """At most so many nodes at a level that are open: the present ones of IVMs, and siblings still to be visited."""
    rows, depths = frontier.rows, frontier.depths
    if level == 0:
        at_root = np.flatnonzero(depths == 0)
        return _Nodes(rows[:0, at_root], frontier.sides[at_root], np.full(len(at_root), weight))
    masks = rows[level - 1]
    others = masks ^ lowest_of(masks)
    there = depths[:, None]
    masks = np.where(there > level, others, np.where(there == level, masks, masks.dtype.type(0)))
    ivms = np.flatnonzero(masks.any(axis=-1))
    if len(ivms) > _IVMS_LOOKED_AT:
        weight *= len(ivms) / _IVMS_LOOKED_AT
        ivms = random.choice(ivms, _IVMS_LOOKED_AT, replace=False)
    owners, items = np.nonzero(bits_of(masks[ivms]))
    if len(owners) > most:
        weight *= len(owners) / most
        kept = random.choice(len(owners), most, replace=False)
        owners, items = owners[kept], items[kept]
    owners = ivms[owners]
    above = lowest_of(rows[: level - 1, owners])
    row = masks_of(items, 8 * masks.shape[-1] * masks.itemsize)
    return _Nodes(np.concatenate([above, row[None, :]]), frontier.sides[owners], np.full(len(owners), weight))
