"""Calls that parse Python source, one at a time.

CPython 3.11 fails with ``SystemError: AST constructor recursion depth mismatch`` if a second thread begins to parse
while a first one is at it, as Mako does for a template and NumPy for the header of a file.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_ONE = threading.RLock()
_ATTEMPTS = 5  # others than this package parse, too
_SIGN = "recursion depth mismatch"


def parsed(function: Callable[[], T]) -> T:
    """What a function without effects returns that parses Python; it is called again if CPython has lost count."""
    for _ in range(_ATTEMPTS - 1):
        with _ONE:
            try:
                return function()
            except Exception as error:  # Mako has one of its own
                if _SIGN not in str(error):
                    raise
    with _ONE:
        return function()
