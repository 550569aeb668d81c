"""Single subtrees, searched by themselves: the sample that a proof contains, and its check."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ....api.engine import Engine
from ....devices import Device, DevicePool
from ..intervals import Units
from ..masks import digit_type
from ..options import Options
from ..search.messages import Task
from ..search.worker import SearchWorker
from ..tree import Tree

T = TypeVar("T")


class SubtreeSearch:
    """Searches of subtrees on one device, on its thread; only a leaf below ``upper`` is a better solution."""

    def __init__(self, device: Device, tree: Tree, options: Options, initial: int, upper: int) -> None:
        self._tree = tree
        self._initial = initial
        self._upper = upper
        self._worker = SearchWorker(device, tree, options, initial)

    def close(self) -> None:
        """Free the device's memory."""
        self._worker.close()

    @classmethod
    def on(cls, engine: Engine, work: Callable[[SubtreeSearch], T], *given: Any) -> T:
        """What ``work`` returns on the engine's first device, with a search made of it and the other arguments."""

        def call(device: Device) -> T:
            with contextlib.closing(cls(device, *given)) as search:
                return work(search)

        with contextlib.closing(DevicePool(engine.device_infos[:1])) as pool:
            return pool.members[0].submit(call).result()

    def nodes(self, path: Sequence[int], most: int) -> int | None:
        """Nodes of the subtree below a path; None if they are more than ``most``; ValueError if a leaf is better."""
        worker, left = self._worker, _unit(self._tree.items, path)
        worker.discard()
        while True:
            report = worker.turn(Task(self._upper, left, seconds=0.02))
            left = report.returned
            if report.found is not None:
                raise ValueError(f"there is a solution of value {report.found.value} below the path {list(path)}")
            if report.nodes > most:
                return None
            if not report.active and not len(left):
                return report.nodes

    def draw(self, random: np.random.Generator, most: int) -> tuple[list[int], int]:
        """A random subtree of at most so many nodes: its path, of random children not pruned, and its nodes."""
        tree, path = self._tree, list[int]()
        state = tree.root()
        while (nodes := self.nodes(path, most)) is None:
            left = [item for item in range(tree.items) if item not in path]
            side, children = tree.bound(state, len(path), left, self._upper, self._initial)
            item = int(random.choice(children))
            state = tree.place(state, len(path), item, side)
            path.append(item)
        return path, nodes

    def is_visited(self, path: Sequence[int]) -> bool:
        """Whether no node of a path is pruned."""
        tree, state = self._tree, self._tree.root()
        for depth, item in enumerate(path):
            left = [other for other in range(tree.items) if other not in path[:depth]]
            side, children = tree.bound(state, depth, left, self._upper, self._initial)
            if item not in children:
                return False
            state = tree.place(state, depth, item, side)
        return True


def _unit(items: int, path: Sequence[int]) -> Units:
    """The subtree below a path as an interval that counts its first node and all below."""
    begin = np.zeros((1, items), digit_type(items))
    left = list(range(items))
    for depth, item in enumerate(path):
        begin[0, depth] = left.index(item)
        left.remove(item)
    end = begin.copy()
    if path:
        end[0, len(path) - 1] += 1
    else:
        end[0, 0] = items
    return Units(begin, end, np.array([len(path)], begin.dtype))
