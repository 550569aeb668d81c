"""Which quirks of other people's software are there still; a skip says which module can go."""

import importlib
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from engine.util.quirks import pocl_header
from engine.util.quirks.pyopencl_invokers import keep_invokers

EXIT = """
import atexit, concurrent.futures, threading
from engine.util.quirks.exit_order import before_threads_end
executor = concurrent.futures.ThreadPoolExecutor(1)
executor.submit(int).result()
(thread,) = executor._threads
atexit.register(lambda: print("atexit", thread.is_alive()))
before_threads_end(lambda: print("before", thread.is_alive()))
"""


def test_functions_of_atexit_are_called_when_threads_have_ended():
    done = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True, timeout=60, check=True)
    words = dict(line.split() for line in done.stdout.splitlines())
    assert words["before"] == "True", done.stderr
    if words["atexit"] == "True":
        pytest.skip("atexit is called while threads run: quirks/exit_order.py can go with the versions that do not")


def _words(declaration):
    """A declaration without the names of its arguments."""
    plain = declaration.replace("unsigned int", "uint").replace("unsigned long", "ulong")
    head, _, arguments = plain.strip().rstrip(";").rstrip(")").partition("(")
    types = re.compile(r"\b(?:const|volatile|__\w+|size_t|cl_\w+|u?(?:char|short|int|long)\d*|float\d*|double\d*)\b|\*")
    return (*head.split(), *("".join(sorted(types.findall(one))) for one in arguments.split(",")))


def test_the_short_header_says_what_pocls_says():
    if pocl_header.base() is None:
        pytest.skip("PoCL was not installed by pip")
    package = Path(str(importlib.import_module("pocl_binary_distribution").__file__)).parent
    (whole,) = package.rglob("opencl-c.h")
    theirs = {_words(line) for line in whole.read_text().splitlines() if "(" in line and "__" in line}
    ours = [line for lines in pocl_header._known().values() for line in lines]
    assert len(ours) > 1500
    assert [line for line in ours if _words(line) not in theirs] == []


CALLS = """
#define APPLY(function, ...) function(__VA_ARGS__)
KERNEL calls(GLOBAL f32* x)
{
    x[0] = %s;
}
"""


@pytest.mark.parametrize(
    ("expression", "value", "is_short"),
    [
        ("sqrt(x[0]) /* clamp() */", 2.0, True),
        ("clamp(x[0], 0.0f, 3.0f)", 3.0, False),
        ("APPLY(clamp, x[0], 0.0f, 3.0f)", 3.0, True),  # is seen by the compiler alone
    ],
)
def test_what_the_short_header_lacks_is_compiled_with_the_whole(
    opencl, trial_template, capfd, expression, value, is_short
):
    name = trial_template(f"calls_{len(expression)}", CALLS % expression)

    def work(running):
        program, x = running.program(name), running.put(np.full(1, 4, np.float32))
        if pocl_header.is_needed(running.info.platform, "3.0"):
            assert (pocl_header.declarations(program.source.text) is not None) == is_short
        program.calls(1, 1, x=x)
        return float(running.get(x)[0])

    assert opencl.submit(work).result() == value
    capfd.readouterr()


INVOKERS = """
import linecache, os
os.environ["PYOPENCL_NO_CACHE"] = "1"
import pyopencl as cl
from engine.devices.opencl.listing import native_devices
{keeping}
program = cl.Program(cl.Context(native_devices()[:1]), "kernel void nothing(int x) {{}}").build()
cl.Kernel(program, "nothing")
before = len(linecache.cache)
cl.Kernel(program, "nothing")
print(len(linecache.cache) - before)
"""


def test_another_object_of_a_kernel_is_made_without_writing_code(opencl):
    def written(keeping):
        program = [sys.executable, "-c", INVOKERS.format(keeping=keeping)]
        return int(subprocess.run(program, capture_output=True, text=True, timeout=60, check=True).stdout)

    keep_invokers(types.ModuleType("a_package_without_invokers"))
    assert written("native_devices()") == 0
    if written("native_devices = lambda: cl.get_platforms()[0].get_devices()") == 0:
        pytest.skip("PyOpenCL writes the code of a kernel once: quirks/pyopencl_invokers.py can go")
