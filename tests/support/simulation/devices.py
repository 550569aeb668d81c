"""Devices that fail: errors of the driver at the k-th call of a kind, and devices that are lost.

The calls of PyOpenCL itself are counted, below everything that turns its errors into this package's.
"""

import contextlib
import threading
from collections import deque
from unittest import mock

from engine.devices.opencl import device as opencl
from engine.devices.opencl import queue
from tests.support.simulation.plan import Plan

_FUNCTIONS = {
    "enqueue_nd_range_kernel": "launch",
    "Buffer": "allocate",
    "svm_empty": "allocate",
    "enqueue_copy": "copy",
    "enqueue_fill_buffer": "copy",
    "enqueue_map_buffer": "copy",
    "enqueue_marker": "event",
    "enqueue_barrier": "event",
    "Program": "build",
    "CommandQueue": "build",
}
_METHODS = {"CommandQueue": {"finish": "wait", "flush": "wait"}, "Event": {"wait": "wait"}}


class Drivers:
    """Counts the calls of one member of a pool, of which some fail as a plan says."""

    def __init__(self):
        self._error = opencl.pyopencl().RuntimeError
        self._plan = Plan()
        self._label = ""
        self._lost = False
        self._end_work = lambda: None  # a device that fails computes no more

    def _counted(self, function, call):
        def counted(*arguments, **named):
            self._count(call)
            return function(*arguments, **named)

        return counted

    def _count(self, call):
        if not self._label or not threading.current_thread().name.startswith(self._label):
            return
        self._lost |= self._plan.due("driver") is not None
        if self._lost or self._plan.due(call) is not None:
            self._end_work()
            code = "OUT_OF_RESOURCES" if call != "allocate" else "MEM_OBJECT_ALLOCATION_FAILURE"
            raise self._error(f"{call} failed: {code}")

    @contextlib.contextmanager
    def failing(self, label, plan):
        """While inside, the driver's calls for one member of a pool are counted, and fail."""
        self._plan, self._label, self._lost = plan, f"quintet-{label}_", False
        try:
            yield
        finally:
            self._label, self._lost = "", False

    def install(self, stack):
        """Count the calls of devices that are opened until the stack is left."""
        package = opencl.pyopencl()
        queues = deque(maxlen=32)  # no device has more streams
        finish, open_queue = package.CommandQueue.finish, package.CommandQueue

        def opened(*arguments, **named):
            made = open_queue(*arguments, **named)
            queues.append(made)
            return made

        def end_work():
            for made in list(queues):
                finish(made)

        self._end_work = end_work
        for kind, methods in _METHODS.items():
            for name, call in methods.items():
                owner = getattr(package, kind)
                stack.enter_context(mock.patch.object(owner, name, self._counted(getattr(owner, name), call)))
        functions = {name: self._counted(getattr(package, name), call) for name, call in _FUNCTIONS.items()}
        functions["CommandQueue"] = self._counted(opened, _FUNCTIONS["CommandQueue"])
        for module in (opencl, queue):
            stack.enter_context(mock.patch.object(module, "pyopencl", return_value=_Package(package, functions)))


class _Package:
    """The package ``pyopencl`` with some functions of its own."""

    def __init__(self, package, functions):
        vars(self).update(functions, _package=package)

    def __getattr__(self, name):
        return getattr(self._package, name)
