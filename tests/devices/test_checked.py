"""Checked kernels: an access outside of a buffer ends the launch with the argument and the index."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.devices import DevicePool, available
from engine.devices.guarded import VARIABLE
from engine.devices.kernels import templates
from engine.errors import KernelBoundsError
from tests.support.environment import ROOT
from tests.support.needs import several_devices

TEXT = """// out[0] = values[from]; values[to] = 7
KERNEL LAUNCH_BOUNDS(1, 1) reach(GLOBAL f64* values, GLOBAL f64* out, i32 from, i32 to)
{
    out[0] = values[from];
    if (to)
        values[to] = 7.0;
}
"""
COUNT = 600  # more than a page, and no whole number of vectors


@pytest.fixture(params=["end,lines", "begin,lines"])
def guarded(request, monkeypatch):
    monkeypatch.setenv(VARIABLE, request.param)
    found = [info for info in available("opencl")[0] if "Portable Computing Language" in info.platform]
    with DevicePool(found[:1]) as pool:
        yield pool.members[0]


@pytest.fixture
def template(trial_template):
    return trial_template("reach", TEXT)


def reached(running, template, start, to=0):
    values, out = running.put(np.arange(COUNT, dtype=np.float64)), running.put(np.zeros(1))
    try:
        running.program(template).reach(1, 1, values=values, out=out, **{"from": start, "to": to})
        assert np.array_equal(running.get(values)[:1], [0.0])
        return float(running.get(out)[0])
    finally:
        if running.info.language == "opencl":
            running.release(values)
            running.release(out)


def test_a_read_or_write_outside_is_reported_with_argument_index_and_line(guarded, template):
    for start, to, said in (
        (COUNT + 600, 0, f"reach read values[{COUNT + 600}] of {COUNT} elements"),
        (2**31 - 1, 0, f"read values[{2**31 - 1}]"),
        (-(2**31), 0, f"read values[{-(2**31)}]"),
        (5, COUNT + 600, f"wrote values[{COUNT + 600}]"),
        (5, COUNT, f"wrote values[{COUNT}]"),
        (5, -1, "wrote values[-1]"),
        (5, -600, "wrote values[-600]"),
    ):
        with pytest.raises(KernelBoundsError) as caught:
            guarded.submit(reached, template, start, to).result()
        assert said in str(caught.value)
        line = 4 if start != 5 else 6
        if shutil.which("addr2line") and to not in (COUNT, -1):
            assert f"reach.mako, line {line})" in str(caught.value)
    assert guarded.submit(reached, template, 5, 6).result() == 5.0  # and the next launch is sound
    assert guarded.submit(reached, template, COUNT - 1).result() == COUNT - 1


@pytest.mark.gpu
def test_an_access_outside_ends_a_launch_on_a_gpu(template, tmp_path):
    """In a process of its own, whose context is lost then."""
    several_devices(1, "cuda")
    words = [sys.executable, "-m", __name__, template, str(tmp_path / "kernels")]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=ROOT, env=os.environ | {VARIABLE: "1"}, timeout=300, check=False
    )
    assert done.stdout.split("\n")[:2] == ["5.0", "599.0"], done.stderr
    assert (
        f"reach accessed what is outside of its buffers: values of {COUNT} elements, out of 1 elements" in done.stdout
    )


if __name__ == "__main__":
    templates._TEMPLATES = templates._Kernels(Path(sys.argv[2]))
    with DevicePool(available("cuda")[0][:1]) as gpus:
        for place in (5, COUNT - 1, COUNT + 4000):
            try:
                print(gpus.members[0].submit(reached, sys.argv[1], place).result(), flush=True)
            except KernelBoundsError as error:
                print(error, flush=True)
                os._exit(0)
