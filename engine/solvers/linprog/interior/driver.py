"""An interior-point method on a pool: the memory it takes, its shards, its normal equations, its slices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....devices import Device, DeviceInfo, DevicePool, Member
from ....devices.info import bytes_text
from ....devices.pool.slices import SLICE_SECONDS
from ....errors import OutOfDeviceMemory
from ..multifrontal.choice import dense_for_a_while, is_surely_dense
from ..multifrontal.equations import MultifrontalNormalEquations
from ..multifrontal.factor import multifrontal_runs_on
from ..options import Options
from ..problem import sp
from .augmented import fills_in
from .host_memory import make_shard
from .method import InteriorPoint, Measures, Settings
from .shard import ShardData, shard_bytes
from .sherman_morrison import updates_bytes
from .sparse_cholesky import SparseNormalEquations, dense_is_faster, is_nearly_dense
from .system import PoolSystem, System
from .worker import DeviceShard

__all__ = ["Counters", "add_counters", "iterate", "new_method", "open_system", "planned_bytes", "require_fit"]

Vector = NDArray[np.float64]
Counters = dict[str, int | float]

_FEW_ROWS = 150
_LAPACK_BYTES = 1 << 31  # a larger matrix ends LAPACK's and OpenCL's 32-bit indices on CPUs


def planned_bytes(data: ShardData, devices: int, options: Options, dense_normal: bool = True) -> tuple[int, int]:
    """Bytes that a shard takes on its device, and those of its largest buffer, for a program on so many devices.

    Parameters
    ----------
    data : ShardData
    devices : int
    options : Options
    dense_normal : bool
        Whether ``A Theta A^T`` and its factor are dense matrices on the device.
    """
    nonzeros = -(-int(data.A.nnz) // devices) if sp.issparse(data.A) else None
    m = data.m if dense_normal else 0
    needed, largest = shard_bytes(data.batch, m, -(-data.n // devices), data.N - data.n, nonzeros)
    if not dense_normal:
        needed += 8 * 3 * data.m
    if options.linear_solver == "sherman_morrison":
        needed += updates_bytes(data.m, data.N)
    return needed, largest


def require_fit(
    devices: Sequence[DeviceInfo], needed: int, largest: int, what: str, *, dense: bool = False, sparse: bool = False
) -> None:
    """Refuse a plan that exceeds a device's memory, its largest allocation, or what its linear algebra can index.

    Parameters
    ----------
    devices : sequence of DeviceInfo
    needed, largest : int
        Bytes on each device (a device that is listed twice has twice as many), and of the largest buffer.
    what : str
        What the plan is for.
    dense : bool
        Whether the matrix is given as a dense one and may be given as a sparse one.
    sparse : bool
        Whether a dense factor of a sparse matrix has been asked for.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
    """
    ways = ["add devices, which share the matrix", "use one with more memory"]
    ways += ["give the matrix as a sparse one"] if dense else []
    ways += ['leave linear_solver = "auto", which takes a sparse factor'] if sparse else []
    advice = f"{', '.join(ways[:-1])}, or {ways[-1]}"
    counts: dict[str, int] = {}
    for info in devices:
        counts[info.id] = counts.get(info.id, 0) + 1
    for info in devices:
        total = counts[info.id] * needed
        if total > info.memory:
            raise OutOfDeviceMemory(
                f"{what} needs {bytes_text(total)} on {info.id}, which has {bytes_text(info.memory)}; {advice}"
            )
        on_host = info.capabilities.host_visible_memory and info.capabilities.linear_algebra == "lapack"
        limit = min(info.max_allocation, _LAPACK_BYTES - 1) if on_host else info.max_allocation
        if largest > limit:
            raise OutOfDeviceMemory(
                f"{what} needs one buffer of {bytes_text(largest)} on {info.id}, which allows {bytes_text(limit)}; "
                f"{advice}"
            )


def open_system(
    data: ShardData,
    options: Options,
    pool: DevicePool,
    members: Sequence[Member],
    counters: Counters,
    notice: Callable[[str], None],
    at_once: bool = False,
) -> PoolSystem:
    """A system on members of a pool, to be used as a context manager; its memory is planned first.

    A sparse program gets sparse normal equations where they are predicted to be faster than a dense factor on the first
    device, or where that would not fit; a GPU factorises them itself where that is predicted to be faster than on the
    host.

    Parameters
    ----------
    data : ShardData
    options : Options
    pool : DevicePool
    members : sequence of Member
        Those of the pool that share the matrix.
    counters : dict
        Gets the planned memory of a device.
    notice : callable
        Called with a sentence if the linear algebra is not the fastest one.
    at_once : bool
        Whether a dense factor may be used until a sparse one's pattern has been analysed.

    Raises
    ------
    engine.errors.OutOfDeviceMemory
        If the matrix and the factor do not fit.
    """
    used = list(members[: max(1, data.n)])
    infos = [member.info for member in used]
    what = f"a factor of {data.m} x {data.m} ({bytes_text(8 * data.m**2)}) and a matrix of {data.m} x {data.n}"
    advice = "add devices, which share the matrix, or use one with more memory"
    in_sparse = bool(sp.issparse(data.A))

    sparse, dense_fits = _sparse_choice(data, options, infos, what)
    dense = sparse is None or dense_fits
    while True:
        needed, largest = planned_bytes(data, len(used), options, dense)
        try:
            require_fit(infos, needed, largest, what, dense=not in_sparse, sparse=in_sparse)
            pool.require_memory({member.label: needed for member in used}, what, advice, largest=largest)
            break
        except OutOfDeviceMemory:
            if not dense_fits:
                raise
            dense = dense_fits = False  # other work has the memory
    counters["device_bytes"] = max(int(counters["device_bytes"]), needed)
    provider = None if options.provider == "auto" else options.provider

    def make(device: Device, part: ShardData) -> DeviceShard:
        return make_shard(device, part, provider, notice)

    system = PoolSystem(data, pool, used, make)
    if sparse == "host":
        system.normal_equations = SparseNormalEquations(data, _form(options))
    elif sparse is not None:

        def on_device(function: Callable[[DeviceShard], Any]) -> Any:
            return system.first(DeviceShard.call, function)

        warn = system.warnings.append
        meanwhile = at_once and dense_fits and dense_for_a_while(data.m, infos[0].capabilities)
        given = data, infos[0], sparse, dense_fits, on_device, warn, meanwhile
        system.normal_equations = MultifrontalNormalEquations(*given)
    return system


def _sparse_choice(
    data: ShardData, options: Options, infos: Sequence[DeviceInfo], what: str
) -> tuple[Literal["host", "device", "auto"] | None, bool]:
    """Who has sparse normal equations, None for dense ones; and whether a dense factor is still a choice."""
    choice, first = options.linear_solver, infos[0].capabilities
    if not sp.issparse(data.A) or choice in ("cholesky", "sherman_morrison"):
        return None, False
    if choice != "auto":
        return ("device" if choice == "multifrontal" else "host"), False
    try:
        require_fit(infos, *planned_bytes(data, len(infos), options), what)
        fits = True
    except OutOfDeviceMemory:
        fits = False
    if not multifrontal_runs_on(first):
        return (None if fits and dense_is_faster(data, first) else "host"), False
    nearly_dense = is_nearly_dense(data) and not fills_in(sp.csc_array(data.A))
    if fits and (nearly_dense or is_surely_dense(data.m, first)):
        return None, False
    return "auto", fits


def _form(options: Options) -> Literal["normal", "augmented", "auto"]:
    """What the host factorises."""
    if options.linear_solver == "auto":
        return "auto"
    return "augmented" if options.linear_solver == "augmented" else "normal"


def new_method(system: System, b: Vector, options: Options) -> InteriorPoint:
    """The method that the options ask for, before its start.

    Parameters
    ----------
    system : System
    b : ndarray, shape (k, m)
        Right-hand sides.
    options : Options
    """
    settings = Settings(
        method="pdas" if options.method == "pdas" else "mpc",
        correctors=options.correctors if system.data.m > _FEW_ROWS else min(2, options.correctors),
        step=options.step,
        tolerance=options.tolerance,
    )
    return InteriorPoint(system, b, settings)


def iterate(
    method: InteriorPoint, most: int, note: Callable[[Measures], None] | None = None, seconds: float = SLICE_SECONDS
) -> Measures:
    """Iterate for the length of a slice; the last measures. The last of all iterates is measured, too.

    Parameters
    ----------
    method : InteriorPoint
    most : int
        Iterations in all.
    note : callable, optional
        Called with the measures of each point.
    seconds : float
        Length of a slice.
    """
    began = time.perf_counter()
    while True:
        measures = method.measure()
        if note is not None:
            note(measures)
        if (method.done | method.stuck).all() or method.state.iteration >= most:
            return measures
        method.iterate()
        if time.perf_counter() - began >= seconds and method.state.iteration < most:
            return measures


def add_counters(counters: Counters, system: System, method: InteriorPoint, since: int = 0) -> None:
    """Add the work of a method to counters.

    Parameters
    ----------
    counters : dict
    system : System
    method : InteriorPoint
    since : int
        The iteration that it was resumed from.
    """
    counters["iterations"] += method.state.iteration - since
    counters["factorizations"] += system.factorizations
    counters["refinements"] += method.refinements
    equations = system.normal_equations  # the system may be at work, and drop them
    if equations is not None and not equations.is_undecided:
        counters["factor_nonzeros"] = equations.factor_nonzeros
        if equations.fronts:
            counters["fronts"] = equations.fronts
            counters["device_bytes"] = max(int(counters["device_bytes"]), equations.device_bytes)
    if system.update_solves:
        counters["update_solves"] = counters.get("update_solves", 0) + system.update_solves
        counters["update_residual"] = max(counters.get("update_residual", 0.0), system.worst_residual)
    for name, seconds in system.seconds.items():
        counters[f"seconds_{name}"] = counters.get(f"seconds_{name}", 0.0) + seconds
