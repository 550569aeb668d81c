"""Launches that name only what varies: buffers and scalars that kernels share are bound by name, once."""

from typing import Any

from .program import BoundKernel, Kernel


class Launcher:
    """Launches kernels with the arguments that they share, by the names that kernels have for them."""

    def __init__(self, **shared: Any) -> None:
        self._shared = shared
        self._bound: dict[Kernel, BoundKernel] = {}

    def share(self, **shared: Any) -> None:
        """More arguments, or others, from now on."""
        self._shared.update(shared)
        self._bound.clear()

    def __call__(self, kernel: Kernel, grid: int, block: int, /, **own: Any) -> None:
        """Launch a kernel, whose shared arguments are bound; ``own`` are the others, or in place of shared ones."""
        bound = self._bound.get(kernel)
        if bound is None:
            names = [parameter.name for parameter in kernel.signature.parameters]
            fixed = {name: self._shared[name] for name in names if name in self._shared and name not in own}
            bound = self._bound[kernel] = kernel.bind(**fixed)
        bound(grid, block, **own)
