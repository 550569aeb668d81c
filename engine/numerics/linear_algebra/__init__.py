"""Dense linear algebra on a device, in float64, by whoever does it best there.

>>> algebra = linear_algebra(device)          # on the device's thread, as all that follows
>>> algebra.gram(matrix, scale, out)          # out = A diag(scale) A^T
>>> algebra.cholesky(out, status)             # out = L, lower
>>> algebra.solve(out, right_hand_sides)

Providers
---------
``"cusolver"``
    NVIDIA's cuBLAS and cuSOLVER through CuPy, in the device's own primary context and on its stream.
``"lapack"``
    SciPy's BLAS and LAPACK on the memory of an OpenCL CPU device, without a copy. Its calls wait for the device's
    earlier work and are done when they return; it uses as many threads as that library does
    (``OPENBLAS_NUM_THREADS``).
``"kernels"``
    Our own blocked kernels, on every device.

Matrices are row-major. Of symmetric and triangular ones the lower triangle is read and written, and what the upper one
holds afterwards is not defined.
"""

from collections.abc import Callable, Iterator

from ...devices import Device
from ...devices.kernels.variants import Variant
from ...errors import BackendUnavailable, DeviceError
from .base import LinearAlgebra, Provider

__all__ = ["LinearAlgebra", "Provider", "kernel_variants", "linear_algebra", "providers"]


def providers(device: Device) -> list[Provider]:
    """The providers that this device can use here, the best first; ``"kernels"`` is always one if it has float64."""
    found: list[Provider] = []
    if device.capabilities.cuda_context:
        from . import cusolver

        if cusolver.missing() is None:
            found.append("cusolver")
    if device.capabilities.host_visible_memory:
        found.append("lapack")
    return [*found, "kernels"]


def linear_algebra(
    device: Device, provider: Provider | None = None, notice: Callable[[str], None] | None = None
) -> LinearAlgebra:
    """Linear algebra for a device.

    ``device``: on whose thread this is called and the object is used. Calls take their place in the device's present
    stream, which is asked for at every call. Scratch memory is the object's, so streams that run concurrently take an
    object each. ``provider`` ("cusolver", "lapack", "kernels"): by default what ``device.capabilities.linear_algebra``
    says; if that is cuSOLVER and CuPy is not installed, the kernels, and ``notice`` is called with that; ``notice``:
    called with a sentence for the user.
    """
    if not device.capabilities.fp64:
        raise DeviceError(f"{device.info.id} ({device.info.name}) has no float64, which linear algebra needs")
    chosen: Provider = provider or device.capabilities.linear_algebra
    if chosen == "cusolver":
        if not device.capabilities.cuda_context:
            raise DeviceError(f"{device.info.id} is not a CUDA device, so it cannot use the provider cusolver")
        from . import cusolver

        why = cusolver.missing()
        if why is None:
            return cusolver.CuSolver(device)
        if provider is not None:
            raise BackendUnavailable(why)
        if notice is not None:
            notice(f"{why}; linear algebra on {device.info.id} uses the kernels instead")
        chosen = "kernels"
    if chosen == "lapack":
        if not device.capabilities.host_visible_memory:
            raise DeviceError(f"the memory of {device.info.id} is not the host's, so it cannot use the provider lapack")
        from .lapack import Lapack

        return Lapack(device)
    if chosen != "kernels":
        raise DeviceError(f"unknown provider '{chosen}' (known: cusolver, lapack, kernels)")
    from .kernels import Kernels

    return Kernels(device)


def kernel_variants() -> Iterator[Variant]:
    """Every template and set of constants used here."""
    from . import kernels

    yield from kernels.kernel_variants()
