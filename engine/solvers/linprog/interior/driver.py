"""An interior-point method on a pool: its shards, its linear system, its slices."""

import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ....devices import Device, DevicePool, Member
from ....devices.info import bytes_text
from ....devices.pool.slices import SLICE_SECONDS
from ....errors import OutOfDeviceMemory
from ..forms.standard import ShardData
from ..multifrontal.factor import multifrontal_runs_on
from ..multifrontal.form import FormChoice
from ..options import Options
from ..problem import sp
from ..systems.costs import dense_for_a_while, dense_is_faster, is_nearly_dense, is_surely_dense
from ..systems.host import HostSystem
from ..systems.pending import PendingSystem
from ..systems.updates import UpdateSystem
from .host_memory import make_shard
from .memory import planned_bytes, require_fit
from .method import InteriorPoint, Measures, Settings
from .system import PoolSystem, System
from .worker import DeviceShard

Vector = NDArray[np.float64]
Counters = dict[str, int | float]

Kind = Literal["dense", "host", "fronts", "pending", "updates"]

_FEW_ROWS = 150
_ASKED: dict[str, Kind] = {
    "cholesky": "dense",
    "sherman_morrison": "updates",
    "multifrontal": "fronts",
    "sparse_cholesky": "host",
    "augmented": "host",
}
_FORMS: dict[str, FormChoice] = {"auto": "auto", "augmented": "augmented"}


def open_system(
    data: ShardData,
    options: Options,
    pool: DevicePool,
    members: Sequence[Member],
    counters: Counters,
    notice: Callable[[str], None],
    dense_meanwhile: bool = False,
) -> PoolSystem:
    """A system on members of a pool, a context manager, with the factor that is predicted to be the fastest."""
    what = f"a factor of {data.m} x {data.m} ({bytes_text(8 * data.m**2)}) and a matrix of {data.m} x {data.n}"
    kind, dense_fits = _preferred(data, options, members, what)
    try:
        used, needed = _fewest_devices(data, options, pool, members, what, kind in ("dense", "updates") or dense_fits)
    except OutOfDeviceMemory:
        if not dense_fits:
            raise
        dense_fits = False  # other work has the memory
        used, needed = _fewest_devices(data, options, pool, members, what, False)
    counters["device_bytes"] = max(int(counters["device_bytes"]), needed)
    provider = None if options.provider == "auto" else options.provider

    def make(device: Device, part: ShardData) -> DeviceShard:
        return make_shard(device, part, provider, notice)

    system, info = PoolSystem(data, used, make), used[0].info
    warn = system.warnings.append
    if kind == "updates":
        system.linear_system = UpdateSystem(system, options.block, warn)
    elif kind == "host":
        system.linear_system = HostSystem(data, _FORMS.get(options.linear_solver, "normal"), system.get_theta)
    elif kind != "dense":
        meanwhile = dense_meanwhile and dense_fits and dense_for_a_while(data.m, info.capabilities)
        choice: Literal["device", "auto"] = "device" if kind == "fronts" else "auto"
        system.linear_system = PendingSystem(system, data, info, choice, dense_fits, warn, meanwhile)
    return system


def _fewest_devices(
    data: ShardData, options: Options, pool: DevicePool, members: Sequence[Member], what: str, dense: bool
) -> tuple[list[Member], int]:
    """The first devices, as few as have the memory, and the bytes that each of them gives."""
    advice = "add devices, which share the matrix, or use one with more memory"
    most, in_sparse = min(len(members), max(1, data.n)), bool(sp.issparse(data.A))
    for count in range(1, most + 1):
        used = list(members[:count])
        needed, largest = planned_bytes(data.A, data.N - data.n, count, options, dense)
        try:
            require_fit([member.info for member in used], needed, largest, what, dense=not in_sparse, sparse=in_sparse)
            pool.require_memory({member.label: needed for member in used}, what, advice, largest=largest)
        except OutOfDeviceMemory:
            if count == most:
                raise
        else:
            break
    return used, needed


def _preferred(data: ShardData, options: Options, members: Sequence[Member], what: str) -> tuple[Kind, bool]:
    """The kind of linear system, and whether a dense factor is still a choice."""
    if options.linear_solver != "auto":
        return _ASKED[options.linear_solver], False
    try:
        require_fit([members[0].info], *planned_bytes(data.A, data.N - data.n, 1, options), what)
        fits = True
    except OutOfDeviceMemory:
        fits = False
    device = members[0].info.capabilities
    if not sp.issparse(data.A):
        return "dense", False
    columns = sp.csc_array(data.A)
    if not multifrontal_runs_on(device):
        return "dense" if fits and dense_is_faster(columns, device) else "host", False
    if fits and (is_surely_dense(data.m, device) or is_nearly_dense(columns)):
        return "dense", False
    return "pending", fits  # the analysis of the pattern decides


def new_method(system: System, b: Vector, options: Options) -> InteriorPoint:
    """The method that the options ask for, before its start."""
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
    """Iterate for the length of a slice; the last measures. The last of all iterates is measured, too."""
    began = time.perf_counter()
    while True:
        measures = method.measure()
        if note is not None:
            note(measures)
        if method.done or method.stuck or method.state.iteration >= most:
            return measures
        method.iterate()
        if time.perf_counter() - began >= seconds and method.state.iteration < most:
            return measures


def add_counters(counters: Counters, system: System, method: InteriorPoint, since: int = 0) -> None:
    """Add the work of a method to counters."""
    counters["iterations"] += method.state.iteration - since
    counters["factorizations"] += system.factorizations
    counters["refinements"] += method.refinements
    found = system.linear_system.statistics()
    if found.nonzeros is not None:
        counters["factor_nonzeros"] = found.nonzeros
    if found.fronts:
        counters["fronts"] = found.fronts
        counters["device_bytes"] = max(int(counters["device_bytes"]), found.device_bytes)
    if found.update_solves:
        counters["update_solves"] = counters.get("update_solves", 0) + found.update_solves
        counters["update_residual"] = max(counters.get("update_residual", 0.0), found.update_residual)
    for name, seconds in system.seconds.items():
        counters[f"seconds_{name}"] = counters.get(f"seconds_{name}", 0.0) + seconds
