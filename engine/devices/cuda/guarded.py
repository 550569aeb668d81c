"""Checked kernels on GPUs: buffers lie between addresses that are not mapped; see :mod:`engine.devices.guarded`.

Through the driver's virtual memory management (``cuda.bindings``), in the context that is
current. What the driver maps comes in pieces of some 2 MB, of which the buffer is the end (or the beginning, with
``QUINTET_CHECKED=begin``); an access elsewhere in them is not noticed. One beyond them ends the context, and the driver
does not say where it was: ``python -m tools.soak.sanitizer`` does.
"""

import functools
from typing import Any

from ...errors import DeviceError
from ..guarded import ALIGNMENT, GUARD, checked


@functools.cache
def _driver() -> Any:
    from cuda.bindings import driver

    return driver


class GuardedDeviceMemory:
    """Memory of a GPU, also for its ``readers``, between addresses that are not mapped; kernels are given ``begin``."""

    def __init__(self, index: int, nbytes: int, readers: tuple[int, ...] = ()) -> None:
        driver = _driver()
        about = driver.CUmemAllocationProp()
        about.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        about.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        about.location.id = index
        least = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        piece = self._called(driver.cuMemGetAllocationGranularity(about, least))
        self._body = -(-nbytes // piece) * piece
        self._guard = -(-GUARD // piece) * piece
        self._size = self._body + 2 * self._guard
        handle = self._called(driver.cuMemCreate(self._body, about, 0))
        try:
            self._first = int(self._called(driver.cuMemAddressReserve(self._size, piece, driver.CUdeviceptr(0), 0)))
            self._mapped = driver.CUdeviceptr(self._first + self._guard)
            self._called(driver.cuMemMap(self._mapped, self._body, 0, handle, 0))
        finally:
            driver.cuMemRelease(handle)  # the mapping keeps it
        self._called(
            driver.cuMemSetAccess(self._mapped, self._body, [_access(i) for i in (index, *readers)], 1 + len(readers))
        )
        before = 0 if checked() == "begin" else (self._body - nbytes) // ALIGNMENT * ALIGNMENT
        self.begin = self._first + self._guard + before

    @staticmethod
    def _called(answer: tuple[Any, ...]) -> Any:
        if answer[0] != 0:
            raise DeviceError(f"memory between unused addresses was refused: {answer[0].name}")
        return answer[1] if len(answer) > 1 else None

    def free(self) -> None:
        _driver().cuMemUnmap(self._mapped, self._body)
        _driver().cuMemAddressFree(_driver().CUdeviceptr(self._first), self._size)


def _access(index: int) -> Any:
    driver = _driver()
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = index
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return access
