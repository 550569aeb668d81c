"""What somebody has taken of a device's memory, so that all of it can be given back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..devices import Buffer, Device


class Memory:
    """Buffers and pinned host arrays of one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._buffers: list[Buffer] = []
        self._staging: list[NDArray[Any]] = []

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> Buffer:
        """A buffer that is released with all others."""
        self._buffers.append(self.device.empty(shape, dtype))
        return self._buffers[-1]

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> Buffer:
        buffer = self.empty(shape, dtype)
        self.device.zero(buffer)
        return buffer

    def put(self, array: NDArray[Any]) -> Buffer:
        self._buffers.append(self.device.put(array))
        return self._buffers[-1]

    def pinned(self, count: int, dtype: Any) -> NDArray[Any]:
        """A host array for asynchronous copies."""
        self._staging.append(self.device.staging(count, dtype))
        return self._staging[-1]

    def release(self) -> None:
        for buffer in self._buffers:
            self.device.release(buffer)
        for array in self._staging:
            self.device.release_staging(array)
        self._buffers.clear()
        self._staging.clear()
