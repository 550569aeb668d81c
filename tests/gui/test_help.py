"""Help with meaning: question marks, the papers' sections, the documentation in the app."""

import re

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QLabel, QWidget

from gui.app.meaning import tile_meaning
from gui.app.theme import LIGHT
from gui.plot.page import Tile
from gui.window.documentation import Documentation, plain_markdown
from tests.support.app import SAMPLES


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


@pytest.mark.parametrize("page", sorted((SAMPLES.parent / "docs" / "guides").glob("*.md")), ids=lambda path: path.stem)
def test_a_page_is_shown_without_the_marks_of_the_site(page):
    text = plain_markdown(page.read_text(encoding="utf-8"))
    assert not re.search(r"^===|<!--|\$\$", text, re.MULTILINE)
    assert text.count("```") % 2 == 0
