"""Exports of a figure: PNG, SVG, CSV, the clipboard, and the menu that offers them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

if TYPE_CHECKING:
    from gui.plot.figure import Figure

__all__ = ["FigureExport"]

_SIZE_IF_HIDDEN = QSize(760, 340)


class FigureExport:
    """Writes one figure to files and to the clipboard.

    Parameters
    ----------
    figure : Figure
    """

    def __init__(self, figure: Figure) -> None:
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
        """The picture with title and legend.

        Parameters
        ----------
        scale : float
            Pixels for each unit of the screen.
        size : QSize, optional
            Size of the figure; its present one otherwise.
        """
        figure = self._figure
        figure.export_scale = scale
        before, tabled = figure.size(), figure.data_button.isChecked()
        size = self._prepare(size, tabled)
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        image.fill(QColor(figure.theme.base))
        painter = QPainter(image)
        self._paint(painter, size)
        painter.end()
        self._restore(before, tabled)
        return image

    def to_svg(self, size: QSize | None = None) -> bytes:
        """The picture with title and legend as an SVG document; ``size`` as in :meth:`to_image`."""
        from PySide6.QtSvg import QSvgGenerator  # part of PySide6-Essentials, in a library of its own

        figure = self._figure
        figure.export_scale = 1.0
        before, tabled = figure.size(), figure.data_button.isChecked()
        size = self._prepare(size, tabled)
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(size)
        generator.setViewBox(QRect(QPoint(0, 0), size))
        generator.setTitle(figure.title)
        generator.setResolution(figure.logicalDpiX())
        painter = QPainter(generator)
        painter.fillRect(QRect(QPoint(0, 0), size), QColor(figure.theme.base))
        self._paint(painter, size)
        painter.end()
        self._restore(before, tabled)
        return bytes(data.data())

    def _prepare(self, wanted: QSize | None, tabled: bool) -> QSize:
        """Draw in full quality, at the present size or at a usual one if it was never shown; the size of all."""
        figure = self._figure
        shown = figure.testAttribute(Qt.WidgetAttribute.WA_WState_Created)
        if figure.width() < 320 or figure.height() < 200 or not shown:
            figure.resize(figure.size().expandedTo(_SIZE_IF_HIDDEN))
        if wanted is not None:
            figure.resize(wanted)
        if tabled:
            figure.data_button.setChecked(False)
        figure.view.setEnabled(True)  # creates the view
        figure.grab()  # lays out what was never shown
        figure.cache_axes(False)
        figure.fine = True
        figure.redraw()
        heading = figure.fontMetrics().height() + 8
        return QSize(figure.view.width() + 16, figure.view.height() + heading + figure.legend_height() + 6)

    def _restore(self, before: QSize, tabled: bool) -> None:
        figure = self._figure
        figure.resize(before)
        figure.cache_axes(True)
        figure.fine = False
        if tabled:
            figure.data_button.setChecked(True)
        figure.dirty = True
        figure.draw_later()

    def _paint(self, painter: QPainter, size: QSize) -> None:
        figure = self._figure
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = figure.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(QColor(figure.theme.text))
        line = figure.fontMetrics().height()
        painter.drawText(8, 4 + figure.fontMetrics().ascent(), figure.title)
        left = 8 + painter.fontMetrics().horizontalAdvance(figure.title + "  ")
        painter.setFont(figure.font())
        painter.setPen(QColor(figure.theme.muted))
        painter.drawText(left, 4 + figure.fontMetrics().ascent(), figure.unit)
        x, y = 8, line + 8
        for entry in figure.entries:
            hint = entry.sizeHint()
            if x > 8 and x + hint.width() > size.width() - 8:
                x, y = 8, y + hint.height() + 1
            entry.paint(painter, QRect(QPoint(x, y), hint))
            x += hint.width() + 10
        top = line + 8 + figure.legend_height()
        target = QRectF(8, top, figure.view.width(), figure.view.height())
        figure.view.scene().render(painter, target, QRectF(figure.view.viewport().rect()))

    # --- the menu -----------------------------------------------------------------------------------------------

    def menu(self) -> QMenu:
        """A menu that is filled when it is first opened, since a dashboard has many."""
        menu = QMenu(self._figure)

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
        path, _ = QFileDialog.getSaveFileName(self._figure, f"Save {title}", suggested, f"{kind} (*.{suffix})")
        if path:
            try:
                write(path)
            except OSError as error:
                message = f"{path} could not be written: {error.strerror or error}"
                QMessageBox.warning(self._figure, "Not saved", message)
