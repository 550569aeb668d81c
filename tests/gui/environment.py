"""What the tests of the desktop app have to do with: whether Qt can be loaded, the samples, the counting solver."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "run"))

import counting

try:
    import pytestqt  # noqa: F401
    from PySide6 import QtCore, QtSvg, QtTest, QtWidgets  # noqa: F401

    import pyqtgraph  # noqa: F401 isort: skip - it needs the other

    MISSING = ""
except ImportError as error:
    MISSING = str(error)

SAMPLES = Path(__file__).parent.parent.parent / "samples"
COUNTING = [sys.executable, "-W", "error", str(Path(counting.__file__).parent / "quintet_counting.py")]
