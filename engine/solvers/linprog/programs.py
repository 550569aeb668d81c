"""All kernels of this solver, as a device may ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.devices import Capabilities
from engine.devices.variants import each_once
from engine.solvers.linprog import pdhg
from engine.solvers.linprog.batches import together
from engine.solvers.linprog.interior import worker
from engine.solvers.linprog.multifrontal import factor

__all__ = ["kernel_variants"]


@each_once
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with the constants for one device."""
    yield from worker.kernel_variants(capabilities)
    yield from factor.kernel_variants(capabilities)
    yield from pdhg.kernel_variants(capabilities)
    yield from together.kernel_variants(capabilities)
