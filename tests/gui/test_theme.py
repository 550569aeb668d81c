"""Themes: what is written or drawn in them can be seen."""

import pytest
from PySide6.QtGui import QColor

from gui.app.style import style_sheet
from gui.app.theme import DARK, LIGHT, system_theme, theme_named
from gui.problem.form import Form
from gui.window.preferences import Preferences
from tests.support import counting
from tests.support.app import SAMPLES
from tests.support.interaction import opened

BOTH = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def contrast(one, other):
    """Contrast of two colours by WCAG 2."""

    def luminance(name):
        parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in QColor(name).getRgbF()[:3]]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@BOTH
def test_text_and_lines_stand_out_from_their_ground(theme):
    for ground in (theme.base, theme.window, theme.raised):
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.muted, ground) >= 4.5
    for colour in (theme.good, theme.warning, theme.bad):
        assert contrast(colour, theme.window) >= 4.5
    assert all(contrast(colour, theme.base) >= 3 for colour in theme.lines)
    assert contrast(theme.accent_text, theme.accent) >= 4.5


def test_themes_are_found_by_name_and_by_the_desktop(qapp):
    assert theme_named("dark").dark
    assert not theme_named("light").dark
    with pytest.raises(ValueError, match="no theme 'sepia'"):
        theme_named("sepia")
    assert system_theme(qapp) in (LIGHT, DARK)


@pytest.fixture
def dress(qapp):
    """``dress(theme)`` gives a theme to the application, which has its own again afterwards."""
    palette, sheet, style = qapp.palette(), qapp.styleSheet(), qapp.style().objectName()

    def wear(theme):
        theme.apply(qapp)
        qapp.setStyleSheet(style_sheet(theme))

    yield wear
    qapp.setStyleSheet(sheet)
    qapp.setStyle(style)
    qapp.setPalette(palette)


def test_a_changed_field_stays_marked_when_the_theme_changes(qtbot, dress):
    dress(LIGHT)
    form = Form(counting.Options)
    qtbot.addWidget(form)
    form.show()
    label = form._editors["step"].label
    assert not label.font().bold()
    form.set_values({"step": 3})
    assert label.font().bold()
    dress(DARK)
    assert label.font().bold()
    form._editors["step"].reset.click()
    assert not label.font().bold()


@pytest.mark.full
def test_tabs_that_were_hidden_when_the_theme_changed_have_it_when_they_are_shown(open_window, qtbot):
    window = open_window()
    window.appearance.choose("light")
    folders = sorted((SAMPLES / "recorded").iterdir())[:2]
    for folder in folders:
        tab = opened(qtbot, window, folder)
        qtbot.waitUntil(lambda tab=tab: tab.complete, timeout=120_000)
    window.appearance.choose("dark")
    hidden, shown = window.run_tabs.open_runs()
    assert window.run_tabs.current_run() is shown
    assert (shown.theme, shown.panel.theme) == (DARK, DARK)
    window.tabs.setCurrentWidget(hidden)
    assert (hidden.theme, hidden.panel.theme) == (DARK, DARK)
    window.tabs.setCurrentWidget(window.home)
    parts = [window.menuBar(), window.tool_bar, *window.docks.values(), window.home, hidden, shown]
    assert {part.styleSheet() for part in parts} == {style_sheet(DARK)}
    window.open_preferences()
    assert window.findChild(Preferences).styleSheet() == style_sheet(DARK)
