"""The desktop entry, the title of the window, the estimate of the solver, and the notebook of a run."""

import json
import subprocess
import warnings
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from engine import cli
from engine.events import Progress
from gui.report.notebook import notebook, write_notebook
from gui.runs.view import RunView, remaining_text
from gui.window import notices
from gui.window.notices import title_of
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


def run_in_progress(title, done, total):
    view = RunView()
    view.take([Progress(time=1.0, phase="items", done=done, total=total)])
    return SimpleNamespace(view=view, note=SimpleNamespace(title=title))


def test_the_title_names_the_run_that_is_shown_and_counts_others_in_progress():
    half, unknown = run_in_progress("ta030", 21, 50), run_in_progress("ta031", 1, 0)
    assert title_of(None, []) == "Quintet"
    assert title_of(half, [half]) == title_of(None, [half]) == "42 % of items – ta030 – Quintet"
    assert title_of(unknown, [unknown]) == title_of(unknown, []) == "ta031 – Quintet"
    assert title_of(unknown, [half]) == "ta031 – 1 run in progress – Quintet"
    assert title_of(None, [half, unknown]) == "2 runs in progress – Quintet"


def test_the_end_of_a_long_run_is_notified_unless_the_window_is_active(monkeypatch):
    alerts = []
    monkeypatch.setattr(notices.QApplication, "alert", alerts.append)
    monkeypatch.setattr(notices.QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    window = SimpleNamespace(isActiveWindow=lambda: False)
    owner = SimpleNamespace(_window=window, _tray=None, long=20.0)
    for seconds, active in ((60.0, False), (1.0, False), (60.0, True)):
        window.isActiveWindow = lambda active=active: active
        note = SimpleNamespace(seconds=seconds, state="optimal", warnings=[], best=3, title="x")
        notices.Notices.notify(owner, SimpleNamespace(note=note))
    assert alerts == [window]
    note = SimpleNamespace(state="optimal", warnings=["w"], best=2178)
    assert notices.message(SimpleNamespace(note=note)) == "optimal, 1 warning, best 2,178"


def test_the_solvers_own_estimate_is_shown_with_its_spread():
    summary = RunView()
    about = {"phase": "search", "done": 5.0, "total": 100.0, "limit": True}
    summary.take([Progress(time=1.0, **about, seconds_left=60.0, seconds_left_low=40.0, seconds_left_high=90.0)])
    assert summary.remaining.estimate() == (40.0, 90.0)
    assert remaining_text(summary.remaining.estimate()) == "40 s to 1:30 left"
    summary.take([Progress(time=2.0, **about)])
    assert summary.remaining.estimate() is None


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["knapsack", "linprog"])
def test_the_notebook_of_a_run_draws_its_plots(solver, tmp_path):
    plt = package("matplotlib.pyplot")
    import matplotlib

    matplotlib.use("Agg")
    folder = SAMPLES / "recorded" / solver
    write_notebook(folder, tmp_path / "run.ipynb")
    written = json.loads((tmp_path / "run.ipynb").read_text())
    assert written == notebook(folder)
    assert written["nbformat"] == 4
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for cell in written["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    drawn = [axes for figure in figures for axes in figure.axes]
    assert len(drawn) >= 5
    assert all(axes.lines for axes in drawn)
    assert names["result"].objective is not None
    plt.close("all")
