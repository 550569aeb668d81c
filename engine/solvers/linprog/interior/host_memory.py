"""A single program on a device whose memory is the host's: dense products and factors by BLAS and LAPACK."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import scipy.linalg.blas
import scipy.linalg.lapack
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import Device
from ....numerics.linear_algebra import Provider, linear_algebra
from ....numerics.linear_algebra.blocked import cholesky_in_blocks, gram_in_blocks
from ....numerics.linear_algebra.lapack import Lapack
from ..forms.standard import ShardData
from ..problem import sp
from .loading import Launch
from .worker import DeviceShard

Vector = NDArray[np.float64]
_SCALED_BYTES = 16 << 20  # a scaled copy of A up to here is kept, larger ones are scaled in strips by the provider
_BLOCKED_ROWS = 1024  # matrices of more rows are computed in blocks, so that a run can be stopped meanwhile
_KEPT_SPARSE = 1 << 16  # a sparse one of more elements than this, zeros counted, is not made dense
_BLAS: Any = scipy.linalg.blas
_LAPACK: Any = scipy.linalg.lapack


def make_shard(device: Device, data: ShardData, provider: Provider | None, notice: Any = None) -> DeviceShard:
    """The shard that suits the device; made and used on its thread."""
    algebra = linear_algebra(device, provider, notice)
    traits = device.capabilities
    lapack = provider == "lapack" or (provider is None and traits.linear_algebra == "lapack")
    if lapack and traits.host_visible_memory and not traits.simt:
        probe = device.empty(1, np.float64)
        shared = device.shared_array(probe) is not None
        device.release(probe)
        if shared:
            if sp.issparse(data.A) and data.m * data.n <= _KEPT_SPARSE:
                data = replace(data, A=data.A.toarray())
            return HostMemoryShard(device, data, cast(Lapack, algebra))
    return DeviceShard(device, data, algebra)


class HostMemoryShard(DeviceShard):
    """A shard whose dense products and factors are BLAS's and LAPACK's, on the buffers' own memory while it is idle.

    It halves the time of dense programs of up to some hundred rows on two cores.
    """

    algebra: Lapack

    def __init__(self, device: Device, data: ShardData, algebra: Lapack) -> None:
        super().__init__(device, data, algebra)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._scaled: Vector | None = None
        self._distinct = np.unique(data.slack_rows).size == data.slack_rows.size
        self._busy = True  # whether the device may still have work
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End large products and factors soon, as failures; called from any thread."""
        self._cancelled.set()

    def close(self) -> None:
        """Release everything."""
        self._arrays.clear()
        super().close()

    @override
    def session(self) -> contextlib.AbstractContextManager[None]:
        return self.algebra.one_thread()

    def _run(self, key: Any, prepare: Callable[[], Launch], **scalars: float) -> None:
        self._busy = True
        super()._run(key, prepare, **scalars)

    def _over(self, entry: str, items: int, **arguments: Any) -> None:
        self._busy = True
        super()._over(entry, items, **arguments)

    def _sync(self) -> None:
        """Wait for the device, if anything was launched since the last time."""
        if self._busy:
            self.device.sync()
            self._busy = False

    @override
    def unit_scale(self) -> None:
        self._affine_target_ready = False
        self._sync()
        self._array("theta")[:] = 1.0

    # --- on the host -------------------------------------------------------------------------------------------

    def _array(self, name: str) -> NDArray[Any]:
        """A buffer's memory, without its batch dimension of 1."""
        found = self._arrays.get(name)
        if found is None:
            buffer = self._matrix(name) if name in ("M", "L") else self._buffers[name]
            seen = self.device.shared_array(buffer)
            assert seen is not None
            found = self._arrays[name] = seen.reshape(buffer.shape[1:]) if len(buffer.shape) == 3 else seen
        return found

    def _results(self, width: int) -> Vector:
        self._sync()
        return self._array("results")[: self._parts * width].reshape(self._parts, width).copy()

    @override
    def get_point(self) -> tuple[Vector, Vector, Vector, Vector]:
        self._sync()
        x, s, w, z = (self._array(name).copy() for name in ("x", "s", "w", "z"))
        return x, s, w, z

    def _times(self, name: str) -> Vector:
        if self._sparse:
            return super()._times(name)
        self._sync()
        v = self._array(name)
        with self.algebra.threads(2.0 * self._m * self._n):
            out = self._array("A") @ v[: self._n]
        if self._slacks:
            more = self.data.slack_signs * v[self._n :]
            if self._distinct:
                out[self.data.slack_rows] += more
            else:
                np.add.at(out, self.data.slack_rows, more)
        return np.asarray(out)

    def _transposed(self, y: Vector) -> None:
        if self._sparse:
            super()._transposed(y)
            return
        self._sync()
        out = self._array("aty")
        with self.algebra.threads(2.0 * self._m * self._n):
            np.matmul(y, self._array("A"), out=out[: self._n])
        if self._slacks:
            np.multiply(self.data.slack_signs, y[self.data.slack_rows], out=out[self._n :])

    @override
    def normal(self, p: Vector) -> Vector:
        if self._sparse:
            return super().normal(p)
        self._affine_target_ready = False
        self._transposed(p)
        np.multiply(self._array("theta"), self._array("aty"), out=self._array("weighed"))
        return self._times("weighed")

    @override
    def form(self) -> None:
        if self._sparse:
            self._busy = True
            super().form()
            return
        if self._m > _BLOCKED_ROWS:
            self._sync()
            with self.algebra.threads(float(self._m) ** 2 * self._n):
                matrix = self._array("A").reshape(self._m, self._n)
                gram_in_blocks(matrix, self._array("theta")[: self._n], self._array("M"), self._cancelled.is_set)
        elif 8 * self._m * self._n > _SCALED_BYTES:
            self.algebra.gram(self._buffers["A"], self._head("theta"), self._matrix("M"))
        else:
            self._sync()
            normal = self._array("M")
            if self._scaled is None:
                self._scaled = np.empty((self._m, self._n))
                normal[:] = 0.0  # some libraries keep NaN with beta = 0
            np.multiply(self._array("A"), np.sqrt(self._array("theta")[: self._n]), out=self._scaled)
            with self.algebra.threads(float(self._m) ** 2 * self._n):
                _BLAS.dsyrk(1.0, self._scaled.T, c=normal.T, trans=1, lower=0, overwrite_c=1)
        if self._slacks:
            weights = np.bincount(self.data.slack_rows, self._array("theta")[self._n :], self._m)  # signs are 1 or -1
            self._diagonal("M")[:] += weights

    def _diagonal(self, name: str) -> Vector:
        return self._array(name).reshape(-1)[:: self._m + 1]

    @override
    def factor(self, relative: float, absolute: float) -> int:
        self._sync()
        factor = self._array("L")
        np.copyto(factor, self._array("M"))
        diagonal = self._diagonal("L")
        diagonal *= 1.0 + relative
        diagonal += absolute
        if self._m > _BLOCKED_ROWS:
            status = cholesky_in_blocks(factor.reshape(self._m, self._m), self._cancelled.is_set, self.algebra.threads)
        else:
            with self.algebra.threads(self._m**3 / 3):
                status = _LAPACK.dpotrf(factor.T, lower=0, clean=0, overwrite_a=1)[1]
        if not status and np.isnan(diagonal).any():  # which LAPACK may not report
            status = int(np.argmax(np.isnan(diagonal))) + 1
        return int(status)

    @override
    def solve(self, rhs: Vector) -> Vector:
        self._sync()
        upper, out = self._array("L").T, rhs.copy()
        for trans in (1, 0):
            _BLAS.dtrsv(upper, out, lower=0, trans=trans, overwrite_x=1)
        return out
