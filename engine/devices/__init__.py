"""Devices: what this machine has, the pool of those that a run uses, and the work they are given."""

from __future__ import annotations

from .base import Device
from .group import Communicator, WorkerGroup
from .handles import Buffer, StreamEvent
from .info import Capabilities, DeviceInfo, MemoryInfo
from .pool import DevicePool, Member, gather
from .program import BoundKernel, Kernel, Program
from .selection import Backend, available, by_backend, select
from .slices import SLICE_SECONDS, SliceLength

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
    "Member",
    "MemoryInfo",
    "Program",
    "SliceLength",
    "StreamEvent",
    "WorkerGroup",
    "available",
    "by_backend",
    "gather",
    "select",
]
