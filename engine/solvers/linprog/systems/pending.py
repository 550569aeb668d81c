"""The linear system of a sparse program whose pattern is analysed beside the first iterations."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ....devices import DeviceInfo
from ....devices.info import bytes_text
from ....errors import OutOfDeviceMemory
from ..forms.standard import ShardData, with_slacks
from ..highs.process import ChildError
from ..multifrontal.dissection import Dissection
from ..multifrontal.form import MOST_PRODUCTS, AugmentedTree, augmented_tree, fills_in, products_in
from ..multifrontal.ordering import best_tree
from ..multifrontal.plan import Plan, make_plan
from ..multifrontal.symbolic import Fronts, analyse
from ..problem import sp
from ..sparse.products import DenseColumns, lower_pattern
from .base import DenseSystem, FactorStatistics, LinearSystem
from .costs import augmented_is_faster, dense_for_a_while, fastest
from .fronts import FrontSystem, fronts_bytes
from .host import HostSystem

if TYPE_CHECKING:
    from ..interior.system import System

Vector = NDArray[np.float64]
T = TypeVar("T")

_WAIT_SECONDS = 0.02
_MOST_DENSE_COLUMNS = 10  # for which solutions by the Sherman-Morrison-Woodbury formula are exact enough
_DENSE_PRODUCTS = 2  # times the entries of a full matrix: there A A^T has hardly any zeros


@dataclass(frozen=True)
class _Analysis:
    """What was found: a dense factor if nothing else is set."""

    fronts: tuple[DenseColumns, Fronts, Plan] | None = None  # dense columns, fronts and plan for the device
    augmented: AugmentedTree | None = None  # for the host
    impossible: str = ""  # why the device cannot factorise


class PendingSystem(LinearSystem):
    """Analyses the pattern on a thread of its own; from then on the system that is predicted to be the fastest."""

    def __init__(
        self,
        shards: System,
        data: ShardData,
        info: DeviceInfo,
        choice: Literal["device", "auto"],
        dense_fits: bool,
        warn: Callable[[str], None],
        dense_meanwhile: bool = False,  # until the pattern is analysed: rounding errors depend on when that is
    ) -> None:
        self._shards, self._data, self._info = shards, data, info
        self._choice, self._dense_fits, self._warn = choice, dense_fits, warn
        self._dense = DenseSystem(shards)
        self._present: LinearSystem | None = self._dense if dense_meanwhile else None
        self._dissection = Dissection()
        self._lock = threading.Lock()
        self._analysis: Future[_Analysis] | None = self._analysing()

    @override
    def form(self) -> None:
        """The first call waits for the analysis, unless there is a dense factor; see :meth:`factor` if the run ends."""
        analysis = self._analysis
        if analysis is not None and (self._present is None or analysis.done()):
            self._analysis = self._present = None
            with contextlib.suppress(ChildError):
                chosen = self._chosen(self._unless_closed(analysis))
                with self._lock:
                    self._present = chosen
                if self._dissection.is_closed:
                    chosen.close()
        if self._present is not None:
            self._present.form()

    @override
    def factor(self, relative: float, absolute: float) -> int:
        """Fails also if the run has ended."""
        return 1 if self._present is None else self._present.factor(relative, absolute)

    @override
    def solve(self, rhs: Vector) -> Vector:
        """NaN if the run ended before there was a factor."""
        return np.full_like(rhs, np.nan) if self._present is None else self._present.solve(rhs)

    @override
    def statistics(self) -> FactorStatistics:
        present = self._present
        return FactorStatistics() if present is None else present.statistics()

    @override
    def wait_for_host(self) -> None:
        if self._analysis is not None and self._present is None:
            with contextlib.suppress(Exception):  # it is raised again where the analysis is used
                self._unless_closed(self._analysis)

    @override
    def close(self) -> None:
        with self._lock:
            self._dissection.close()
            present = self._present
        if present is not None:
            present.close()

    # --- the choice ---------------------------------------------------------------------------------------------

    def _chosen(self, found: _Analysis) -> LinearSystem:
        if found.augmented is not None:
            return self._on_host("", found.augmented)
        if found.impossible:
            return self._on_host(found.impossible)
        if found.fronts is None:
            return self._dense
        dense, fronts, plan = found.fronts
        if self._choice == "auto":
            choice = fastest(fronts, plan, self._info.capabilities, self._dense_fits)
            if choice != "device":
                return self._dense if choice == "dense" else self._on_host("")
        needed = fronts_bytes(dense, plan)
        free = self._shards.on_first(lambda shard: shard.device.memory().free)
        if needed > free or plan.largest > self._info.max_allocation:
            return self._on_host(f"it takes {bytes_text(needed)} on {self._info.id}, which has {bytes_text(free)} free")
        try:
            return FrontSystem(self._shards, dense, fronts, plan)
        except OutOfDeviceMemory as error:
            return self._on_host(str(error))

    def _on_host(self, reason: str, augmented: AugmentedTree | None = None) -> LinearSystem:
        if reason:
            self._warn(f"the sparse factor is computed on the host: {reason}")
        self._dissection.require_going_on()
        form: Literal["auto", "normal"] = "auto" if self._choice == "auto" else "normal"
        return HostSystem(self._data, form, self._shards.get_theta, augmented)

    # --- the analysis -------------------------------------------------------------------------------------------

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

    def _analysed(self, data: ShardData) -> _Analysis:
        """Fronts; or the augmented system on the host, or a dense factor, where that suits the program better."""
        columns = sp.csc_array(with_slacks(data))
        columns.sort_indices()
        dense = DenseColumns(columns)
        products, full = products_in(dense.kept), _DENSE_PRODUCTS * data.m**2
        inexact, device = dense.count > _MOST_DENSE_COLUMNS, self._info.capabilities
        if self._choice == "auto" and (inexact or products > min(full, MOST_PRODUCTS)):
            if inexact or fills_in(columns):
                augmented = augmented_tree(columns, self._dissection)
                if augmented_is_faster(augmented.tree, data.m, device if self._dense_fits else None):
                    return _Analysis(augmented=augmented)
            if self._dense_fits and ((inexact and dense_for_a_while(data.m, device)) or products > full):
                return _Analysis()
        if products > MOST_PRODUCTS:
            return _Analysis(impossible=f"A A^T has {products:.2g} products of entries")
        pattern = lower_pattern(dense.kept)
        fronts = analyse(best_tree(pattern.indices, pattern.indptr, self._dissection))
        return _Analysis(fronts=(dense, fronts, make_plan(fronts)))
