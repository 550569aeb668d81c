"""Normal equations of a sparse program with a multifrontal factor on a device, where that is the fastest choice."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....devices import DeviceInfo
from ....devices.info import bytes_text
from ....errors import OutOfDeviceMemory
from ..highs.process import ChildError
from ..interior.augmented import fills_in
from ..interior.dense_columns import DenseColumns
from ..interior.factors import Picture
from ..interior.products import lower_pattern
from ..interior.shard import ShardData, with_slacks
from ..interior.sparse_cholesky import SparseNormalEquations
from ..interior.worker import DeviceShard
from ..problem import sp
from .choice import augmented_is_faster, dense_for_a_while, fastest
from .dissection import Dissection
from .factor import Multifrontal, matrix_bytes
from .form import (
    MOST_PRODUCTS,
    AugmentedTree,
    FormChoice,
    augmented_tree,
    products_in,
)
from .ordering import best_tree
from .picture import picture_of_fronts
from .plan import Plan, make_plan
from .symbolic import Fronts, analyse

__all__ = ["MultifrontalNormalEquations"]

Vector = NDArray[np.float64]
T = TypeVar("T")
_Analysis = tuple[DenseColumns, Fronts, Plan] | AugmentedTree | str | None

_WAIT_SECONDS = 0.02
_MOST_DENSE_COLUMNS = 10  # for which solutions by the Sherman-Morrison-Woodbury formula are exact enough
_DENSE_PRODUCTS = 2  # times the entries of a full matrix: there A A^T has hardly any zeros


class MultifrontalNormalEquations:
    """``A diag(theta) A^T`` of a sparse program, factorised on a device where that is fast.

    See :class:`~engine.solvers.linprog.interior.normal_equations.NormalEquations`. The pattern is analysed on a thread
    of its own, from the start on.

    Parameters
    ----------
    data : ShardData
        One program with a sparse matrix.
    info : DeviceInfo
        The device that factorises.
    choice : {"device", "auto"}
        With ``"auto"`` the host, or the shard by a dense factor, factorises where that is predicted to be faster. The
        host always does where the factor does not fit on the device.
    dense_fits : bool
        Whether a dense factor fits on the device.
    on_device : callable
        Calls a function with the device's shard, on the device's thread; the shard then owns the factor.
    warn : callable
        Called with the reason where the host factorises although the device would be faster, or was asked for.
    dense_meanwhile : bool
        Whether :meth:`form` leaves the matrix to the shard's dense factor until the pattern has been analysed. The
        rounding errors then depend on when that is.

    Attributes
    ----------
    fronts : int
        Fronts of the factor on the device; 0 if there is none.
    device_bytes : int
        Bytes that the factor takes there.
    leaves_to_shard : bool
        Whether the shard is to factorise a dense matrix from now on.
    is_undecided : bool
        Whether the shard factorises the matrix of the last :meth:`form`, as the pattern is still analysed.
    """

    def __init__(
        self,
        data: ShardData,
        info: DeviceInfo,
        choice: Literal["device", "auto"],
        dense_fits: bool,
        on_device: Callable[[Callable[[DeviceShard], Any]], Any],
        warn: Callable[[str], None],
        dense_meanwhile: bool = False,
    ) -> None:
        self._data, self._dense_meanwhile = data, dense_meanwhile
        self._info, self._choice, self._dense_fits = info, choice, dense_fits
        self._on_device, self._warn = on_device, warn
        self._host: SparseNormalEquations | None = None
        self._factors: Multifrontal | None = None
        self._symbolic: Fronts | None = None
        self._dissection = Dissection()
        self._lock = threading.Lock()
        self._nonzeros = 0
        self.fronts = 0
        self.device_bytes = 0
        self.leaves_to_shard = self.is_undecided = False
        self._analysis: Future[_Analysis] | None = self._analysing()

    @property
    def factor_nonzeros(self) -> int:
        """Entries of the last factor."""
        return self._nonzeros if self._host is None else self._host.factor_nonzeros

    @property
    def picture(self) -> Picture | None:
        """See :meth:`~engine.solvers.linprog.interior.factors.Factors.picture`; None before there is a factor."""
        if self._host is not None:
            return self._host.picture
        return None if self._symbolic is None else picture_of_fronts(self._symbolic)

    @property
    def is_on_device(self) -> bool:
        """Whether the device factorises."""
        return self._factors is not None

    def _choose(self, found: _Analysis) -> None:
        """Decide who factorises, by what the analysis has found."""
        if found is None:
            self.leaves_to_shard = True
            return None
        if isinstance(found, str):
            return self._use_host(found)
        if isinstance(found, AugmentedTree):
            return self._use_host("", found)
        self._dense, fronts, plan = found
        kept = self._dense.kept
        if self._choice == "auto":
            choice = fastest(fronts, plan, self._info.capabilities, self._dense_fits)
            self.leaves_to_shard = choice == "dense"
            if choice == "host":
                self._use_host("")
            if choice != "device":
                return None
        needed = plan.nbytes + matrix_bytes(kept.nnz, *kept.shape)
        largest, free = self._info.max_allocation, self._on_device(lambda shard: shard.device.memory().free)
        if needed > free or plan.largest > largest:
            return self._use_host(
                f"it takes {bytes_text(needed)} on {self._info.id}, which has {bytes_text(free)} free"
            )

        def make(shard: DeviceShard) -> Multifrontal:
            factors = Multifrontal(shard.device, kept, fronts, plan)
            shard.owned.append(factors)
            if self._dissection.is_closed:
                factors.cancel()
            return factors

        try:
            self._factors = self._on_device(make)
        except OutOfDeviceMemory as error:
            return self._use_host(str(error))
        self._symbolic = fronts
        self._nonzeros, self.fronts, self.device_bytes = fronts.nonzeros, fronts.count, needed
        return None

    def _analysed(self, data: ShardData) -> _Analysis:
        """The columns, fronts and plan for the device; or why it cannot factorise; or None for a dense factor.

        Or the augmented system, where ``A A^T`` has hardly any zeros, cannot be formed, or lacks many dense columns,
        and the host is faster than a dense factor.
        """
        columns = sp.csc_array(with_slacks(data))
        columns.sort_indices()
        dense = DenseColumns(columns)
        products, full = products_in(dense.kept), _DENSE_PRODUCTS * data.m**2
        inexact = dense.count > _MOST_DENSE_COLUMNS
        if self._choice == "auto" and (inexact or products > min(full, MOST_PRODUCTS)):
            if inexact or fills_in(columns):
                augmented = augmented_tree(columns, self._dissection)
                fits = self._dense_fits
                if augmented_is_faster(augmented.tree, data.m, self._info.capabilities if fits else None):
                    return augmented
            fast = inexact and dense_for_a_while(data.m, self._info.capabilities)
            if self._dense_fits and (fast or products > full):
                return None
        if products > MOST_PRODUCTS:
            return f"A A^T has {products:.2g} products of entries"
        pattern = lower_pattern(dense.kept)
        fronts = analyse(best_tree(pattern.indices, pattern.indptr, self._dissection))
        return dense, fronts, make_plan(fronts)

    def _analysing(self) -> Future[_Analysis]:
        """The analysis, on a thread that is abandoned when the run ends."""
        found: Future[_Analysis] = Future()

        def work() -> None:
            try:
                found.set_result(self._analysed(self._data))
            except BaseException as error:  # raised again where it is waited for
                found.set_exception(error)

        threading.Thread(target=work, name="quintet-analysis", daemon=True).start()
        return found

    def _unless_closed(self, future: Future[T]) -> T:
        """Wait for a future, unless the run ends."""
        while not self._dissection.is_closed:
            with contextlib.suppress(TimeoutError):
                return future.result(timeout=_WAIT_SECONDS)
        raise ChildError("the run has ended")

    def _use_host(self, reason: str, augmented: AugmentedTree | None = None) -> None:
        if reason:
            self._warn(f"the sparse factor is computed on the host: {reason}")
        with self._lock:
            self._dissection.require_going_on()
            form: FormChoice = "auto" if self._choice == "auto" else "normal"
            self._host = SparseNormalEquations(self._data, form, augmented)

    @property
    def reads_shard(self) -> bool:
        """Whether theta is read on the device; not before the first :meth:`form`, which may leave all to the host."""
        return self._factors is not None or self._dense_meanwhile

    def form(self, theta: Vector | None) -> None:
        """Take theta (N,), or that of the only shard; the first call waits for the analysis, or leaves it to the shard.

        If the run ends meanwhile, :meth:`factor` reports a failure.
        """
        if self._analysis is not None:
            self.is_undecided = self._dense_meanwhile and not self._analysis.done()
            if self.is_undecided:
                return
            analysis, self._analysis = self._analysis, None
            with contextlib.suppress(ChildError):
                self._choose(self._unless_closed(analysis))
        factors = self._factors
        if self._host is not None:
            self._host.form(self._on_device(lambda shard: shard.get_theta()[0]) if theta is None else theta)
        elif factors is not None and theta is not None:
            self._on_device(lambda _: factors.form(theta))
        elif factors is not None:
            self._on_device(lambda shard: factors.form(shard.theta))

    def _with_factors(self, function: Callable[[Multifrontal], T]) -> T:
        factors = self._factors
        assert factors is not None
        found: T = self._on_device(lambda _: function(factors))
        return found

    def factor(self, relative: Vector, absolute: Vector) -> NDArray[np.int32]:
        """Factorise the matrix of the last :meth:`form`.

        Parameters
        ----------
        relative, absolute : ndarray, shape (1,)
            What is added to the diagonal: this part of each entry, and this amount.

        Returns
        -------
        ndarray of int32, shape (1,)
            1 if the matrix is not positive definite, or the run has ended; else 0.
        """
        if self._host is not None:
            return self._host.factor(relative, absolute)
        if self._factors is None:
            return np.ones(1, np.int32)
        amounts = float(relative[0]), float(absolute[0])
        if not self._with_factors(lambda factors: factors.factor(*amounts)):
            return np.ones(1, np.int32)
        if self._dense.count:
            theta = self._with_factors(lambda factors: factors.theta)
            self._dense.prepare(theta, lambda rhs: self._with_factors(lambda factors: factors.solve(rhs)))
        return np.zeros(1, np.int32)

    def solve(self, rhs: Vector) -> Vector:
        """Solve with the factor for a right-hand side (1, m); NaN if the run ended before there was a factor."""
        if self._host is not None:
            return self._host.solve(rhs)
        if self._factors is None:
            return np.full_like(rhs, np.nan)
        found = self._with_factors(lambda factors: factors.solve(np.ascontiguousarray(rhs[0])))
        return self._dense.correct(found)[None]

    def close(self) -> None:
        """End what is at work; called from any thread."""
        with self._lock:
            self._dissection.close()
            host, factors = self._host, self._factors
        if host is not None:
            host.close()
        if factors is not None:
            factors.cancel()
