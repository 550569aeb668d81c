"""How the devices of a pool are doing; NVIDIA's are asked through NVML, whichever backend uses them."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..host import host_cores
from ..pool.pool import DevicePool, Member

_LOG = logging.getLogger("quintet")


class Health:
    """Samples of the members of a pool; cheap enough for once a second."""

    def __init__(self, pool: DevicePool) -> None:
        self._members = list(pool.members)
        self._cores = host_cores()
        self._clock = time.perf_counter()
        self._cpu = time.process_time()
        self._counts = self._count()
        self._nvml: dict[str, Any] | None = None

    def _count(self) -> dict[str, tuple[float, float, int, int]]:
        """By label, seconds at work and compiling, bytes to the device and from it, all so far."""
        return {one.label: (one.busy_seconds, one.building_seconds, *one.copied_bytes) for one in self._members}

    def sample(self) -> dict[str, dict[str, float]]:
        """By label, the fields of a :class:`engine.events.DeviceStatus` that are known."""
        if self._nvml is None:
            self._nvml = {member.label: handle for member in self._members if (handle := _nvml_handle(member))}
        now, cpu = time.perf_counter(), time.process_time()
        counts = self._count()  # now: asking NVML may take long
        seconds = max(now - self._clock, 1e-9)
        host = min(100.0, 100 * (cpu - self._cpu) / seconds / self._cores)
        before, self._counts, self._clock, self._cpu = self._counts, counts, now, cpu
        samples = {}
        for member in self._members:
            fields: dict[str, float] = {"memory_total": float(member.info.memory)}
            if member.allocated_bytes is not None:
                fields["memory_used"] = float(member.allocated_bytes)
            if member.info.capabilities.kind == "cpu":
                fields["utilisation"] = host
            if member.label in self._nvml:
                fields |= nvml_sample(self._nvml[member.label])
            busy, compiling, to_device, from_device = np.subtract(counts[member.label], before[member.label]).tolist()
            fields |= {"busy": min(100.0, 100 * busy / seconds), "compiling": min(100.0, 100 * compiling / seconds)}
            fields |= {"to_device": to_device, "from_device": from_device}
            samples[member.label] = fields
        return samples


class HealthMonitor:
    """A thread that publishes samples by label every ``interval`` seconds, ``at_once`` or later, until it is closed."""

    def __init__(
        self, health: Health, publish: Callable[[str, dict[str, float]], None], interval: float, at_once: bool = False
    ) -> None:
        self._health = health
        self._publish = publish
        self._interval = interval
        self._wait = 0.0 if at_once else interval
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="quintet-health", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._closed.wait(self._wait):
            self._wait = self._interval
            try:
                samples = self._health.sample()
            except Exception as error:  # whatever a driver's library does: the run does not depend on it
                _LOG.warning(f"the devices are no longer monitored: {type(error).__name__}: {error}")
                return
            for label, values in samples.items():
                self._publish(label, values)

    def close(self) -> None:
        self._closed.set()
        self._thread.join()


def _nvml_handle(member: Member) -> Any:
    """NVML's handle of a device, or None if it is not NVIDIA's or NVML is not there."""
    info = member.info
    if info.language != "cuda" and "nvidia" not in f"{info.name} {info.platform}".lower():
        return None
    try:
        import pynvml

        pynvml.nvmlInit()
        by_uuid = info.uuid.startswith("GPU-")
        find = pynvml.nvmlDeviceGetHandleByUUID if by_uuid else pynvml.nvmlDeviceGetHandleByPciBusId
        return find(info.uuid)
    except Exception:  # no package, no driver library, no right to ask: the run does not depend on it
        return None


def nvml_sample(handle: Any) -> dict[str, float]:
    """What NVML reports of a device now; each part may be missing."""
    import pynvml

    def memory() -> dict[str, float]:
        info = pynvml.nvmlDeviceGetMemoryInfo(handle)
        return {"memory_used": float(info.used), "memory_total": float(info.total)}

    parts: tuple[Callable[[], dict[str, float]], ...] = (
        memory,
        lambda: {"utilisation": float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)},
        lambda: {"power": pynvml.nvmlDeviceGetPowerUsage(handle) / 1000},
        lambda: {
            "temperature": float(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
        },
    )
    fields: dict[str, float] = {}
    for part in parts:
        try:
            fields |= part()
        except pynvml.NVMLError:
            continue
    return fields
