"""The actions of the window, from ``table.toml``: menus, shortcuts and the palette are built from them."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from gui.app.icons import set_icon


@dataclass(frozen=True)
class Action:
    """One command; the ``name`` ``-`` is a separator of the menu, ``needs`` what must be available for it."""

    name: str
    text: str = ""
    menu: str = ""
    shortcut: str = ""
    icon: str = ""
    tip: str = ""
    needs: Sequence[str] = ()
    checkable: bool = False


_SEPARATOR = "-"

SUBMENUS = ("samples", "recent", "panes", "colours")
"""Entries of the table that are menus of their own."""

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MENUS = tuple(_TABLE)
ACTIONS = tuple(Action(menu=menu, **row) for menu, rows in _TABLE.items() for row in rows)


def build_actions(owner: QWidget) -> dict[str, QAction]:
    """The actions of the table by name; the entries of :data:`SUBMENUS` are left out."""
    made: dict[str, QAction] = {}
    for action in ACTIONS:
        if action.name == _SEPARATOR or action.name in SUBMENUS:
            continue
        qt = QAction(action.text, owner, checkable=action.checkable)
        qt.setObjectName(action.name)
        if action.shortcut:
            qt.setShortcuts([QKeySequence(keys) for keys in action.shortcut.split()])
        if action.icon:
            set_icon(qt, action.icon)
        keys = f" ({qt.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})" if action.shortcut else ""
        qt.setToolTip((action.tip or plain(action.text)) + keys)
        qt.setStatusTip(action.tip)
        owner.addAction(qt)
        made[action.name] = qt
    return made


def connect_actions(actions: Mapping[str, QAction], handlers: Mapping[str, Callable[[], object]]) -> None:
    """Connect every action to the handler of its name; ``KeyError`` if one has no handler."""
    for name, action in actions.items():
        handler = handlers[name]
        action.triggered.connect(lambda _checked=False, handler=handler: handler())


def fill_menus(bar: QMenuBar, actions: Mapping[str, QAction], submenus: Mapping[str, QMenu]) -> dict[str, QMenu]:
    """Fill the menu bar from the table."""
    menus = {name: bar.addMenu(f"&{name}") for name in MENUS}
    for action in ACTIONS:
        menu = menus[action.menu]
        if action.name == _SEPARATOR:
            menu.addSeparator()
        elif action.name in submenus:
            submenu = submenus[action.name]
            submenu.setTitle(action.text)
            menu.addMenu(submenu)
        else:
            menu.addAction(actions[action.name])
    return menus


def plain(text: str) -> str:
    """The text of a menu entry without its mnemonic and ellipsis."""
    return text.replace("&", "").rstrip("…")
