"""Choosing devices by the names users write, and the ways a backend can be missing."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engine.devices import Capabilities, DeviceInfo, available, select, selection
from engine.devices.backends import backends
from engine.devices.cuda import device as cuda
from engine.errors import BackendUnavailable, DeviceNotFound

pytestmark = pytest.mark.smoke

GPU = Capabilities("gpu", True, True, False, "cusolver", 132, 49152, 233472, 256, 1024)
CPU = Capabilities("cpu", True, True, True, "lapack", 2, 65536, 65536, 64, 4096)
H200 = DeviceInfo("cuda", 0, "NVIDIA H200", "NVIDIA CUDA", "CUDA 13.0", "GPU-aaaa", 1 << 37, 1 << 37, GPU)
CUDA = [H200, replace(H200, index=1, uuid="GPU-bbbb"), replace(H200, index=2, name="NVIDIA T4", uuid="GPU-cccc")]
EPYC = DeviceInfo("opencl", 1, "AMD EPYC", "PoCL", "3.0", "pocl/epyc/1", 1 << 32, 1 << 30, CPU)
OPENCL = [replace(EPYC, index=0, name="NVIDIA H200", capabilities=GPU, uuid="nvidia/h200/0"), EPYC]
ROOT = Path(__file__).parents[2]
NO_DRIVER = (
    "CUDA is unavailable: NVIDIA's driver library (libcuda) is not on this machine, and the package pycuda is not "
    "installed"
)


def ids(found):
    return [info.id for info in found]


def install(patch, cuda_devices, opencl):
    def list_cuda():
        if cuda_devices is None:
            raise BackendUnavailable(NO_DRIVER)
        return cuda_devices

    known = backends()
    found = {
        "cuda": replace(known["cuda"], list_devices=list_cuda),
        "opencl": replace(known["opencl"], list_devices=lambda: opencl),
    }
    patch.setattr(selection, "backends", lambda: found)


@pytest.fixture
def both(monkeypatch):
    install(monkeypatch, CUDA, OPENCL)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["cuda:1"], ["cuda:1"]),
        (["opencl:1", "cuda:0"], ["opencl:1", "cuda:0"]),
        ([" CUDA:2 "], ["cuda:2"]),
        (["1"], ["cuda:1"]),
        (["H200"], ["cuda:0", "cuda:1", "opencl:0"]),
        (["epyc"], ["opencl:1"]),
        (["gpu-BBBB"], ["cuda:1"]),
        (["opencl:1", "opencl:1"], ["opencl:1", "opencl:1"]),
    ],
)
def test_a_device_answers_to_its_id_index_name_and_uuid(names, expected):
    assert ids(select("auto", names)) == expected


@pytest.mark.usefixtures("both")
def test_by_default_all_gpus_of_one_backend_are_used():
    assert ids(select()) == ["cuda:0", "cuda:1", "cuda:2"]
    assert ids(select("opencl")) == ["opencl:0"]


def test_without_a_gpu_the_first_device_is_used_and_a_missing_backend_is_answered_with_why(monkeypatch):
    install(monkeypatch, None, [replace(EPYC, index=0)])
    assert ids(select()) == ["opencl:0"]
    assert available()[1] == {"cuda": NO_DRIVER}
    for given in (("auto", ["cuda:0"]), ("cuda",)):
        with pytest.raises(BackendUnavailable, match="the package pycuda is not"):
            select(*given)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    ("backend", "name", "message"),
    [
        ("auto", "opencl:2", "no OpenCL device 2; this machine has opencl:0 (NVIDIA H200); opencl:1 (AMD EPYC)"),
        ("opencl", "Tesla", "no device 'Tesla'; this machine has opencl:0 (NVIDIA H200); opencl:1 (AMD EPYC)"),
        ("opencl", "cuda:0", 'cuda:0 is not of the backend "opencl"; set backend = "cuda" or "auto"'),
    ],
)
def test_a_name_that_matches_nothing_is_answered_with_what_there_is(backend, name, message):
    with pytest.raises(DeviceNotFound) as caught:
        select(backend, [name])
    assert str(caught.value) == message


@pytest.mark.parametrize("driver", [False, True])
def test_cuda_without_its_package_says_which_step_is_missing(monkeypatch, driver):
    monkeypatch.setattr(cuda, "_driver", cuda._driver.__wrapped__)  # it is looked for once a process
    monkeypatch.setattr(cuda, "_has_driver_library", lambda: driver)
    monkeypatch.setitem(sys.modules, "pycuda", None)
    monkeypatch.delitem(sys.modules, "pycuda.driver", raising=False)
    with pytest.raises(BackendUnavailable) as caught:
        cuda.list_devices()
    if not driver:
        assert str(caught.value) == NO_DRIVER
        return
    message = str(caught.value)
    assert message.startswith("CUDA is unavailable: the package pycuda is not installed. Quintet's extra cuda has it;")
    command = "sudo apt install g++ python3-dev nvidia-cuda-toolkit"
    assert command in message
    assert command in (ROOT / "docs/install.md").read_text(encoding="utf-8")
