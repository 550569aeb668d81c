"""Processes beside the window: a second start, the list and the use of devices, estimates, the one that waits."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject

from engine.devices.monitor.machine import MachineMonitor, Process
from engine.util.memory import free_memory
from gui.problem import standby
from gui.problem.estimate import EstimateBox
from gui.window.device_query import DeviceQuery
from gui.window.single import Single, show_elsewhere
from tests.support.app import COUNTING
from tests.support.environment import ROOT
from tests.support.interaction import begin, ended, load, solved

_START = "import sys; from gui.application import run; sys.exit(run(sys.argv[1:]))"


def test_a_second_start_hands_its_files_to_the_open_window(qtbot, tmp_path):
    assert not show_elsewhere(tmp_path, [], None)
    owner, asked = QObject(), []
    single = Single(tmp_path, owner)
    single.asked.connect(lambda paths, kind: asked.append((paths, kind)))
    words = ["a.txt", "--as", "Knapsack", "--data", str(tmp_path)]
    child = subprocess.Popen([sys.executable, "-c", _START, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    qtbot.waitUntil(lambda: child.poll() is not None, timeout=120_000)
    assert (child.returncode, child.communicate()[0]) == (0, "shown in the window that is open\n")
    assert asked == [([ROOT / "a.txt"], "Knapsack")]


LISTED = """print('Welcome!'); print('{"devices": [{"id": "opencl:0"}], "missing": {"cuda": "no driver"}}')"""


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (LISTED, [[{"id": "opencl:0"}], {"cuda": "no driver"}]),
        ("print('hello')", ["the device list cannot be read"]),
        ("print('{}')", ["the device list cannot be read"]),
        ("import sys; sys.exit('no such driver')", ["no such driver"]),
        ("import os; os.kill(os.getpid(), 11)", ["the device list cannot be read"]),
    ],
)
def test_a_query_of_devices_answers_once_whatever_becomes_of_its_process(qtbot, code, answer):
    query, seen = DeviceQuery([sys.executable, "-c", code]), []
    query.found.connect(lambda *found: seen.append(list(found)))
    query.failed.connect(lambda message: seen.append([message]))
    qtbot.waitUntil(lambda: bool(seen), timeout=120_000)
    qtbot.wait(50)
    query.close()
    assert seen == [answer]


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("import sys; sys.exit('error: no device 9')", "No device 9"),
        ("print('hello')", "The estimate cannot be read"),
        ("print('{}')", "The estimate cannot be read"),
        ("import time; time.sleep(3600)", ""),  # until it is stopped
    ],
)
def test_an_estimate_is_stopped_or_says_why_it_failed(qtbot, code, answer):
    estimate = EstimateBox()
    qtbot.addWidget(estimate)
    estimate.words = lambda: [sys.executable, "-c", code]
    estimate.button.click()
    if not answer:
        qtbot.waitUntil(lambda: estimate._query._process.processId() > 0, timeout=120_000)
        estimate.button.click()
    qtbot.waitUntil(lambda: not estimate.running, timeout=120_000)
    assert (estimate.button.text(), estimate.answer.text()) == ("Estimate", answer)


@pytest.fixture
def window(qtbot, open_window, counting_files):
    """A window with a problem, where a process with open devices waits for the run."""
    shown = open_window(COUNTING)
    shown.launcher.standby.enabled = True
    load(qtbot, shown, counting_files / "small.txt")
    return shown


def test_a_run_uses_the_process_that_waits_and_other_devices_need_another(qtbot, window):
    standby = window.launcher.standby
    qtbot.waitUntil(lambda: standby.waiting, timeout=120_000)
    first = standby._child.pid
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    assert (tab.note.state, tab.child.words[0]) == ("optimal", "solve")
    qtbot.waitUntil(lambda: standby.waiting, timeout=120_000)
    second = standby._child.pid
    assert second != first
    window.tool_bar.set_values({"backend": "opencl"})
    window.tool_bar.changed.emit()
    qtbot.waitUntil(lambda: standby.waiting and standby._child.pid != second, timeout=120_000)
    assert standby._child.words == ["standby", "--backend", "opencl"]


@pytest.mark.full
def test_a_process_that_died_meanwhile_is_replaced(qtbot, window, counting_files):
    standby = window.launcher.standby
    qtbot.waitUntil(lambda: standby.waiting, timeout=120_000)
    standby._child.kill()
    qtbot.waitUntil(lambda: not standby.waiting, timeout=120_000)
    assert solved(qtbot, window, counting_files / "small.txt").note.state == "optimal"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with two GPUs, one of which is used by a process, and a host that works half of the time."""
    answers = {
        "Count": 2,
        "Name": b"H200",
        "MemoryInfo": SimpleNamespace(used=5e9, total=140e9),
        "UtilizationRates": SimpleNamespace(gpu=70),
        "PowerUsage": 350_000,
        "Temperature": 61,
    }
    calls = {f"nvmlDeviceGet{name}": lambda *_, value=value: value for name, value in answers.items()}
    calls["nvmlDeviceGetHandleByIndex"] = lambda index: index
    user = SimpleNamespace(pid=77, usedGpuMemory=3_000_000_000)
    calls["nvmlDeviceGetComputeRunningProcesses"] = lambda handle: [] if handle else [user]
    calls |= {"NVMLError": OSError, "NVML_TEMPERATURE_GPU": 0, "nvmlInit": lambda: None}
    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace(**calls))
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "cmdline").write_bytes(b"python\0train.py\0")
    (tmp_path / "stat").write_text("cpu 100 0 0 100 0 0 0 0 0 0\n")
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n")
    return tmp_path


def test_a_sample_has_every_gpu_with_its_users_and_the_host(machine, monkeypatch):
    monitor = MachineMonitor(machine)
    (machine / "stat").write_text("cpu 130 0 0 110 0 0 0 0 0 0\n")
    first, second, host = monitor.sample()
    assert [device.name for device in (first, second, host)] == ["H200 0", "H200 1", "host"]
    assert (first.utilisation, first.power, first.temperature, first.memory_total) == (70.0, 350.0, 61.0, 140e9)
    assert first.processes == [Process(77, "python train.py", 3e9)]
    assert (second.processes, host.utilisation) == ([], pytest.approx(75.0))
    assert (host.memory_used, host.memory_total) == (600 * 1024, 1000 * 1024)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    (host,) = MachineMonitor(machine / "77").sample()  # which says nothing
    assert (host.name, host.utilisation, host.memory_used) == ("host", None, None)


def test_the_tab_asks_while_it_is_visible(qtbot, open_window):
    window = open_window(COUNTING)
    window.actions_by_name["monitor"].trigger()
    tab = window.tabs.currentWidget()
    memory, power = tab.figures["memory_used"], tab.figures["power"]
    qtbot.waitUntil(lambda: memory.curves_have_data, timeout=120_000)
    assert [curve.name for curve in memory.curves] == ["host"]
    assert (tab.figures["utilisation"].isVisible(), power.isVisible()) == (True, False)  # nothing is reported of it
    process = {"pid": 5, "name": "train", "memory": 2.5e9}
    tab.take({"devices": [{"name": "H200 0", "power": 300.0, "processes": [process]}]})
    assert tab.processes.table()[1] == [("H200 0", 5, "train", 2_500_000_000)]
    assert power.curves[0].data.last == 300.0
    for shown in (window.home, tab):
        window.tabs.setCurrentWidget(shown)
        assert (tab._process is not None) == (shown is tab)
    window.run_tabs.close_current()
    assert window.run_tabs.comparisons == []


def test_without_memory_no_process_waits(qtbot, open_window, counting_files, monkeypatch, tmp_path):
    table = tmp_path / "meminfo"
    table.write_text("MemTotal: 8000000 kB\nMemAvailable: 900000 kB\n")
    assert free_memory(table) == 900_000 * 1024
    monkeypatch.setattr(standby, "free_memory", lambda: free_memory(table))
    window = open_window(COUNTING)
    window.launcher.standby.enabled = True
    load(qtbot, window, counting_files / "small.txt")
    qtbot.wait(1500)
    assert not window.launcher.standby.waiting
