"""The documentation in a window of its own: its pages as they are in the repository and in the wheel."""

import re
import textwrap

from PySide6.QtCore import QSize, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QTextCursor
from PySide6.QtWidgets import QTextBrowser, QWidget

from engine.util.paths import folder_of
from gui.app.meaning import SCHEME

FIRST = "index.md"
_SIZE = QSize(820, 760)
_TAB = re.compile(r'^=== "(.+)"\n((?:\n|    .*\n)*)', re.MULTILINE)
_LEFT_OUT = re.compile(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)", re.DOTALL)  # marks of the generator, pictures
_FORMULA = re.compile(r"\$\$?([^$]+)\$\$?")


class Documentation(QTextBrowser):
    """Shows pages; links to others are followed, those to elsewhere are opened in the browser."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowFlag(Qt.WindowType.Window)
        self.setAccessibleName("Documentation")
        self.setOpenLinks(False)
        self.anchorClicked.connect(self.open)
        QDesktopServices.setUrlHandler(SCHEME, self, "open")  # type: ignore[arg-type]
        self._page = FIRST

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        """Show a page: of the scheme :data:`SCHEME`, or beside the one that is shown."""
        if url.scheme() not in ("", SCHEME):
            QDesktopServices.openUrl(url)
            return
        path = url.path() if url.scheme() else QUrl(self._page).resolved(url).path()
        file = folder_of("docs") / path
        if file.suffix == ".md" and file.is_file():
            self._page = path
            self.document().setBaseUrl(QUrl.fromLocalFile(str(file)))
            self.setMarkdown(plain_markdown(file.read_text(encoding="utf-8")))
            self._space_headings()
            title = self.toPlainText().partition("\n")[0]
            self.setWindowTitle(title if title == "Quintet" else f"{title} – Quintet")
        if not self.isVisible():
            self.resize(_SIZE.boundedTo(self.screen().availableSize()))
        self.show()
        self.raise_()
        self.activateWindow()

    def _space_headings(self) -> None:
        """Leave room above headings, which have none after code."""
        cursor = QTextCursor(self.document())
        while cursor.movePosition(QTextCursor.MoveOperation.NextBlock):
            if (form := cursor.blockFormat()).headingLevel():
                form.setTopMargin(12)
                cursor.setBlockFormat(form)


def plain_markdown(text: str) -> str:
    """A page without what only the site's generator knows: tabs become paragraphs, formulas are set as code."""
    text = _TAB.sub(lambda tab: f"**{tab[1]}**\n{textwrap.dedent(tab[2])}", _LEFT_OUT.sub("", text))
    return _FORMULA.sub(lambda formula: f"`{' '.join(formula[1].split())}`", text)
