"""One start: a process of its own solves a sample and prints, as JSON, what was built and when the first values came.

``python -m engine.benchmarks.start.child FILE BACKEND [DEVICE]...``
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from ...api.engine import Engine
from ...cli.samples import load
from ...devices import Device
from ...devices.kernels.program import Building
from ...errors import OptionError
from ...events import Event, Incumbent, Metric, Progress, Trace

__all__ = ["main"]

_DRAWS = 100


def main(words: list[str]) -> None:
    """Solve the sample; seconds are the process's CPU time, and the wall's in ``wall``."""
    began = time.perf_counter()
    moments: dict[str, float] = {}

    def note(event: Event) -> None:
        if isinstance(event, Metric | Incumbent | Trace):
            moments.setdefault("first", time.process_time())
        if isinstance(event, Progress) and event.phase == "sampling" and event.done >= _DRAWS:
            moments.setdefault("answer", time.process_time())

    problem, resolved = load(Path(words[0]), {"backend": words[1], "devices": words[2:] or None})
    settings = resolved.settings
    with Engine(settings.backend, settings.devices, config_file=Path(words[0])) as owner:
        run = owner.start(problem, on_event=note)
        result = run.wait()
        end = time.process_time()
        built = [member.submit(_built).result() for member in run.pool.members]
    found: dict[str, Any] = {
        "status": str(result.status),
        "first": moments.get("first", end),
        "answer": moments.get("answer", end),
        "end": end,
        "wall": time.perf_counter() - began,
        "programs": sum(len(one.programs) for one in built),
        "kernels": sum(one.kernels for one in built),
        "used": sum(one.used for one in built),
        "rendering": max(one.rendering for one in built),
        "compiling": max(one.compiling for one in built),
    }
    print(json.dumps(found))


def _built(device: Device) -> Building:
    return device.building


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise OptionError("python -m engine.benchmarks.start.child FILE BACKEND [DEVICE]...")
    main(sys.argv[1:])
