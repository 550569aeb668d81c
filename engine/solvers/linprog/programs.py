"""All kernels of this solver, as a device may ask for them."""

from collections.abc import Iterator
from typing import Any

from ...devices import Capabilities
from ...devices.kernels.variants import unique_variants
from . import pdhg
from .batches import together
from .interior import worker
from .multifrontal import factor
from .systems import updates


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with the constants for one device."""
    yield from worker.kernel_variants(capabilities)
    yield from updates.kernel_variants(capabilities)
    yield from factor.kernel_variants(capabilities)
    yield from pdhg.kernel_variants(capabilities)
    yield from together.kernel_variants(capabilities)
