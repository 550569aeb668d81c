"""Normal equations of sparse programs of one pattern: it is analysed once, for all programs and iterations."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ....devices.host import host_cores
from ....errors import OutOfDeviceMemory
from ....numerics.blas_threads import one_thread
from ..interior.factors import Picture, SuperLU
from ..interior.products import products_of
from ..interior.shard import ShardData, with_slacks
from ..interior.worker import DeviceShard
from ..multifrontal.factor import Multifrontal, matrix_bytes, multifrontal_runs_on
from ..multifrontal.ordering import best_tree
from ..multifrontal.plan import make_plan
from ..multifrontal.symbolic import Fronts, analyse
from ..problem import sp

__all__ = ["PatternEquations", "repeated"]

Vector = NDArray[np.float64]
_MOST_THREADS = 16


class PatternEquations:
    """``A diag(theta) A^T`` of each program; see :class:`~engine.solvers.linprog.interior.system.NormalEquations`.

    On the host each program has a factor of its own, by SuperLU on several threads (rslab has ended the process when
    new threads called it). On a device the fronts of all programs are
    factorised level by level together, as those of one program that falls into parts.

    Parameters
    ----------
    data : ShardData
        Sparse programs of one pattern.
    shard : DeviceShard
        Of all columns.
    linear_solver : str
        ``"sparse_cholesky"`` for the host, ``"multifrontal"`` for the device; any other: the device if it is a GPU.

    Attributes
    ----------
    fronts, factor_nonzeros : int
        Of each program.
    is_idle : callable
        Returns which programs need no factor any more (k,).
    """

    reads_shard = True
    leaves_to_shard = is_undecided = False
    picture: Picture | None = None

    def __init__(self, data: ShardData, shard: DeviceShard, linear_solver: str) -> None:
        self._k, self._m, self._shard = data.batch, data.m, shard
        self.is_idle: Callable[[], NDArray[np.bool_]] = lambda: np.zeros(self._k, bool)
        self._idle = np.zeros(self._k, bool)
        self.fronts = self.device_bytes = self.factor_nonzeros = 0
        self._on_device: Multifrontal | None = None
        self._threads = ThreadPoolExecutor(max(1, min(_MOST_THREADS, host_cores(), self._k)), "quintet-factors")
        self._factors: list[SuperLU] = []
        columns = sp.csc_array(with_slacks(data))
        columns.sort_indices()
        gpu = multifrontal_runs_on(shard.device.capabilities)
        if linear_solver == "multifrontal" or (linear_solver != "sparse_cholesky" and gpu):
            self._use_device(columns)
        if self._on_device is None:
            self._use_host(columns)

    def _use_device(self, columns: sp.csc_array) -> None:
        """Factors on the device, if they fit there."""
        k, m, device = self._k, self._m, self._shard.device
        first = sp.csc_array(sp.csr_array(columns)[:m])
        pattern = products_of(first).pattern
        fronts = repeated(analyse(best_tree(pattern.indices, pattern.indptr)), k)
        plan = make_plan(fronts)
        needed = plan.nbytes + matrix_bytes(columns.nnz, *columns.shape)
        if needed > device.memory().free or plan.largest > device.info.max_allocation:
            return
        try:
            self._on_device = Multifrontal(device, columns, fronts, plan)
        except OutOfDeviceMemory:
            return
        self.fronts, self.device_bytes, self.factor_nonzeros = fronts.count // k, needed, fronts.nonzeros // k

    def _use_host(self, columns: sp.csc_array) -> None:
        """Factors on the host."""
        self._products = products_of(columns)
        pattern, m = self._products.pattern, self._m
        end = int(pattern.indptr[m])
        self._values = np.zeros((self._k, end))
        self._diagonal = pattern.indptr[:m].astype(np.int64)
        self._factors = [SuperLU(pattern.indices[:end].copy(), pattern.indptr[: m + 1].copy())]

    def form(self, theta: Vector | None) -> None:
        """Compute the matrices for the theta of the shard; those of programs that need none, or have no numbers, wait.

        Parameters
        ----------
        theta : None
            It is read on the device.
        """
        given = self._shard.get_theta()
        self._idle = self.is_idle() | ~np.isfinite(given).all(axis=1)
        given[self._idle] = 1.0
        flat = self._shard.flat(given)
        if self._on_device is not None:
            self._on_device.form(flat)
        else:
            self._values = self._products.values(flat).reshape(self._k, -1)

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise the matrices of the last :meth:`form`.

        Parameters
        ----------
        relative, absolute : ndarray, shape (k,)
            What is added to the diagonals: this part of each entry, and this amount.

        Returns
        -------
        ndarray of int32, shape (k,)
            1 where a matrix is not positive definite; on a device, everywhere if one is not.
        """
        if self._on_device is not None:
            good = self._on_device.factor(float(relative.max()), float(absolute.max()))
            return np.full(self._k, not good, np.int32)
        values = self._values.copy()
        diagonal = values[:, self._diagonal]
        values[:, self._diagonal] = diagonal + relative[:, None] * diagonal + absolute[:, None]
        first = self._factors[0]
        if len(self._factors) == 1:
            good = first.factor(values[0])
            self._factors += [first.with_same_pattern() for _ in range(self._k - 1)]
        status = np.zeros(self._k, np.int32)

        def factorise(program: int) -> None:
            status[program] = not self._factors[program].factor(values[program])

        active = np.flatnonzero(~self._idle).tolist()
        with one_thread():
            list(self._threads.map(factorise, active))
        self.factor_nonzeros = first.nonzeros
        return status

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factors for right-hand sides (k, m); 0 for programs that need none."""
        found = np.zeros_like(rhs)
        if self._on_device is not None:
            safe = np.where(self._idle[:, None], 0.0, rhs)
            return np.where(self._idle[:, None], 0.0, self._on_device.solve(safe.reshape(-1)).reshape(rhs.shape))
        for program in np.flatnonzero(~self._idle).tolist():
            found[program] = self._factors[program].solve(np.ascontiguousarray(rhs[program]))
        return found

    def close(self) -> None:
        """End the threads, and release what is on the device."""
        self._threads.shutdown()
        if self._on_device is not None:
            self._on_device.close()


def repeated(fronts: Fronts, count: int) -> Fronts:
    """The fronts of so many matrices of one pattern, as those of one matrix with them on its diagonal.

    Parameters
    ----------
    fronts : Fronts
        Of one matrix.
    count : int
    """
    m, each = fronts.order.size, fronts.count

    def shifted(values: NDArray[np.int64], by: int) -> NDArray[np.int64]:
        return np.asarray((values + by * np.arange(count)[:, None]).ravel())

    parent = np.where(fronts.parent >= 0, fronts.parent + each * np.arange(count)[:, None], -1)
    return Fronts(
        order=shifted(fronts.order, m),
        parent=parent.ravel(),
        first=shifted(fronts.first, m),
        widths=np.tile(fronts.widths, count),
        sizes=np.tile(fronts.sizes, count),
        starts=np.append(shifted(fronts.starts[:-1], int(fronts.starts[-1])), count * fronts.starts[-1]),
        below=shifted(fronts.below, m),
        relative=np.tile(fronts.relative, count),
    )
