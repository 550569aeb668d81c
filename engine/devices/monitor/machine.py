"""What the devices of this machine are doing, whoever uses them, by NVML and ``/proc``; no context is opened."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .health import nvml_sample


@dataclass(frozen=True)
class Process:
    """A process that uses a GPU; ``memory`` is in bytes, None where it is not known."""

    pid: int
    name: str
    memory: float | None = None


@dataclass(frozen=True)
class DeviceState:
    """One device now; what is not known is None."""

    name: str  # the GPU's with its index, or "host"
    memory_used: float | None = None  # bytes
    memory_total: float | None = None
    utilisation: float | None = None  # percent
    power: float | None = None  # watts
    temperature: float | None = None  # degrees Celsius
    processes: list[Process] = field(default_factory=list)  # that use it; none for the host


class MachineMonitor:
    """Samples of all GPUs that NVML knows, and of the host, which describes itself in ``proc``."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._before = self._cpu_times()
        self._nvml: Any = None
        with contextlib.suppress(Exception):  # no package, or no driver
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml

    def sample(self) -> list[DeviceState]:
        """The devices, GPUs first."""
        return [*self._gpus(), self._host()]

    def _gpus(self) -> list[DeviceState]:
        if self._nvml is None:
            return []
        states = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            with contextlib.suppress(self._nvml.NVMLError):
                handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
                name = self._nvml.nvmlDeviceGetName(handle)
                name = name.decode() if isinstance(name, bytes) else name
                states.append(DeviceState(f"{name} {index}", **nvml_sample(handle), processes=self._users(handle)))
        return states

    def _users(self, handle: Any) -> list[Process]:
        found = []
        with contextlib.suppress(self._nvml.NVMLError):
            for one in self._nvml.nvmlDeviceGetComputeRunningProcesses(handle):
                memory = None if one.usedGpuMemory is None else float(one.usedGpuMemory)
                found.append(Process(int(one.pid), self._process_name(int(one.pid)), memory))
        return found

    def _process_name(self, pid: int) -> str:
        """The command of a process; empty for one that ended, or that may not be looked at."""
        with contextlib.suppress(OSError):
            words = (self._proc / str(pid) / "cmdline").read_bytes().split(b"\0")
            return " ".join(word.decode(errors="replace") for word in words if word)[:120]
        return ""

    def _host(self) -> DeviceState:
        before, self._before = self._before, self._cpu_times()
        utilisation = None
        if before is not None and self._before is not None and self._before[1] > before[1]:
            utilisation = 100 * (self._before[0] - before[0]) / (self._before[1] - before[1])
        memory = self._memory()
        used = None if memory is None else memory[0] - memory[1]
        return DeviceState("host", used, None if memory is None else memory[0], utilisation)

    def _cpu_times(self) -> tuple[float, float] | None:
        """Busy and total seconds of all cores so far; None where the system does not say."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            values = [float(word) for word in (self._proc / "stat").read_text().splitlines()[0].split()[1:9]]
            idle = values[3] + values[4]
            return sum(values) - idle, sum(values)
        return None

    def _memory(self) -> tuple[float, float] | None:
        """Total and available bytes of the host's memory."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            lines = (line.split(":") for line in (self._proc / "meminfo").read_text().splitlines())
            sizes = {name: 1024.0 * int(rest.split()[0]) for name, rest in lines if name.startswith("Mem")}
            return sizes["MemTotal"], sizes["MemAvailable"]
        return None
