"""A batch of programs spread over devices, as one: sums over shards, factors on the first device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Device, DevicePool, Member
from ....devices.pool.group import WorkerGroup
from .loading import PhaseSeconds, devices_of
from .normal_equations import NormalEquations
from .shard import Shard, ShardData, Target, cut
from .staged_copy import StagedCopy
from .worker import DeviceShard

__all__ = ["PoolSystem", "System"]

_UPDATES_RESIDUAL = 1e-6  # largest relative residual of the updates at which a direction is used
_REFINEMENTS = 2  # of a solution by updates, before its residual is judged

Vector = NDArray[np.float64]
T = TypeVar("T")
P = ParamSpec("P")


class System:
    """All shards together, called from one thread (:class:`PoolSystem` for shards on several).

    Shapes are those of :class:`~engine.solvers.linprog.interior.shard.Shard`.

    Parameters
    ----------
    data : ShardData
    shards : sequence of Shard
    ends : list of int, optional
        Where the columns of each shard end.

    Attributes
    ----------
    seconds : dict
        Time spent in each phase.
    factorizations, update_solves : int
    worst_residual : float
        Largest relative residual that a solution by updates was accepted with.
    warnings : list of str
        Messages for the user; they are removed when they are reported.
    """

    def __init__(self, data: ShardData, shards: Sequence[Any], ends: list[int] | None = None) -> None:
        self.data = data
        self.shards = list(shards)
        self.ends = ends or [data.n]
        self.normal_equations: NormalEquations | None = None
        self._phases = PhaseSeconds(("products", "form", "factor", "solve"), devices_of(self.shards))
        self.seconds = self._phases.seconds
        self.factorizations = self.update_solves = 0
        self.updating = self._began_updates = False
        self._block = 1
        self.worst_residual = 0.0
        self.warnings: list[str] = []

    def use_updates(self, block: int) -> None:
        """Solve by Sherman-Morrison updates of so many columns from now on, while they are accurate."""
        self.updating, self._block = True, block

    def _switch_to_cholesky(self, reason: str) -> None:
        self.updating = False
        self.warnings.append(f"{reason}: Cholesky factors are used from here on")

    # --- calling the shards -------------------------------------------------------------------------------------

    def each(self, method: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Call a method of every shard; the results in order."""
        return [_of(shard, method)(*args, **kwargs) for shard in self.shards]

    def map(self, method: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call a method of each shard with arguments of its own.

        Parameters
        ----------
        method : callable
        arguments : sequence of tuple
            One for each shard.
        """
        return [_of(shard, method)(*own) for shard, own in zip(self.shards, arguments, strict=True)]

    def first(self, method: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the first shard."""
        return _of(self.shards[0], method)(*args, **kwargs)

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
        self.map(Shard.set_point, list(zip(*split, strict=True)))

    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        """The present point."""
        parts = self.each(Shard.get_point)
        x, s, w, z = (self._joined([part[i] for part in parts]) for i in range(4))
        return x, s, w, z

    def times(self, v: Vector) -> Vector:
        """``A v`` (k, m)."""
        return _sum(self.map(Shard.times, [(part,) for part in self._split(v)]))

    def transposed(self, y: Vector) -> Vector:
        """``A^T y`` (k, N)."""
        return self._joined(self.each(Shard.transposed, y))

    # --- see Shard ----------------------------------------------------------------------------------------------

    def assess(self, y: Vector, rho: Vector, rho_free: Vector) -> tuple[Vector, Vector]:
        """See :class:`Shard`."""
        began = self._phases.begin()
        found = self.each(Shard.assess, y, rho, rho_free)
        sums = found[0][1]
        if len(found) > 1:
            each = np.stack([part[1] for part in found])
            ends = each[:, :, 3:5].max(axis=0), each[:, :, 5:6].min(axis=0), each[:, :, 6:].max(axis=0)
            sums = np.concatenate([each[:, :, :3].sum(axis=0), *ends], axis=1)
        self._phases.end("products", began)
        return _sum([part[0] for part in found]), sums

    def scale(self, rho: Vector, rho_free: Vector) -> Vector:
        """See :class:`Shard`."""
        found = np.stack(self.each(Shard.scale, rho, rho_free))
        return np.stack([found[:, :, 0].min(axis=0), found[:, :, 1].max(axis=0)], axis=1)

    def unit_scale(self) -> None:
        """See :class:`Shard`."""
        self.each(Shard.unit_scale)

    def form(self) -> None:
        """M = A Theta A^T, on the first shard or by the normal equations."""
        if self.updating:
            return
        began = self._phases.begin()
        if self.normal_equations is not None:
            there = len(self.shards) == 1 and self.normal_equations.reads_shard
            self.normal_equations.form(None if there else self._joined(self.each(Shard.get_theta))[0])
            if self.normal_equations.leaves_to_shard:
                self.normal_equations = None
        if self._present_equations is None:
            self._form()
        self._phases.end("form", began)

    @property
    def _present_equations(self) -> NormalEquations | None:
        """What factorises the matrix of the last :meth:`form`; None if the first shard does."""
        found = self.normal_equations
        return None if found is None or found.is_undecided else found

    def _form(self) -> None:
        self.first(Shard.form)

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise, or make all updates; see :meth:`DeviceShard.factor`."""
        if self.updating:
            return self._update(relative, absolute)
        began = self._phases.begin()
        equations = self._present_equations
        if equations is not None:
            status = equations.factor(relative, absolute)
        else:
            status = self.first(DeviceShard.factor, relative, absolute)
        self.factorizations += 1
        self._phases.end("factor", began)
        return status

    def _update(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        self._regularisation = relative, absolute
        began = self._phases.begin()
        if not self._began_updates:
            self._began_updates = True
            if not self.first(DeviceShard.begin_updates, self._block):
                self._switch_to_cholesky("A A^T is not positive definite")
                self.form()
                return self.factor(relative, absolute)
        self.first(DeviceShard.update)
        self._phases.end("factor", began)
        return np.zeros(self.data.batch, np.int32)

    def _solve_by_updates(self, rhs: Vector) -> Vector:
        """Updates and refinement; Cholesky if the residual stays large."""
        began = self._phases.begin()
        size = float(np.abs(rhs).max(initial=0.0))
        found = self.first(DeviceShard.solve_by_updates, rhs)
        best, least = found, np.inf
        for step in range(_REFINEMENTS + 1):
            residual = rhs - self.normal(found)
            error = float(np.abs(residual).max(initial=0.0)) / max(size, 1e-300)
            if not np.isfinite(error) or error >= least:
                break
            best, least = found, error
            if error < 1e-12 or step == _REFINEMENTS:
                break
            found = found + self.first(DeviceShard.solve_by_updates, residual)
        self._phases.end("solve", began)
        self.update_solves += 1
        if least <= _UPDATES_RESIDUAL:
            self.worst_residual = max(self.worst_residual, least)
            return best
        self._switch_to_cholesky(
            f"the updates left a relative residual of {least:.1e} after {_REFINEMENTS} refinements"
        )
        self.form()
        self.factor(*self._regularisation)
        return self.solve(rhs)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor, or by updates."""
        if self.updating:
            return self._solve_by_updates(rhs)
        began = self._phases.begin()
        equations = self._present_equations
        found = equations.solve(rhs) if equations is not None else self.first(DeviceShard.solve, rhs)
        self._phases.end("solve", began)
        return found

    def normal(self, p: Vector) -> Vector:
        """See :class:`Shard`."""
        began = self._phases.begin()
        found = _sum(self.each(Shard.normal, p))
        self._phases.end("products", began)
        return found

    def target(self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector) -> Vector:
        """See :class:`Shard`."""
        began = self._phases.begin()
        found = _sum(self.each(Shard.target, kind, sigma_mu, primal, dual))
        self._phases.end("products", began)
        return found

    def direction(self, dy: Vector) -> Vector:
        """See :class:`Shard`."""
        began = self._phases.begin()
        found = _sum(self.each(Shard.direction, dy))
        self._phases.end("products", began)
        return found

    def search_direction(
        self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector, rp: Vector, keep_previous: bool = False
    ) -> tuple[Vector, Vector]:
        """The direction toward a target.

        Parameters
        ----------
        kind, sigma_mu, primal, dual
            As for :meth:`Shard.target`.
        rp : ndarray, shape (k, m)
            Primal residual.
        keep_previous : bool
            Whether the direction goes to the other slot.

        Returns
        -------
        ndarray, ndarray, shape (k, m)
            dy, and A dx, which is rp but for rounding errors.
        """
        dy = self.solve(rp - self.target(kind, sigma_mu, primal, dual))
        if keep_previous:
            self.swap_slots()
        return dy, self.direction(dy)

    def complete(self) -> Vector:
        """See :class:`Shard`."""
        return self._completed(self.each(Shard.complete))

    def _completed(self, found: list[Vector]) -> Vector:
        if len(found) == 1:
            return np.asarray(found[0])
        each = np.stack(found)
        return np.concatenate([each[:, :, :2].max(axis=0), each[:, :, 2:].sum(axis=0)], axis=1)

    def advance(self, primal: Vector, dual: Vector) -> None:
        """See :class:`Shard`."""
        self.each(Shard.advance, primal, dual)

    def swap_slots(self) -> None:
        """See :class:`Shard`."""
        self.each(Shard.swap_slots)

    def run(self, function: Callable[[], T]) -> T:
        """Call a function on the thread where the shards may be used."""
        return function()


class PoolSystem(System):
    """Shards on the members of a pool, a context manager. With one member, :meth:`run` calls whole functions there.

    Parameters
    ----------
    data : ShardData
    pool : DevicePool
    members : sequence of Member
        Those of the pool that share the matrix; at most one a column.
    make : callable
        ``make(device, data)`` makes a shard on the device's thread.
    """

    def __init__(
        self,
        data: ShardData,
        pool: DevicePool,
        members: Sequence[Member],
        make: Callable[[Device, ShardData], DeviceShard],
    ) -> None:
        self.members = list(members)
        count = len(self.members)
        if count > 1:
            pool.enable_peers()
        ends = [data.n * (rank + 1) // count for rank in range(count)]
        parts = cut(data, ends) if count > 1 else [data]
        self._group: WorkerGroup[DeviceShard] = WorkerGroup(self.members, make, [(part,) for part in parts])
        super().__init__(data, [self._group.worker(rank) for rank in range(count)], ends)
        self._extents: Vector | None = None  # what `complete` will return, once known
        self._caller = ThreadPoolExecutor(1, "quintet-linprog") if count > 1 else None

    def __enter__(self) -> PoolSystem:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.normal_equations is not None:  # what waits for it on another thread goes on
            self.normal_equations.close()
        for shard in self.shards:
            shard.cancel()
        if self._caller is not None:
            self._caller.shutdown()
        self._group.__exit__(*error)

    def each(self, method: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Call a method of every shard, each on its device's thread."""
        if len(self.shards) == 1:
            return super().each(method, *args, **kwargs)
        return self._group.each(method, *args, **kwargs)

    def map(self, method: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call a method of each shard with arguments of its own, on its device's thread.

        Parameters
        ----------
        method : callable
        arguments : sequence of tuple
            One for each shard.
        """
        if len(self.shards) == 1:
            return super().map(method, arguments)
        found: list[Any] = self._group.map(method, list(arguments))
        return found

    def first(self, method: Callable[Concatenate[Any, P], T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the first shard, on its device's thread."""
        if len(self.shards) == 1:
            return super().first(method, *args, **kwargs)
        return self._group.first(method, *args, **kwargs)

    def _form(self) -> None:
        """M of every shard, added on the first device in the order of the shards; all devices work at the same time."""
        if len(self.shards) == 1:
            super()._form()
            return
        group, first = self._group, self.members[0]
        copies = [None if first.reads(member) else StagedCopy() for member in self.members[1:]]
        sent = {i: group.submit(i, DeviceShard.send_normal, copy) for i, copy in enumerate(copies, start=1)}
        others = list(zip(sent.values(), copies, strict=True))
        everything: dict[int, Future[Any]] = {**sent}
        everything[0] = group.submit(0, DeviceShard.collect_normal, others)
        group.gather(everything)

    @override
    def search_direction(
        self, kind: Target, sigma_mu: Vector, primal: Vector, dual: Vector, rp: Vector, keep_previous: bool = False
    ) -> tuple[Vector, Vector]:
        """The devices wait for each other themselves, not for this thread."""
        if len(self.shards) == 1 or self.updating or self.normal_equations is not None:
            return super().search_direction(kind, sigma_mu, primal, dual, rp, keep_previous)
        began = self._phases.begin()
        group, wanted = self._group, (kind, sigma_mu, primal, dual)
        targets = [group.submit(i, Shard.target, *wanted) for i in range(1, len(self.shards))]
        solved = group.submit(0, DeviceShard.solve_for_dy, *wanted, rp, targets)
        parts = group.each(DeviceShard.finish_direction, solved, keep_previous)
        self._extents = self._completed([extents for _, extents in parts])
        dy, solving = solved.result()
        self.seconds["solve"] += solving
        self._phases.end("products", began + solving)
        return dy, _sum([ax for ax, _ in parts])

    def direction(self, dy: Vector) -> Vector:
        """See :class:`Shard`."""
        self._extents = None
        return super().direction(dy)

    def complete(self) -> Vector:
        """See :class:`Shard`; :meth:`search_direction` may have it already."""
        found, self._extents = self._extents, None
        return super().complete() if found is None else found

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Call a function on the only device's thread, or on one of its own if there are several devices."""
        if self._caller is not None:
            return self._caller.submit(function)

        def on_thread(shard: DeviceShard) -> T:
            with shard.session():
                return function()

        return self._group.submit(0, on_thread)

    def run(self, function: Callable[[], T]) -> T:
        """:meth:`submit`, and wait."""
        return self.submit(function).result()


def _of(shard: Any, method: Callable[Concatenate[Any, P], T]) -> Callable[P, T]:
    """A shard's own version of a method of :class:`Shard` or :class:`DeviceShard`."""
    found: Callable[P, T] = getattr(shard, method.__name__)
    return found


def _sum(parts: list[Vector]) -> Vector:
    """In the order of the shards."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
