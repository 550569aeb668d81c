"""PoCL's name for a processor that its compiler does not know; its description of a device is imitated."""

import ctypes

import numpy as np
import pytest

from engine.util.quirks import pocl_processor
from engine.util.quirks.pocl_processor import name_processor
from tests.support.needs import LINUX

pytestmark = LINUX

_SECOND = "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"
_THIRD = f"{_SECOND} abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"
_VERSION = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-"


class _Described(ctypes.Structure):
    """As PoCL describes a device: numbers, addresses that are none, and strings."""

    _fields_ = (
        ("dispatch", ctypes.c_void_p),
        ("units", ctypes.c_uint64),
        ("nowhere", ctypes.c_uint64),
        ("triplet", ctypes.c_char_p),
        ("processor", ctypes.c_char_p),
        ("other", ctypes.c_uint8 * 4096),
    )


@pytest.fixture
def described(monkeypatch):
    monkeypatch.setattr(pocl_processor, "_NAMES", {})  # a device of PoCL stays where it is, these do not
    return _Described(None, 2, 0x7FFF_FFFF_0000, b"generic-linux-gnu", b"generic")


@pytest.fixture
def system(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mem").symlink_to("/proc/self/mem")
    return tmp_path


def _named(described, system, flags, version):
    (system / "cpuinfo").write_text(
        f"processor\t: 0\nmodel name\t: A New One\nflags\t\t: fpu {flags}\n\nprocessor\t: 1\n"
    )
    return name_processor(ctypes.addressof(described), version, system)


@pytest.mark.parametrize(
    ("processor", "flags", "name"),
    [
        ("generic", _THIRD, "x86-64-v3"),
        ("generic", _THIRD.replace("fma", ""), "x86-64-v2"),
        ("generic", "sse2", "x86-64"),
        ("znver3", _THIRD, None),
        ("znver3", f"{_THIRD} avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v4"),
    ],
)
def test_a_processor_that_is_unknown_or_has_avx_512_that_its_name_has_not_is_named_by_its_instructions(
    described, system, processor, flags, name
):
    described.processor = processor.encode()
    for _ in range(2):  # as each listing of the devices does
        assert _named(described, system, flags, _VERSION + processor) == name
    assert described.processor.decode() == (name or processor)
    assert described.triplet == b"generic-linux-gnu"


_WIDE = """
KERNEL widest_vectors(GLOBAL float* out)
{
    float16 a = (float16)(out[0]);
    double8 b = (double8)(out[1]);
    float16 c = fmax(a, (float16)(2.0f)) + exp(a - a);
    double8 d = fma(b, b, sqrt(b));
    out[0] = c.s0 + c.sf;
    out[1] = (float)(d.s0 + d.s7);
}
"""


def test_vectors_of_512_bits_reach_the_built_in_functions(opencl, trial_template):
    template = trial_template("widest_vectors", _WIDE)

    def work(device):
        out = device.put(np.array([3, 4], np.float32))
        device.program(template).widest_vectors(1, 1, out=out)
        return device.get(out)

    assert opencl.submit(work).result().tolist() == [8, 36]
