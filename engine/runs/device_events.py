"""What happens on the devices during a run, as events: templates being compiled, and the devices' health."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..devices.monitor.health import Health, HealthMonitor
from ..events import Compiling, DeviceStatus
from .clock import RunClock
from .publisher import Publisher

if TYPE_CHECKING:
    from ..devices import DevicePool
    from ..devices.device import Device

_HEALTH_INTERVAL = 0.5


class PoolMonitor:
    """Publishes events about the devices of a run if anybody observes it, and their health while it is not paused."""

    def __init__(self, publisher: Publisher, clock: RunClock, is_paused: Callable[[], bool]) -> None:
        self._publisher = publisher
        self._clock = clock
        self._is_paused = is_paused
        self._lock = threading.Lock()
        self._health: Health | None = None
        self._sampler: HealthMonitor | None = None
        self._closed = False

    def begin(self, pool: DevicePool) -> None:
        """Sample the devices' health twice a second, from half a second on: a shorter run has no use for it."""
        if self._publisher:
            self._health = Health(pool)
            self._publisher.call_at(time.monotonic() + _HEALTH_INTERVAL, self._start_sampler)

    def _start_sampler(self) -> None:
        with self._lock:
            if self._health is not None and not self._closed:
                self._sampler = HealthMonitor(self._health, self._publish_health, _HEALTH_INTERVAL, at_once=True)

    def _publish_health(self, label: str, values: dict[str, float]) -> None:
        if not self._is_paused():
            self._publisher.publish(DeviceStatus(time=self._clock.elapsed, device=label, **values))

    def close(self) -> None:
        """End the sampling; nothing is published after this returns."""
        with self._lock:
            self._closed = True
        if self._sampler is not None:
            self._sampler.close()

    @contextlib.contextmanager
    def reported_compilation(self, pool: DevicePool, usual: int = 0) -> Iterator[None]:
        """Publish an event for each template that a device of the pool compiles meanwhile; see ``Compiling``."""
        if not self._publisher:
            yield
            return
        count, ended = itertools.count(1), threading.Event()

        def observe(device: Device, label: str | None) -> None:
            def report(template: str) -> None:
                if ended.is_set():  # work that the run has left behind
                    return
                now, number = self._clock.elapsed, next(count)
                event = Compiling(time=now, device=str(label), template=template, count=number, usual=usual)
                self._publisher.publish(event)

            device.on_compile = None if label is None else report

        for member in pool.members:
            member.submit(observe, member.label)
        try:
            yield
        finally:
            ended.set()
            for member in pool.members:
                with contextlib.suppress(RuntimeError):  # its thread has ended
                    member.submit(observe, None)
