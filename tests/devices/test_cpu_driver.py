"""Which OpenCL driver a process uses for the CPU; the packages of Intel's driver are imitated, no driver is loaded."""

import sys
from pathlib import Path

import pytest

from engine.devices.opencl import cpu_driver


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A process before pyopencl is loaded, with its own cache and system drivers, and without Intel's packages."""
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    (vendors / "pocl.icd").write_text("libpocl.so\n")
    (vendors / "mine.icd").write_text("/opt/intel/libintelocl.so\n")
    monkeypatch.setattr(cpu_driver, "_SYSTEM", vendors)
    monkeypatch.setattr(cpu_driver, "_PACKAGES", ("imitated-opencl-rt",))
    monkeypatch.setattr(cpu_driver, "user_folder", lambda kind: tmp_path / kind / "quintet")
    monkeypatch.setenv("OCL_ICD_VENDORS", "")
    monkeypatch.delenv("OCL_ICD_VENDORS")
    monkeypatch.delenv(cpu_driver.VARIABLE, raising=False)
    monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
    return tmp_path


@pytest.fixture
def installed(machine, monkeypatch):
    """The same machine with Intel's packages, without which nothing is changed; returns the driver's path."""
    assert cpu_driver.prepare() is None
    assert "OCL_ICD_VENDORS" not in cpu_driver.os.environ
    site = machine / "site"
    described = site / "imitated_opencl_rt-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: imitated-opencl-rt\nVersion: 1\n")
    (described / "RECORD").write_text("lib/libintelocl.so,,\nlib/libsvml.so,,\nlib/lost.so,,\n")
    (site / "lib").mkdir()
    for name in ("libintelocl.so", "libsvml.so"):
        (site / "lib" / name).write_text("no library")
    monkeypatch.syspath_prepend(site)
    return site / "lib" / "libintelocl.so"


def test_the_driver_is_registered_beside_those_of_gpus(machine, installed):
    assert cpu_driver.prepare() == installed
    folder = Path(cpu_driver.os.environ["OCL_ICD_VENDORS"])
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "intel-cpu.icd": f"{installed}\n",
        "nvidia.icd": "libnvidia-opencl.so.1\n",
    }
    assert cpu_driver.leaves_out("Portable Computing Language")
    assert not cpu_driver.leaves_out("NVIDIA CUDA")
    assert cpu_driver.prepare() == installed  # a child process inherits the variable


@pytest.mark.parametrize(
    "choose",
    [
        lambda patch: patch.setenv(cpu_driver.VARIABLE, "pocl"),
        lambda patch: patch.setenv("OCL_ICD_VENDORS", "/my/drivers"),
        lambda patch: patch.setitem(sys.modules, "pyopencl", cpu_driver),
    ],
)
def test_what_was_chosen_before_is_kept(installed, monkeypatch, choose):
    choose(monkeypatch)
    before = cpu_driver.os.environ.get("OCL_ICD_VENDORS")
    assert cpu_driver.prepare() is None
    assert cpu_driver.os.environ.get("OCL_ICD_VENDORS") == before
