"""The machine and the versions that a measurement was made with."""

import contextlib
import datetime
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..devices import DeviceInfo
from ..devices.host import host_cores
from ..util.version import version

_PACKAGES = ("numpy", "scipy", "pyopencl", "pycuda", "cuda-bindings", "highspy")
_ROOT = Path(__file__).resolve().parents[2]


def describe_machine(devices: Sequence[DeviceInfo]) -> dict[str, Any]:
    """Date, commit, versions, processor and devices, as JSON values."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "quintet": version(),
        "commit": commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "cores": host_cores(),
        "packages": _versions(),
        "devices": [
            {"id": info.id, "name": info.name, "platform": info.platform, "driver": info.driver} for info in devices
        ],
    }


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """The description as lines of text, for a report."""
    commit = f"commit {machine['commit']}" if machine["commit"] else "commit not recorded"
    python = f"Python {machine['python']}" if machine["python"] else ""
    packages = [f"{name} {found}" for name, found in machine["packages"].items()]
    cores = f"{machine['cores']} cores" if machine["cores"] else ""
    load = f"load average {machine['load']} at the start" if machine.get("load") else ""
    facts = [fact for fact in (machine["processor"], cores, load, machine["system"], python, *packages) if fact]
    devices = [
        f"{found['id']}: {found['name']} ({found['platform']}, {found['driver']})" for found in machine["devices"]
    ]
    return [
        f"Measured {machine['date']} with Quintet {machine['quintet']}, {commit}.",
        f"{', '.join(facts)}.",
        *(f"{d}." for d in devices),
    ]


def is_busy(machine: dict[str, Any]) -> bool:
    """Whether the load was above 1 for each core, so that times measured then are not a record."""
    return (machine.get("load") or 0) > (machine.get("cores") or 1)


def commit() -> str | None:
    """The commit of the source tree, with ``+`` if files were changed since; None outside a checkout."""
    git = shutil.which("git")
    if git is None or not (_ROOT / ".git").exists():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        head = _git(git, "rev-parse", "--short=10", "HEAD")
        changed = _git(git, "status", "--porcelain", "--untracked-files=no")
        return head + ("+" if changed else "")
    return None


def _git(git: str, *arguments: str) -> str:
    return subprocess.run(
        [git, "-C", str(_ROOT), *arguments], capture_output=True, text=True, check=True, timeout=10
    ).stdout.strip()


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _processor() -> str:
    """The name of the processor, as the system reports it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or sys.platform
