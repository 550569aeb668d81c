"""CUDA graphs: work captured from streams, which the driver then starts with one call.

The capture is that of the driver's own binding (``cuda.bindings``), on PyCUDA's streams in
the context that is current. Kernels, copies and fills become the nodes of a graph, events its edges.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ...errors import DeviceError, RecordingError
from ..graph import Recording

if TYPE_CHECKING:
    from .queue import CudaQueue


def has_graphs() -> bool:
    """Whether the binding that captures graphs is installed."""
    try:
        return importlib.util.find_spec("cuda.bindings") is not None
    except ImportError:
        return False


@functools.cache
def _driver() -> Any:
    from cuda.bindings import driver

    return driver


class GraphRecording(Recording):
    """A CUDA graph, captured from the present stream and those that wait for its events."""

    is_captured = True

    def __init__(self, queue: CudaQueue) -> None:
        super().__init__([queue])
        self._driver = _driver()
        self._queue = queue
        self._graph: Any = None
        with queue.library_stream() as stream:
            self._handle = self._driver.CUstream(stream)

    @override
    def begin(self) -> None:
        """Capture what the stream is given from now on; libraries may meanwhile do what a capture does not see."""
        mode = self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self._require("begins no capture", self._driver.cuStreamBeginCapture(self._handle, mode))
        self._queue.is_captured = True

    @override
    def add(self, command: Callable[[], None]) -> None:
        command()

    @override
    def abandon(self) -> None:
        """Take the streams out of the capture."""
        _, graph = self._end_capture()
        if graph is not None and int(graph):
            self._driver.cuGraphDestroy(graph)

    def _end_capture(self) -> tuple[Any, ...]:
        self._queue.is_captured = False
        self.events.clear()
        found: tuple[Any, ...] = self._driver.cuStreamEndCapture(self._handle)
        return found

    @override
    def _end(self) -> None:
        (graph,) = self._require("could not capture the work", self._end_capture())
        try:
            (self._graph,) = self._require("makes no graph of the work", self._driver.cuGraphInstantiate(graph, 0))
        finally:
            self._driver.cuGraphDestroy(graph)

    @override
    def _play(self) -> None:
        (status,) = self._driver.cuGraphLaunch(self._graph, self._handle)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"{self.label} failed while computing: {status.name}")
        self._queue.count_launches(_LAUNCHES)

    @override
    def _forget(self) -> None:
        graph, self._graph = self._graph, None
        if graph is not None:
            self._driver.cuGraphExecDestroy(graph)

    def _require(self, what: str, found: tuple[Any, ...]) -> tuple[Any, ...]:
        status, *rest = found
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise RecordingError(f"{self.label} {what}: {status.name}")
        return tuple(rest)


_LAUNCHES = 16  # as many launches a graph counts for, of those that may be waiting
