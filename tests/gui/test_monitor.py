"""The devices of the machine outside runs: what is asked, and the tab that shows it."""

import sys
from types import SimpleNamespace

import pytest

from engine.devices.monitor.machine import MachineMonitor, Process
from tests.support.app import COUNTING


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with two GPUs, one of which is used by a process, and a host that works half of the time."""

    class NVMLError(Exception):
        pass

    def utilisation(handle):
        if handle == 1:
            raise NVMLError
        return SimpleNamespace(gpu=70)

    users = {0: [SimpleNamespace(pid=77, usedGpuMemory=3_000_000_000)], 1: []}
    fake = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: "H200" if handle else b"H200",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=5e9, total=140e9),
        nvmlDeviceGetUtilizationRates=utilisation,
        nvmlDeviceGetPowerUsage=lambda handle: 350_000,
        nvmlDeviceGetTemperature=lambda handle, kind: 61,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: users[handle],
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "cmdline").write_bytes(b"python\0train.py\0")
    (tmp_path / "stat").write_text("cpu 100 0 0 100 0 0 0 0 0 0\n")
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n")
    return tmp_path


def test_a_sample_has_every_gpu_with_its_users_and_the_host(machine):
    monitor = MachineMonitor(machine)
    (machine / "stat").write_text("cpu 130 0 0 110 0 0 0 0 0 0\n")
    first, second, host = monitor.sample()
    assert (first.name, second.name, host.name) == ("H200 0", "H200 1", "host")
    assert (first.utilisation, first.power, first.temperature, first.memory_total) == (70.0, 350.0, 61.0, 140e9)
    assert first.processes == [Process(77, "python train.py", 3e9)]
    assert second.utilisation is None
    assert host.utilisation == pytest.approx(75.0)
    assert (host.memory_used, host.memory_total) == (600 * 1024, 1000 * 1024)


def test_a_machine_that_says_nothing_has_no_figures(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    (host,) = MachineMonitor(tmp_path).sample()
    assert (host.name, host.utilisation, host.memory_used) == ("host", None, None)


def test_the_tab_asks_while_it_is_visible(qtbot, open_window):
    window = open_window(COUNTING)
    window.actions_by_name["monitor"].trigger()
    tab = window.tabs.currentWidget()
    qtbot.waitUntil(lambda: tab.figures["memory_used"].curves_have_data, timeout=120_000)
    assert [curve.name for curve in tab.figures["memory_used"].curves] == ["host"]
    assert tab.figures["utilisation"].isVisible()
    assert not tab.figures["power"].isVisible()  # nothing is reported of it
    process = {"pid": 5, "name": "train", "memory": 2.5e9}
    device = {"name": "H200 0", "power": 300.0, "processes": [process]}
    tab.take({"devices": [device]})
    assert tab.processes.table()[1] == [("H200 0", 5, "train", 2_500_000_000)]
    assert tab.figures["power"].curves[0].data.last == 300.0
    window.actions_by_name["monitor"].trigger()
    assert window.run_tabs.comparisons == [tab]
    window.tabs.setCurrentWidget(window.home)
    assert tab._process is None
    window.tabs.setCurrentWidget(tab)
    assert tab._process is not None
    window.run_tabs.close_current()
    assert window.run_tabs.comparisons == []
