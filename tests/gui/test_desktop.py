"""The desktop entry, the title of the window, the estimate of the solver, and the notebook of a run."""

import json
import subprocess
import warnings
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from engine import cli
from gui.report.notebook import write_notebook
from gui.window import notices
from tests.support.app import SAMPLES
from tests.support.needs import LINUX, package


@LINUX
def test_the_app_is_installed_for_the_desktop_and_removed_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert cli.command_line(["gui", "--install"]) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert all(path.is_file() and path.is_relative_to(tmp_path) for path in written)
    entry = (tmp_path / "applications" / "quintet.desktop").read_text().splitlines()
    command = next(line for line in entry if line.startswith("Exec=")).removeprefix("Exec=").removesuffix(" %F")
    shown = subprocess.run([*command.split(), "--help"], capture_output=True, text=True, check=True)
    assert "desktop app" in shown.stdout
    types = ElementTree.parse(tmp_path / "mime" / "packages" / "quintet.xml")
    names = {element.get("type") for element in types.getroot()}
    offered = next(line for line in entry if line.startswith("MimeType=")).removeprefix("MimeType=")
    assert names == {name for name in offered.split(";") if name}
    assert ElementTree.parse(tmp_path / "icons/hicolor/scalable/apps/quintet.svg").getroot().tag.endswith("svg")
    assert cli.command_line(["gui", "--uninstall"]) == 0
    assert not any(path.exists() for path in written)


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["knapsack", "linprog"])
def test_the_notebook_of_a_run_draws_its_plots(solver, tmp_path, monkeypatch):
    plt = package("matplotlib.pyplot")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    write_notebook(SAMPLES / "recorded" / solver, tmp_path / "run.ipynb")
    written = json.loads((tmp_path / "run.ipynb").read_text())
    assert written["nbformat"] == 4
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for cell in written["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
    drawn = [axes for number in plt.get_fignums() for axes in plt.figure(number).axes]
    assert len(drawn) >= 5
    assert all(axes.lines for axes in drawn)
    assert names["result"].objective is not None
    plt.close("all")


def test_the_end_of_a_long_run_is_notified_unless_the_window_is_active(monkeypatch):
    alerts = []
    monkeypatch.setattr(notices.QApplication, "alert", alerts.append)
    monkeypatch.setattr(notices.QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    for seconds, active in ((60.0, False), (1.0, False), (60.0, True)):
        window = SimpleNamespace(isActiveWindow=lambda active=active: active)
        note = SimpleNamespace(seconds=seconds, state="optimal", warnings=["w"], best=2178, title="x")
        owner, tab = SimpleNamespace(_window=window, _tray=None, long=20.0), SimpleNamespace(note=note)
        notices.Notices.notify(owner, tab)
        assert len(alerts) == 1
    assert notices.message(tab) == "optimal, 1 warning, best 2,178"
