"""What a person does with a window, in a few words."""

from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMessageBox

SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def drop(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPointF(200, 200), Qt.DropAction.CopyAction, data, buttons, keys))


def load(qtbot, window, path):
    drop(window, path)
    qtbot.waitUntil(lambda: window.pane.instance is not None and window.problems.loading is None, timeout=120_000)


def opened(qtbot, window, folder):
    window.runs.show_folder(folder)
    return shown(qtbot, window, folder)


def shown(qtbot, window, folder):
    """Wait until the current tab is that of the run in a folder; the tab."""

    def there():
        tab = window.run_tabs.current_run()
        return tab is not None and tab.note.path.resolve() == folder.resolve()

    qtbot.waitUntil(there, timeout=120_000)
    assert window.statusBar().currentMessage() == ""  # which would cover the state of the run
    return window.run_tabs.current_run()


def begin(qtbot, window):
    """Press F5, and wait until the child has begun to solve; the tab."""
    qtbot.keyClick(window, Qt.Key.Key_F5)
    tab = window.tabs.currentWidget()
    qtbot.waitUntil(lambda: tab.view.state == "running" or not tab.live, timeout=120_000)
    return tab


def ended(qtbot, tab, timeout=120000):
    """Wait until a run is over and its dashboard complete."""
    qtbot.waitUntil(lambda: not tab.live and tab.complete, timeout=timeout)


def solved(qtbot, window, path):
    """Load, run, wait; the tab."""
    load(qtbot, window, path)
    tab = begin(qtbot, window)
    ended(qtbot, tab)
    return tab


def answer(qtbot, window, text):
    """Press the button of that name in the box that is open."""
    qtbot.waitUntil(lambda: bool(window.findChildren(QMessageBox)), timeout=120_000)
    box = window.findChildren(QMessageBox)[-1]
    button = next(button for button in box.buttons() if button.text().replace("&", "") == text)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def notes_of(window):
    return list(window.runs._library)
