"""What ``kernel_variants`` of the solvers share: typical devices, which this machine need not have, and the like."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from engine.devices.info import Capabilities

__all__ = ["CPU", "CUDA_GPU", "GPU", "SMALL_GPU", "Variant", "each_once"]

Variant = tuple[str, dict[str, Any]]
"""A template's name, and what it is rendered with."""

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


def each_once(variants: Callable[[], Iterator[Variant]]) -> Callable[[], Iterator[Variant]]:
    """Leave out what a ``kernel_variants`` has said before: several devices ask for the same."""

    @functools.wraps(variants)
    def told() -> Iterator[Variant]:
        seen: list[Variant] = []
        for variant in variants():
            if variant not in seen:
                seen.append(variant)
                yield variant

    return told
