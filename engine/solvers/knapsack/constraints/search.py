"""Branch and bound over the items that bounds leave: searches on one device, which the host starts and divides.

A first search over all items finds multipliers, with which items are decided, and a good solution. What is left is
divided by the number of items taken, then wherever a search has an open child and another has nothing to do. When
better solutions leave much fewer items, all searches begin again over those.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Member, SliceLength, WorkerGroup
from .core import Core
from .worker import DONE, BranchWorker

_FIRST_PIVOTS = 400  # of each search in the first launch, and of the first search of all
_MOST_PIVOTS = 1 << 24
_BOUND_SECONDS = 0.5  # between two looks at the bounds of all open nodes
_NEAR = 30, 50_000  # items among which solutions are looked for first, and pivots for that
_NEAR_SHARE = 0.5  # of the pivots so far, for more such items each time
_FEWER = 0.8  # of the items: then the searches begin again
_FIRST_RESTART = 20_000  # pivots after which that is looked at, four times as many each time


class Search:
    """One search; :meth:`run` returns when the best solution known is optimal."""

    def __init__(
        self,
        member: Member,
        core: Core,
        reduce: bool,
        improve: Callable[[NDArray[np.int64]], int],  # takes the items of a solution; the best objective known
        poll: Callable[[int, int, float], None],  # takes the bound, and nodes and seconds of a slice; may raise
    ) -> None:
        self._member, self._core, self._reduce, self._improve, self._poll = member, core, reduce, improve, poll
        self.bound = core.base + int(core.profits.sum())
        self._objective = self.fixed = 0

    def run(self, objective: int) -> None:
        """Search for solutions better than ``objective``."""
        self._objective = objective
        core, multipliers = self._core, self._dive()
        size, pivots = _NEAR
        self._search_near(multipliers, size, pivots)
        next_restart = _FIRST_RESTART
        while True:
            relaxation = core.relax(multipliers)
            self.bound = min(self.bound, max(self._objective, core.bound(relaxation)))
            if self._reduce:
                core = core.shrink(relaxation, self._objective)
                self.fixed = len(self._core) - len(core)
            if (core.capacities < 0).any():  # no solution is better
                break
            if core.all_fit:
                self._objective = self._improve(core.chosen(np.ones(len(core), bool)))
                break
            numbers = core.numbers(core.relax(multipliers), self._objective)
            if not numbers:
                break
            with _Tree(self, core, numbers) as tree:
                while tree.step():
                    if tree.pivots < next_restart:
                        continue
                    next_restart *= 4
                    size += _NEAR[0] // 2
                    self._search_near(multipliers, size, int(_NEAR_SHARE * tree.pivots))
                    if self._reduce and len(core.shrink(core.relax(multipliers), self._objective)) < _FEWER * len(core):
                        break
                else:
                    break
        self.bound = self._objective

    def _search_near(self, multipliers: NDArray[np.float64], size: int, pivots: int) -> None:
        """Look among the items of least reduced profit, the others as relaxed (Puchinger, Raidl, Pferschy 2010)."""
        relaxation = self._core.relax(multipliers)
        if 2 * size > len(self._core.shrink(relaxation, self._objective)):
            return
        gains = relaxation.gains
        far = np.ones(len(gains), bool)
        far[np.argsort(np.abs(gains), kind="stable")[:size]] = False
        near = self._core.decide(far & (gains > 0), far & (gains <= 0))
        if (near.capacities < 0).any() or not len(near):
            return
        numbers = near.numbers(near.relax(multipliers), self._objective)
        if numbers:
            with _Tree(self, near, numbers, is_proof=False) as tree:
                while tree.pivots < pivots and tree.step():
                    pass

    def _dive(self) -> NDArray[np.float64]:
        """The multipliers of the linear relaxation, after a short search for a good solution."""
        with _Tree(self, self._core, [(self.bound, -1)]) as tree:
            is_open = tree.step(most=1)
            multipliers = tree.multipliers()
            if is_open:
                tree.step(most=_FIRST_PIVOTS)
        return multipliers


class _Tree:
    """The searches over one core; a context manager that gives the device's memory back."""

    def __init__(self, search: Search, core: Core, numbers: list[tuple[int, int]], is_proof: bool = True) -> None:
        self._search, self._core, self._is_proof = search, core, is_proof
        self._unit = core.divisors[0]
        self._queue = [(-bound, place, number) for place, (bound, number) in enumerate(numbers)]
        heapq.heapify(self._queue)
        self._workers = WorkerGroup([search._member], BranchWorker, [(core,)])
        self._worker = self._workers.worker(0)
        self._limits = np.full(self._worker.count, -np.inf)  # of what each search may find
        self._known = -1.0
        self._limit = max(bound for bound, _ in numbers)
        self._bounded_at = time.monotonic()
        self.length = SliceLength(_FIRST_PIVOTS, least=min(100, _MOST_PIVOTS), most=_MOST_PIVOTS, growth=4.0)
        self.pivots = 0

    def __enter__(self) -> _Tree:
        return self

    def __exit__(self, *error: Any) -> None:
        self._workers.__exit__(*error)

    def step(self, most: float = math.inf) -> bool:
        """One slice, of at most so many pivots of each search; whether anything is left to search."""
        search, core, worker = self._search, self._core, self._worker
        self._feed()
        if not (worker.searches.number("phase") != DONE).any():
            return False
        incumbent = float((search._objective - core.base) // self._unit)
        amount = int(min(most, self.length.amount))
        values, seconds = self._workers.first(BranchWorker.advance, incumbent, amount)
        best = int(np.argmax(values))
        if values[best] > max(incumbent, self._known):
            self._known = float(values[best])
            mask = self._workers.first(BranchWorker.solution, best)
            search._objective = search._improve(core.chosen(mask))
        nodes, pivots = worker.searches.number("nodes"), worker.searches.number("pivots")
        is_open = worker.searches.number("phase") != DONE
        self.pivots += int(pivots.sum())
        self.length.took(seconds, max(1, int(pivots.max(initial=0))))
        search._poll(self._bound(is_open), int(nodes.sum()), seconds)
        nodes[:] = pivots[:] = 0
        return bool(is_open.any() or self._queue)

    def _feed(self) -> None:
        """Give every search without work a number of items, or the shallowest open child of another search."""
        search, searches = self._search, self._worker.searches
        idle = np.flatnonzero(searches.number("phase") == DONE).tolist()
        nothing = np.zeros(0, np.int32)
        while idle and self._queue:
            bound, _, number = heapq.heappop(self._queue)
            if -bound > search._objective:
                place = idle.pop()
                searches.begin(place, number, nothing, nothing)
                self._limits[place] = -bound
        if not idle:
            return
        busy = np.flatnonzero(searches.number("phase") != DONE)
        depths = searches.number("depth")[busy]
        is_open = searches.level("open")[busy] > 0
        is_open &= np.arange(searches.n) < depths[:, None]
        donors, levels = np.nonzero(is_open)
        for place in np.argsort(levels, kind="stable")[: len(idle)].tolist():
            donor, target = int(busy[donors[place]]), idle.pop()
            searches.split(donor, int(levels[place]), target)
            self._limits[target] = self._limits[donor]

    def _bound(self, is_open: NDArray[np.bool_]) -> int:
        """Upper bound on what the searches and the queue may still find; computed anew now and then."""
        search, core = self._search, self._core
        if not self._is_proof:
            return search.bound
        now = time.monotonic()
        if now - self._bounded_at > _BOUND_SECONDS and is_open.any():
            self._bounded_at = now
            found = float(self._workers.first(BranchWorker.open_bounds)[is_open].max())
            most = int(self._limits[is_open].max())
            if found < 2.0**52:
                most = min(most, core.base + self._unit * math.floor(found + 1e-6 + 1e-11 * abs(found)))
            self._limit = max([most, *(-bound for bound, _, _ in self._queue[:1])])
        return max(search._objective, self._limit)

    def multipliers(self) -> NDArray[np.float64]:
        """Those of the relaxation of the search that began first, for the rows of the problem."""
        unit, rows = self._core.divisors
        found = self._workers.first(BranchWorker.multipliers)
        return found[:-1] * unit / rows
