"""The keyboard alone: the command palette, the panes."""

from PySide6.QtCore import Qt

from tests.support.interaction import CONTROL, ended


def test_the_keyboard_alone_loads_runs_and_finds_everything(qtbot, open_window):
    window = open_window()
    qtbot.keyClick(window, Qt.Key.Key_K, CONTROL)
    palette = window.help.palette
    qtbot.keyClicks(palette.line, "sample: strongly-1000")
    assert "Sample: strongly-1000" in palette.texts()
    while palette.list.currentItem().text(0) != "Sample: strongly-1000":
        qtbot.keyClick(palette.line, Qt.Key.Key_Down)
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.pane.instance is not None, timeout=120_000)
    qtbot.keyClick(window, Qt.Key.Key_1, CONTROL)
    assert window.focusWidget() is window.pane.form.editor("variant")
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Down)
    assert window.pane.options() == {"variant": "dense"}
    qtbot.keyClick(window, Qt.Key.Key_F5)
    tab = window.tabs.currentWidget()
    ended(qtbot, tab)
    assert tab.note.state == "optimal"
    qtbot.keyClick(window, Qt.Key.Key_3, CONTROL)
    assert window.focusWidget() is window.run_list.view
    qtbot.keyClick(window, Qt.Key.Key_W, CONTROL)
    assert window.run_tabs.opened() == []
    qtbot.keyClick(window.run_list.view, Qt.Key.Key_Return)
    assert len(window.run_tabs.opened()) == 1
    qtbot.keyClick(window, Qt.Key.Key_4, CONTROL)
    assert window.focusWidget() is window.log.filter
    qtbot.keyClick(window, Qt.Key.Key_F1)
    shown = window.help.palette.list
    keys = {
        shown.topLevelItem(row).text(0): shown.topLevelItem(row).text(1) for row in range(shown.topLevelItemCount())
    }
    assert (keys["Run"], keys["Go to log"]) == ("F5", "Ctrl+4")
    assert "Option: variant" in keys
    window.help.palette.reject()
