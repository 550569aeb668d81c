"""Devices: what this machine has, the pool of those that a run uses, and the work they are given."""

from __future__ import annotations

from engine.devices.base import Device
from engine.devices.group import Communicator, WorkerGroup
from engine.devices.handles import Buffer, StreamEvent
from engine.devices.info import Capabilities, DeviceInfo, MemoryInfo
from engine.devices.pool import DevicePool, Member, gather
from engine.devices.program import BoundKernel, Kernel, Program
from engine.devices.selection import Backend, available, by_backend, select
from engine.devices.slices import SLICE_SECONDS, SliceLength

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
