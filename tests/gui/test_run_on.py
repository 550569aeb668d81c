"""Where a run is computed: this computer, an address, a saved cluster, or another host over ssh."""

import numpy as np
import platformdirs
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox

from engine import Flowshop
from engine.events import DeviceStatus
from engine.generators.branch_and_bound import write_flowshop
from gui.window.places import HostDialog
from tests.support import counting
from tests.support.app import COUNTING
from tests.support.interaction import load, solved
from tests.support.needs import POSIX, package


@pytest.fixture
def window(open_window, counting_files):
    return open_window(COUNTING)


def test_the_chosen_cluster_is_in_the_command_and_the_code(qtbot, window, counting_files):
    load(qtbot, window, counting_files / "small.txt")
    bar = window.tool_bar
    assert bar.place.cluster is None
    assert "cluster" not in bar.given()
    bar.place.setCurrentText("tcp://host:8786")
    assert bar.given()["cluster"] == "tcp://host:8786"
    assert "--cluster tcp://host:8786" in window.pane.command_text()
    assert "cluster='tcp://host:8786'" in window.pane.python_text()
    bar.set_values({"cluster": None})
    assert bar.place.cluster is None


def test_a_run_is_loaded_again_with_the_place_and_the_limits_it_had(qtbot, window, counting_files):
    bar, small = window.tool_bar, counting_files / "small.txt"
    base = bar.values()
    given = {"cluster": "local:2", "time_limit": 1234567.5}
    for settings, expected in ((given, {**base, **given}), ({}, base), ({"host": "far"}, {**base, "host": "far"})):
        window.problems.load_with_options(small, {}, settings)
        qtbot.waitUntil(lambda expected=expected: bar.values() == expected, timeout=120_000)


@pytest.mark.full
def test_a_run_on_a_cluster_has_its_workers_on_the_page_of_devices(qtbot, open_window, tmp_path, monkeypatch):
    package("distributed")
    times = np.random.default_rng(5).integers(1, 100, (5, 10))
    write_flowshop(Flowshop(times), tmp_path / "ten.txt")
    window = open_window()
    window.tool_bar.place.setCurrentText("local:1")
    tab = solved(qtbot, window, tmp_path / "ten.txt")
    assert (tab.note.state, tab.note.devices) == ("optimal", ["worker-0"])
    _, rows = tab.panel.device_page.listing.table()
    assert [row[0] for row in rows] == ["worker-0"]
    assert rows[0][-1]
    tab.panel.device_page.status(DeviceStatus(time=9.5, device="worker-7", busy=0.0))
    _, rows = tab.panel.device_page.listing.table()
    assert rows[1] == ("worker-7", "", None, 0, "9.5 s")


def test_a_run_is_resumed_where_it_was_started():
    from gui.problem.command_line import resume_words

    assert resume_words("runs/one", {"cluster": "local:2", "seed": 3}) == ["resume", "runs/one", "--cluster", "local:2"]
    assert resume_words("runs/one", {"host": "far"}) == ["resume", "runs/one", "--host", "far"]
    assert resume_words("runs/one", {}) == ["resume", "runs/one"]


def test_saved_clusters_are_listed(tmp_path, monkeypatch):
    from engine.execution.hosts import saved_clusters

    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *names, **more: str(tmp_path))
    assert saved_clusters() == {}
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "hall.toml").write_text('kind = "address"\naddress = "tls://host:8786"\n')
    assert saved_clusters() == {"hall": tmp_path / "clusters" / "hall.toml"}


@pytest.fixture
def far(monkeypatch, tmp_path):
    """A host over ssh with the counting solver."""
    from tests.support import far_host

    far_host.install(monkeypatch, tmp_path / "far")
    return far_host


@pytest.mark.full
@POSIX
def test_a_host_is_added_tried_and_used(qtbot, far, window, counting_files):
    bar = window.tool_bar
    bar.place.activated.emit(bar.place.findText("Add a host…"))
    dialog = window.findChildren(HostDialog)[-1]
    qtbot.keyClicks(dialog.destination, "anna@far.example")
    dialog.command.setText("no-such-program")
    qtbot.mouseClick(dialog.connect_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "could not be started there" in dialog.state.text(), timeout=120_000)
    dialog.command.setText(far.COMMAND)
    qtbot.mouseClick(dialog.connect_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "Abacus" in dialog.state.text(), timeout=120_000)
    dialog.name.setText("far")
    qtbot.mouseClick(dialog.buttons.button(QDialogButtonBox.StandardButton.Save), Qt.MouseButton.LeftButton)
    assert bar.place.currentText() == "ssh:far"
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=120_000)
    assert bar.given()["host"] == "far"
    tab = solved(qtbot, window, counting_files / "small.txt")
    assert "--host far" in window.pane.command_text()
    assert "host=" not in window.pane.python_text()
    assert tab.note.state == "optimal"
    assert tab.note.best == counting.expected(100)
    assert (tab.note.path / "result.json").is_file()
    bar.place.choose(None, None)
    assert "host" not in bar.given()


def test_a_host_that_cannot_be_one_is_refused_in_the_dialog(qtbot, window):
    dialog = HostDialog(window)
    dialog.destination.setText("two words")
    dialog.buttons.button(QDialogButtonBox.StandardButton.Save).click()
    assert dialog.state.text().startswith("destination must be [USER@]HOST")
    dialog.reject()
