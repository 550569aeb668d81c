"""The device protocol: everything a solver may ask of a device, and nothing about how a backend does it.

A device belongs to the host thread that opened it (see :mod:`engine.devices.pool.pool`): every method here is called
on that thread, except where it says otherwise. Work on a device runs in the order it was given; work that may
overlap is given to several streams, each of which keeps its own order (see :meth:`Device.stream`).
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .buffer import Buffer, StreamEvent, require_range, require_type
from .graph import RecordingMethods, RecordingSet
from .info import DeviceInfo, Language, MemoryInfo
from .kernels.program import Kernel, Program, Signature
from .kernels.source import Source

__all__ = ["Device"]


@dataclass(eq=False)
class _Owned:
    """What a device has to give back when it is closed."""

    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    buffers: set[Buffer] = field(default_factory=set)
    programs: dict[tuple[str, str], Program] = field(default_factory=dict)
    recordings: RecordingSet = field(default_factory=RecordingSet)


class Device(RecordingMethods, ABC):
    """One opened device. Use it on the thread that opened it, and close it there.

    ``allocated_bytes`` counts the bytes that were allocated here; None where the driver itself reports it.
    """

    allocated_bytes: int | None = None

    on_compile: Callable[[str], None] | None = None
    """Called with the name of a template before it is compiled, or loaded from a cache, for this device."""

    building_seconds: float = 0.0
    """How long kernels have been compiled, or loaded from a cache, for this device."""

    on_library_call: Callable[[], None] | None = None
    """Called when a library, not this class, has put work on the present stream."""

    is_timed: bool = False
    """Whether a time mark is put behind each command (see :mod:`engine.devices.monitor.timeline`)."""

    memory_is_counted: ClassVar[bool] = False
    """Whether :meth:`memory` may be called from any thread, for it asks no driver."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.capabilities = info.capabilities
        self._owned = _Owned()
        self._stream_number = 0

    def _report_compile(self, source: Source) -> None:
        if self.on_compile is not None:
            self.on_compile(source.template)

    @property
    def language(self) -> Language:
        """The backend: what the device's kernels are written in."""
        return self.info.language

    @property
    def stream_number(self) -> int:
        """The present stream; see :meth:`stream`."""
        return self._stream_number

    @property
    def native_stream(self) -> int:
        """The driver's handle of the present stream, for libraries that share its context (``cuda_context``)."""
        raise TypeError(f"{self.info.id} has no stream that other libraries can use")

    @abstractmethod
    def memory(self) -> MemoryInfo:
        """Total and free memory in bytes."""

    def program(self, template: str, **constants: Any) -> Program:
        """A template rendered with constants; the same object whenever it is asked for with the same ones.

        Parameters
        ----------
        template : str
            Name under ``kernels/`` without its suffix, for example ``"knapsack/rows"``.
        **constants
            What the template is rendered with.

        Raises
        ------
        engine.errors.KernelError
            If the template does not render. Its kernels are compiled when they are first asked for.

        Examples
        --------
        >>> rows = device.program("knapsack/rows", value="i32", lanes=1, block=256)
        >>> rows.advance_row(grid, block, source=row, out=target, weight=17, profit=67, ...)
        """
        from .kernels.templates import render  # Mako is slow to import, and some runs need no kernel

        key = (template, repr(sorted(constants.items())))  # the text distinguishes 1, 1.0 and True
        found = self._owned.programs.get(key)
        if found is None:
            found = self._owned.programs[key] = Program(self, render(template, self.language, **constants))
        return found

    @abstractmethod
    def _build(self, source: Source, signature: Signature) -> Any:
        """Compile rendered source and return the backend's kernel object."""

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Buffer:
        """Allocate without initialising.

        Parameters
        ----------
        shape : int or tuple of int
            Zero elements are allowed (one is allocated).
        dtype : dtype-like
        """
        full_shape = (shape,) if isinstance(shape, int) else tuple(shape)
        element = np.dtype(dtype)
        handle, argument = self._allocate(max(1, math.prod(full_shape)) * element.itemsize)
        buffer = Buffer(handle, argument, full_shape, element)
        self._owned.buffers.add(buffer)
        return buffer

    @abstractmethod
    def _allocate(self, nbytes: int) -> tuple[Any, Any]:
        """Take device memory: its handle, and what kernels are given for it."""

    def release(self, buffer: Buffer) -> None:
        """Give a buffer back before the device is closed; the work already given to the device is finished first."""
        if buffer in self._owned.buffers:
            self._owned.buffers.remove(buffer)
            self._owned.recordings.drop(buffer)
            self._free(buffer)

    @abstractmethod
    def _free(self, buffer: Buffer) -> None:
        """Give device memory back."""

    @contextlib.contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Give the buffers that are made within back if it ends with an error, as no object will do it then."""
        before = set(self._owned.buffers)
        try:
            yield
        except BaseException:
            for buffer in self._owned.buffers - before:
                with contextlib.suppress(Exception):  # of a device that has failed
                    self.release(buffer)
            raise

    def put(self, array: NDArray[Any], into: Buffer | None = None, start: int = 0) -> Buffer:
        """Copy a host array to the device, and wait.

        Parameters
        ----------
        array : ndarray
        into : Buffer, optional
            Of the same type; by default a new buffer is made.
        start : int
            First element of ``into`` that is written.

        Raises
        ------
        ValueError
            If the array does not fit there.
        TypeError
            If ``into`` is of another type.
        """
        host = np.ascontiguousarray(array)
        target = into if into is not None else self.empty(host.shape, host.dtype)
        require_range("put", target, start, host.size)
        require_type("put", target, host.dtype)
        if host.nbytes:
            self._write(target, host, start * target.dtype.itemsize)
        return target

    @abstractmethod
    def _write(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        """Copy a whole contiguous host array to the buffer from byte ``offset`` on, and wait."""

    def get(
        self, buffer: Buffer, start: int = 0, count: int | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Copy elements back to the host, and wait.

        Parameters
        ----------
        buffer : Buffer
        start : int
            First element.
        count : int, optional
            By default as many as ``out`` holds; without ``out``, all to the end.
        out : ndarray, optional
            A contiguous array to fill; by default a new one, in the buffer's shape if it is the whole buffer.

        Raises
        ------
        ValueError
            If the buffer does not hold these elements, or ``out`` is not contiguous or not of ``count`` elements.
        TypeError
            If ``out`` is of another type.
        """
        if out is None:
            rest = buffer.shape if start == 0 else buffer.size - start
            out = np.empty(rest if count is None else count, buffer.dtype)
        elif not out.flags.c_contiguous or (count is not None and count != out.size):
            raise ValueError(f"get: out must be contiguous and hold {count if count is not None else 'the'} elements")
        require_range("get", buffer, start, out.size)
        require_type("get", buffer, out.dtype)
        if out.nbytes:
            self._read(buffer, out, start * buffer.dtype.itemsize)
        return out

    @abstractmethod
    def _read(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        """Fill a contiguous host array from byte ``offset`` of the buffer on, and wait."""

    @abstractmethod
    def zero(self, buffer: Buffer) -> None:
        """Set every byte to zero, in order with the other work."""

    def copy(
        self, target: Buffer, source: Buffer, target_start: int = 0, source_start: int = 0, count: int | None = None
    ) -> None:
        """Copy elements between two buffers of this device, in order with the other work.

        Parameters
        ----------
        target, source : Buffer
            Of the same type.
        target_start, source_start : int
            First elements.
        count : int, optional
            By default all from ``source_start`` on.

        Raises
        ------
        ValueError
            If one of the two does not hold these elements, or they overlap in one buffer.
        TypeError
            If the two are of different types.
        """
        elements = source.size - source_start if count is None else count
        require_range("copy from", source, source_start, elements)
        require_range("copy to", target, target_start, elements)
        require_type("copy to", target, source.dtype)
        if target is source and abs(target_start - source_start) < elements:
            raise ValueError(f"copy: {elements} elements at {source_start} and at {target_start} of a buffer overlap")
        if elements:
            item = source.dtype.itemsize
            self._copy(target, source, target_start * item, source_start * item, elements * item)

    @abstractmethod
    def _copy(self, target: Buffer, source: Buffer, target_offset: int, source_offset: int, nbytes: int) -> None:
        """Copy bytes between two buffers, in order with the other work."""

    def enable_peer(self, index: int) -> None:
        """Let :meth:`copy_from_peer` read the memory of another device; see ``DevicePool.enable_peers``."""
        raise TypeError(f"{self.info.id} has no peer access")

    def copy_from_peer(self, target: Buffer, source: Buffer, target_start: int, source_start: int, count: int) -> None:
        """Copy from a buffer of another device of the same backend, where ``Member.reads`` says so.

        Parameters
        ----------
        target, source : Buffer
            Of the same type; ``source`` is on the other device.
        target_start, source_start, count : int
            First elements, and how many.

        Notes
        -----
        The caller makes sure that the other device has finished writing ``source`` and does not free it meanwhile.
        """
        raise TypeError(f"{self.info.id} has no peer access")

    @abstractmethod
    def staging(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """A host array that copies to and from this device fastest (pinned where the backend has such memory).

        Parameters
        ----------
        count : int
            Elements.
        dtype : dtype-like

        Notes
        -----
        It belongs to the device: it ends with it, or with :meth:`release_staging`, and so do views of it.
        """

    @abstractmethod
    def release_staging(self, array: NDArray[Any]) -> None:
        """Give an array of :meth:`staging` back before the device is closed."""

    @abstractmethod
    def _launch(self, kernel: Kernel, grid: int, block: int, native: list[Any]) -> None:
        """Start ``grid`` work-groups of ``block`` work-items with arguments in the order of the signature.

        ``native`` holds the backend's own buffers, and scalars whose range is still to be checked by packing them.
        """

    def shared_array(self, buffer: Buffer) -> NDArray[Any] | None:
        """The buffer's memory as an array that lasts as long as the buffer, where host and device see the same bytes.

        None where they do not, or only through a mapping (:meth:`host_views`). The host reads and writes there when
        :meth:`sync` has returned and nothing was given to the device since.
        """
        return None

    def host_views(self, *buffers: Buffer | None) -> contextlib.AbstractContextManager[list[NDArray[Any] | None]]:
        """Arrays on the memory of these buffers themselves, where it is the host's (``host_visible_memory``).

        The present stream's earlier work is done when the context begins, and its later work waits until it ends; then
        the arrays must not be used any more. None stays None.

        Raises
        ------
        TypeError
            If the device's memory is not the host's.
        """
        raise TypeError(f"the memory of {self.info.id} is not the host's")

    # --- streams: work that may overlap ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def stream(self, number: int) -> Iterator[None]:
        """Issue the work inside the ``with`` on another stream (a CUDA stream, an OpenCL queue); 0 is the default.

        A stream keeps its own order and runs concurrently with the others, as far as the device can. Two streams are
        ordered by :meth:`record_event` and :meth:`wait_for_event` alone::

            begun = device.record_event()
            with device.stream(1):
                device.wait_for_event(begun)             # what was given so far comes first
                factorise(...)              # concurrent with what the default stream does next
                done = device.record_event()
            sweep(...)
            device.wait_for_event(done)                  # what comes now needs both

        Copies that block wait for their own stream alone; :meth:`sync` and :meth:`release` wait for all.

        Raises
        ------
        ValueError
            If the number is negative.
        """
        if number < 0:
            raise ValueError(f"streams are numbered from 0; got {number}")
        before, self._stream_number = self._stream_number, number
        self._enter_stream(number)
        try:
            yield
        finally:
            self._stream_number = before
            self._enter_stream(before)

    @abstractmethod
    def _enter_stream(self, number: int) -> None:
        """Let the work that follows go to this stream, which is made when it is first entered."""

    @abstractmethod
    def record_event(self) -> StreamEvent:
        """The point that the present stream has come to: behind everything given to it so far."""

    @abstractmethod
    def wait_for_event(self, event: StreamEvent) -> None:
        """Make later work of this stream wait, on the device, for an event of any stream; returns at once."""

    def wait_for_peer_event(self, event: StreamEvent, peer: Device) -> None:
        """As :meth:`wait_for_event`, for an event of another device of the backend (needs ``peer_access``)."""
        raise TypeError(f"{self.info.id} has no peer access")

    @abstractmethod
    def synchronize_event(self, event: StreamEvent) -> None:
        """Wait, on the host, until the device has come to the event."""

    def get_async(self, buffer: Buffer, out: NDArray[Any], start: int = 0) -> None:
        """Copy elements to a contiguous host array, in order with the stream; returns at once.

        Parameters
        ----------
        buffer : Buffer
        out : ndarray
            Filled with as many elements as it holds.
        start : int
            First element.

        Notes
        -----
        The values are there when the host has waited for an event recorded later; ``out`` must live until then. The
        copy overlaps with kernels only if ``out`` is, or views, an array of :meth:`staging`.

        Raises
        ------
        ValueError
            If the buffer does not hold as many elements as ``out``, or ``out`` is not contiguous.
        TypeError
            If ``out`` is of another type.
        """
        if not out.flags.c_contiguous:
            raise ValueError("get_async: out must be contiguous")
        require_range("get_async", buffer, start, out.size)
        require_type("get_async", buffer, out.dtype)
        if out.nbytes:
            self._read_async(buffer, out, start * buffer.dtype.itemsize)

    @abstractmethod
    def _read_async(self, source: Buffer, out: NDArray[Any], offset: int) -> None:
        """Begin to fill a contiguous host array from byte ``offset`` of the buffer on."""

    def put_async(self, array: NDArray[Any], into: Buffer, start: int = 0) -> None:
        """Copy a contiguous host array into a buffer, in order with the stream; returns at once.

        Parameters
        ----------
        array : ndarray
        into : Buffer
            Of the same type.
        start : int
            First element of ``into`` that is written.

        Notes
        -----
        The array must stay as it is until the host has waited for an event recorded later. The copy overlaps with
        kernels only if the array is, or views, an array of :meth:`staging`.

        Raises
        ------
        ValueError
            If the array does not fit there, or is not contiguous.
        TypeError
            If ``into`` is of another type.
        """
        if not array.flags.c_contiguous:
            raise ValueError("put_async: the array must be contiguous")
        require_range("put_async", into, start, array.size)
        require_type("put_async", into, array.dtype)
        if array.nbytes:
            self._write_async(into, array, start * into.dtype.itemsize)

    @abstractmethod
    def _write_async(self, target: Buffer, host: NDArray[Any], offset: int) -> None:
        """Begin to copy a contiguous host array to the buffer from byte ``offset`` on."""

    # --- times, for the recording of what a device does (see engine.devices.monitor.timeline) -------------------

    def start_timing(self) -> None:
        """Prepare for :meth:`record_time`; called once, before the device has been given work."""
        raise TypeError(f"{self.info.id} does not report when its work was done")

    def record_time(self) -> Any:
        """A mark behind the work of the present stream so far, whose time :meth:`seconds_at` knows when it is done."""
        raise TypeError(f"{self.info.id} does not report when its work was done")

    def seconds_at(self, mark: Any) -> float:
        """When the device came to a mark, in seconds of the host's ``time.perf_counter``."""
        raise TypeError(f"{self.info.id} does not report when its work was done")

    @abstractmethod
    def sync(self) -> None:
        """Wait until all the work given to this device, on all its streams, is done."""

    def close(self) -> None:
        """Finish the work and give everything back. Safe to call twice."""
        self._owned.recordings.drop()
        for buffer in list(self._owned.buffers):
            with contextlib.suppress(Exception):
                self._free(buffer)
        self._owned.buffers.clear()
        for program in self._owned.programs.values():
            program.forget()
        self._owned.programs.clear()
        self._owned.stack.close()
