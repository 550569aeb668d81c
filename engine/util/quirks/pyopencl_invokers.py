"""PyOpenCL 2026.1 without its cache on disk writes and compiles Python code for each kernel object, under a new name.

It looks for the name among those of all earlier objects of the kernel: a recording, which has an object of its own for
each launch, took 10 ms a launch after 2 000 of them. The code follows from the names and types of the arguments alone.
"""

import contextlib
import functools
import importlib
from typing import Any

_GENERATE = "_generate_enqueue_and_set_args_module"


def keep_invokers(package: Any) -> None:
    """Let PyOpenCL write the code of each kernel once; a version without this module or function stays as it is."""
    with contextlib.suppress(ImportError):
        invoker = importlib.import_module(f"{package.__name__}.invoker")
        generate = getattr(invoker, _GENERATE, None)
        if generate is not None and not hasattr(generate, "cache_info"):
            setattr(invoker, _GENERATE, functools.cache(generate))
