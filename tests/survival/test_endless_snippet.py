"""A C snippet that never returns is ended by the command line, after the time limit and some patience."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.devices import available
from tests.support.environment import with_root
from tests.support.patience import PATIENCE

PROGRAM = """
import sys
import engine.isolation
engine.isolation.WATCHDOG_SECONDS = 1.0
from engine.cli import main
sys.argv[0] = "quintet"
main()
"""


@pytest.mark.full
def test_a_snippet_that_never_returns_is_ended(tmp_path: Path) -> None:
    cpus = [info.id for info in available("opencl")[0] if not info.capabilities.simt]
    if not cpus:
        pytest.skip("this machine has no OpenCL CPU device, and an endless kernel would hold up a GPU for everyone")
    (tmp_path / "x.boa").write_text(
        "boa snippet n=20\nfor (u64 i = 1; i != 0; i += 2) fitness += (i64) (i * i) + BIT(3);\n"
    )
    words = ["solve", str(tmp_path / "x.boa"), "--trust", "--devices", cpus[0], "--time-limit", "8", "--events", "-"]
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={**with_root(), "XDG_DATA_HOME": str(tmp_path / "data")},
        capture_output=True,
        timeout=5 * PATIENCE,
        check=False,
    )
    last = json.loads(child.stdout.splitlines()[-1])
    assert (child.returncode, last["type"]) == (3, "failed"), child.stderr
    assert b"the C snippet did not return within 1 s" in child.stderr
