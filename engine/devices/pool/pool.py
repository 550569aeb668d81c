"""A pool: one host thread per device, each with an inbox; devices of any kind may be mixed, or listed twice."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

from ...errors import DeviceError, OutOfDeviceMemory
from ...util.quirks.exit_order import before_threads_end
from ...util.quirks.switch_interval import PROMPT_THREADS
from ..backends import backends
from ..device import Device
from ..info import DeviceInfo, MemoryInfo, bytes_text
from ..monitor.timeline import profiler_for
from .processes import in_own_process, require_own_process

P = ParamSpec("P")
T = TypeVar("T")

_PROBE_SECONDS = 10.0  # until a device that does not answer is taken for lost


_members: weakref.WeakSet[Member] = weakref.WeakSet()
_left: set[Future[Any]] = set()


def has_work_left() -> bool:
    """Whether work that was given to :meth:`DevicePool.defer` has not ended yet."""
    return bool(_left)


def _close_all() -> None:
    """Close what is open when the interpreter exits, while the devices' threads still run."""
    wait(_left.copy())
    for member in list(_members):
        with contextlib.suppress(Exception):
            member.close()


before_threads_end(_close_all)


def _open(info: DeviceInfo) -> Device:
    require_own_process()
    return backends()[info.language].open(info)


def reserve_host_cores(info: DeviceInfo, gpus: int) -> DeviceInfo:
    """A device as it is used beside GPUs: of a CPU, a core is left to each of their host threads, and one to its own.

    At least half of the cores remain. A GPU whose thread waits for a core is idle meanwhile.
    """
    units = info.capabilities.compute_units
    if info.capabilities.kind != "cpu" or gpus == 0:
        return info
    left = max((units + 1) // 2, units - gpus - 1)
    return dataclasses.replace(info, capabilities=dataclasses.replace(info.capabilities, compute_units=left))


class Member:
    """One device of a pool and the thread that owns it; its label (``"opencl:0#2"``) is unique in the pool."""

    def __init__(self, info: DeviceInfo, label: str) -> None:
        self.info = info
        self.label = label
        self._worked = 0.0
        self._working_since: float | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"quintet-{label}")
        self._device: Device | None = None
        self._has_failed = False
        self._profiler = profiler_for(label)
        self.opened = self._thread.submit(self._start)
        _members.add(self)

    def _start(self) -> None:
        self._device = _open(self.info)
        if self._profiler is not None:
            self._profiler.attach(self._device)

    def submit(self, function: Callable[Concatenate[Device, P], T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``function(device, ...)`` on the device's thread, in order, with NumPy's errors as in the caller."""
        require_own_process()
        float_errors = np.geterr()

        def task() -> T:
            self.opened.result()
            assert self._device is not None
            self._working_since = began = time.perf_counter()
            try:
                with np.errstate(**float_errors):
                    return function(self._device, *args, **kwargs)
            except DeviceError:
                self._has_failed = True
                raise
            finally:
                self._working_since = None
                self._worked += time.perf_counter() - began
                if self._profiler is not None:
                    self._profiler.task(began)

        return self._thread.submit(task)

    def is_lost(self) -> bool:
        """Whether the device has failed, and no longer answers: it cannot hold a number and give it back."""
        if not self._has_failed:
            return False

        def probe(device: Device) -> None:
            buffer = device.put(np.zeros(1, np.int32))
            device.get(buffer)
            device.release(buffer)

        try:
            self.submit(probe).result(_PROBE_SECONDS)
        except (DeviceError, TimeoutError):
            return True
        self._has_failed = False
        return False

    @property
    def busy_seconds(self) -> float:
        """How long the thread has worked, a task in progress included; from any thread."""
        since = self._working_since
        return self._worked + (0.0 if since is None else time.perf_counter() - since)

    @property
    def building_seconds(self) -> float:
        """How long kernels have been rendered, compiled or loaded for this member so far, from any thread."""
        building = getattr(self._device, "building", None)
        return 0.0 if building is None else float(building.rendering + building.compiling)

    @property
    def allocated_bytes(self) -> int | None:
        """Bytes of device memory taken through this member, from any thread; None where it is not counted."""
        return getattr(self._device, "allocated_bytes", None)

    @property
    def copied_bytes(self) -> tuple[int, int]:
        """Bytes that were copied to the device and from it so far, from any thread."""
        return getattr(self._device, "bytes_to_device", 0), getattr(self._device, "bytes_from_device", 0)

    def reads(self, other: Member) -> bool:
        """Whether this device can copy from the other's buffers (:meth:`DevicePool.enable_peers`), or they are one."""
        infos = (self.info, other.info)
        if self.info.language != other.info.language or not all(info.capabilities.peer_copies for info in infos):
            return False
        return self.info.index == other.info.index or all(info.capabilities.peer_access for info in infos)

    def memory(self) -> MemoryInfo:
        self.opened.result()
        device = self._device
        if device is not None and device.memory_is_counted:  # no need of its thread
            return device.memory()
        return self.submit(lambda device: device.memory()).result()

    def close(self) -> None:
        """Close the device on its own thread and end the thread; a forked child has no such thread."""
        if not in_own_process():
            return

        def stop() -> None:
            if self._device is not None:
                device, self._device = self._device, None
                try:
                    if self._profiler is not None:
                        self._profiler.finish()
                finally:
                    device.close()

        try:
            future = self._thread.submit(stop)
        except RuntimeError:  # closed before
            return
        self._thread.shutdown(wait=True)
        future.result()


class DevicePool:
    """The devices of a run, opened together and closed in reverse order.

    Parameters
    ----------
    devices : sequence of DeviceInfo
        One entry a member; the same device may be listed more than once. A CPU beside GPUs is not used with all its
        cores (see :func:`reserve_host_cores`).

    Raises
    ------
    engine.errors.DeviceError
        If one of them cannot be opened; the others are closed first.
    """

    def __init__(self, devices: Sequence[DeviceInfo]) -> None:
        seen: dict[str, int] = {}
        self.members: list[Member] = []
        self._lost: list[Member] = []
        self._ending: set[Future[Any]] = set()
        self._at_close: list[Callable[[], None]] = []
        self._prompt = contextlib.ExitStack()
        if len(devices) > 1:
            self._prompt.enter_context(PROMPT_THREADS)
        gpus = sum(info.capabilities.kind == "gpu" for info in devices)
        for info in (reserve_host_cores(info, gpus) for info in devices):
            count = seen[info.id] = seen.get(info.id, 0) + 1
            self.members.append(Member(info, info.id if count == 1 else f"{info.id}#{count}"))
        try:
            gather([member.opened for member in self.members])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.nullcontext() if error is None else contextlib.suppress(Exception):
            self.close()  # the error on its way out matters more than what it did to a device

    def __len__(self) -> int:
        return len(self.members)

    def defer(self, ending: Future[Any]) -> None:
        """Leave work that still ends on the devices to :meth:`drain`: a run returns before it has ended.

        Parameters
        ----------
        ending : Future
            Done once the work has ended and its memory is released; its error is dropped.
        """
        self._ending.add(ending)
        _left.add(ending)
        ending.add_done_callback(self._ending.discard)
        ending.add_done_callback(_left.discard)

    def drop_lost(self) -> list[Member]:
        """Go on without the members that have failed and no longer answer, unless none is left; those dropped now."""
        lost = [member for member in self.members if member.is_lost()]
        if len(lost) == len(self.members):
            return []
        self.members = [member for member in self.members if member not in lost]
        self._lost += lost
        return lost

    def drain(self) -> None:
        """Wait for what :meth:`defer` was given, so that the devices and their memory are free."""
        wait(self._ending.copy())

    def at_close(self, function: Callable[[], None]) -> None:
        """Have a function called before the devices are closed, once however often it was given.

        Parameters
        ----------
        function : callable
        """
        if function not in self._at_close:
            self._at_close.append(function)

    def close(self, patience: float | None = None) -> None:
        """Close every device, the last opened first; the first trouble is raised after all are closed.

        Parameters
        ----------
        patience : float, optional
            Seconds to wait for what :meth:`defer` was given. What has not ended then is waited for at the end of the
            process, and the devices are closed on a thread of their own once it has.
        """
        if patience is not None and wait(self._ending.copy(), patience).not_done:
            threading.Thread(target=self._close_late, name="quintet-close", daemon=True).start()
            return
        trouble: Exception | None = None
        self.drain()
        for function in self._at_close:
            function()
        self._at_close.clear()
        with self._prompt:
            for member in reversed(self.members):
                try:
                    member.close()
                except Exception as error:
                    trouble = trouble or error
            self.members = []
            for member in self._lost:
                with contextlib.suppress(Exception):  # it has failed before
                    member.close()
            self._lost = []
        if trouble is not None:
            raise trouble

    def _close_late(self) -> None:
        with contextlib.suppress(Exception):  # nobody waits for the result
            self.close()

    def enable_peers(self) -> bool:
        """Let every device read the buffers of those that it can read; whether each of several then reads all others.

        Raises
        ------
        engine.errors.DeviceError
            If the driver refuses what the devices' description promised.
        """
        found = {member: [other for other in self.members if member.reads(other)] for member in self.members}
        if len(self) > 1:
            gather([member.submit(_enable, others) for member, others in found.items() if len(others) > 1])
        return len(self) > 1 and all(len(others) == len(self) for others in found.values())

    def require_memory(self, needed: Mapping[str, int], what: str, advice: str, largest: int = 0) -> None:
        """Refuse a plan that does not fit, before anything is allocated.

        Parameters
        ----------
        needed : mapping of label to bytes
            What the plan takes on each member; members that share one device are added up.
        what, advice : str
            Completed to ``"<what> needs 5.1 GB on opencl:0, which has 2.0 GB free; <advice>"``.
        largest : int
            Bytes of the plan's largest single buffer.

        Raises
        ------
        engine.errors.OutOfDeviceMemory
        """
        by_device: dict[str, int] = {}
        for member in self.members:
            by_device[member.info.id] = by_device.get(member.info.id, 0) + needed.get(member.label, 0)
        for member in self.members:
            free = member.memory().free
            if by_device[member.info.id] > free:
                raise OutOfDeviceMemory(
                    f"{what} needs {bytes_text(by_device[member.info.id])} on {member.info.id}, "
                    f"which has {bytes_text(max(0, free))} free; {advice}"
                )
            if largest > member.info.max_allocation:
                raise OutOfDeviceMemory(
                    f"{what} needs one buffer of {bytes_text(largest)} on {member.info.id}, "
                    f"which allows {bytes_text(member.info.max_allocation)} at once; {advice}"
                )


def _enable(device: Device, peers: Sequence[Member]) -> None:
    for peer in peers:
        device.enable_peer(peer.info.index)


def gather(futures: Iterable[Future[T]]) -> list[T]:
    """Results in order, once all are done; the first error, with its own traceback, only then."""
    waiting = list(futures)
    wait(waiting)
    return [future.result() for future in waiting]
