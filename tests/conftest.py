"""Fixtures of the whole suite: every device of this machine, the large shared instances, a clean environment."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded: several files run at once

import atexit
import gc
import shutil
import tempfile
import warnings
import weakref
import zlib
from pathlib import Path

import hypothesis
import pytest

from engine.devices import DevicePool, available
from engine.devices.kernels import templates
from engine.devices.opencl import device as opencl
from tests.support.engines import close_engines
from tests.support.examples import PROFILES
from tests.support.installation import install
from tests.support.needs import package


def pytest_plugin_registered(plugin, manager):
    """Leave pytest-qt out where Qt cannot be loaded: it would end all tests there."""
    if manager.get_name(plugin) == "pytest-qt":
        try:
            from PySide6 import QtGui, QtTest, QtWidgets  # noqa: F401
        except ImportError:
            manager.unregister(plugin)


if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # each child would compile the engine, for a second
    _bytecode = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="bytecode-")
    atexit.register(shutil.rmtree, _bytecode, ignore_errors=True)


for _profile, _most in PROFILES.items():  # a busy machine is no fault, and fixtures of a function hold only devices
    hypothesis.settings.register_profile(
        _profile,
        max_examples=_most,
        derandomize=_profile != "full",
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


_FOUND, _MISSING = available()
_NO_DEVICE = pytest.param(None, marks=pytest.mark.skip(reason="; ".join(_MISSING.values())))
_FLAGS, _UNOPTIMIZED = "POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable"
_left_out = pytest.StashKey[int]()
_reporters = []


def pytest_report_header():
    """Which devices tests run on, and which backends have none here."""
    there = ", ".join(f"{info.id} ({info.name})" for info in _FOUND) or "none"
    return [f"devices: {there}", *(f"no devices of {name}: {why}" for name, why in _MISSING.items())]


@pytest.hookimpl(trylast=True)  # the terminal's reporter is there then
def pytest_configure(config):
    """Choose how many examples Hypothesis tries, before files of tests are imported, and how PoCL compiles."""
    whole = "full" in str(config.option.markexpr).replace("not full", "") or not config.option.markexpr
    hypothesis.settings.load_profile("full" if whole else "quintet")
    if not whole:
        os.environ.setdefault(_FLAGS, _UNOPTIMIZED)
    reporter = config.pluginmanager.getplugin("terminalreporter")
    _reporters[:] = [reporter] if reporter is not None and not hasattr(config, "workerinput") else []


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while half a million objects are made that stay, nor among these later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Mark what ``few`` leaves to the whole suite, and what a GPU runs; count what absent backends would have run."""
    items[:] = [item for item in items if not _is_elsewhere(item)]
    cases = {}
    for item in items:
        marked = item.get_closest_marker("few") is not None and item.get_closest_marker("full") is None
        if isinstance(item, pytest.Function) and marked:
            cases.setdefault((item.path, item.originalname, _device_of(item)), []).append(item)
    for group in cases.values():
        (most,) = group[0].get_closest_marker("few").args
        for item in sorted(group, key=lambda item: zlib.crc32(item.name.encode()))[most:]:
            item.add_marker("full")
    for item in _of_gpus(items):
        item.add_marker("gpu")
        item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {_device_of(item).id}"))
    yield
    config.stash[_left_out] = sum(
        _device_of(item) is not None and _device_of(item) == _FOUND[0] and item.get_closest_marker("host") is None
        for item in items
    )


def _of_gpus(items):
    """One case of each test on each GPU through each backend; of the tests of devices themselves, all."""
    found = {}
    for item in sorted(items, key=lambda item: zlib.crc32(item.name.encode())):
        if _is_gpu(item) and item.get_closest_marker("full") is None and item.get_closest_marker("host") is None:
            own = item.name if item.path.parent.name == "devices" else item.originalname
            found.setdefault((item.path, own, _device_of(item)), item)
    return list(found.values())


def _device_of(item):
    """Where a test runs, if it takes the fixture ``device``."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("device") if callspec is not None else None


def _is_elsewhere(item):
    """Whether another device, or none, shows what this test does."""
    if item.get_closest_marker("host") is not None and _device_of(item) not in (None, _FOUND[0] if _FOUND else None):
        return True
    return item.get_closest_marker("cpu") is not None and _is_gpu(item)


def _is_gpu(item):
    """Whether a test runs on a GPU through the fixture ``device``."""
    device = _device_of(item)
    return device is not None and device.capabilities.kind == "gpu"


def pytest_sessionfinish(session):
    """Tell the process that writes the report what was counted."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take what a worker has counted."""
    node.config.stash[_left_out] = getattr(node, "workeroutput", {}).get("left_out", 0)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    """Name what fails as it happens."""
    if report.failed and _reporters:
        _reporters[0].ensure_newline()
        _reporters[0].write_line(f"FAILED {report.nodeid} ({report.when})", red=True)


def pytest_terminal_summary(terminalreporter, config):
    """Say how many tests the absent backends leave out."""
    for name in _MISSING:
        terminalreporter.write_line(f"no devices of {name}: {config.stash.get(_left_out, 0)} tests are left out")


@pytest.fixture(scope="module")
def unoptimized():
    """Let PoCL compile without optimization in the whole suite too, as it does by default: half of the time."""
    if os.environ.get(_FLAGS) == _UNOPTIMIZED:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_FLAGS, _UNOPTIMIZED)
        for context in opencl._CONTEXTS.values():  # no other file shall run what is compiled here
            patch.setattr(context, "programs", {})
        patch.setattr(opencl, "_CONTEXTS", weakref.WeakValueDictionary())
        yield


@pytest.fixture(scope="session", autouse=True)
def _contexts_of_gpus_are_shared():
    """As those of CPUs are: beside 13 other processes NVIDIA's driver takes 3 to 30 s to open or close one more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opencl, "_is_shared", lambda native: True)
        yield


@pytest.fixture
def _nothing_compiled():
    """Devices that the test opens have compiled nothing, whatever others of this process have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opencl, "_CONTEXTS", weakref.WeakValueDictionary())
        yield


@pytest.fixture(scope="session", params=[pytest.param(info, id=info.id) for info in _FOUND] or [_NO_DEVICE])
def device(request):
    """A running device: ``device.submit(function, ...).result()`` calls ``function(device, ...)`` on its thread."""
    with DevicePool([request.param]) as pool:
        yield pool.members[0]


@pytest.fixture(scope="module", autouse=True)
def _engines_of_the_file():
    yield
    close_engines()


@pytest.fixture(scope="session")
def shared_data():
    """The folder of instances too large for the repository, beside it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of large instances, ../shared/data, is not here")
    return folder


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The wheel of this tree in an environment of its own, which is made once a worker."""
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def arviz():
    """ArviZ; a test that needs it is skipped where it, or a part of it, is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return package("arviz")


@pytest.fixture
def trial_template(tmp_path, monkeypatch):
    """``trial_template(name, text)`` puts a template beside those of ``kernels/common`` and returns its full name.

    A device keeps the kernels of a name, so a test takes names of its own.
    """
    root = tmp_path / "kernels"
    shutil.copytree(templates._TEMPLATES.root / "common", root / "common")
    (root / "trial").mkdir()
    monkeypatch.setattr(templates, "_TEMPLATES", templates._Kernels(root))

    def add(name, text):
        (root / "trial" / f"{name}.mako").write_text(text, encoding="utf-8")
        return f"trial/{name}"

    return add


@pytest.fixture(scope="session")
def _nobody(tmp_path_factory):
    """The folders of a user who has never run anything."""
    return tmp_path_factory.mktemp("nobody")


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch, _nobody):
    for name in ("CONFIG", "DATA", "STATE"):  # kernels that were compiled before stay in the user's cache
        monkeypatch.setenv(f"XDG_{name}_HOME", str(_nobody / name.lower()))
    for name in [name for name in os.environ if name.startswith("QUINTET_")]:
        monkeypatch.delenv(name)
