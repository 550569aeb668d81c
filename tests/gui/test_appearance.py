"""How the window looks and is used: sizes, themes, preferences, the keyboard alone, help."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QWidget

from engine.util.text import show_digits, value_text
from gui.app.meaning import tile_meaning
from gui.app.theme import DARK, LIGHT
from gui.application import make_application
from gui.plot.page import Tile
from gui.window.documentation import Documentation, plain_markdown
from gui.window.preferences import Preferences
from tests.support.app import COUNTING, SAMPLES
from tests.support.interaction import CONTROL, ended, opened


def test_dashboards_have_most_of_a_small_window(qtbot, open_window):
    window = open_window(COUNTING)
    window.resize(1024, 700)
    tab = opened(qtbot, window, SAMPLES / "recorded" / "knapsack")
    qtbot.waitUntil(lambda: tab.complete and window.dock_layout.compact, timeout=120_000)
    qtbot.waitUntil(lambda: window.tabs.width() >= 0.6 * window.width(), timeout=120_000)
    assert (window.width(), window.height()) == (1024, 700)
    for part in (window.tool_bar, window.tabs, window.statusBar(), tab.panel.pages, window.pane):
        assert window.rect().contains(part.rect().translated(part.mapTo(window, part.rect().topLeft()))), part
    bar = window.tool_bar
    names = ("start", "pause", "stop", "find_command", "switch_theme")
    buttons = [bar.widgetForAction(window.actions_by_name[name]) for name in names]
    for part in (*buttons, bar.time_limit, bar.backend, bar.devices, bar.place):
        assert (part.isVisible(), bar.rect().contains(part.geometry())) == (True, True)
    assert tab.panel.pages.height() >= 0.6 * window.height()
    assert not window.log.isVisible()
    window.log.add("it is broken", "error")
    assert window.statusBar().currentMessage() == "it is broken"
    window.focus_log()
    assert window.log.isVisible()
    window.focus_runs()
    qtbot.waitUntil(window.run_list.view.isVisible, timeout=120_000)
    window.problems.focus()
    qtbot.waitUntil(lambda: window.pane.visibleRegion().boundingRect().isValid(), timeout=120_000)


def contrast(one, other):
    """Contrast of two colours by WCAG 2."""
    parts = [QColor(name).getRgbF()[:3] for name in (one, other)]
    linear = [[v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb] for rgb in parts]
    dark, light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in linear)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_their_ground(theme):
    for ground in (theme.base, theme.window, theme.raised):
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.muted, ground) >= 4.5
    for colour in (theme.good, theme.warning, theme.bad):
        assert contrast(colour, theme.window) >= 4.5
    assert all(contrast(colour, theme.base) >= 3 for colour in theme.lines)
    assert contrast(theme.accent_text, theme.accent) >= 4.5
    looks = [(theme.colour(k), theme.dash(k)) for k in range(40)]
    assert len(set(looks)) == 40


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


def test_the_keyboard_alone_loads_runs_and_finds_everything(qtbot, open_window):
    window, key = open_window(), Qt.Key
    qtbot.keyClick(window, key.Key_K, CONTROL)
    palette = window.help.palette
    actions = [action for action in window.actions_by_name.values() if action.objectName() != "find_command"]
    assert {action.text().replace("&", "").rstrip("…") for action in actions} <= set(palette.texts())
    qtbot.keyClicks(palette.line, "sample: strongly-1000")
    while palette.list.currentItem().text(0) != "Sample: strongly-1000":
        qtbot.keyClick(palette.line, key.Key_Down)
    qtbot.keyClick(palette.line, key.Key_Return)
    qtbot.waitUntil(lambda: window.pane.instance is not None, timeout=120_000)
    qtbot.keyClick(window, key.Key_1, CONTROL)
    assert window.focusWidget() is window.pane.form.editor("variant")
    qtbot.keyClick(window.focusWidget(), key.Key_Down)
    assert window.pane.options() == {"variant": "dense"}
    qtbot.keyClick(window, key.Key_F5)
    tab = window.tabs.currentWidget()
    ended(qtbot, tab)
    assert tab.note.state == "optimal"
    qtbot.keyClick(window, key.Key_3, CONTROL)
    qtbot.keyClick(window, key.Key_W, CONTROL)
    assert window.run_tabs.opened() == []
    qtbot.keyClick(window.run_list.view, key.Key_Return)
    assert len(window.run_tabs.opened()) == 1
    qtbot.keyClick(window, key.Key_4, CONTROL)
    assert window.focusWidget() is window.log.filter
    qtbot.keyClick(window, key.Key_F1)
    found = window.help.palette.list
    rows = map(found.topLevelItem, range(found.topLevelItemCount()))
    shown = {row.text(0): row.text(1) for row in rows}
    assert (shown["Run"], shown["Go to log"], "Option: variant" in shown) == ("F5", "Ctrl+4", True)
    window.help.palette.reject()


def test_a_key_number_tells_its_meaning_and_opens_the_documentation(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    documentation = Documentation(parent)
    tile = Tile("Gap", LIGHT)
    qtbot.addWidget(tile)
    tile.describe(tile_meaning("knapsack", "Cells"))
    tile.show()
    qtbot.mouseClick(tile, Qt.MouseButton.LeftButton)
    (label,) = tile.findChildren(QLabel, "meaning")
    assert "Boyer, El Baz and Elkihel (2011), section II.B" in label.text()
    label.linkActivated.emit(re.search('href="(.+?)"', label.text())[1])
    assert documentation.isVisible()
    assert documentation.windowTitle() == "Knapsack – Quintet"
    documentation.anchorClicked.emit(QUrl("../concepts/run.md"))
    assert documentation.toPlainText().startswith("Problems, options and runs")


def test_a_page_of_help_is_shown_without_the_marks_of_the_site():
    for page in sorted((SAMPLES.parent / "docs" / "guides").glob("*.md")):
        text = plain_markdown(page.read_text(encoding="utf-8"))
        assert not re.search(r"^===|<!--|\$\$", text, re.MULTILINE), page
        assert text.count("```") % 2 == 0, page
