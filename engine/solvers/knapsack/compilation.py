"""A run that must end begins to compile no further kernel: a compiler cannot be interrupted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ...base.context import RunContext, StopRequested
from ...base.result import Status
from ...devices import Device, DevicePool, gather

__all__ = ["stops_before_compiling"]


@contextlib.contextmanager
def stops_before_compiling(pool: DevicePool, run: RunContext) -> Iterator[None]:
    """Raise :class:`StopRequested` on a device's thread that would compile for a run that must end."""

    def install(device: Device) -> Callable[[str], None] | None:
        before = device.on_compile

        def check(template: str) -> None:
            if run.overdue > 0:
                raise StopRequested(Status.TIME_LIMIT if run.time_left <= 0 else Status.INTERRUPTED)
            if before is not None:
                before(template)

        device.on_compile = check
        return before

    def restore(device: Device, before: Callable[[str], None] | None) -> None:
        device.on_compile = before

    replaced = gather([member.submit(install) for member in pool.members])
    try:
        yield
    finally:
        for member, before in zip(pool.members, replaced, strict=True):
            with contextlib.suppress(RuntimeError):  # its thread has ended
                member.submit(restore, before)
