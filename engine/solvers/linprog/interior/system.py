"""A program spread over devices, as one: sums over shards, factors on the first device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Device, Member
from ....devices.pool.group import WorkerGroup
from ..forms.standard import ShardData, cut
from ..systems.base import DenseSystem, LinearSystem
from .loading import PhaseSeconds, devices_of
from .worker import DeviceShard, Target, joined_extents, joined_measures

Vector = NDArray[np.float64]
T = TypeVar("T")
P = ParamSpec("P")


class System:
    """All shards together, called from one thread (:class:`PoolSystem` for shards on several)."""

    def __init__(self, data: ShardData, shards: Sequence[Any], ends: list[int] | None = None) -> None:
        self.data = data
        self.shards = list(shards)
        self.ends = ends or [data.n]
        self.linear_system: LinearSystem = DenseSystem(self)
        self._phases = PhaseSeconds(("products", "form", "factor", "solve"), devices_of(self.shards))
        self.seconds = self._phases.seconds
        self.factorizations = 0
        self.warnings: list[str] = []

    # --- calling the shards -------------------------------------------------------------------------------------

    def each(self, method: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Call a method of every shard; the results in order."""
        return [_of(shard, method)(*args, **kwargs) for shard in self.shards]

    def map(self, method: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call a method of each shard with arguments of its own."""
        return [_of(shard, method)(*own) for shard, own in zip(self.shards, arguments, strict=True)]

    # --- points -------------------------------------------------------------------------------------------------

    def _split(self, values: Vector) -> list[Vector]:
        out, begin = [], 0
        for rank, end in enumerate(self.ends):
            part = values[begin:end]
            out.append(np.concatenate([part, values[self.data.n :]]) if rank == 0 else part)
            begin = end
        return out

    def _joined(self, parts: list[Vector]) -> Vector:
        first = self.ends[0]
        return np.concatenate([parts[0][:first], *parts[1:], parts[0][first:]])

    def set_point(self, *point: Vector) -> None:
        """Take a point: x, s, w, z (N,)."""
        split = [self._split(values) for values in point]
        self.map(DeviceShard.set_point, list(zip(*split, strict=True)))

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point."""
        parts = self.each(DeviceShard.get_point)
        x, s, w, z = (self._joined([part[i] for part in parts]) for i in range(4))
        return x, s, w, z

    def times(self, v: Vector) -> Vector:
        """``A v`` (m,)."""
        return _sum(self.map(DeviceShard.times, [(part,) for part in self._split(v)]))

    def transposed(self, y: Vector) -> Vector:
        """``A^T y`` (N,)."""
        return self._joined(self.each(DeviceShard.transposed, y))

    # --- as for a shard -----------------------------------------------------------------------------------------

    def assess(self, y: Vector, rho: float, rho_free: float) -> tuple[Vector, Vector]:
        """``A x`` of all shards, and their sums, largest and smallest values together."""
        with self._phases.phase("products"):
            found = self.each(DeviceShard.assess, y, rho, rho_free)
        return _sum([part[0] for part in found]), joined_measures(np.stack([part[1] for part in found]))

    def scale(self, rho: float, rho_free: float) -> Vector:
        """Theta for other ``rho``; its smallest and largest value (2,)."""
        found = np.stack(self.each(DeviceShard.scale, rho, rho_free))
        return np.array([found[:, 0].min(), found[:, 1].max()])

    def unit_scale(self) -> None:
        """Theta = 1."""
        self.each(DeviceShard.unit_scale)

    def form(self) -> None:
        """The matrix of the linear system."""
        with self._phases.phase("form"):
            self.linear_system.form()

    def factor(self, relative: float, absolute: float) -> int:
        """Factorise it with a larger diagonal; not 0 where that fails."""
        self.factorizations += 1
        with self._phases.phase("factor"):
            return self.linear_system.factor(relative, absolute)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor."""
        with self._phases.phase("solve"):
            return self.linear_system.solve(rhs)

    # --- what linear systems use --------------------------------------------------------------------------------

    @property
    def is_one(self) -> bool:
        """Whether one shard has all columns."""
        return len(self.shards) == 1

    def on_first(self, function: Callable[[Any], T]) -> T:
        """Call a function with the first shard, on its thread."""
        return function(self.shards[0])

    def get_theta(self) -> Vector:
        """The present theta (N,)."""
        found: Vector = self._joined(self.each(DeviceShard.get_theta))
        return found

    def form_normal(self) -> None:
        """The dense matrix on the first shard; those of the others are added in their order."""
        if self.is_one:
            self.shards[0].form()
            return
        found: list[Any] = self.map(DeviceShard.form_lower, [(rank > 0,) for rank in range(len(self.shards))])
        self.on_first(lambda shard: shard.add_lower(found[1:]))

    def normal(self, p: Vector) -> Vector:
        """``A Theta A^T p`` (m,)."""
        with self._phases.phase("products"):
            return _sum(self.each(DeviceShard.normal, p))

    def target(self, kind: Target, sigma_mu: float, primal: float, dual: float) -> Vector:
        """Right-hand sides of complementarity; ``A Theta g`` (m,)."""
        with self._phases.phase("products"):
            return _sum(self.each(DeviceShard.target, kind, sigma_mu, primal, dual))

    def direction(self, dy: Vector) -> Vector:
        """The direction from dy; ``A dx`` (m,)."""
        with self._phases.phase("products"):
            return _sum(self.each(DeviceShard.direction, dy))

    def search_direction(
        self, kind: Target, sigma_mu: float, primal: float, dual: float, rp: Vector, keep_previous: bool = False
    ) -> tuple[Vector, Vector]:
        """The direction toward a target."""
        dy = self.solve(rp - self.target(kind, sigma_mu, primal, dual))
        if keep_previous:
            self.swap_slots()
        return dy, self.direction(dy)

    def complete(self) -> Vector:
        """Extents of the last direction (5,)."""
        return joined_extents(np.stack(self.each(DeviceShard.complete)))

    def advance(self, primal: float, dual: float) -> None:
        """Take the step."""
        self.each(DeviceShard.advance, primal, dual)

    def swap_slots(self) -> None:
        """Keep the present direction."""
        self.each(DeviceShard.swap_slots)


class PoolSystem(System):
    """Shards on the members of a pool, a context manager. With one member, :meth:`run` calls whole functions there."""

    def __init__(
        self, data: ShardData, members: Sequence[Member], make: Callable[[Device, ShardData], DeviceShard]
    ) -> None:
        self.members = list(members)
        count = len(self.members)
        ends = [data.n * (rank + 1) // count for rank in range(count)]
        parts = cut(data, ends) if count > 1 else [data]
        self._group: WorkerGroup[DeviceShard] = WorkerGroup(self.members, make, [(part,) for part in parts])
        super().__init__(data, [self._group.worker(rank) for rank in range(count)], ends)
        self._caller = ThreadPoolExecutor(1, "quintet-linprog") if count > 1 else None

    def __enter__(self) -> PoolSystem:
        return self

    def __exit__(self, *error: Any) -> None:
        self.linear_system.close()  # what waits for it on another thread goes on
        for shard in self.shards:
            shard.cancel()
        if self._caller is not None:
            self._caller.shutdown()
        self._group.__exit__(*error)

    @override
    def each(self, method: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        return super().each(method, *args, **kwargs) if self.is_one else self._group.each(method, *args, **kwargs)

    @override
    def map(self, method: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        found: list[Any] = super().map(method, arguments) if self.is_one else self._group.map(method, list(arguments))
        return found

    @override
    def on_first(self, function: Callable[[Any], T]) -> T:
        return function(self.shards[0]) if self.is_one else self._group.first(DeviceShard.call, function)

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Call a function on the only device's thread, or on one of its own if there are several devices."""
        if self._caller is not None:
            return self._caller.submit(function)

        def on_thread(shard: DeviceShard) -> T:
            with shard.session():
                return function()

        return self._group.submit(0, on_thread)

    def run(self, function: Callable[[], T]) -> T:
        """Call a function where :meth:`submit` does, and wait."""
        return self.submit(function).result()


def _of(shard: Any, method: Callable[Concatenate[Any, P], T]) -> Callable[P, T]:
    """A shard's own version of a method of :class:`DeviceShard`."""
    found: Callable[P, T] = getattr(shard, method.__name__)
    return found


def _sum(parts: list[Vector]) -> Vector:
    """In the order of the shards."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
