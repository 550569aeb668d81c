"""Which kernels are asked for on devices that this machine need not have, so that the tests compile them all.

A package with kernels has ``kernel_variants``, made of what it wants on one device::

    @unique_variants
    def kernel_variants(capabilities):
        shapes = shapes_for(capabilities)
        yield "knapsack/rows", shapes.constants("knapsack/rows")
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..info import Capabilities

GPU = Capabilities("gpu", True, True, False, "kernels", 132, 49152, 228 * 1024, 256, 1024, inline_ptx=True)
"""A data-centre GPU as NVIDIA's OpenCL shows it: 48 KB of local memory a group."""

CUDA_GPU = Capabilities(
    *("gpu", True, True, False, "cusolver", 132, 227 * 1024, 228 * 1024, 256, 1024),
    shuffle=True,
    inline_ptx=True,
    packed_i16=True,
    bit_tensor_cores=True,
    cuda_context=True,
    peer_access=True,
    compute_capability=(9, 0),
)
"""The same through CUDA, where one group may have nearly all of a multiprocessor's local memory."""

SMALL_GPU = Capabilities("gpu", True, True, False, "kernels", 8, 32768, 32768, 256, 256)
"""An integrated GPU: groups of 256 at most."""

CPU = Capabilities(
    "cpu", True, True, True, "lapack", 2, 1 << 20, 1 << 20, 64, 4096, lanes=16, simt=False, shares_host_cores=True
)
"""A CPU with 512-bit vectors."""


TYPICAL = (GPU, CUDA_GPU, SMALL_GPU, CPU)
"""What ``kernel_variants`` goes through."""


class Variant(NamedTuple):
    """A template with constants that a solver may ask for, and the languages it may ask in."""

    template: str
    constants: dict[str, Any]
    languages: tuple[str, ...]


def languages_of(capabilities: Capabilities) -> tuple[str, ...]:
    """The languages that a device with these capabilities may be used through."""
    if not capabilities.simt:
        return ("opencl",)
    return ("cuda",) if capabilities.cuda_context else ("cuda", "opencl")


def unique_variants(
    wanted: Callable[[Capabilities], Iterable[tuple[str, dict[str, Any]]]],
) -> Callable[[], Iterator[Variant]]:
    """A ``kernel_variants`` made of what is wanted on one device, for all typical devices, each variant once."""

    @functools.wraps(wanted)
    def variants() -> Iterator[Variant]:
        found: dict[str, Variant] = {}
        for capabilities in TYPICAL:
            for template, constants in wanted(capabilities):
                key = f"{template} {sorted(constants.items())!r}"
                languages = found[key].languages if key in found else ()
                more = tuple(name for name in languages_of(capabilities) if name not in languages)
                found[key] = Variant(template, constants, languages + more)
        yield from found.values()

    return variants
