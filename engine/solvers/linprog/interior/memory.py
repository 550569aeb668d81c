"""The memory that an interior-point method takes on its devices."""

from collections import Counter
from collections.abc import Sequence

from ....devices import DeviceInfo
from ....devices.info import bytes_text
from ....errors import OutOfDeviceMemory
from ..options import Options
from ..problem import Matrix, sp
from ..systems.updates import updates_bytes

_VECTORS = 22  # of length N, on the device
_LAPACK_BYTES = 1 << 31  # a larger matrix ends LAPACK's and OpenCL's 32-bit indices on CPUs


def planned_bytes(A: Matrix, slacks: int, devices: int, options: Options, dense_normal: bool = True) -> tuple[int, int]:
    """Bytes that a shard takes on its device, and those of its largest buffer, for a program on so many devices."""
    m, n = A.shape
    nonzeros = -(-int(A.nnz) // devices) if sp.issparse(A) else None
    needed, largest = shard_bytes(m if dense_normal else 0, -(-n // devices), slacks, nonzeros)
    if not dense_normal:
        needed += 8 * 3 * m
    if options.linear_solver == "sherman_morrison":
        needed += updates_bytes(m, n + slacks)
    return needed, largest


def require_fit(
    devices: Sequence[DeviceInfo], needed: int, largest: int, what: str, *, dense: bool = False, sparse: bool = False
) -> None:
    """Refuse a plan that exceeds a device's memory, its largest allocation, or what its linear algebra can index."""
    ways = ["add devices, which share the matrix", "use one with more memory"]
    ways += ["give the matrix as a sparse one"] if dense else []
    ways += ['leave linear_solver = "auto", which takes a sparse factor'] if sparse else []
    advice = f"{', '.join(ways[:-1])}, or {ways[-1]}"
    counts = Counter(info.id for info in devices)
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


def shard_bytes(m: int, n: int, slacks: int, nonzeros: int | None) -> tuple[int, int]:
    """Bytes of a shard, and of its largest buffer; m x m are M and its factor, or a packed triangle of M alone."""
    vectors = _VECTORS * 8 * (n + slacks)
    matrix = 8 * m * n if nonzeros is None else 24 * nonzeros + 8 * (m + n)
    normal = 8 * m * m
    strip = min(8 * m * n, 1 << 29) if nonzeros is None else 0
    return vectors + matrix + 2 * normal + strip + (16 << 20), max(8 * m * n if nonzeros is None else 0, normal)
