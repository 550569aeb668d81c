"""The device protocol: everything a solver may ask of a device, and nothing about how a backend does it.

A device belongs to the host thread that opened it (see :mod:`engine.devices.pool.pool`): every method here is called
on that thread, except where it says otherwise. Work on a device runs in the order it was given; work that may
overlap is given to several streams, each of which keeps its own order (see :meth:`Device.stream`).
"""

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import RecordingError
from .buffer import Buffer, StreamEvent, require_range, require_type
from .graph import Recording, RecordingSet, record
from .info import DeviceInfo, MemoryInfo
from .kernels.program import Building, Program, Signature
from .kernels.rendered import rendered
from .kernels.source import Source
from .queue import CommandQueue


@dataclass(eq=False)
class _Owned:
    """What a device has to give back when it is closed."""

    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    buffers: set[Buffer] = field(default_factory=set)
    staging: WeakValueDictionary[int, NDArray[Any]] = field(default_factory=WeakValueDictionary)  # by id
    programs: dict[tuple[str, str], Program] = field(default_factory=dict)
    recordings: RecordingSet = field(default_factory=RecordingSet)


class Device(ABC):
    """One opened device. Use it on the thread that opened it, and close it there.

    Copies raise ``ValueError`` for elements that a buffer does not hold, an overlap, or a host array that is not
    contiguous where it must be, and ``TypeError`` for buffers and arrays of different types.

    ``allocated_bytes`` counts the bytes that were allocated here; None where the driver itself reports it.
    """

    queue: CommandQueue
    """What the device is given goes here; each backend makes its own when it is opened."""

    allocated_bytes: int | None = None

    bytes_to_device = bytes_from_device = 0
    """Bytes that were copied from and to the host so far."""

    on_compile: Callable[[str], None] | None = None
    """Called with the name of a template before it is compiled, or loaded from a cache, for this device."""

    memory_is_counted: ClassVar[bool] = False
    """Whether :meth:`memory` may be called from any thread, for it asks no driver."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.capabilities = info.capabilities
        self.building = Building()
        self._owned = _Owned()

    def _report_compile(self, source: Source) -> None:
        if self.on_compile is not None:
            self.on_compile(source.template)

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
            If the template does not render. Its kernels are compiled when they are first asked for, or in the
            background from now on.

        Examples
        --------
        >>> rows = device.program("knapsack/rows", value="i32", lanes=1, block=256)
        >>> rows.advance_row(grid, block, source=row, out=target, weight=17, profit=67, ...)
        """
        key = (template, repr(sorted(constants.items())))  # the text distinguishes 1, 1.0 and True
        found = self._owned.programs.get(key)
        if found is None:
            began = time.perf_counter()
            found = self._owned.programs[key] = Program(self, rendered(template, self.info.language, constants))
            self.building.rendering += time.perf_counter() - began
            self._begin_build(found.source)
        return found

    def _begin_build(self, source: Source) -> None:  # noqa: B027  a backend may have nothing to do
        """Begin to compile in the background, where a backend can."""

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
        handle, argument = self.queue.allocate(max(1, math.prod(full_shape)) * element.itemsize)
        buffer = Buffer(handle, argument, full_shape, element)
        self._owned.buffers.add(buffer)
        return buffer

    def release(self, buffer: Buffer) -> None:
        """Give a buffer back before the device is closed; the work already given to the device is finished first."""
        if buffer in self._owned.buffers:
            self._owned.buffers.remove(buffer)
            try:
                self.queue.free(buffer)
            except RecordingError:
                self._owned.buffers.add(buffer)
                raise
            self._owned.recordings.drop(buffer)

    @contextlib.contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Give buffers and staging that are made within back if it ends with an error, as no object will do it then."""
        before, staged = set(self._owned.buffers), set(self._owned.staging)
        try:
            yield
        except BaseException:
            for buffer in self._owned.buffers - before:
                with contextlib.suppress(Exception):  # of a device that has failed
                    self.release(buffer)
            for number in set(self._owned.staging) - staged:
                with contextlib.suppress(Exception):
                    self.release_staging(self._owned.staging[number])
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
        """
        host = np.ascontiguousarray(array)
        target = into if into is not None else self.empty(host.shape, host.dtype)
        require_range("put", target, start, host.size)
        require_type("put", target, host.dtype)
        if host.nbytes:
            self.queue.write(target, host, start * target.dtype.itemsize)
            self.bytes_to_device += host.nbytes
        return target

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
        """
        if out is None:
            rest = buffer.shape if start == 0 else buffer.size - start
            out = np.empty(rest if count is None else count, buffer.dtype)
        elif not out.flags.c_contiguous or (count is not None and count != out.size):
            raise ValueError(f"get: out must be contiguous and hold {count if count is not None else 'the'} elements")
        require_range("get", buffer, start, out.size)
        require_type("get", buffer, out.dtype)
        if out.nbytes:
            self.queue.read(buffer, out, start * buffer.dtype.itemsize)
            self.bytes_from_device += out.nbytes
        return out

    def zero(self, buffer: Buffer) -> None:
        """Set every byte to zero, in order with the other work."""
        if buffer.nbytes:
            self.queue.zero(buffer)

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
        """
        elements = source.size - source_start if count is None else count
        if target is source and abs(target_start - source_start) < elements:
            raise ValueError(f"copy: {elements} elements at {source_start} and at {target_start} of a buffer overlap")
        self._copy(target, source, target_start, source_start, elements, peer=False)

    def _copy(self, target: Buffer, source: Buffer, to: int, start: int, elements: int, peer: bool) -> None:
        require_range("copy from", source, start, elements)
        require_range("copy to", target, to, elements)
        require_type("copy to", target, source.dtype)
        if elements:
            item = source.dtype.itemsize
            self.queue.copy(target, source, to * item, start * item, elements * item, peer)

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
        if not self.capabilities.peer_copies:
            raise TypeError(f"{self.info.id} has no peer access")
        self._copy(target, source, target_start, source_start, count, peer=True)

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
        array = self.queue.staging(count, dtype)
        self._owned.staging[id(array)] = array
        return array

    def release_staging(self, array: NDArray[Any]) -> None:
        """Give an array of :meth:`staging` back before the device is closed."""
        self.queue.release_staging(array)

    def shared_array(self, buffer: Buffer) -> NDArray[Any] | None:
        """The buffer's memory as an array that lasts as long as the buffer, where host and device see the same bytes.

        None where they do not, or only through a mapping (:meth:`host_views`). The host reads and writes there when
        :meth:`sync` has returned and nothing was given to the device since.
        """
        return self.queue.shared_array(buffer)

    def host_views(self, *buffers: Buffer | None) -> contextlib.AbstractContextManager[list[NDArray[Any] | None]]:
        """Arrays on the memory of these buffers themselves, where it is the host's (``host_visible_memory``).

        The present stream's earlier work is done when the context begins, and its later work waits until it ends; then
        the arrays must not be used any more. None stays None.

        Raises
        ------
        TypeError
            If the device's memory is not the host's.
        """
        if not self.capabilities.host_visible_memory:
            raise TypeError(f"the memory of {self.info.id} is not the host's")
        return self.queue.host_views(*buffers)

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
        """
        if number < 0:
            raise ValueError(f"streams are numbered from 0; got {number}")
        queue, before = self.queue, self.queue.stream
        queue.enter_stream(number)
        try:
            yield
        finally:
            queue.enter_stream(before)

    def record_event(self) -> StreamEvent:
        """The point that the present stream has come to: behind everything given to it so far."""
        return self.queue.record_event()

    def wait_for_event(self, event: StreamEvent) -> None:
        """Make later work of this stream wait, on the device, for an event; returns at once.

        The event is of any stream of this device, or of one whose memory it reads (``Member.reads``).
        """
        self.queue.wait_for_event(event)

    def synchronize_event(self, event: StreamEvent) -> None:
        """Wait, on the host, until the device has come to the event."""
        self.queue.synchronize_event(event)

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
        """
        if not out.flags.c_contiguous:
            raise ValueError("get_async: out must be contiguous")
        require_range("get_async", buffer, start, out.size)
        require_type("get_async", buffer, out.dtype)
        if out.nbytes:
            self.queue.read_async(buffer, out, start * buffer.dtype.itemsize)
            self.bytes_from_device += out.nbytes

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
        """
        if not array.flags.c_contiguous:
            raise ValueError("put_async: the array must be contiguous")
        require_range("put_async", into, start, array.size)
        require_type("put_async", into, array.dtype)
        if array.nbytes:
            self.queue.write_async(into, array, start * into.dtype.itemsize)
            self.bytes_to_device += array.nbytes

    def record(self) -> contextlib.AbstractContextManager[Recording]:
        """Record the work given inside the ``with``; it is done by every :meth:`Recording.play`, and not now.

        ::

            with device.record() as recording:
                advance(...)                        # launches, copies on the device, zeros; several streams and events
            for step in range(1000):
                recording.play()

        What changes from one time to the next must be in buffers. Every stream that is used must first wait for an
        event of the present one, which must wait for all of them at the end; kernels must have been launched before.

        Raises
        ------
        engine.errors.RecordingError
            If the host waits, copies from or to the device, or allocates inside the ``with``, or the driver refuses.
        """
        return record(self)

    def sync(self) -> None:
        """Wait until all the work given to this device, on all its streams, is done."""
        self.queue.sync()

    def close(self) -> None:
        """Finish the work and give everything back. Safe to call twice."""
        self._owned.recordings.drop()
        for buffer in list(self._owned.buffers):
            with contextlib.suppress(Exception):
                self.queue.free(buffer)
        self._owned.buffers.clear()
        for program in self._owned.programs.values():
            program.forget()
        self._owned.programs.clear()
        self._owned.stack.close()
