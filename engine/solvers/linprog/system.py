"""A batch of programs spread over devices, as one: sums over shards, factors on the first."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool, gather
from engine.solvers.linprog.device_shard import DeviceShard
from engine.solvers.linprog.passage import Passage
from engine.solvers.linprog.shard import ShardData, Target, cut
from engine.solvers.linprog.twin import HostShard

__all__ = ["PoolSystem", "System"]

_UPDATES_RESIDUAL = 1e-6  # beyond it a direction is no longer worth following

Vector = NDArray[np.float64]
T = TypeVar("T")


class System:
    """All shards together, called from one thread: the device's own for one shard (:class:`PoolSystem` for several).

    Shapes are those of :class:`engine.solvers.linprog.shard.Shard`; ``seconds`` adds up the time of each phase.
    """

    def __init__(self, data: ShardData, shards: list[Any], ends: list[int] | None = None) -> None:
        self.data = data
        self.shards = shards
        self.ends = ends or [data.n]
        self.seconds: dict[str, float] = {"products": 0.0, "form": 0.0, "factor": 0.0, "solve": 0.0}
        self.factorizations = 0
        self.updating = False
        self._refinements = 0
        self._how = 1, True
        self._began_updates = False
        self.worst_residual = 0.0
        self.update_solves = 0
        self.said: list[str] = []

    def use_updates(self, block: int, refinements: int, constant_memory: bool = True) -> None:
        """Solve by Sherman-Morrison updates from now on, while they are accurate."""
        self.updating, self._refinements = True, refinements
        self._how = block, constant_memory

    def hand_over(self, why: str) -> None:
        """Solve by Cholesky factors from now on, and say so."""
        self.updating = False
        self.said.append(f"{why}: from here on Cholesky factors are used")

    def each(self, name: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard; the results in order."""
        return [getattr(shard, name)(*arguments) for shard in self.shards]

    def root(self, name: str, *arguments: Any) -> Any:
        """Call a method of the first shard."""
        return getattr(self.shards[0], name)(*arguments)

    def _timed(self, phase: str, began: float) -> None:
        self.seconds[phase] += time.perf_counter() - began

    # --- points -------------------------------------------------------------------------------------------------

    def _split(self, values: Vector) -> list[Vector]:
        out, begin = [], 0
        for rank, end in enumerate(self.ends):
            part = values[:, begin:end]
            out.append(np.concatenate([part, values[:, self.data.n :]], axis=1) if rank == 0 else part)
            begin = end
        return out

    def _joined(self, parts: list[Vector]) -> Vector:
        first = self.ends[0]
        return np.concatenate([parts[0][:, :first], *parts[1:], parts[0][:, first:]], axis=1)

    def set_point(self, *point: Vector) -> None:
        """Take a point; see :class:`Shard`."""
        split = [self._split(values) for values in point]
        self._each_own("set_point", list(zip(*split, strict=True)))

    def _each_own(self, name: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        return [getattr(shard, name)(*own) for shard, own in zip(self.shards, arguments, strict=True)]

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point."""
        parts = self.each("get_point")
        x, s, w, z = (self._joined([part[i] for part in parts]) for i in range(4))
        return x, s, w, z

    def times(self, v: Vector) -> Vector:
        """``A v`` (k, m)."""
        return _sum(self._each_own("times", [(part,) for part in self._split(v)]))

    def transposed(self, y: Vector) -> Vector:
        """``A^T y`` (k, N)."""
        return self._joined(self.each("transposed", y))

    # --- see Shard ----------------------------------------------------------------------------------------------

    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        """See :class:`Shard`."""
        began = time.perf_counter()
        found = self.each("assess", y, rho, rho_free)
        sums = found[0][1]
        if len(found) > 1:
            each = np.stack([part[1] for part in found])
            ends = each[:, :, 3:5].max(axis=0), each[:, :, 5:6].min(axis=0), each[:, :, 6:].max(axis=0)
            sums = np.concatenate([each[:, :, :3].sum(axis=0), *ends], axis=1)
        self._timed("products", began)
        return _sum([part[0] for part in found]), sums

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """See :class:`Shard`."""
        found = self.each("scale", rho, rho_free)
        return np.stack(
            [np.min([part[:, 0] for part in found], axis=0), np.max([part[:, 1] for part in found], axis=0)], axis=1
        )

    def unit_scale(self) -> None:
        """See :class:`Shard`."""
        self.each("unit_scale")

    def form(self) -> None:
        """M = A Theta A^T on the first shard."""
        if self.updating:
            return
        began = time.perf_counter()
        self._form()
        self._timed("form", began)

    def _form(self) -> None:
        self.root("form")

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise; see :meth:`DeviceShard.factor`. Or do all updates."""
        if self.updating:
            return self._update(relative, absolute)
        began = time.perf_counter()
        status: NDArray[np.int32] = self.root("factor", relative, absolute)
        self.factorizations += 1
        self._timed("factor", began)
        return status

    def _update(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        self._kept = relative, absolute
        began = time.perf_counter()
        if not self._began_updates:
            self._began_updates = True
            if not self.root("begin_updates", *self._how):
                self.hand_over("A A^T is not definite")
                self.form()
                return self.factor(relative, absolute)
        self.root("update")
        self._timed("factor", began)
        return np.zeros(self.data.batch, np.int32)

    def _solve_by_updates(self, rhs: Vector) -> Vector:
        """Updates and refinement; Cholesky if the residual stays."""
        began = time.perf_counter()
        size = float(np.abs(rhs).max(initial=0.0))
        found: Vector = self.root("solve_by_updates", rhs)
        best, least = found, np.inf
        for step in range(self._refinements + 1):
            residual = rhs - self.normal(found)
            error = float(np.abs(residual).max(initial=0.0)) / max(size, 1e-300)
            if not np.isfinite(error) or error >= least:
                break
            best, least = found, error
            if error < 1e-12 or step == self._refinements:
                break
            found = found + self.root("solve_by_updates", residual)
        self._timed("solve", began)
        self.update_solves += 1
        if least <= _UPDATES_RESIDUAL:
            self.worst_residual = max(self.worst_residual, least)
            return best
        self.hand_over(f"the updates left a relative residual of {least:.1e} after {self._refinements} refinements")
        self.form()
        self.factor(*self._kept)
        return self.solve(rhs)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor, or by updates."""
        if self.updating:
            return self._solve_by_updates(rhs)
        began = time.perf_counter()
        found: Vector = self.root("solve", rhs)
        self._timed("solve", began)
        return found

    def normal(self, p: Vector) -> Vector:
        """See :class:`Shard`."""
        began = time.perf_counter()
        found = _sum(self.each("normal", p))
        self._timed("products", began)
        return found

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """See :class:`Shard`."""
        began = time.perf_counter()
        found = _sum(self.each("target", kind, sigma_mu, primal, dual))
        self._timed("products", began)
        return found

    def direction(self, dy: Vector) -> Vector:
        """See :class:`Shard`."""
        began = time.perf_counter()
        found = _sum(self.each("direction", dy))
        self._timed("products", began)
        return found

    def go(
        self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector, rp: Vector, aside: bool = False
    ) -> tuple[Vector, Vector]:
        """The direction toward a target, into the other slot if ``aside``: dy, and A dx (k, m), which is rp but for
        rounding."""
        if not self.updating and len(self.shards) == 1 and getattr(self.shards[0], "small", False):
            began = time.perf_counter()
            found: tuple[Vector, Vector] = self.root("go", kind, sigma_mu, primal, dual, rp, aside)
            self._timed("solve", began)
            return found
        dy = self.solve(rp - self.target(kind, sigma_mu, primal, dual))
        if aside:
            self.other_slot()
        return dy, self.direction(dy)

    def complete(self) -> Vector:
        """See :class:`Shard`."""
        return self._completed(self.each("complete"))

    def _completed(self, found: list[Vector]) -> Vector:
        if len(found) == 1:
            return np.asarray(found[0])
        each = np.stack(found)
        return np.concatenate([each[:, :, :2].max(axis=0), each[:, :, 2:].sum(axis=0)], axis=1)

    def advance(self, primal: Vector, dual: Vector) -> None:
        """See :class:`Shard`."""
        self.each("advance", primal, dual)

    def other_slot(self) -> None:
        """See :class:`Shard`."""
        self.each("other_slot")

    def run(self, function: Callable[[], T]) -> T:
        """Call a function where the shards may be called."""
        return function()

    def close(self) -> None:
        """Give the shards back."""
        for shard in self.shards:
            if not isinstance(shard, HostShard):
                shard.close()


class PoolSystem(System):
    """Shards on the members of a pool. With one member whole functions run on its thread; with several, calls do."""

    def __init__(self, data: ShardData, pool: DevicePool, make: Callable[[Device, ShardData], DeviceShard]) -> None:
        count = min(len(pool), max(1, data.n))
        self.members = pool.members[:count]
        pool.enable_peers()
        ends = [data.n * (rank + 1) // count for rank in range(count)]
        parts = cut(data, ends) if count > 1 else [data]
        futures = [member.submit(make, part) for member, part in zip(self.members, parts, strict=True)]
        super().__init__(data, gather(futures), ends)
        self._extents: Vector | None = None  # what `complete` is to tell, once known

    def each(self, name: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard, each on its device's thread."""
        if len(self.shards) == 1:
            return super().each(name, *arguments)
        return self._each_own(name, [arguments] * len(self.shards))

    def _each_own(self, name: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        if len(self.shards) == 1:
            return super()._each_own(name, arguments)
        return gather(
            [
                member.submit(_call, shard, name, own)
                for member, shard, own in zip(self.members, self.shards, arguments, strict=True)
            ]
        )

    def root(self, name: str, *arguments: Any) -> Any:
        """Call a method of the first shard, on its device's thread."""
        if len(self.shards) == 1:
            return super().root(name, *arguments)
        return self.members[0].submit(_call, self.shards[0], name, arguments).result()

    def _form(self) -> None:
        """M of every shard, added on the first device in the order of the shards; all at work at the same time."""
        if len(self.shards) == 1:
            super()._form()
            return
        first = self.members[0]
        passages = [None if first.reads(member) else Passage() for member in self.members[1:]]
        sent = [
            member.submit(_call, shard, "send_normal", (passage,))
            for member, shard, passage in zip(self.members[1:], self.shards[1:], passages, strict=True)
        ]
        others = list(zip(sent, passages, strict=True))
        gather([*sent, first.submit(_call, self.shards[0], "collect_normal", (others,))])

    def go(
        self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector, rp: Vector, aside: bool = False
    ) -> tuple[Vector, Vector]:
        """See :class:`System`; the devices wait for each other themselves, and none for this thread."""
        if len(self.shards) == 1 or self.updating:
            return super().go(kind, sigma_mu, primal, dual, rp, aside)
        began = time.perf_counter()
        wanted = kind, sigma_mu, primal, dual
        (first, root), *others = zip(self.members, self.shards, strict=True)
        targets = [member.submit(_call, shard, "target", wanted) for member, shard in others]
        aimed = first.submit(_call, root, "aim", (*wanted, rp, targets))
        parts = self._each_own("follow", [(aimed, aside)] * len(self.shards))
        self._extents = self._completed([extents for _, extents in parts])
        dy, solving = aimed.result()
        self.seconds["solve"] += solving
        self.seconds["products"] += time.perf_counter() - began - solving
        return dy, _sum([ax for ax, _ in parts])

    def direction(self, dy: Vector) -> Vector:
        """See :class:`Shard`."""
        self._extents = None
        return super().direction(dy)

    def complete(self) -> Vector:
        """See :class:`Shard`; :meth:`go` has it already."""
        found, self._extents = self._extents, None
        return super().complete() if found is None else found

    def run(self, function: Callable[[], T]) -> T:
        """Call a function on the only device's thread, or here if there are several."""
        if len(self.shards) == 1:
            return self.members[0].submit(lambda _: self._together(function)).result()
        return function()

    def _together(self, function: Callable[[], T]) -> T:
        with self.shards[0].together():
            return function()

    def close(self) -> None:
        """Give the shards back, each on its device's thread."""
        gather(
            [member.submit(_call, shard, "close", ()) for member, shard in zip(self.members, self.shards, strict=True)]
        )


def _call(_: Device, shard: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(shard, name)(*arguments)


def _sum(parts: list[Vector]) -> Vector:
    """In the order of the shards."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
