"""A made-up backend for tests: OpenCL under another name, as one module and one prelude."""

from dataclasses import replace
from pathlib import Path

from engine.devices.backends import BackendModule
from engine.devices.opencl import device as opencl
from engine.devices.opencl.device import OpenCLDevice


def list_devices():
    """The OpenCL devices, called by this backend's name."""
    return [replace(info, language="abacus") for info in opencl.list_devices()]


BACKEND = BackendModule("abacus", "Abacus", 9, list_devices, OpenCLDevice, Path(__file__).with_name("prelude.mako"))
