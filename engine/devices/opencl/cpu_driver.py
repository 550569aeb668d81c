"""The OpenCL driver for CPUs: Intel's runtime if it is installed (extra ``cpu-fast``), else what the system has.

Intel's packages from PyPI contain the driver, but do not register it: their ``.icd`` file holds a placeholder, and the
mathematics libraries that the driver loads are not on the loader's path. Both are arranged here, before pyopencl is
loaded. PoCL's devices are left out then, because two drivers for the CPU in one process have crashed.
``QUINTET_CPU_DRIVER=pocl`` keeps PoCL; nothing is changed where ``OCL_ICD_VENDORS`` is set or pyopencl is loaded
already.
"""

import contextlib
import ctypes
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ...errors import OptionError
from ...util.files import write_whole
from ...util.paths import user_folder

VARIABLE = "QUINTET_CPU_DRIVER"
_PACKAGES = ("intel-opencl-rt", "intel-cmplr-lib-rt", "tbb")
_DRIVER = "libintelocl.so"
_NEEDED = ("libtbb.so.12", "libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so")
_SYSTEM = Path("/etc/OpenCL/vendors")
_CPU_DRIVERS = ("pocl", "intel")


def prepare() -> Path | None:
    """Register Intel's driver for this process, if it is installed; the library, or None if nothing is changed."""
    wanted = os.environ.get(VARIABLE, "auto")
    if wanted not in ("auto", "intel", "pocl"):
        raise OptionError(f"{VARIABLE} must be auto, intel or pocl; got {wanted!r}")
    folder = _folder()
    registered = os.environ.get("OCL_ICD_VENDORS")
    if wanted == "pocl" or "pyopencl" in sys.modules or registered not in (None, str(folder)):
        return None
    libraries = {path.name: path for path in _files()}
    driver = libraries.get(_DRIVER)
    if driver is None:
        if wanted == "intel":
            raise OptionError(f"{VARIABLE} is intel, but its driver is not installed (Quintet's extra cpu-fast has it)")
        return None
    for name in _NEEDED:  # what is loaded already is found by name when the driver asks for it
        if name in libraries:
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(libraries[name]), mode=ctypes.RTLD_GLOBAL)
    _register(folder, driver)
    os.environ["OCL_ICD_VENDORS"] = str(folder)
    return driver


def leaves_out(platform: str) -> bool:
    """Whether a platform's devices are not used: PoCL's, where :func:`prepare` has registered Intel's driver."""
    return "Portable Computing Language" in platform and os.environ.get("OCL_ICD_VENDORS") == str(_folder())


def _folder() -> Path:
    return user_folder("cache") / "opencl-vendors"


def _files() -> Iterator[Path]:
    """The files of Intel's packages that exist."""
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            distribution = importlib.metadata.distribution(package)
            for file in distribution.files or ():
                if ".so" in file.name:
                    path = Path(os.path.abspath(str(distribution.locate_file(file))))
                    if path.exists():
                        yield path


def _register(folder: Path, driver: Path) -> None:
    """Write the folder of drivers: Intel's, and those of the system that are not for CPUs."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"intel-cpu.icd": f"{driver}\n"}
    with contextlib.suppress(OSError):
        for path in _SYSTEM.glob("*.icd"):
            text = path.read_text(encoding="utf-8", errors="replace")
            if not any(name in f"{path.name} {text}".lower() for name in _CPU_DRIVERS):
                wanted[path.name] = text
    for path in folder.glob("*.icd"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_whole(path, text.encode())
