"""Devices: what this machine has, the pool of those that a run uses, and the work they are given."""

from .buffer import Buffer, StreamEvent
from .device import Device
from .info import Capabilities, DeviceInfo, MemoryInfo
from .kernels.launcher import Launcher
from .kernels.program import BoundKernel, Kernel, Program
from .kernels.record import Record
from .pool.group import Communicator, WorkerGroup
from .pool.pool import DevicePool, Member, gather
from .pool.slices import SLICE_SECONDS, SliceLength
from .selection import Backend, available, backend_of, by_backend, select

__all__ = [
    "SLICE_SECONDS",
    "Backend",
    "BoundKernel",
    "Buffer",
    "Capabilities",
    "Communicator",
    "Device",
    "DeviceInfo",
    "DevicePool",
    "Kernel",
    "Launcher",
    "Member",
    "MemoryInfo",
    "Program",
    "Record",
    "SliceLength",
    "StreamEvent",
    "WorkerGroup",
    "available",
    "backend_of",
    "by_backend",
    "gather",
    "select",
]
