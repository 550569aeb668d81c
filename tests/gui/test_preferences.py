"""Preferences take effect at once and are kept; the folder of runs counts from the next start on."""

from pathlib import Path

from engine.util.text import show_digits, value_text
from gui.application import make_application
from gui.window.preferences import Preferences
from tests.support.app import COUNTING


def test_preferences_are_kept_and_the_folder_of_runs_counts_from_the_next_start(
    qtbot, open_window, tmp_path, monkeypatch
):
    opened = []
    monkeypatch.setattr("gui.window.preferences.QDesktopServices.openUrl", lambda url: opened.append(url.toLocalFile()))
    window, font = open_window(COUNTING), make_application().font()
    try:
        window.actions_by_name["preferences"].trigger()
        (dialog,) = window.findChildren(Preferences)
        dialog.theme.setCurrentIndex(dialog.theme.findData("dark"))
        dialog.font_size.setValue(15)
        dialog.at_once.setValue(3)
        dialog.notify.setValue(90)
        dialog.digits.setValue(4)
        assert value_text(3.14159265) == "3.142"
        assert window.theme.dark
        assert make_application().font().pointSize() == 15
        assert (window.launcher.most_at_once, window.notices.long) == (3, 90)
        folder = tmp_path / "elsewhere"
        dialog.set_folder(folder)
        dialog.defaults.click()
        assert Path(opened[0]).read_text().startswith("# Defaults of all runs")
        dialog.reject()
        window.close()
        again = open_window(COUNTING)
        assert again.theme.dark
        assert (again.launcher.most_at_once, again.notices.long) == (3, 90)
        assert again.appearance.digits == 4
        assert again.runs._library.new("a").path.parent == folder
    finally:
        show_digits(8)
        make_application().setFont(font)
