"""What every table of a run is given, and the end of a run that must not begin to compile."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...base.context import RunContext, StopRequested
from ...base.result import Status
from ...devices import Device, DevicePool, gather
from .checkpoint import Progress
from .options import Options
from .presolve import Reduced
from .problem import Knapsack


@dataclass(frozen=True)
class TableTask:
    """A problem of which bounds have left some items open, for a table to solve."""

    problem: Knapsack
    options: Options
    pool: DevicePool
    run: RunContext
    reduced: Reduced  # some items are open; the table takes down here what it finds
    progress: Progress
    publish: Callable[[], None]  # of the best objective and bound of the problem that was given


@contextlib.contextmanager
def stops_before_compiling(pool: DevicePool, run: RunContext) -> Iterator[None]:
    """Raise :class:`StopRequested` on a thread that would compile, which nothing interrupts, in a run that must end."""

    def install(device: Device) -> Callable[[str], None] | None:
        before = device.on_compile

        def check(template: str) -> None:
            if run.overdue > 0:
                raise StopRequested(Status.TIME_LIMIT if run.time_left <= 0 else Status.INTERRUPTED)
            if before is not None:
                before(template)

        device.on_compile = check
        return before

    replaced = gather([member.submit(install) for member in pool.members])
    try:
        yield
    finally:
        for member, before in zip(pool.members, replaced, strict=True):
            with contextlib.suppress(RuntimeError):  # its thread has ended
                member.submit(setattr, "on_compile", before)
