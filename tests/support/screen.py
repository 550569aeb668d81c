"""A display of its own for a process: that of Xvfb."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE


@contextlib.contextmanager
def xvfb():
    """The environment of processes whose windows are on a display of Xvfb; without one the test is left out."""
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("Xvfb is not installed")
    reader, writer = os.pipe()
    words = [server, "-displayfd", str(writer), "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    process = subprocess.Popen(words, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with open(reader, encoding="ascii") as stream:
            display = stream.readline().strip()
        environment = os.environ | {"DISPLAY": f":{display}", "QT_QPA_PLATFORM": "xcb"}
        code = "from PySide6.QtWidgets import QApplication; QApplication([])"
        opened = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        if opened.returncode:
            pytest.skip(f"Qt cannot open a window on Xvfb: {opened.stderr.strip().splitlines()[0]}")
        yield environment
    finally:
        process.terminate()
        process.wait()
