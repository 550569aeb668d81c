"""Kernels as CUDA has them, run by threads of the host under ThreadSanitizer: races between the work-items of a group.

A CPU's OpenCL runs the work-items of a group one after another, up to a barrier or the end of a loop that has one, so
that most races cannot be seen there. Groups run one after another: races between them are not found. An index beyond an
array in local or private memory is an error too (-fsanitize=bounds).
"""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from engine.devices.kernels.program import signatures
from engine.devices.kernels.templates import render

_HEADER = Path(__file__).with_suffix(".hpp")
_SPECIAL_REGISTER = re.compile(r'asm volatile\("mov\.u32[^;]*;" : "=r"\(id\)\);')
_FLAGS = ("-std=c++17", "-O1", "-g1", "-w", "-fpermissive", "-pthread", "-fsanitize=thread", "-fsanitize=bounds")
_PLACE = re.compile(r"#0 .*?([\w/]+\.mako:\d+)")


def races(folder, template, constants, kernel, grid, block, **arguments):
    """Run ``grid`` groups of a kernel; the lines of templates in which work-items raced, and the buffers afterwards."""
    source = render(template, "cuda", **constants)
    text = _SPECIAL_REGISTER.sub("id = 0u;", source.text)
    names = [parameter.name for parameter in signatures(source)[kernel].parameters]
    assert sorted(names) == sorted(arguments)
    buffers = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    begins = [f'const buffer_t {n} = read_buffer("{folder / n}", {a.nbytes});' for n, a in buffers.items()]
    ends = [f'write_buffer("{folder / n}", {n}, {a.nbytes});' for n, a in buffers.items()]
    given = ", ".join(name if name in buffers else repr(arguments[name]) for name in names)
    call = f"run_groups({grid}, {block}, [=] {{ {kernel}({given}); }});"
    main = "\n".join(["int main()", "{", *begins, call, *ends, "}"])
    program = folder / "kernel.cpp"
    program.write_text(f'#include "{_HEADER}"\n{text}\n#line 1 "main.cpp"\n{main}\n', encoding="utf-8")
    for name, array in buffers.items():
        array.tofile(folder / name)
    subprocess.run([_compiler(), *_FLAGS, "-o", str(folder / "kernel"), str(program)], check=True, timeout=300)
    report = _sanitized(folder / "kernel")
    found = {name: np.fromfile(folder / name, array.dtype).reshape(array.shape) for name, array in buffers.items()}
    return set(_PLACE.findall(report)), found


def _sanitized(program):
    """What ThreadSanitizer reports of a program."""
    options = {"TSAN_OPTIONS": "exitcode=0 halt_on_error=0"}
    done = subprocess.run(
        [str(program)], env=os.environ | options, capture_output=True, text=True, timeout=300, check=False
    )
    if "FATAL: ThreadSanitizer" in done.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {done.stderr.strip().splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert "runtime error: index" not in done.stderr, done.stderr  # of an array in local or private memory
    return done.stderr


@functools.cache
def _compiler():
    """g++ with ThreadSanitizer; without it the test is skipped."""
    compiler = shutil.which("g++")
    tried = compiler and subprocess.run(
        [compiler, "-fsanitize=thread", "-pthread", "-x", "c++", "-", "-o", os.devnull],
        input="int main() {}",
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    if compiler is None or not tried or tried.returncode:
        pytest.skip("g++ with ThreadSanitizer is not installed")
    return compiler
