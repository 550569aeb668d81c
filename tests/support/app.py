"""What the tests of the desktop app have to do with: whether Qt can be loaded, the samples, the counting solver."""

from tests.support import counting
from tests.support.environment import ROOT

try:
    import pytestqt  # noqa: F401
    from PySide6 import QtCore, QtSvg, QtTest, QtWidgets  # noqa: F401

    import pyqtgraph  # noqa: F401 isort: skip - it needs the other

    MISSING = ""
except ImportError as error:
    MISSING = str(error)

SAMPLES = ROOT / "samples"
COUNTING = counting.QUINTET
