"""One start: a process of its own solves a sample and prints, as JSON, what was built and when the first values came.

``python -m engine.benchmarks.start.child BEGAN FILE BACKEND [DEVICE]...``, with the time at which the process began.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from ...api.engine import Engine
from ...cli.samples import load
from ...devices import Device
from ...devices.kernels.program import Building
from ...devices.opencl.beside import finish
from ...errors import OptionError
from ...events import Event, Incumbent, Metric, Progress, Trace

_DRAWS = 100


def main(words: list[str]) -> None:
    """Solve the sample. ``first``, ``answer`` and ``end`` are CPU seconds of the process; ``..._wall``, seconds.

    ``beside`` are CPU seconds of the process that optimises kernels beside it, which may take longer.
    """
    began = float(words[0])
    moments: dict[str, tuple[float, float]] = {}

    def now() -> tuple[float, float]:
        return time.process_time(), time.time() - began

    def note(event: Event) -> None:
        if isinstance(event, Metric | Incumbent | Trace):
            moments.setdefault("first", now())
        if isinstance(event, Progress) and event.phase == "sampling" and event.done >= _DRAWS:
            moments.setdefault("answer", now())

    path = Path(words[1])
    problem, resolved = load(path, {"backend": words[2], "devices": words[3:] or None})
    settings = resolved.settings
    with Engine(settings.backend, settings.devices, config_file=path) as owner:
        run = owner.start(problem, on_event=note)
        result = run.wait()
        moments["end"] = now()
        built = [member.submit(_built).result() for member in run.pool.members]
    found: dict[str, Any] = {
        "status": str(result.status),
        "programs": sum(len(one.programs) for one in built),
        "kernels": sum(one.kernels for one in built),
        "used": sum(one.used for one in built),
        "rendering": max(one.rendering for one in built),
        "compiling": max(one.compiling for one in built),
    }
    for name in ("first", "answer", "end"):
        found[name], found[f"{name}_wall"] = moments.get(name, moments["end"])
    finish()
    spent = os.times()
    found["beside"] = spent.children_user + spent.children_system
    print(json.dumps(found))


def _built(device: Device) -> Building:
    return device.building


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise OptionError("python -m engine.benchmarks.start.child BEGAN FILE BACKEND [DEVICE]...")
    main(sys.argv[1:])
