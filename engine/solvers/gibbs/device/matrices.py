"""The matrices of the chains on one device: X'X or X'WX plus the prior, factorised for every chain of this device.

With several devices, only large matrices are divided: each chain's is factorised by one device, which then sends what
it solved for to the others. Small ones are factorised by every device.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Device, StreamEvent
from ....errors import DeviceError
from ....numerics.exchange import Part
from ....numerics.linear_algebra import LinearAlgebra, linear_algebra
from ....numerics.memory import Memory
from ..design.layout import LARGE_FROM, share_of_chains
from ..options import Settings
from .chains import Chains
from .rows import Rows

_JITTER = 1e-12
_PINNED = 1e300
_MOST_STREAMS = 4
_LIBRARY_FROM = {"lapack": 257, "cusolver": 2049}
"""Columns from which LAPACK and cuSOLVER are faster than the kernels, which factorise all chains' matrices together."""
_GRAM_FROM = {"cusolver": 1e11}
"""Products from which the library makes the Gram matrix: CuPy takes 0.2 s to import."""


@dataclass
class Group:
    """Chains [first, first + count) whose matrices are factorised together, on a stream of their own."""

    stream: int
    first: int
    count: int
    algebra: LinearAlgebra
    matrix: Buffer
    rhs: Buffer
    status: Buffer


class Matrices:
    """G + D^-1 for every chain of this device, scaled to a diagonal of ones, and its Cholesky factor."""

    def __init__(self, memory: Memory, rows: Rows, settings: Settings, number: int) -> None:
        self.device, self._rows, self._settings = memory.device, rows, settings
        self._memory, self._programs = memory, rows.programs
        q, chains = rows.layout.columns, settings.chains
        self.scale, self.prior = memory.empty((chains, q)), memory.empty((chains, q))  # s; the diagonal of D^-1
        self.gram, self.diagonal = memory.empty((q, q)), memory.empty(q)  # G, lower triangle
        self.slab = memory.put(np.append(np.zeros(rows.design.first), rows.design.slab))
        self.failed = memory.zeros(1, np.int32)
        capabilities = self.device.capabilities
        # on streams of their own, beside the passes over the rows
        self.concurrent = not capabilities.shares_host_cores
        self.divided = rows.peer is not None and q >= LARGE_FROM
        self._counts = self.divided or number == 0
        self.owned = share_of_chains(q, chains, number, 1 if rows.peer is None else rows.peer.count)
        own = settings.provider is None and q < _LIBRARY_FROM.get(capabilities.linear_algebra, 0)
        self._algebras: list[LinearAlgebra] = []
        algebra = self._algebra("kernels" if own else settings.provider)
        algebra.begin_factor()
        self.groups = self._grouped(algebra)
        by_library = own and rows.layout.rows * q * q >= _GRAM_FROM.get(capabilities.linear_algebra, 0)
        self.gram_algebra = self._algebra(None) if by_library else algebra
        self.gram_algebra.begin_gram(q)

    def close(self) -> None:
        """Give scratch memory of the linear algebra back."""
        for algebra in self._algebras:
            algebra.close()

    def _algebra(self, provider: Any) -> LinearAlgebra:
        self._algebras.append(linear_algebra(self.device, provider))
        self._algebras[-1].between = self._rows.between
        return self._algebras[-1]

    def _grouped(self, algebra: LinearAlgebra) -> list[Group]:
        """The device's chains: large matrices on concurrent streams; small ones together, with launches as for one."""
        q, (first, last) = self._rows.layout.columns, self.owned
        alone = self.concurrent and q >= LARGE_FROM and algebra.provider != "kernels"
        each = 1 if alone else min(_most_matrices(self.device, q), max(1, last - first))
        groups: list[Group] = []
        for begin in range(first, last, each):
            count = min(each, last - begin)
            stream = 1 + (begin - first) % _MOST_STREAMS if self.concurrent else 0
            matrix, rhs = self._memory.empty((count, q, q)), self._memory.empty((count, q))
            status = self._memory.empty(count, np.int32)
            own = self._algebra(algebra.provider) if groups else algebra
            groups.append(Group(stream, begin, count, own, matrix, rhs, status))
        return groups

    @property
    def recordable(self) -> bool:
        """Whether iterations can be recorded: no exchange between devices, no rows to send, no library."""
        rows = self._rows
        return rows.peer is None and not rows.streamed and all(one.algebra.provider == "kernels" for one in self.groups)

    # --- the common matrix ----------------------------------------------------------------------------------------

    def make_gram(self, weight: Buffer | None) -> NDArray[np.float64]:
        """The parts of G, shard by shard; on a single device the matrix is in use afterwards."""
        parts = self._rows.make_gram(self.gram_algebra, self.gram, weight)
        if self._rows.peer is None:
            self._take_diagonal()
        return parts

    def set_gram(self, gram: NDArray[np.float64]) -> None:
        """Take G over from the coordinator."""
        self.device.put(gram, self.gram)
        self._take_diagonal()

    def _take_diagonal(self) -> None:
        q, programs = self._rows.layout.columns, self._programs
        arguments = {"gram": self.gram, "diagonal": self.diagonal, "q": q}
        programs.precision.take_diagonal(programs.spread(q), programs.block, **arguments)
        if (pinned := self._rows.design.pinned) is not None:  # a scale of 0, so that nothing moves it
            self.device.put(np.full(1, _PINNED), self.diagonal, pinned)

    def gram_diagonal(self) -> NDArray[np.float64]:
        """The diagonal of G; shape (q,)."""
        diagonal: NDArray[np.float64] = self.device.get(self.diagonal)
        return diagonal

    # --- every chain's matrix -------------------------------------------------------------------------------------

    def event(self) -> StreamEvent | None:
        """An event of the present stream where streams are concurrent; elsewhere one order costs less."""
        return self.device.record_event() if self.concurrent else None

    def after(self, event: StreamEvent | None) -> None:
        """Let the present stream wait for an event."""
        if event is not None:
            self.device.wait_for_event(event)

    def build(self, group: Group) -> None:
        """The scaled matrices of a group, from ``scale`` and ``gram``."""
        q = self._rows.layout.columns
        self._programs.precision.build_precision(
            group.count * q,
            self._programs.block,
            gram=self.gram,
            scale=self.scale,
            matrix=group.matrix,
            q=q,
            first_chain=group.first,
            jitter=_JITTER,
        )

    def build_beside(self, draw_scales: Callable[[], None]) -> StreamEvent | None:
        """``draw_scales``, then the matrices that follow from it, on the first group's stream."""
        begun = self.event()
        with self.device.stream(int(self.concurrent)):
            self.after(begun)
            draw_scales()
            for group in self.groups:
                self.build(group)
            return self.event()

    def factorise(self, built: StreamEvent | None) -> None:
        """Every group's matrices on its stream, once they are built."""
        if not self.groups:
            self.after(built)  # what drew the scales is not to meet the next iteration
        for group in self.groups:
            with self.device.stream(group.stream):
                self.after(built)
                group.algebra.cholesky(group.matrix, group.status)
                if self._counts:
                    self._programs.precision.count_failures(
                        1, 1, status=group.status, count=group.count, failed=self.failed
                    )

    def each_group(self, work: Callable[[Group], None]) -> None:
        """``work`` for every group on its stream, after what the present stream was given, and before what follows."""
        begun = self.event()
        done: list[StreamEvent | None] = []
        for group in self.groups:
            with self.device.stream(group.stream):
                self.after(begun)
                work(group)
                done.append(self.event())
        for event in done:
            self.after(event)

    def share(self, *values: tuple[Buffer, int]) -> None:
        """Let every device have the rows of the chains that this device owns, of buffers of shape (chains, width)."""
        peer = self._rows.peer
        if peer is not None and self.divided:
            first, last = self.owned
            peer.exchange(*(Part(buffer, first * width, last * width) for buffer, width in values))

    # --- solving with a fixed prior, for the start ----------------------------------------------------------------

    def factorise_fixed(self, prior: NDArray[np.float64]) -> None:
        """Factorise G + diag(prior) as the first matrix of the first group."""
        group = self.groups[0]
        scale = 1.0 / np.sqrt(self.device.get(self.diagonal) + prior)
        self.device.put(np.tile(scale, self._settings.chains), self.scale)
        self.build(group)
        group.algebra.cholesky(group.matrix, group.status)
        if self.device.get(group.status).any():
            raise DeviceError("X'X plus its prior has no Cholesky factor")
        self._fixed_scale = scale

    def solve_fixed(self, vector: NDArray[np.float64], transposed: bool) -> NDArray[np.float64]:
        """L^-1 s v, or s L^-T v, where s (G + diag(prior)) s = L L' of :meth:`factorise_fixed`; shape (q,)."""
        group, scale = self.groups[0], self._fixed_scale
        rhs = np.zeros((group.count, len(vector)))
        rhs[0] = vector if transposed else scale * vector
        self.device.put(rhs, group.rhs)
        (group.algebra.solve_lower_transposed if transposed else group.algebra.solve_lower)(group.matrix, group.rhs)
        solved: NDArray[np.float64] = self.device.get(group.rhs)[0]
        return solved * scale if transposed else solved


def _most_matrices(device: Device, q: int) -> int:
    return max(1, device.info.max_allocation // (8 * q * q))


class PriorBuffers(Protocol):
    """What the kernels of the scales write: see :class:`Matrices`."""

    scale: Buffer
    prior: Buffer
    diagonal: Buffer
    slab: Buffer
    failed: Buffer


def shared_arguments(rows: Rows, chains: Chains, matrices: PriorBuffers, settings: Settings) -> dict[str, Any]:
    """Arguments of the kernels that are the same all through a run, by their names in the templates."""
    layout = rows.layout
    return {
        "beta": chains.beta,
        "local_precision": chains.local_precision,
        "nu": chains.nu,
        "chain_state": chains.chain_state,
        "beta_f32": chains.beta_f32,
        "scale": matrices.scale,
        "prior": matrices.prior,
        "diagonal": matrices.diagonal,
        "slab": matrices.slab,
        "q": layout.columns,
        "stride": layout.stride,
        "width": layout.width,
        "total": layout.total,
        "row_count": layout.rows,
        "pitch": layout.pitch,
        "first": rows.design.first,
        "chains": chains.count,
        "seed": settings.seed,
        "iteration": chains.iteration,
        "first_prior": settings.options.intercept_scale**-2,
        "inverse_width": settings.tau_scale**-2,
        "slab_degrees": settings.options.chosen_prior.slab_degrees,
        "slab_scale": settings.options.chosen_prior.slab_scale,
    }
