"""A function that is called at exit while threads still run, for CPython has a private name for that alone.

Functions of :mod:`atexit` are called when the threads of executors have ended (seen in CPython 3.11). A CUDA
context that its thread leaves behind ends the process with an abort then, and a library that is unloaded under a
thread that works in it with a crash. ``concurrent.futures`` itself uses ``threading._register_atexit``.
"""

import threading
from collections.abc import Callable


def before_threads_end(function: Callable[[], None]) -> None:
    """Call a function when the interpreter exits, before it ends the threads of executors."""
    threading._register_atexit(function)  # type: ignore[attr-defined]
