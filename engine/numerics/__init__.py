"""Building blocks the solvers share: each has a device half (a kernel template) and a NumPy reference."""

from collections.abc import Iterator

from ..devices.kernels.variants import Variant


def kernel_variants() -> Iterator[Variant]:
    """Every template with every set of constants that this package uses, so that a test can compile them all."""
    from . import linear_algebra, philox, scan

    for module in (linear_algebra, philox, scan):
        yield from module.kernel_variants()
