"""Exports of a figure: PNG, SVG, CSV, the clipboard, and the menu that offers them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QSize
from PySide6.QtGui import QColor, QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QWidget

from engine.util.files import reason_of
from gui.app.theme import Theme
from gui.plot.tables import Table

__all__ = ["Exportable", "FigureExport"]


class Exportable(Protocol):
    """A figure, as exports see it."""

    title: str
    theme: Theme

    @property
    def widget(self) -> QWidget:
        """The parent of its menu and dialogs."""

    def table(self) -> Table:
        """Headers and rows of the data."""

    def fit(self) -> None:
        """Show all data."""

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The picture, or what is exported in place of it."""

    def in_full_quality(self, size: QSize | None = None, scale: float = 1.0) -> AbstractContextManager[QSize]:
        """Draw it for an export of that size until the context ends; the size of all of it."""

    def paint(self, painter: QPainter, size: QSize) -> None:
        """Paint title, legend and picture."""


class FigureExport:
    """Writes one figure to files and to the clipboard."""

    def __init__(self, figure: Exportable) -> None:
        self._figure = figure

    # --- files --------------------------------------------------------------------------------------------------

    def png(self, path: str | Path, scale: float = 2.0) -> None:
        """Save the picture with title and legend; :class:`OSError` if it cannot be written."""
        writer = QImageWriter(str(path), QByteArray(b"png"))
        if not writer.write(self._figure.to_image(scale)):
            raise OSError(f"cannot write {path}: {writer.errorString()}")

    def svg(self, path: str | Path) -> None:
        """Save the picture as SVG; :class:`OSError` if it cannot be written."""
        Path(path).write_bytes(self.to_svg())

    def csv(self, path: str | Path) -> None:
        """Save the table with full precision; :class:`OSError` if it cannot be written."""
        headers, rows = self._figure.table()
        with open(path, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(headers)
            writer.writerows([["" if cell is None or cell != cell else cell for cell in row] for row in rows])

    # --- pictures -----------------------------------------------------------------------------------------------

    def to_image(self, scale: float = 2.0, size: QSize | None = None) -> QImage:
        """The picture with title and legend, ``scale`` pixels for each unit of the screen.

        ``size`` is that of the figure, by default its present one.
        """
        with self._figure.in_full_quality(size, scale) as whole:
            image = QImage(whole * scale, QImage.Format.Format_RGB32)
            image.setDevicePixelRatio(scale)
            image.fill(QColor(self._figure.theme.base))
            painter = QPainter(image)
            self._figure.paint(painter, whole)
            painter.end()
        return image

    def to_svg(self, size: QSize | None = None) -> bytes:
        """The picture with title and legend as an SVG document; ``size`` as in :meth:`to_image`."""
        from PySide6.QtSvg import QSvgGenerator  # part of PySide6-Essentials, in a library of its own

        figure = self._figure
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        with figure.in_full_quality(size) as whole:
            generator = QSvgGenerator()
            generator.setOutputDevice(buffer)
            generator.setSize(whole)
            generator.setViewBox(QRect(QPoint(0, 0), whole))
            generator.setTitle(figure.title)
            generator.setResolution(figure.widget.logicalDpiX())
            painter = QPainter(generator)
            painter.fillRect(QRect(QPoint(0, 0), whole), QColor(figure.theme.base))
            figure.paint(painter, whole)
            painter.end()
        return bytes(data.data())

    # --- the menu -----------------------------------------------------------------------------------------------

    def menu(self) -> QMenu:
        """A menu that is filled when it is first opened, since a dashboard has many."""
        menu = QMenu(self._figure.widget)

        def fill() -> None:
            if menu.isEmpty():
                self._fill(menu)

        menu.aboutToShow.connect(fill)
        return menu

    def _fill(self, menu: QMenu) -> None:
        menu.addAction("Show all", self._figure.fit)
        menu.addSeparator()
        menu.addAction("Copy picture", self._copy_picture)
        menu.addAction("Copy table", self._copy_table)
        menu.addSeparator()
        menu.addAction("Save as PNG…", lambda: self._save("PNG", "png", self.png))
        menu.addAction("Save as SVG…", lambda: self._save("SVG", "svg", self.svg))
        menu.addAction("Save data as CSV…", lambda: self._save("CSV", "csv", self.csv))

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(self._figure.to_image())

    def _copy_table(self) -> None:
        headers, rows = self._figure.table()
        lines = ["\t".join(headers), *("\t".join("" if c is None else str(c) for c in row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _save(self, kind: str, suffix: str, write: Callable[[str], None]) -> None:
        title = self._figure.title
        suggested = "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-") + f".{suffix}"
        path, _ = QFileDialog.getSaveFileName(self._figure.widget, f"Save {title}", suggested, f"{kind} (*.{suffix})")
        if path:
            try:
                write(path)
            except OSError as error:
                message = f"{path} could not be written: {reason_of(error)}"
                QMessageBox.warning(self._figure.widget, "Not saved", message)
