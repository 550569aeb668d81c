"""What can be said of a device without opening it."""

from dataclasses import dataclass
from typing import Literal

from ..util.text import bytes_text as bytes_text

Language = str
"""The name of a backend, ``"cuda"`` or ``"opencl"``: what a device's kernels are written in."""


@dataclass(frozen=True)
class Capabilities:
    """What a device can do, as data. A solver chooses a kernel variant by these and by nothing else.

    Attributes
    ----------
    kind : {"cpu", "gpu", "other"}
        What executes the kernels; for messages and the choice of devices, not for solvers.
    fp64, int64_atomics : bool
        Whether doubles, and atomics on 64-bit integers, work.
    host_visible_memory : bool
        Whether device memory is the host's own.
    shares_host_cores : bool
        Whether kernels run on the cores that the host's threads need.
    simt : bool
        Whether work-items run in lock-step lanes of the hardware. Where they do not (CPUs), a group should be one
        work-item with a core's work and explicit vectors.
    shuffle : bool
        Whether the language has functions that exchange values within 32 neighbouring work-items (CUDA's warps).
    inline_ptx : bool
        Whether the compiler takes NVIDIA's assembly.
    packed_i16 : bool
        Whether the language has functions on pairs of 16-bit integers in one word (CUDA's SIMD intrinsics).
    bit_tensor_cores : bool
        Whether the 1-bit tensor core instructions (NVIDIA, from compute capability 8.0 on) can be used.
    cuda_context : bool
        Whether NVIDIA's libraries can work in the device's own context (:meth:`CommandQueue.library_stream`).
    graphs : bool
        Whether recorded work (``Device.record``) is started with one call of the driver, not command by command.
    launch_cost : float
        Seconds that a launch costs the host, roughly.
    linear_algebra : {"cusolver", "lapack", "kernels"}
        Who factorises matrices for this device.
    compute_units : int
        Multiprocessors or cores.
    local_memory : int
        Bytes of local (shared) memory one work-group may use.
    local_memory_per_unit : int
        Bytes of local memory that all work-groups on one compute unit share.
    preferred_block, max_block : int
        A good default, and the largest, number of work-items a group.
    lanes : int
        32-bit lanes that one work-item should handle by explicit vectors; 1 where work-items run in lanes themselves
        (``simt``).
    peer_copies : bool
        Whether the backend can copy from buffers that another context made (``Device.copy_from_peer``).
    peer_access : bool
        Whether it can do so with the buffers of every other device of the machine.
    compute_capability : (int, int) or None
        NVIDIA's architecture number, where there is one.
    """

    kind: Literal["cpu", "gpu", "other"]
    fp64: bool
    int64_atomics: bool
    host_visible_memory: bool
    linear_algebra: Literal["cusolver", "lapack", "kernels"]
    compute_units: int
    local_memory: int
    local_memory_per_unit: int
    preferred_block: int
    max_block: int
    lanes: int = 1
    simt: bool = True
    shuffle: bool = False
    inline_ptx: bool = False
    packed_i16: bool = False
    bit_tensor_cores: bool = False
    cuda_context: bool = False
    graphs: bool = False
    shares_host_cores: bool = False
    launch_cost: float = 10e-6
    peer_copies: bool = False
    peer_access: bool = False
    compute_capability: tuple[int, int] | None = None


@dataclass(frozen=True)
class DeviceInfo:
    """One device of this machine, described without opening it.

    ``id`` (``"cuda:0"``) is what users write; ``uuid`` distinguishes identical cards; ``memory`` is the total in bytes
    and ``max_allocation`` the largest single buffer in bytes.
    """

    language: Language
    index: int
    name: str
    platform: str
    driver: str
    uuid: str
    memory: int
    max_allocation: int
    capabilities: Capabilities

    @property
    def id(self) -> str:
        return f"{self.language}:{self.index}"


@dataclass(frozen=True)
class MemoryInfo:
    """Memory of a device in bytes: its ``total``, and what is ``free`` for this process now."""

    total: int
    free: int
