"""The style sheet of the application: what a palette cannot express, such as spacing, borders, tabs, scroll bars."""

import functools
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QDialogButtonBox, QWidget

from gui.app.theme import Theme

_NOT_AS_USUAL = (
    *("interrupted", "cancelled", "time_limit", "iteration_limit", "paused", "stopping"),
    *("infeasible", "unbounded", "bound_proved"),
)


def state_colour(theme: Theme, state: str, warnings: int = 0) -> str:
    """The text colour for the state of a run; a result with warnings is not shown as good."""
    if state in ("optimal", "complete", "feasible"):
        return theme.warning if warnings else theme.good
    if state in ("failed", "killed"):
        return theme.bad
    return theme.warning if state in _NOT_AS_USUAL else theme.accent


def set_style(widget: QWidget, theme: Theme) -> None:
    """Apply the style sheet of a theme to a widget and what is in it, hidden tabs only once they are shown.

    One style sheet of the application would be applied to each widget once for each of its ancestors.
    """
    sheet = style_sheet(theme)
    if widget.styleSheet() != sheet:
        widget.setStyleSheet(sheet)


def remove_button_icons(dialog: QWidget) -> None:
    """Take away the icons that some desktops have on buttons such as OK: a style sheet comes too late for that."""
    for box in dialog.findChildren(QDialogButtonBox):
        for button in box.buttons():
            button.setIcon(QIcon())


def style_sheet(theme: Theme) -> str:
    """The style sheet, for the application's font."""
    return _style_sheet(theme, QGuiApplication.font().pointSizeF())


@functools.cache
def _style_sheet(theme: Theme, points: float) -> str:
    title, caption, number, big = (f"{share * points:.1f}pt" for share in (1.15, 0.85, 1.3, 1.7))
    hover = theme.mixed(theme.accent, 0.12)
    pressed = theme.mixed(theme.accent, 0.24)
    arrow, arrow_up, check = (
        (Path(__file__).parent / "images" / f"{image}-{theme.name}.svg").as_posix()
        for image in ("arrow", "arrow-up", "check")
    )
    return f"""
QMainWindow, QDialog {{ background: {theme.window}; }}
QMainWindow::separator {{ background: {theme.window}; width: 5px; height: 5px; }}
QMainWindow::separator:hover {{ background: {pressed}; }}
QLabel#meaning {{ background: {theme.raised}; color: {theme.text}; border: 1px solid {theme.border}; }}
QToolTip {{ background: {theme.raised}; color: {theme.text}; border: 1px solid {theme.border}; padding: 4px; }}

QToolBar {{
  background: {theme.raised}; border: none; border-bottom: 1px solid {theme.border};
  padding: 4px 6px; spacing: 4px; }}
QToolBar::separator {{ background: {theme.border}; width: 1px; margin: 4px 6px; }}
QToolBar QLabel {{ color: {theme.muted}; padding-left: 4px; }}
QToolButton {{ border: 1px solid transparent; border-radius: 4px; padding: 3px 7px; }}
QToolButton:hover:enabled {{ background: {hover}; border-color: {theme.border}; }}
QToolButton:pressed, QToolButton:checked {{ background: {pressed}; }}
QToolButton:focus {{ border-color: {theme.accent}; }}
QToolButton::menu-indicator {{ image: none; width: 0; }}
QToolButton#close {{ padding: 1px; }}
QToolButton#devices, QToolButton#more {{ border-color: {theme.border}; background: {theme.base}; }}
QToolButton#run:enabled {{
  background: {theme.accent}; color: {theme.accent_text}; font-weight: bold;
  border-color: {theme.accent}; }}
QToolButton#run:hover:enabled {{ background: {theme.mixed(theme.accent, 0.85)}; }}

QMenuBar {{ background: {theme.raised}; }}
QMenuBar::item {{ padding: 4px 9px; background: transparent; }}
QMenuBar::item:selected {{ background: {hover}; }}
QMenu {{ background: {theme.base}; border: 1px solid {theme.border}; padding: 4px 0; }}
QMenu::item {{ padding: 5px 26px 5px 26px; }}
QMenu::item:selected {{ background: {theme.accent}; color: {theme.accent_text}; }}
QMenu::item:disabled {{ color: {theme.mixed(theme.muted, 0.6)}; background: transparent; }}
QMenu::separator {{ height: 1px; background: {theme.border}; margin: 4px 8px; }}

QDockWidget {{ titlebar-close-icon: none; titlebar-normal-icon: none; font-weight: bold; }}
QDockWidget > QWidget {{ font-weight: normal; }}
QDockWidget::title {{ background: {theme.window}; padding: 6px 8px; text-align: left; }}
QWidget#dock {{ background: {theme.base}; border: 1px solid {theme.border}; }}

QTabWidget::pane {{ border: none; border-top: 1px solid {theme.border}; }}
QTabBar {{ background: transparent; }}
QTabBar::tab {{
  background: transparent; color: {theme.muted}; padding: 6px 12px; border: none;
  border-bottom: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {theme.text}; border-bottom: 2px solid {theme.accent}; }}
QTabBar QToolButton {{ background: {theme.window}; padding: 0; }}
QTabBar::tab:hover:!selected {{ color: {theme.text}; background: {hover}; }}

QLineEdit, QComboBox, QAbstractSpinBox, QPlainTextEdit, QTextBrowser {{
  background: {theme.base}; border: 1px solid {theme.border}; border-radius: 4px; padding: 3px 6px;
  selection-background-color: {theme.accent}; selection-color: {theme.accent_text}; }}
QLineEdit:focus, QComboBox:focus, QAbstractSpinBox:focus, QPlainTextEdit:focus {{ border-color: {theme.accent}; }}
QLineEdit[invalid="true"], QComboBox[invalid="true"] {{ border-color: {theme.bad}; }}
QLineEdit:disabled, QComboBox:disabled, QAbstractSpinBox:disabled {{
  color: {theme.muted}; background: {theme.window}; }}
QComboBox::drop-down {{ border: none; width: 20px; }}
QComboBox::down-arrow {{ image: url("{arrow}"); width: 12px; height: 12px; }}
QSpinBox::up-button, QSpinBox::down-button {{ border: none; background: transparent; width: 18px; }}
QSpinBox::up-button:hover, QSpinBox::down-button:hover {{ background: {hover}; }}
QSpinBox::up-arrow {{ image: url("{arrow_up}"); width: 10px; height: 10px; }}
QSpinBox::down-arrow {{ image: url("{arrow}"); width: 10px; height: 10px; }}
QCheckBox::indicator {{
  background: {theme.base}; border: 1px solid {theme.muted}; border-radius: 3px; width: 13px; height: 13px; }}
QCheckBox::indicator:checked {{ background: {theme.accent}; border-color: {theme.accent}; image: url("{check}"); }}
QCheckBox::indicator:hover:enabled {{ border-color: {theme.accent}; }}
QCheckBox::indicator:focus {{ border-color: {theme.text}; }}
QCheckBox::indicator:disabled {{ border-color: {theme.mixed(theme.muted, 0.6)}; }}
QCheckBox::indicator:checked:disabled {{ background: {theme.mixed(theme.muted, 0.6)}; }}
QComboBox QAbstractItemView {{ background: {theme.base}; border: 1px solid {theme.border}; }}

QAbstractItemView {{ background: {theme.base}; border: none; outline: none; }}
QTreeView::item, QListView::item {{ padding: 2px 0; }}
QTreeView::item:hover, QListView::item:hover {{ background: {hover}; }}
QTreeView::item:selected, QListView::item:selected {{ background: {theme.accent}; color: {theme.accent_text}; }}
QTreeView:focus, QListView:focus, QTableView:focus {{ border: 1px solid {theme.accent}; }}
QTreeView, QListView, QTableView {{ border: 1px solid transparent; }}
QHeaderView::section {{ background: {theme.raised}; color: {theme.muted}; border: none;
  border-bottom: 1px solid {theme.border}; padding: 4px 6px; }}
QTableView {{ gridline-color: {theme.grid}; }}

QScrollArea, QScrollArea > QWidget > QWidget#scrolled {{ background: {theme.base}; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 11px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 11px; margin: 0; }}
QScrollBar::handle {{
  background: {theme.mixed(theme.muted, 0.35)}; border-radius: 4px; margin: 2px; min-height: 28px;
  min-width: 28px; }}
QScrollBar::handle:hover {{ background: {theme.mixed(theme.muted, 0.6)}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

QProgressBar {{ background: {theme.grid}; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }}
QProgressBar::chunk {{ background: {theme.accent}; border-radius: 3px; }}
QSlider::groove:horizontal {{ background: {theme.grid}; height: 6px; border-radius: 3px; }}
QSlider::sub-page:horizontal {{ background: {theme.accent}; border-radius: 3px; }}
QSlider::handle:horizontal {{ background: {theme.text}; width: 12px; margin: -4px 0; border-radius: 6px; }}

QPushButton {{ background: {theme.raised}; border: 1px solid {theme.border}; border-radius: 4px; padding: 5px 14px; }}
QPushButton:hover:enabled {{ background: {hover}; border-color: {theme.accent}; }}
QPushButton:pressed {{ background: {pressed}; }}
QPushButton:focus {{ border-color: {theme.accent}; }}
QPushButton:default {{ background: {theme.accent}; color: {theme.accent_text}; border-color: {theme.accent}; }}
QPushButton:disabled {{ color: {theme.mixed(theme.muted, 0.6)}; }}

QPushButton#card {{ background: {theme.base}; border: 1px solid {theme.border}; border-radius: 6px; text-align: left; }}
QPushButton#card:hover, QPushButton#card:focus {{ border-color: {theme.accent}; background: {hover}; }}
QLabel#cardtitle {{ font-weight: bold; font-size: {title}; }}
QScrollArea#start, QWidget#page {{ background: {theme.window}; }}

QStatusBar {{ background: {theme.raised}; border-top: 1px solid {theme.border}; }}
QStatusBar::item {{ border: none; }}
QLabel#muted {{ color: {theme.muted}; }}
QLabel#warning {{ color: {theme.warning}; font-weight: bold; padding: 0 2px; }}
QLabel#error {{ color: {theme.bad}; }}
QLabel#heading, QLabel[changed="true"] {{ font-weight: bold; }}
QLabel#caption {{ color: {theme.muted}; font-size: {caption}; }}
QLabel#number {{ font-size: {number}; }}
QLabel#big {{ font-size: {big}; font-weight: 300; }}
QLabel#keys {{ background: {theme.raised}; border: 1px solid {theme.border}; border-radius: 4px; padding: 2px 7px; }}
QFrame#figure {{ background: {theme.base}; border: 1px solid {theme.border}; border-radius: 5px; }}
QFrame#figure QToolButton {{ padding: 1px 4px; border: 1px solid transparent; border-radius: 3px;
  color: {theme.muted}; font-size: {caption}; }}
QFrame#figure QToolButton:hover, QFrame#figure QToolButton:focus {{
  background: transparent; border-color: {theme.border}; color: {theme.text}; }}
QFrame#figure QToolButton:checked {{ background: {theme.accent}; color: {theme.accent_text}; }}
QLabel#hint {{ color: {theme.muted}; background: transparent; }}
QFrame#card {{ background: {theme.base}; border: 1px solid {theme.border}; border-radius: 6px; }}
QFrame#header {{ background: {theme.base}; border-bottom: 1px solid {theme.border}; }}
QFrame#rule {{ background: {theme.border}; max-height: 1px; min-height: 1px; border: none; }}
QFrame#banner {{
  background: {theme.mixed(theme.bad, 0.14)}; border: 1px solid {theme.mixed(theme.bad, 0.5)};
  border-radius: 5px; }}
QFrame#banner[level="info"] {{
  background: {theme.mixed(theme.accent, 0.12)}; border-color: {theme.mixed(theme.accent, 0.5)}; }}
QFrame#banner[level="warning"] {{
  background: {theme.mixed(theme.warning, 0.14)}; border-color: {theme.mixed(theme.warning, 0.5)}; }}
"""
